"""The goals that utf8fs has set itself, and whether a result reaches them."""

import dataclasses
import statistics

OURS = "utf8fs"
DEVICE = "utf8fs-device"
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
    # Of (contestant, factor): "best" is the best of those without rings, "any" that of all, "slow/one" our own by another step.
    peers: tuple = ()
    ours: str = OURS


CHANGES = ("create", "rename", "unlink", "mkdir")
FREE = ("create", "stat-first", "absent-first", "long-first", "rename", "unlink", "mkdir", "rmdir")
FOUR = tuple(f"{suite}/{step}" for suite in ("parallel", "apart") for step in ("create", "stat-first", "open", "rename", "unlink"))
WORK = ("work/untar", "work/copy", "work/clone", "work/remove")


def of(suite, steps):
    return tuple(f"{suite}/{step}" for step in steps)


OLD_NAMES = "utf8fs-latin1"
LEGACY = ("walk", "long", "read")


def old_names(when, clean, convmvfs):
    """What old names may cost against the same names in UTF-8, and against convmvfs."""
    return tuple(
        Goal(f"legacy-{step}-{when}", f"old names, {when}: {step}", "cpu", (f"legacy/legacy-{step}-{when}",), 0,
             ((f"legacy/clean-{step}-{when}", clean), ("convmvfs", convmvfs)), OLD_NAMES)
        for step in LEGACY
    )


GOALS = (
    *old_names("again", 1.1, 1.0),
    *old_names("first", 1.3, 1.0),
    Goal("change", "create, rename, mkdir, rmdir", "cpu", of("metadata", ("create", "rename", "mkdir", "rmdir")), 0,
         (("bindfs", 1.0),), DEVICE),
    Goal("unlink", "unlink", "cpu", ("metadata/unlink",), 0, (("bindfs", 0.95),), DEVICE),
    Goal("first", "stat and absent name, first time", "cpu", of("metadata", ("stat-first", "absent-first")), 0,
         (("bindfs", 1.03),), DEVICE),
    Goal("list", "ls -l, first time", "cpu", ("metadata/long-first", "large/long-large"), 0, (("passthrough_hp", 0.9),)),
    Goal("user", "changes by an ordinary user", "cpu", of("user", CHANGES), 0, (("bindfs-user", 0.85),)),
    Goal("walk", "walk of many files, time", "cpu", ("walk/walk",), 0, (("bindfs", 0.97),)),
    Goal("memory", "walk of many files, bytes of memory for each", "memory", ("walk/walk",)),
    Goal("free", "metadata, scheduled freely, no rings", "wall", of("free", FREE), 0, (("best", 1.1),), DEVICE),
    Goal("parallel", "four clients in one directory and in their own, no rings", "wall", FOUR, 0, (("best", 1.0),), DEVICE),
    Goal("work", "untar, cp -a, git clone, rm -rf, no rings", "wall", WORK, 0, (("best", 1.0),), DEVICE),
    Goal("status", "git status after ten seconds", "wall", ("work/status-later",), 0, (("passthrough_hp", 1.0),)),
    # Nine tenths of the throughput.
    Goal("slow", "16 clients on a slow filesystem, no rings", "wall", ("slow/sixteen",), 0, (("passthrough_hp", 1.11),), DEVICE),
    Goal("again", "stat again, absent name again, ls -l again", "cpu",
         of("metadata", ("stat-again", "absent-again", "long-again")), 1.1, (("passthrough_hp", 1.0),)),
    Goal("open", "open and close", "cpu", ("metadata/open",), 7.5, (("bindfs", 1.1), ("passthrough_hp", 0.7))),
    Goal("data", "reads, writes and mmap", "fastest",
         of("data", ("write", "read-first", "read-again", "read-1m", "read-4k", "read-random", "rewrite-1m", "write-random",
                     "map-read", "map-write")), 1.1, (("passthrough_hp", 1.0),)),
    Goal("small", "rewriting and appending 4 KiB", "cpu", ("data/rewrite-4k", "data/append-4k"), 1.3,
         (("passthrough_hp", 0.1), ("bindfs", 0.06))),
    Goal("policy", "names policy on against off", "policy", ("policy/all",), 0, (("utf8fs-off", 1.03),)),
    Goal("rings-free", "rings: metadata, scheduled freely", "wall", of("free", FREE), 0, (("passthrough_hp-rings", 0.75),)),
    Goal("rings-best", "rings: create, stat, rename, unlink, mkdir", "wall", of("free", (*CHANGES, "stat-first")), 0,
         (("best", 0.5),)),
    Goal("rings-four", "rings: four clients in one directory and in their own", "wall", FOUR, 0, (("any", 0.85),)),
    Goal("rings-work", "rings: untar, cp -a, git clone, git status, rm -rf", "wall", (*WORK, "work/status-first"), 0, (("any", 0.9),)),
    Goal("rings-one", "rings: metadata on one CPU", "cpu", of("metadata", ("create", "stat-first", "rename", "unlink", "mkdir")), 0,
         (("utf8fs-device", 1.0),)),
    Goal("rings-cpu", "rings: create, rename, unlink, scheduled freely", "cpu", of("free", ("create", "rename", "unlink")), 0,
         (("utf8fs-device", 0.5),)),
    # Sixteen times the throughput of one client, but for a tenth.
    Goal("rings-slow", "rings: 16 clients on a slow filesystem", "wall", ("slow/sixteen",), 0, (("slow/one", 1 / (0.9 * 16)),)),
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


def best_peer(result, suite, step, measure, peers=PEERS):
    """The best of the peers at a step, with its value; None where none was measured."""
    values = {peer: value(result, suite, step, peer, measure) for peer in peers}
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
        ours = value(result, suite, step, goal.ours, goal.measure)
        if ours is None:
            continue
        title = result["suites"][suite]["steps"][step]
        native = value(result, suite, step, "native", goal.measure)
        if goal.native and native:
            add(title, "native", ours / native, goal.native)
        for peer, factor in goal.peers:
            if peer in ("best", "any"):
                among = PEERS if peer == "best" else (*PEERS, "passthrough_hp-rings")
                peer, theirs = best_peer(result, suite, step, goal.measure, among) or (peer, None)
            elif "/" in peer:
                theirs = value(result, *peer.split("/"), goal.ours, goal.measure)
            else:
                theirs = value(result, suite, step, peer, goal.measure)
            if theirs:
                add(title, peer, ours / theirs, factor)
    return rows
