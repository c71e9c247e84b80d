"""What is measured: suites of chunks of steps.

Each chunk begins with a fresh mount, so that the kernel knows nothing of the files through it; the steps of a chunk follow each
other, so that a second one finds what the first has brought. All contestants do one chunk before any does the next.
"""

import dataclasses

MIB = 1 << 20


@dataclasses.dataclass(frozen=True)
class Step:
    """One thing that is timed (or, with no title, only done): work of the load generator, or a shell command in `{dir}`."""

    key: str
    title: str = ""
    work: str = ""
    numbers: tuple = ()  # of pairs, for the load generator
    shell: str = ""
    cold: bool = False  # what the kernel knows of names and inodes is dropped before


@dataclasses.dataclass(frozen=True)
class Suite:
    key: str
    title: str
    chunks: tuple
    contestants: tuple
    pinned: bool
    rounds: int
    on_disk: bool = False
    shared: bool = False  # all contestants show one directory, which none changes
    user: bool = False  # an ordinary user mounts and works


def load(key, title, work, **numbers):
    return Step(key, title, work, tuple(numbers.items()))


def cold(key, title, work, **numbers):
    return dataclasses.replace(load(key, title, work, **numbers), cold=True)


def warm(files):
    """A stat of all files that is not measured, so that their names are known."""
    return load("warm", "", "stat", files=files)


SINGLE = ("native", "utf8fs", "bindfs", "convmvfs", "mergerfs", "passthrough_hp")
# Those that differ by how requests come.
RINGS = ("utf8fs-device", "passthrough_hp-rings")


def metadata(files, rounds):
    chunks = (
        (load("create", "create and close", "create", files=files),),
        (
            load("stat-first", "stat, first time", "stat", files=files),
            load("stat-again", "stat again", "stat", files=files, passes=5),
        ),
        (
            load("absent-first", "absent name, first time", "absent", files=files),
            load("absent-again", "absent name again", "absent", files=files, passes=5),
        ),
        (load("list", "list names", "list", files=files),),
        (
            load("long-first", "ls -l, first time", "list-long"),
            load("long-again", "ls -l again", "list-long", passes=5),
        ),
        (warm(files), load("open", "open and close", "open", files=files)),
        (
            warm(files),
            load("rename", "rename", "rename", files=files),
            load("unlink", "unlink", "unlink", files=files),
        ),
        (
            load("mkdir", "mkdir", "mkdir", files=files // 2),
            load("rmdir", "rmdir", "rmdir", files=files // 2),
        ),
    )
    return Suite("metadata", "Metadata", chunks, SINGLE + RINGS, True, rounds)


def changes(files):
    """What one client does to names, each kind of it in a chunk of its own."""
    return (
        (load("create", "create and close", "create", files=files),),
        (
            warm(files),
            load("rename", "rename", "rename", files=files),
            load("unlink", "unlink", "unlink", files=files),
        ),
        (
            load("mkdir", "mkdir", "mkdir", files=files // 2),
            load("rmdir", "rmdir", "rmdir", files=files // 2),
        ),
    )


def free(files, rounds):
    create, *others = changes(files)
    chunks = (
        create,
        (load("stat-first", "stat, first time", "stat", files=files),),
        (load("absent-first", "absent name, first time", "absent", files=files),),
        (load("long-first", "ls -l, first time", "list-long"),),
        *others,
    )
    return Suite("free", "Metadata, scheduled freely", chunks, SINGLE + RINGS, False, rounds)


def user(files, rounds):
    contestants = ("native", "utf8fs", "bindfs-user")
    return Suite("user", "An ordinary user's mount", changes(files), contestants, True, rounds, user=True)


def slow(rounds):
    """A filesystem that takes 5 ms for each name, as one far away does."""
    chunks = (
        (cold("one", "stat, one client", "stat", files=64),),
        (cold("sixteen", "stat, 16 clients", "stat", files=1024, clients=16),),
    )
    return Suite("slow", "A slow backing filesystem", chunks, ("native", "utf8fs", "bindfs-mt", "passthrough_hp") + RINGS, False, rounds, shared=True)


def large(rounds):
    """A listing of one large directory, which is made below."""
    chunks = ((load("long-large", "ls -l of the large directory", "list-long"),),)
    return Suite("large", "A large directory", chunks, SINGLE, True, rounds, shared=True)


LEGACY_STEPS = (
    ("walk", "find -size", "find {tree} -size +1M"),
    ("long", "ls -lR", "ls -lR {tree} >/dev/null"),
    ("read", "read all files", "cat {tree}/*/* >/dev/null"),
)


def legacy(rounds):
    """The same tree twice, which is made below: with Latin-1 names, and with names that conform."""
    chunks = []
    for key, title, command in LEGACY_STEPS:
        for tree, names in (("legacy", "Latin-1 names"), ("clean", "UTF-8 names")):
            steps = [
                Step(f"{tree}-{key}-{when}", f"{title}, {names}, {word}", shell=command.format(tree=tree))
                for when, word in (("first", "first time"), ("again", "again"))
            ]
            chunks.append(tuple(steps))
    contestants = ("native", "utf8fs-latin1", "bindfs", "convmvfs")
    return Suite("legacy", "A tree of Latin-1 names", tuple(chunks), contestants, True, rounds, shared=True)


def policy(files, rounds):
    chunks = (
        (load("create", "create and close", "create", files=files),),
        (load("stat-first", "stat, first time", "stat", files=files),),
        (load("absent-first", "absent name, first time", "absent", files=files),),
        (load("long-first", "ls -l, first time", "list-long"),),
        (
            warm(files),
            load("open", "open and close", "open", files=files),
            load("rename", "rename", "rename", files=files),
            load("unlink", "unlink", "unlink", files=files),
        ),
    )
    return Suite("policy", "Names policy", chunks, ("utf8fs-off", "utf8fs", "utf8fs-strict"), True, rounds)


def parallel(key, files, rounds):
    """Four clients: `parallel` in one directory, `apart` each in its own."""
    numbers = dict(files=files, clients=4, own=int(key == "apart"))
    chunks = (
        (load("create", "create and close", "create", **numbers),),
        (load("stat-first", "stat, first time", "stat", **numbers),),
        (load("stat-warm", "", "stat", **numbers), load("open", "open and close", "open", **numbers)),
        (
            load("stat-warm", "", "stat", **numbers),
            load("rename", "rename", "rename", **numbers),
            load("unlink", "unlink", "unlink", **numbers),
        ),
    )
    contestants = ("native", "utf8fs", "bindfs", "bindfs-mt", "convmvfs", "mergerfs", "passthrough_hp") + RINGS
    title = "Four clients in directories of their own" if key == "apart" else "Four clients in one directory"
    return Suite(key, title, chunks, contestants, False, rounds)


def data(mib, count, rounds):
    bytes_, small = mib * MIB, max(mib // 8, 1) * MIB
    large_, kib4 = dict(bytes=bytes_, block=MIB), dict(bytes=bytes_, block=4096)
    chunks = (
        (load("write", "write 128 KiB, new file", "write", bytes=bytes_, block=MIB // 8),),
        (
            load("read-first", "read 128 KiB, first time", "read", bytes=bytes_, block=MIB // 8),
            load("read-again", "read 128 KiB again", "read", bytes=bytes_, block=MIB // 8, passes=2),
        ),
        (load("read-1m", "read 1 MiB", "read", passes=2, **large_),),
        (load("read-4k", "read 4 KiB", "read", **kib4),),
        (load("read-random", "read 4 KiB, random", "read-random", count=count, **kib4),),
        (load("rewrite-1m", "rewrite 1 MiB", "rewrite", **large_),),
        (load("write-random", "write 4 KiB, random", "write-random", count=count, **kib4),),
        (load("map-read", "mmap, read", "map-read", bytes=bytes_),),
        (load("map-write", "mmap, write", "map-write", bytes=small),),
        (
            load("rewrite-4k", "rewrite 4 KiB", "rewrite", bytes=small, block=4096),
            # What emptying a file costs is not to be counted, here nor there.
            load("empty", "", "empty"),
            load("append-4k", "append 4 KiB", "append", bytes=small, block=4096),
        ),
    )
    return Suite("data", "Data", chunks, SINGLE, True, rounds)


def walk(rounds):
    chunks = ((Step("walk", "find -size over the tree", shell="find . -size +1M"),),)
    return Suite("walk", "A walk of many files", chunks, SINGLE, True, rounds, shared=True)


def work(tar, repository, crates, rounds):
    """What people do, on the disk's filesystem. Without crates nothing is built."""
    git = "GIT_CONFIG_GLOBAL=/dev/null git"
    build = f"cd tree && CARGO_TARGET_DIR=target cargo build --quiet --locked --offline {crates}"
    chunks = [
        (Step("untar", "untar", shell=f"tar -xf {tar}"),),
        (Step("copy", "cp -a", shell="cp -a tree copy"),),
        (Step("clone", "git clone", shell=f"{git} clone --quiet --no-hardlinks {repository} clone"),),
        (
            Step("status-first", "git status, first time", shell=f"{git} -C clone status --porcelain", cold=True),
            Step("status-again", "git status again", shell=f"{git} -C clone status --porcelain"),
            Step("rest", shell="sleep 10"),
            Step("status-later", "git status after ten seconds", shell=f"{git} -C clone status --porcelain"),
        ),
        (Step("remove", "rm -rf", shell="rm -rf copy clone"),),
    ]
    if crates:
        chunks.insert(4, (Step("build", "cargo build", shell=build),))
    return Suite("work", "Real work", tuple(chunks), SINGLE + RINGS, False, rounds, on_disk=True)
