"""Was anything lost, doubled or stale? What the logs of all hosts allow, beside what is there."""

import collections
import json
import stat

# Nobody's: a name that was there before, until its owner gives it up.
START = 0
END = 1 << 62
KIND = {"file": stat.S_IFREG, "link": stat.S_IFREG, "directory": stat.S_IFDIR, "symlink": stat.S_IFLNK}


class Held:
    """A name was held by a host: surely between the inner moments, perhaps between the outer ones."""

    def __init__(self, host, kind, begun, ended):
        self.host, self.kind, self.outer, self.inner = host, kind, [begun, END], [ended, END]

    def end(self, begun, ended):
        self.inner[1], self.outer[1] = begun, ended

    def was_sure(self):
        return self.inner[0] < self.inner[1]


class Log:
    """The operations of all hosts."""

    def __init__(self, paths, seeds):
        # A line that is just being written is not there yet.
        texts = [path.read_text().rpartition("\n")[0] for path in paths]
        self.records = [json.loads(line) for text in texts for line in text.splitlines()]
        self.faults = []
        # Names that the volume broke: when that began to show, how, and to whom.
        self.broken = {}
        self.held = collections.defaultdict(list)
        self.now = {}
        self.puts = collections.defaultdict(list)
        for name, host in seeds.items():
            self.begin(name, host, "file", START, START)
        for record in self.records:
            self.take(record)
            for name, evidence in record.get("broken", {}).items():
                shown = self.broken.setdefault(name, evidence | {"since": record["begun"], "hosts": set()})
                shown["since"] = min(shown["since"], record["begun"])
                shown["hosts"].add(record["host"])

    def begin(self, name, host, kind, begun, ended):
        held = Held(host, kind, begun, ended)
        self.held[name].append(held)
        self.now[name, host] = held

    def take(self, record):
        what, name, host = record["op"], record["name"], record["host"]
        begun, ended = record["begun"], record["ended"]
        was_done = record["result"] == "ok" or record.get("done") is True
        if what == "claim" and was_done:
            self.begin(name, host, record["kind"], begun, ended)
        elif what == "claim" and record["result"] in ("lost", "broken"):
            # It may have been there for a moment.
            self.begin(name, host, record["kind"], begun, ended)
            self.now.pop((name, host)).end(ended, ended)
        elif what == "release" and was_done:
            self.now.pop((name, host)).end(begun, ended)
        elif what == "move" and was_done:
            held = self.now.pop((name, host))
            held.end(begun, ended)
            self.begin(record["to"], host, held.kind, begun, ended)
        elif what == "put" and was_done:
            self.puts[name].append(record)

    def faults_found(self):
        """What the logs alone show to be wrong, a line for each. A name that the volume broke is judged by what was before."""
        for name, holds in self.held.items():
            sure = (held for held in holds if held.was_sure() and held.inner[0] < self.whole_until(name))
            holds = sorted(sure, key=lambda held: held.inner)
            for one, other in zip(holds, holds[1:]):
                if other.inner[0] < one.inner[1]:
                    yield f"{name!a} was made by host {other.host} while host {one.host} had it"
        for record in self.records:
            begun, ended, name = record["begun"], record["ended"], record["name"]
            if record["op"] == "claim" and record["result"] == "EEXIST" and ended < self.whole_until(name):
                if not any(held.outer[0] < ended and begun < held.outer[1] for held in self.held[name]):
                    yield f"{name!a} was said to exist to host {record['host']}, and nobody had it: {record}"
            if record["result"] == "lost" and not self.is_in_fault(begun, ended):
                yield f"an operation failed though nothing was broken: {record}"

    def whole_until(self, name):
        return self.broken[name]["since"] if name in self.broken else END

    def is_in_fault(self, begun, ended):
        return any(start < ended and begun < end for start, end in self.faults)

    def expected(self):
        """What has to be there: for each name the kind and mark, or the contents of which one has to be in it."""
        there = {name: (KIND[held.kind], held.host) for (name, host), held in self.now.items()}
        for name, puts in self.puts.items():
            # The last, or one that was under way at the same time as it.
            newest = max(put["begun"] for put in puts)
            there[name] = {put["token"].encode().hex() for put in puts if put["ended"] > newest}
        return {name: wanted for name, wanted in there.items() if name not in self.broken}

    def differences(self, listed):
        """How a listing (name in hex -> found entries of it) differs from what has to be there."""
        expected = self.expected()
        there = {bytes.fromhex(name): found for name, found in listed.items()}
        for name, found in there.items():
            try:
                text = name.decode()
            except UnicodeDecodeError:
                yield f"{name!a} is not well-formed"
                continue
            if len(found) > 1:
                yield f"{text!a} is listed {len(found)} times"
            if text in self.broken:
                continue
            wanted = expected.get(text)
            kind, mark, content = found[0]
            if wanted is None:
                yield f"{text!a} is there, and nobody made it"
            elif isinstance(wanted, set):
                if content not in wanted:
                    yield f"{text!a} holds {bytes.fromhex(content or '')!a}, and not the last that was put there"
            elif kind != wanted[0] or (kind != stat.S_IFLNK and mark != wanted[1]):
                yield f"{text!a} is another entry than was made"
        for name in expected:
            if name.encode() not in there:
                yield f"{name!a} is lost"
