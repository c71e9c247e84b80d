"""The goals that utf8fs has set itself, and whether a result reaches them."""

import dataclasses
import statistics

OURS = "utf8fs"
PEERS = ("bindfs", "bindfs-mt", "convmvfs", "mergerfs", "passthrough_hp")
# By so much two runs of one program differ; less above a goal is neither met nor missed.
NOISE = 0.05


@dataclasses.dataclass(frozen=True)
class Goal:
    """At most `native` times the bare filesystem, and at most each factor times its peer, in every one of the steps."""

    key: str
    title: str
    measure: str
    steps: tuple  # of "suite/step"
    native: float = 0.0
    peers: tuple = ()  # of (contestant, factor); "best" for the best of all


GOALS = (
    Goal("change", "create, rename, mkdir, rmdir", "cpu",
         ("metadata/create", "metadata/rename", "metadata/mkdir", "metadata/rmdir"), 0, (("bindfs", 1.0),)),
    Goal("unlink", "unlink", "cpu", ("metadata/unlink",), 0, (("bindfs", 0.95),)),
    Goal("first", "stat and absent name, first time", "cpu",
         ("metadata/stat-first", "metadata/absent-first"), 0, (("bindfs", 1.03),)),
    Goal("list", "ls -l, first time", "cpu", ("metadata/long-first", "large/long-large"), 0, (("passthrough_hp", 0.9),)),
    Goal("user", "changes by an ordinary user", "cpu", ("user/create", "user/rename", "user/unlink", "user/mkdir"), 0,
         (("bindfs-user", 0.85),)),
    Goal("walk", "walk of many files, time", "cpu", ("walk/walk",), 0, (("bindfs", 0.97),)),
    Goal("memory", "walk of many files, bytes of memory for each", "memory", ("walk/walk",)),
    Goal("free", "metadata, scheduled freely", "wall",
         ("free/create", "free/stat-first", "free/absent-first", "free/long-first", "free/rename", "free/unlink", "free/mkdir",
          "free/rmdir"), 0, (("best", 1.1),)),
    Goal("parallel", "four clients in one directory and in their own", "wall",
         tuple(f"{suite}/{step}" for suite in ("parallel", "apart")
               for step in ("create", "stat-first", "open", "rename", "unlink")), 0, (("best", 1.0),)),
    Goal("work", "untar, cp -a, git clone, rm -rf", "wall", ("work/untar", "work/copy", "work/clone", "work/remove"), 0,
         (("best", 1.0),)),
    Goal("status", "git status after ten seconds", "wall", ("work/status-later",), 0, (("passthrough_hp", 1.0),)),
    # Nine tenths of the throughput.
    Goal("slow", "16 clients on a slow filesystem", "wall", ("slow/sixteen",), 0, (("passthrough_hp", 1.11),)),
    Goal("again", "stat again, absent name again, ls -l again", "cpu",
         ("metadata/stat-again", "metadata/absent-again", "metadata/long-again"), 1.1, (("passthrough_hp", 1.0),)),
    Goal("open", "open and close", "cpu", ("metadata/open",), 7.5, (("bindfs", 1.1), ("passthrough_hp", 0.7))),
    Goal("data", "reads, writes and mmap", "fastest",
         ("data/write", "data/read-first", "data/read-again", "data/read-1m", "data/read-4k", "data/read-random",
          "data/rewrite-1m", "data/write-random", "data/map-read", "data/map-write"), 1.1, (("passthrough_hp", 1.0),)),
    Goal("small", "rewriting and appending 4 KiB", "cpu", ("data/rewrite-4k", "data/append-4k"), 1.3,
         (("passthrough_hp", 0.1), ("bindfs", 0.06))),
    Goal("policy", "names policy on against off", "policy", ("policy/all",), 0, (("utf8fs-off", 1.03),)),
)
MOST_BYTES = 200


def value(result, suite, step, contestant, measure):
    """Seconds for one operation by a measure: `cpu` and `wall` are medians of all rounds. None where it was not measured."""
    rows = result["suites"].get(suite, {}).get("samples", {}).get(step, {}).get(contestant)
    if not rows:
        return None
    if measure == "cpu":
        return statistics.median((row["client"] + row["daemon"]) / row["operations"] for row in rows)
    walls = [row["wall"] / row["operations"] for row in rows]
    return min(walls) if measure == "fastest" else statistics.median(walls)


def unsteady(result, suite, step, contestant, measure):
    """Whether the middle half of the rounds is spread over more than a quarter of the median."""
    rows = result["suites"][suite]["samples"][step][contestant]
    if measure == "fastest" or len(rows) < 4:
        return False
    each = [(row["client"] + row["daemon"] if measure == "cpu" else row["wall"]) / row["operations"] for row in rows]
    low, middle, high = statistics.quantiles(each, n=4, method="inclusive")
    return high - low > middle / 4


def policy_ratio(result, contestant):
    """CPU time of one operation of each step, summed, against that with the policy off: the median of all rounds."""
    suite = result["suites"].get("policy")
    if not suite or not suite["rounds"]:
        return None
    ratios = []
    for number in range(suite["rounds"]):
        try:
            ours, off = (
                sum((by[key][number]["client"] + by[key][number]["daemon"]) / by[key][number]["operations"]
                    for by in suite["samples"].values())
                for key in (contestant, "utf8fs-off")
            )
        except (KeyError, IndexError):
            return None
        ratios.append(ours / off)
    return statistics.median(ratios)


def bytes_for_each(result, contestant):
    """Memory that a walk has added to a daemon, for each file of it."""
    grown = result["suites"].get("walk", {}).get("memory", {}).get(contestant)
    return max(grown) / result["options"]["walk_files"] if grown else None


def best_peer(result, suite, step, measure):
    """The best of the peers at a step, with its value; None where none was measured."""
    values = {peer: value(result, suite, step, peer, measure) for peer in PEERS}
    values = {peer: seconds for peer, seconds in values.items() if seconds is not None}
    return min(values.items(), key=lambda item: item[1]) if values else None


def verdict(reached, goal):
    if reached <= goal:
        return "met"
    return "within noise" if reached <= goal * (1 + NOISE) else "missed"


def judge(result):
    """For each goal its verdict, and what was compared: (step, against whom, reached, goal, verdict)."""
    judged = []
    for goal in GOALS:
        rows = compared(result, goal)
        verdicts = [row[4] for row in rows]
        overall = next((word for word in ("missed", "within noise", "met") if word in verdicts), "not measured")
        judged.append({"key": goal.key, "title": goal.title, "measure": goal.measure, "verdict": overall, "rows": rows})
    return judged


def compared(result, goal):
    rows = []

    def add(step, against, reached, most):
        rows.append((step, against, reached, most, verdict(reached, most)))

    for path in goal.steps:
        suite, step = path.split("/")
        if goal.measure == "policy":
            ratio = policy_ratio(result, OURS)
            if ratio:
                add("all of it", "utf8fs-off", ratio, 1.03)
            continue
        if goal.measure == "memory":
            each = bytes_for_each(result, OURS)
            if each:
                add("", "bytes", each, MOST_BYTES)
            continue
        ours = value(result, suite, step, OURS, goal.measure)
        if ours is None:
            continue
        title = result["suites"][suite]["steps"][step]
        native = value(result, suite, step, "native", goal.measure)
        if goal.native and native:
            add(title, "native", ours / native, goal.native)
        for peer, factor in goal.peers:
            if peer == "best":
                best = best_peer(result, suite, step, goal.measure)
                peer, theirs = best or (peer, None)
            else:
                theirs = value(result, suite, step, peer, goal.measure)
            if theirs:
                add(title, peer, ours / theirs, factor)
    return rows
