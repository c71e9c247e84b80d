# Changes the content of $BELOW/file, and waits until that is seen at $PLACE; not at all where $WHEN is "at once" and the kernel asks
# before it reads.
import mmap, os

above, below = (os.environ[where] + "/file" for where in ("PLACE", "BELOW"))
at_once = os.environ["WHEN"] == "at once"
number = 0


def until(right):
    while not right():
        os.sched_yield()


def see(content, *readers):
    for read in readers:
        if at_once:
            assert read() == content, (read(), content)
        else:
            until(lambda: read() == content)


def change(later=0, then=lambda: None):
    """Overwrites the file with as much; after `then` its mtime is that of before, or so many seconds `later`."""
    global number
    number += 1
    content = b"%08d" % number
    times = os.stat(below)
    file = os.open(below, os.O_WRONLY)
    os.pwrite(file, content, 0)
    os.close(file)
    then()
    os.utime(below, ns=(times.st_atime_ns, times.st_mtime_ns + later * 10**9))
    return content


def by_name():
    with open(above, "rb") as file:
        return file.read(8)


with open(below, "wb") as file:
    file.write(b"a" * 8192)
see(b"a" * 8, by_name, by_name)
# What is opened has the content of that moment, also where the mtime was put back.
see(change(), by_name)
for learn in (os.stat, lambda path: os.listdir(os.path.dirname(path))):
    content = change()
    learn(above)
    see(content, by_name)
see(change(then=lambda: os.stat(above)), by_name)
see(change(then=by_name), by_name)
# Also where the clock of the filesystem stands still meanwhile.
for _ in range(200 if at_once else 2):
    see(change(), by_name)

# What is open already has it where size or mtime tell of it.
held = os.open(above, os.O_RDONLY)
by_handle = lambda: os.pread(held, 8, 0)
see(change(1), by_handle)
see(change(1, by_handle), by_handle, by_name)
with open(below, "ab") as file:
    file.write(b"more")
os.truncate(below, 8192)
see(change(1), by_handle)

# Who reads by a mapping asks nobody: it has what others have asked for.
mapped = mmap.mmap(held, 8192, prot=mmap.PROT_READ)
by_mapping = lambda: (os.stat(above), mapped[:8])[1]
until(lambda: by_mapping() == by_handle())
content = change(1)
until(lambda: by_mapping() == content)
os.truncate(below, 0)
os.truncate(below, 8192)
os.utime(below, ns=(0, 0))
until(lambda: by_mapping() == bytes(8))
see(bytes(8), by_handle, by_name)

# What is written above stays, also where it is still on its way when something changes below.
file = os.open(above, os.O_RDWR)
with mmap.mmap(file, 8192) as written:
    for round in range(20):
        content = b"mine %03d" % round
        written[4096:4104] = content
        times = os.stat(below)
        os.utime(below, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert os.pread(file, 8, 4096) == content
        assert os.fstat(file).st_size == 8192
        assert os.pread(file, 8, 4096) == content
os.close(file)
with open(below, "rb") as file:
    assert file.read()[4096:4104] == content
print("seen")
