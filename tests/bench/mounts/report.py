"""What was measured, as Markdown and as plots.

docs/internals/performance.md is written by hand but for the blocks between `<!-- scripts/bench: NAME -->` and `<!-- end -->`, which are made
anew here; all else in it is left alone.
"""

import re

import goals
import plot

OURS = goals.OURS
MEASURES = {
    "cpu": "CPU time of client and daemon for one operation, microseconds, median",
    "wall": "wall time of one operation, microseconds, median",
    "fastest": "wall time of one operation, microseconds, fastest round",
    "seconds": "wall time, seconds, median",
    "cpu-seconds": "CPU time of client and daemon, seconds, median",
}
# For each suite the measures of its tables. The first is what it is judged by, and what the page shows; the terminal shows both.
TABLES = {
    "legacy": ("cpu-seconds", "seconds"),
    "metadata": ("cpu", "wall"),
    "large": ("cpu", "wall"),
    "free": ("wall", "cpu"),
    "user": ("cpu", "wall"),
    "data": ("fastest", "cpu"),
    "parallel": ("wall", "cpu"),
    "apart": ("wall", "cpu"),
    "slow": ("wall", "cpu"),
    "walk": ("cpu-seconds", "seconds"),
    "work": ("seconds", "cpu-seconds"),
}
UNITS = {"cpu": ("cpu", 1e6), "wall": ("wall", 1e6), "fastest": ("fastest", 1e6), "seconds": ("wall", 1), "cpu-seconds": ("cpu", 1)}
PLOTS = {
    "metadata": ("Metadata: CPU time next to the bare filesystem", "Client and daemon together, on tmpfs. Shorter is better; "
                 "1 × is the bare filesystem (dashed line). Each chart has its own scale."),
    "free": ("Metadata, scheduled freely: time next to the bare filesystem", "Wall time, on tmpfs. Shorter is better; "
             "1 × is the bare filesystem (dashed line). Each chart has its own scale."),
    "data": ("File data: time next to the bare filesystem", "Wall time of the fastest round, on tmpfs. Shorter is better; "
             "1 × is the bare filesystem (dashed line). Each chart has its own scale."),
    "parallel": ("Four clients in one directory: time next to the bare filesystem", "Wall time, on tmpfs. Shorter is better; "
                 "1 × is the bare filesystem (dashed line). Each chart has its own scale."),
    "work": ("Real work: time next to the bare filesystem", "Wall time, on the disk's filesystem. Shorter is better; "
             "1 × is the bare filesystem (dashed line). Each chart has its own scale."),
}
# What would be a line of its own in a plot, and says little.
NOT_PLOTTED = {"metadata": ("list",)}


def rows(header, lines):
    """A Markdown table; all columns but the first to the right."""
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, rule, *lines))


def digits(number):
    return f"{number:.2f}" if number < 10 else f"{number:.1f}" if number < 1000 else f"{number:.0f}"


def table(result, key, measure):
    """The table of a suite by one measure, peers beside ours, and what ours is to native and to the best of the peers."""
    suite = result["suites"][key]
    contestants = suite["contestants"]
    base, unit = UNITS[measure]
    header = ["step", *(result["contestants"][each]["title"] for each in contestants)]
    header += [f"{OURS} to native", "to the best peer"]
    lines = []
    for step, title in suite["steps"].items():
        values = {each: goals.value(result, key, step, each, base) for each in contestants}
        line = [title]
        for each in contestants:
            if values[each] is None:
                line.append("fails" if step in suite["errors"].get(each, {}) else "-")
                continue
            star = "*" if goals.unsteady(result, key, step, each, base) else ""
            line.append(digits(values[each] * unit) + star)
        ours, native = values.get(goals.OLD_NAMES if key == "legacy" else OURS), values.get("native")
        line.append(f"{ours / native:.2f}" if ours and native else "-")
        theirs = {each: values[each] for each in contestants if values[each] and each != "native" and not each.startswith(OURS)}
        best = min(theirs, key=theirs.get) if theirs else None
        line.append(f"{ours / theirs[best]:.2f} ({result['contestants'][best]['title']})" if ours and best else "-")
        lines.append(line)
    return rows(header, lines)


def counted(rounds):
    return "1 round" if rounds == 1 else f"{rounds} rounds"


def suite_block(result, key, both):
    first, second = TABLES[key]
    parts = []
    if key in PLOTS:
        parts.append(f"![{PLOTS[key][0]}](performance/{key}.svg)")
    rounds = result["suites"][key]["rounds"]
    parts.append(f"{MEASURES[first].capitalize()} of {counted(rounds)}:".replace("Cpu", "CPU"))
    parts.append(table(result, key, first))
    if both:
        parts.append(f"{MEASURES[second].capitalize()}:".replace("Cpu", "CPU"))
        parts.append(table(result, key, second))
    if key == "walk":
        each = {peer: goals.bytes_for_each(result, peer) for peer in result["suites"][key]["contestants"] if peer != "native"}
        parts.append(f"Private memory that the walk of {result['options']['walk_files']:,} files has added to the daemon, bytes for each "
                     "file, the most of all rounds:")
        names = [result["contestants"][peer]["title"] for peer in each]
        parts.append(rows(["", *names], [["bytes", *("fails" if n is None else f"{n:.0f}" for n in each.values())]]))
    return "\n\n".join(parts)


def policy_block(result):
    suite = result["suites"]["policy"]
    lines = []
    for step, title in suite["steps"].items():
        values = [goals.value(result, "policy", step, each, "cpu") for each in suite["contestants"]]
        lines.append([title, *("-" if number is None else digits(number * 1e6) for number in values)])
    ratios = [goals.policy_ratio(result, each) for each in suite["contestants"]]
    lines.append(["all, to policy off", *("-" if ratio is None else f"{ratio:.3f}" for ratio in ratios)])
    header = ["step", *(result["contestants"][each]["title"] for each in suite["contestants"])]
    commands = "; ".join(f"*{result['contestants'][each]['title']}* is `{result['contestants'][each]['command']}`"
                         for each in suite["contestants"])
    said = f"{MEASURES['cpu']} of {counted(suite['rounds'])}; the last row sums the steps of each round."
    return f"{said}\n\n{rows(header, lines)}\n\n{commands}."


def machine_block(result):
    about, options = result["about"], result["options"]
    kind = "virtual machine" if about["virtual"] else "machine"
    memory, disk = about["filesystems"]
    text = [
        f"Measured on {result['date']}: a {kind} with {about['cpus']} CPUs ({about['processor']}, {about['architecture']}) and "
        f"{about['memory']} GB of memory, Linux {about['kernel']}, {memory} and {disk}, {about['descriptors']} descriptors for a process. "
        f"One-minute load before and between the suites: {', '.join(str(number) for number in result['load'])}"
        f"; where it exceeds the {about['cpus']} CPUs others worked on the machine too, and wall times are worth less than CPU times.",
        f"{options['files']:,} files in a directory; {options['large_files']:,} in the large one, {options['walk_files']:,} in the walk"
        + (f"; the tree of the real work has {options['tree_files']:,} files and {options['tree_mib']} MB."
           if options["tree_files"] else "."),
    ]
    header = ["contestant", "version", "command"]
    lines = [[each["title"], each["version"], f"`{each['command']}`"]
             for key, each in result["contestants"].items() if each["command"] and key not in ("utf8fs-off", "utf8fs-strict")]
    return "\n\n".join(text) + "\n\n" + rows(header, lines).replace("---:", "---")


def goals_block(result):
    lines = []
    for goal in goals.judge(result):
        against = {}
        for step, whom, reached, most, verdict in goal["rows"]:
            against.setdefault(whom, []).append((reached / most, step, reached, most, verdict))
        cells = []
        for whom, compared in against.items():
            _, step, reached, most, verdict = max(compared)
            title = result["contestants"].get(whom, {}).get("title", whom)
            title = "policy off" if whom == "utf8fs-off" else title
            where = f", {step}" if len(compared) > 1 else ""
            if whom == "bytes":
                cells.append(f"{reached:.0f} bytes of {most}{where}")
            else:
                cells.append(f"{plot.shown(reached)} {title} of {round(most, 3)}{where}")
            if verdict == "missed":
                cells[-1] = f"**{cells[-1]}**"
        misses = sum(row[4] == "missed" for row in goal["rows"])
        verdict = goal["verdict"]
        if verdict == "missed":
            verdict = f"[missed](#{anchor(goal['title'])})" + (f" in {misses} of {len(goal['rows'])}" if len(goal["rows"]) > 1 else "")
        lines.append([goal["title"], {"cpu": "CPU", "fastest": "fastest", "policy": "CPU", "memory": "memory"}.get(goal["measure"], "wall"),
                      "; ".join(cells) or "-", verdict])
    note = (f"Of several steps the one that is furthest from its goal is named. \"1.2 × native of 1.1\" is a ratio of 1.2 where 1.1 is the "
            f"goal. *Within noise* is up to {goals.NOISE * 100:.0f} % above a goal, as two runs of one program may differ.")
    return rows(["work", "by", "reached, of the goal", "verdict"], lines).replace("---:", "---") + "\n\n" + note


def anchor(title):
    """The anchor that a heading has on the web."""
    return re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


def blocks(result, both=False):
    """All generated blocks by name, of the suites that were measured; with both tables of a suite, or the first."""
    made = {"machine": machine_block(result), "goals": goals_block(result)}
    for key in result["suites"]:
        made[key] = policy_block(result) if key == "policy" else suite_block(result, key, both)
    return made


def text(result):
    """The same for a terminal: without plots."""
    parts = []
    for name, block in blocks(result, both=True).items():
        block = re.sub(r"!\[.*\n+", "", block)
        parts.append(f"== {name}\n\n{aligned(block)}")
    return "\n".join(parts)


def aligned(block):
    """Markdown with the columns of its tables under each other."""
    lines, out, at = block.splitlines(), [], 0
    while at < len(lines):
        if not lines[at].startswith("| "):
            out.append(lines[at])
            at += 1
            continue
        cells = []
        while at < len(lines) and lines[at].startswith("| "):
            cells.append([cell.strip() for cell in lines[at].strip("|").split("|")])
            at += 1
        del cells[1]
        wide = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
        for line in cells:
            first, *rest = line
            out.append("  ".join([first.ljust(wide[0]), *(cell.rjust(size) for cell, size in zip(rest, wide[1:]))]))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)) + "\n"


def plots(result):
    """The SVGs by name."""
    made = {}
    for key, (title, note) in PLOTS.items():
        if key not in result["suites"]:
            continue
        suite = result["suites"][key]
        base, _ = UNITS[TABLES[key][0]]
        charts, left_out = [], NOT_PLOTTED.get(key, ())
        for step, heading in suite["steps"].items():
            native = goals.value(result, key, step, "native", base)
            if not native or step in left_out:
                continue
            bars = []
            for each in suite["contestants"]:
                value = goals.value(result, key, step, each, base)
                kind = {"native": "native", OURS: "ours"}.get(each, "peer")
                bars.append((result["contestants"][each]["title"], value / native if value else None, kind))
            charts.append((heading, bars))
        made[key] = plot.grid(title, note, charts)
    return made


def write(result, docs):
    """Puts the blocks in their places in performance.md, and the plots beside it."""
    document = docs / "performance.md"
    old = document.read_text(encoding="utf-8")
    for name, block in blocks(result).items():
        place = re.compile(rf"(<!-- scripts/bench: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        old, count = place.subn(lambda found, block=block: f"{found.group(1)}\n{block}\n\n{found.group(2)}", old)
        if count != 1:
            raise SystemExit(f"bench: {document.name} has {count} places for {name}, not one")
    document.write_text(old, encoding="utf-8")
    directory = docs / "performance"
    directory.mkdir(exist_ok=True)
    for name, svg in plots(result).items():
        (directory / f"{name}.svg").write_text(svg, encoding="utf-8")
    headings = set(re.findall(r"^#+ (.*)$", old, re.MULTILINE))
    for goal in goals.judge(result):
        if goal["verdict"] == "missed" and goal["title"] not in headings:
            print(f"bench: {document.name} gives no reason for missing: {goal['title']}")
