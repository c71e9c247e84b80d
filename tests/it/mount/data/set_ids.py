# What writing does to set-id bits and file capabilities, by whom and how, in $PLACE, which lies over $BELOW. Prints the
# mode and whether a capability is left, seen from $PLACE and below.
import os

place, below = os.environ["PLACE"], os.environ["BELOW"]
NET_RAW = bytes.fromhex("0100000200200000000000000000000000000000")


def opened(flags, act):
    def do(path):
        file = os.open(path, flags)
        act(file)
        os.close(file)

    return do


def copy(file):
    source = os.open(os.path.join(place, "source"), os.O_RDONLY)
    os.copy_file_range(source, file, 10, 0, 0)


def direct(file):
    import mmap

    os.pwritev(file, [mmap.mmap(-1, mmap.PAGESIZE)], 0)


WAYS = {
    "write": opened(os.O_WRONLY, lambda file: os.write(file, b"x")),
    "rewrite": opened(os.O_RDWR, lambda file: [os.pwrite(file, b"x", 0) for _ in range(3)]),
    "append": opened(os.O_WRONLY | os.O_APPEND, lambda file: os.write(file, b"x")),
    "direct": opened(os.O_WRONLY | os.O_DIRECT, direct),
    "ftruncate": opened(os.O_WRONLY, lambda file: os.ftruncate(file, 5)),
    "truncate": lambda path: os.truncate(path, 5),
    "grow": lambda path: os.truncate(path, 5000),
    "O_TRUNC": opened(os.O_WRONLY | os.O_TRUNC, lambda file: None),
    "fallocate": opened(os.O_WRONLY, lambda file: os.posix_fallocate(file, 0, 9000)),
    "copy_file_range": opened(os.O_WRONLY, copy),
    "read": opened(os.O_RDONLY, lambda file: os.read(file, 10)),
    "nothing": opened(os.O_RDWR, lambda file: None),
}


def has_capability(path):
    try:
        return os.getxattr(path, "security.capability") == NET_RAW
    except OSError:
        return False


def prepare(path, mode, uid, capability):
    if os.path.lexists(path):
        os.unlink(path)
    with open(path, "wb") as file:
        file.write(b"program" * 100)
    os.chown(path, uid, 1)
    os.chmod(path, mode)
    if capability:
        os.setxattr(path, "security.capability", NET_RAW)


def as_user(uid, groups, act):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if uid != 0:
                os.setgroups(groups)
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
            act()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


with open(os.path.join(place, "source"), "wb") as file:
    file.write(b"y" * 100)
os.chmod(os.path.join(place, "source"), 0o644)
name = "file"
above, there = os.path.join(place, name), os.path.join(below, name)
# Another program reads the file meanwhile, so that it was opened before by somebody else.
for readers in (False, True):
    for how, act in WAYS.items():
        for uid, groups in ((0, []), (65534, []), (65534, [1])):
            for mode in (0o755, 0o4777, 0o2777, 0o6777, 0o2767):
                for capability in (False, True):
                    prepare(above, mode, 0, capability)
                    held = os.open(above, os.O_RDONLY) if readers else None
                    if held is not None:
                        os.read(held, 1)
                    os.chmod(above, mode | 0o022)
                    status = as_user(uid, groups, lambda: act(above))
                    seen = [(oct(os.stat(path).st_mode), has_capability(path)) for path in (above, there)]
                    print(readers, how, uid, groups, oct(mode), capability, status, *seen)
                    if held is not None:
                        os.close(held)
