"""What one host does: reads commands from standard input, a line of JSON each, and answers each with one.

Each operation is in the log, with the moments (of the clock that all hosts of the machine share) at which it was begun and
answered. All names that two hosts want carry a mark of who made them: the mode of a file or directory, the target of a link.
"""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import pathlib
import random
import stat
import struct
import sys
import time
import unicodedata

import broken
from broken import LOST, name_of

PATIENCE = 180
DONE, ENTERED, LEFT, AWAY = range(4)
# Where nobody's numbers are: are all to wait?
PAUSE = (0, 0)
# No symlinks where others ask for the same name at that moment: GlusterFS 10.3 makes one on a brick first, and gives it its identity
# then. Who looks it up in between gives it another, and neither can be reached any more.
KINDS = ("file", "directory", "link")
# A race is called off if the other host does not come.
RACE_PATIENCE = 2.0


class Wrong(Exception):
    """A promise was broken, as seen by this host alone."""


class Host:
    def __init__(self, setting):
        self.host, self.view = setting["host"], os.fsencode(setting["view"])
        # The directory of the volume that the view shows.
        self.below = os.fsencode(setting["below"])
        self.random = random.Random(f"{setting['seed']} {self.host}")
        self.together = random.Random(setting["seed"])
        names = setting["names"]
        self.spellings = {name: [bytes.fromhex(s) for s in found] for name, found in names["spellings"].items()}
        self.contested, self.raced, self.put = names["contested"], names["raced"], names["put"]
        self.log = open(setting["log"], "a", encoding="utf-8")
        self.source = f"own-{self.host}-source"
        self.owned = dict.fromkeys(setting["owned"], "file")
        # Names that the volume broke, which are not used any more, and how that showed.
        self.broken = {}
        self.count = self.serial = self.races = 0
        self.goal = 0
        # Numbers in memory that all hosts share: operations done, races entered, those left, is it away?
        with open(setting["board"], "r+b") as board:
            self.board = mmap.mmap(board.fileno(), 0)

    # The board.

    def post(self, column, value, host=None):
        struct.pack_into("<q", self.board, 32 * (host or self.host) + 8 * column, value)

    def is_alone(self):
        return self.posted(AWAY, 3 - self.host)

    def posted(self, column, host):
        return struct.unpack_from("<q", self.board, 32 * host + 8 * column)[0]

    # Operations.

    def path(self, name):
        return self.view + b"/" + (name if isinstance(name, bytes) else os.fsencode(name))

    def any_spelling(self, name):
        return self.random.choice(self.spellings.get(name) or [os.fsencode(name)])

    def note(self, what, name, begun, result, **more):
        record = {"host": self.host, "op": what, "name": name, "begun": begun, "ended": time.monotonic_ns()}
        self.log.write(json.dumps(record | {"result": result} | more) + "\n")
        self.log.flush()
        self.count += 1
        self.post(DONE, self.count)

    def attempt(self, what, name, act, allowed=(), settle=None, others=(), **more):
        """Does one operation and logs how it ended: `ok`, an errno that is allowed here, or `lost`, which `settle` clears
        up when the filesystem answers again: it says whether the operation was done. `broken` if the volume broke the
        name, or one of the others that the operation is about."""
        begun = time.monotonic_ns()
        try:
            act()
            result = "ok"
        except OSError as problem:
            if problem.errno in LOST:
                return self.lost(what, (name, *others), begun, name_of(problem.errno), settle, more)
            if problem.errno not in allowed:
                self.note(what, name, begun, name_of(problem.errno), **more)
                raise Wrong(f"{what} of {name!a} as {more.get('spelling')}: {name_of(problem.errno)}") from problem
            result = name_of(problem.errno)
        self.note(what, name, begun, result, **more)
        return result

    def lost(self, what, names, begun, error, settle, more):
        # Time for a request that is still under way to arrive.
        end, answers_since = time.monotonic() + PATIENCE, None
        probe = self.path(f"own-{self.host}-probe")
        result, was_done, evidence = "lost", None, {}
        self.post(AWAY, 1)
        while True:
            answers = False
            try:
                os.close(os.open(probe, os.O_CREAT | os.O_WRONLY, 0o600))
                os.unlink(probe)
                answers = True
                was_done = settle() if settle else None
                self.reach(names)
                break
            except OSError as problem:
                now = time.monotonic()
                if problem.errno not in LOST | {errno.ENOENT} or now > end:
                    raise Wrong(f"{what} of {names[0]!a} was lost ({error}), and then: {name_of(problem.errno)}") from problem
                answers_since = (answers_since or now) if answers else None
                if answers and now - answers_since >= broken.PATIENCE and self.find_broken(names):
                    result, was_done = "broken", self.settled(settle)
                    evidence = {"broken": {name: self.broken[name] for name in names if name in self.broken}}
                    break
                time.sleep(0.1)
        self.post(AWAY, 0)
        self.note(what, names[0], begun, result, error=error, done=was_done, **evidence, **more)
        return "ok" if was_done else result

    def settled(self, settle):
        """What `settle` says, if it can say anything."""
        try:
            return settle() if settle else None
        except OSError:
            return None

    def reach(self, names):
        """Looks them up; OSError if one is out of reach. It need not be there."""
        for name in filter(None, names):
            try:
                os.lstat(self.path(name))
            except FileNotFoundError:
                pass

    def find_broken(self, names):
        """Has the volume broken one of these names? So it has if it fails there, below utf8fs, by the error that it fails
        by here. Such names are given up."""
        found = False
        for name in filter(None, names):
            error = broken.error_at(self.path(name))
            if error in broken.BROKEN and name not in self.broken:
                failed, listed = broken.told_below(self.below, {os.fsencode(name), *self.spellings.get(name, ())})
                if error in failed.values():
                    self.broken[name] = {"error": error, "below": failed, "listed below": listed}
                    self.owned.pop(name, None)
                    found = True
        return found

    def turns_out_broken(self, name):
        """Is a name out of reach, does it stay so, and was it the volume that broke it?"""
        begun, end = time.monotonic_ns(), time.monotonic() + broken.PATIENCE
        while error := broken.error_at(self.path(name)):
            if time.monotonic() > end:
                if found := self.find_broken([name]):
                    self.note("reach", name, begun, "broken", error=error, broken={name: self.broken[name]})
                return found
            time.sleep(0.1)
        return False

    def is_ours(self, name):
        """Is there an entry with our mark, however it is spelt?"""
        try:
            found = os.lstat(self.path(self.any_spelling(name)))
            if stat.S_ISLNK(found.st_mode):
                return os.readlink(self.path(name)).startswith(b"made-by-%d" % self.host)
        except FileNotFoundError:
            return False
        return found.st_mode & 7 == self.host

    def make(self, kind, path):
        if kind == "file":
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 + self.host))
        elif kind == "directory":
            os.mkdir(path, 0o700 + self.host)
        elif kind == "symlink":
            os.symlink(b"made-by-%d-%d" % (self.host, self.serial), path)
        else:
            os.link(self.path(self.source), path)

    def claim(self, name, kind, spelling):
        self.serial += 1
        made = self.attempt(
            "claim", name, lambda: self.make(kind, self.path(spelling)), {errno.EEXIST}, lambda: self.is_ours(name),
            [self.source] if kind == "link" else [], kind=kind, spelling=spelling.hex(),
        )
        if made == "ok":
            self.owned[name] = kind
        return made == "ok"

    def release(self, name):
        remove = os.rmdir if self.owned[name] == "directory" else os.unlink
        spelling = self.any_spelling(name)
        gone = self.attempt(
            "release", name, lambda: remove(self.path(spelling)), settle=lambda: not self.is_ours(name),
            spelling=spelling.hex(),
        )
        if gone == "ok":
            del self.owned[name]

    def own_name(self, what):
        """A name that nobody else wants, and its spellings."""
        self.serial += 1
        name = f"own-{self.host}-{what}-{self.serial}-\u00e9"
        self.spellings[name] = [name.encode(), unicodedata.normalize("NFD", name).encode(), name.encode("iso-8859-1")]
        return name

    def move(self, name):
        """Gives an entry of ours another name, which nobody else wants."""
        new = self.own_name("moved")
        old, spelling, kind = self.any_spelling(name), self.any_spelling(new), self.owned[name]

        def is_moved():
            return self.is_ours(new) if name in self.broken else not self.is_ours(name)

        moved = self.attempt(
            "move", name, lambda: os.rename(self.path(old), self.path(spelling)), settle=is_moved, others=[new],
            to=new, spelling=old.hex(),
        )
        if moved == "ok":
            self.owned.pop(name, None)
            if new not in self.broken:
                self.owned[new] = kind

    def respell(self, name):
        """Renames an entry of ours to another spelling of its own name, which changes nothing."""
        old, new = self.path(self.any_spelling(name)), self.path(self.any_spelling(name))
        self.attempt("respell", name, lambda: os.rename(old, new), spelling=new.hex())

    def replace(self):
        """Puts a file in the place of whatever has the name."""
        self.serial += 1
        whole = [name for name in self.put if name not in self.broken]
        if not whole:
            return
        name, own = self.random.choice(whole), f"own-{self.host}-new-{self.serial}"
        token = f"{self.host}-{self.serial}"

        def write():
            with open(self.path(own), "wb") as file:
                file.write(token.encode())

        def is_written():
            try:
                with open(self.path(own), "rb") as file:
                    if file.read() == token.encode():
                        return True
                os.unlink(self.path(own))
            except FileNotFoundError:
                pass
            return False

        if self.attempt("write", own, write, settle=is_written) != "ok":
            return
        spelling = self.any_spelling(name)
        put = self.attempt(
            "put", name, lambda: os.rename(self.path(own), self.path(spelling)), settle=lambda: not is_written(),
            others=[own], token=token, spelling=spelling.hex(),
        )
        if put != "ok" and own not in self.broken:
            # Not `ours` by its mark, so that it goes.
            self.attempt("remove", own, lambda: os.unlink(self.path(own)), {errno.ENOENT})

    def look(self):
        """Lists all, and looks ours up by other spellings."""
        found = []

        def read():
            found[:] = os.listdir(self.view)

        if self.attempt("list", "", read) != "ok":
            return
        doubled = {name for name in found if found.count(name) > 1} if len(set(found)) < len(found) else set()
        missing = [name for name in self.owned if os.fsencode(name) not in set(found)]
        missing = [name for name in missing if not self.turns_out_broken(name)]
        if doubled or missing:
            raise Wrong(f"a list has {doubled} twice, and lacks {missing}")
        for name in self.random.sample(sorted(self.owned), min(2, len(self.owned))):
            spelling = self.path(self.any_spelling(name))
            self.attempt("look", name, lambda spelling=spelling: os.lstat(spelling), spelling=spelling.hex())

    def race(self):
        """Claims the name that the other host claims at this moment; who has it gives it up when both have tried."""
        self.races += 1
        number, other = self.races, 3 - self.host
        name = self.raced[number % len(self.raced)]
        self.post(ENTERED, number)
        end = time.monotonic() + RACE_PATIENCE
        while self.posted(ENTERED, other) < number and not self.is_alone() and time.monotonic() < end:
            pass
        won = name not in self.broken and self.claim(name, self.any_kind(), self.any_spelling(name))
        self.post(LEFT, number)
        while self.posted(LEFT, other) < number and not self.is_alone() and time.monotonic() < end:
            time.sleep(0.0002)
        if won:
            self.release(name)

    def any_kind(self):
        return self.random.choice([kind for kind in KINDS if kind != "link" or self.source not in self.broken])

    def step(self):
        free = [name for name in self.contested if name not in self.owned and name not in self.broken]
        wanted = self.random.choices(
            ("claim", "release", "move", "respell", "replace", "look", "symlink"), (43, 24, 5, 4, 6, 3, 3)
        )[0]
        if wanted == "look":
            self.look()
        elif wanted == "replace":
            self.replace()
        elif wanted == "symlink":
            name = self.own_name("link")
            self.claim(name, "symlink", self.any_spelling(name))
        elif wanted == "claim" and free:
            name = self.random.choice(free)
            self.claim(name, self.any_kind(), self.any_spelling(name))
        elif self.owned:
            name = self.random.choice(sorted(self.owned))
            {"move": self.move, "respell": self.respell}.get(wanted, self.release)(name)

    # Commands.

    def run(self, count):
        """Does so many operations more."""
        self.goal = self.count + count
        self.post(AWAY, 0)
        while self.count < self.goal:
            self.pause()
            self.step()
            # Both come by here equally often, whatever they did in between.
            if self.count >= 12 * (self.races + 1):
                self.race()
        self.post(AWAY, 1)
        return {"owned": self.owned, "count": self.count}

    def pause(self):
        if self.posted(*PAUSE):
            self.post(AWAY, 1)
            while self.posted(*PAUSE):
                time.sleep(0.01)
            self.post(AWAY, 0)

    def prepare(self):
        self.attempt("write", self.source, lambda: self.make("file", self.path(self.source)))
        return {}

    def act(self, what, spelling, kind="file"):
        """One operation that is told; for changes that the other host is to see at once."""
        path = self.path(bytes.fromhex(spelling))
        try:
            if what == "make":
                self.make(kind, path)
            elif what == "look":
                os.lstat(path)
            elif what == "remove":
                (os.rmdir if kind == "directory" else os.unlink)(path)
        except OSError as problem:
            return {"result": name_of(problem.errno)}
        return {"result": "ok"}

    def read(self, name):
        """Kind, mark and contents."""
        status = os.lstat(self.path(name))
        content = None
        if stat.S_ISREG(status.st_mode):
            content = pathlib.Path(os.fsdecode(self.path(name))).read_bytes().hex()
        return [stat.S_IFMT(status.st_mode), status.st_mode & 7, content]

    def entry(self, name):
        """The same; None if the volume broke the name."""
        if os.fsdecode(name) in self.broken:
            return None
        try:
            return self.read(name)
        except OSError as problem:
            if problem.errno not in LOST:
                raise
        return None if self.turns_out_broken(os.fsdecode(name)) else self.read(name)

    def list(self):
        found = {}
        for name in os.listdir(self.view):
            found.setdefault(name.hex(), []).append(self.entry(name))
        return {"names": found}

    def lock(self, name):
        """Locks a file, which it makes, for as long as this process lives; says how long that took."""
        begun = time.monotonic()
        self.locked = os.open(self.path(name), os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.lockf(self.locked, fcntl.LOCK_EX)
        return {"seconds": time.monotonic() - begun}

    def try_lock(self, name):
        descriptor = os.open(self.path(name), os.O_RDWR)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            return {"result": name_of(problem.errno)}
        finally:
            os.close(descriptor)
        return {"result": "ok"}


def respect_modes():
    """Gives up what lets root pass over modes (capabilities(7): CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH). So nothing is taken for
    the view that is only the directory it is mounted on, which has no mode at all, before a daemon that was killed is replaced."""
    libc = ctypes.CDLL(None, use_errno=True)
    # capget(2): _LINUX_CAPABILITY_VERSION_3, and this process; then effective, permitted, inheritable, twice 32 bits of each.
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(header, data) == 0:
        data[0] &= ~(1 << 1 | 1 << 2)
        if libc.capset(header, data) == 0:
            return
    raise OSError(ctypes.get_errno(), "capabilities cannot be given up")


def main():
    os.umask(0)
    respect_modes()
    host = Host(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        try:
            answer = getattr(host, command)(*arguments)
        except Wrong as wrong:
            answer = {"wrong": str(wrong)}
        except OSError as problem:
            answer = {"wrong": f"{command} {arguments}: {problem}"}
        print(json.dumps(answer), flush=True)


main()
