# Everything that programs do with the content of files, in $PLACE; what lies below it is in $BELOW. Prints what came of
# each, in lines that do not depend on where that is.
import errno, fcntl, hashlib, mmap, os, subprocess, time

place, below = os.environ["PLACE"], os.environ["BELOW"]
PAGE = mmap.PAGESIZE
path = lambda name: os.path.join(place, name)


def tell(what, act):
    try:
        print(what, act())
    except OSError as error:
        print(what, errno.errorcode[error.errno])


def same_as_below(name):
    above, there = os.stat(path(name)), os.stat(os.path.join(below, name))
    return all(
        getattr(above, field) == getattr(there, field)
        for field in ("st_size", "st_mtime_ns", "st_ctime_ns", "st_mode")
    )


def whole(read, size):
    """What `read` returns once that is `size` bytes. A change made below is seen in a second (law F5), ten of which are a failure: the kernel drops
    the new size where it is told to invalidate the inode while it asks for it (`fuse_change_attributes` in fs/fuse/inode.c)."""
    end = time.monotonic() + 10
    while len(found := read()) < size and time.monotonic() < end:
        time.sleep(0.01)
    return found


def aligned(size, fill):
    buffer = mmap.mmap(-1, size)
    buffer.write(fill * size)
    return buffer


def content(name):
    with open(path(name), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]


# Written, rewritten, grown, cut; the size and times are right at once.
f = os.open(path("f"), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o640)
tell("write", lambda: os.write(f, b"a" * 10000))
tell("  size", lambda: (os.fstat(f).st_size, same_as_below("f")))
tell("rewrite", lambda: os.pwrite(f, b"b" * 4096, 4096))
tell("  same", lambda: same_as_below("f"))
tell("grow", lambda: os.pwrite(f, b"c", 20000))
tell("  size", lambda: (os.stat(path("f")).st_size, same_as_below("f")))
tell("read hole", lambda: os.pread(f, 3, 15000))
tell("read end", lambda: os.pread(f, 100, 19999))
tell("read beyond", lambda: os.pread(f, 100, 30000))
tell("ftruncate", lambda: os.ftruncate(f, 12000))
tell("  size", lambda: (os.fstat(f).st_size, same_as_below("f"), os.lseek(f, 0, os.SEEK_END)))
tell("truncate", lambda: os.truncate(path("f"), 11000))
tell("  size", lambda: (os.fstat(f).st_size, same_as_below("f")))
tell("fsync", lambda: (os.fsync(f), os.fdatasync(f)))
tell("content", lambda: content("f"))

# Read-only, write-only, and what they do not allow.
r, w = os.open(path("f"), os.O_RDONLY), os.open(path("f"), os.O_WRONLY)
tell("write to read-only", lambda: os.write(r, b"x"))
tell("read from write-only", lambda: os.read(w, 1))
tell("ftruncate read-only", lambda: os.ftruncate(r, 0))
tell("write", lambda: os.write(w, b"write-only"))
tell("read", lambda: os.read(r, 10))
os.close(w)

# Appended to, also after somebody below did, and by fcntl.
a = os.open(path("f"), os.O_RDWR | os.O_APPEND)
tell("append", lambda: os.write(a, b"1" * 100))
b = os.open(os.path.join(below, "f"), os.O_WRONLY | os.O_APPEND)
os.write(b, b"2" * 50)
tell("append after", lambda: os.write(a, b"3" * 7))
tell("  below", lambda: os.fstat(b).st_size)
tell("tail", lambda: whole(lambda: os.pread(r, 57, os.fstat(b).st_size - 57), 57))
s = os.open(path("f"), os.O_WRONLY)
fcntl.fcntl(s, fcntl.F_SETFL, os.O_APPEND)
tell("append by fcntl", lambda: os.write(s, b"4"))
fcntl.fcntl(s, fcntl.F_SETFL, 0)
tell("no more", lambda: os.pwrite(s, b"5", 0))
os.close(s)
tell("content", lambda: content("f"))
os.close(a)
os.close(b)

# O_TRUNC, with the file open elsewhere.
t = os.open(path("f"), os.O_WRONLY | os.O_TRUNC)
tell("O_TRUNC", lambda: (os.fstat(t).st_size, os.fstat(f).st_size, os.pread(r, 10, 0), same_as_below("f")))
os.write(t, b"new")
tell("  then", lambda: (os.pread(r, 10, 0), content("f")))
os.close(t)

# Mapped, shared and private.
m = os.open(path("m"), os.O_RDWR | os.O_CREAT, 0o600)
os.write(m, b"m" * (3 * PAGE))
shared = mmap.mmap(m, 3 * PAGE)
private = mmap.mmap(m, 3 * PAGE, mmap.MAP_PRIVATE)
shared[PAGE : PAGE + 4] = b"mmap"
tell("read what was mapped", lambda: os.pread(m, 6, PAGE - 1))
os.pwrite(m, b"write", 0)
tell("mapped what was written", lambda: shared[:6])
private[2 * PAGE : 2 * PAGE + 4] = b"mine"
tell("private", lambda: os.pread(m, 4, 2 * PAGE))
shared.flush()
with open(os.path.join(below, "m"), "rb") as file:
    tell("below", lambda: hashlib.sha256(file.read()).hexdigest()[:16])
read_only = os.open(path("m"), os.O_RDONLY)
tell("map read-only for writing", lambda: mmap.mmap(read_only, PAGE) and "mapped")
os.ftruncate(m, 4 * PAGE)
os.pwrite(m, b"grown", 3 * PAGE)
grown = mmap.mmap(m, 4 * PAGE)
tell("grown", lambda: grown[3 * PAGE : 3 * PAGE + 5])
for each in (shared, private, grown):
    each.close()
tell("content", lambda: content("m"))

# O_DIRECT, beside buffers.
try:
    d = os.open(path("d"), os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
    buffer = aligned(4 * PAGE, b"d")
    tell("direct write", lambda: os.pwritev(d, [buffer], 0))
    c = os.open(path("d"), os.O_RDWR)
    os.pwrite(c, b"cached", PAGE)
    tell("direct read", lambda: (os.preadv(d, [buffer], 0), buffer[PAGE : PAGE + 7]))
    tell("  same", lambda: same_as_below("d"))
    os.pwritev(d, [aligned(PAGE, b"e")], 2 * PAGE)
    tell("cached read", lambda: os.pread(c, 2, 2 * PAGE - 1))
    tell("content", lambda: content("d"))
except OSError as error:
    print("O_DIRECT", errno.errorcode[error.errno])

# Holes.
h = os.open(path("h"), os.O_RDWR | os.O_CREAT, 0o600)
os.pwrite(h, b"h" * 65536, 0)
os.pwrite(h, b"h" * 65536, 1 << 20)
for offset in (0, 100000, 1 << 20):
    tell("data", lambda: os.lseek(h, offset, os.SEEK_DATA))
    tell("hole", lambda: os.lseek(h, offset, os.SEEK_HOLE))
tell("data beyond", lambda: os.lseek(h, 2 << 20, os.SEEK_DATA))
fallocate = lambda *how: subprocess.run(["fallocate", *how, path("h")], stderr=subprocess.DEVNULL).returncode
tell("punch", lambda: fallocate("-p", "-o", "16384", "-l", "16384"))
tell("  hole", lambda: (os.lseek(h, 0, os.SEEK_HOLE), os.pread(h, 2, 16383), same_as_below("h")))
tell("zero", lambda: fallocate("-z", "-o", "0", "-l", "4096"))
tell("  zeroed", lambda: os.pread(h, 2, 4095))
tell("keep size", lambda: (fallocate("-n", "-o", "0", "-l", "4194304"), os.fstat(h).st_size))
tell("posix_fallocate", lambda: (os.posix_fallocate(h, 0, 3 << 20), os.fstat(h).st_size, same_as_below("h")))
tell("content", lambda: content("h"))

# Copied by the kernel.
to = os.open(path("to"), os.O_RDWR | os.O_CREAT, 0o600)
tell("copy_file_range", lambda: os.copy_file_range(h, to, 100000, 0, 500))
tell("  same", lambda: (os.fstat(to).st_size, same_as_below("to")))
tell("copy onto", lambda: os.copy_file_range(h, to, 10, 0, 10))
tell("copy to read-only", lambda: os.copy_file_range(h, read_only, 10, 0, 10))
tell("sendfile", lambda: os.sendfile(to, h, 0, 9000))
reader, writer = os.pipe()
tell("splice", lambda: (os.splice(h, writer, 30, offset_src=0), os.read(reader, 100)))
tell("content", lambda: content("to"))

# Without a name.
u = os.open(path("u"), os.O_RDWR | os.O_CREAT, 0o600)
os.write(u, b"unlinked")
os.unlink(path("u"))
tell("unlinked", lambda: (os.fstat(u).st_nlink, os.pread(u, 20, 0), os.write(u, b"+"), os.fstat(u).st_size))
n = os.open(path("u"), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
tell("made again", lambda: (os.fstat(n).st_size, os.pread(n, 20, 0), os.pread(u, 20, 0)))

# Times of reading and writing, and files that others may not write.
os.utime(path("to"), ns=(1, 1))
os.pread(to, 1, 0)
os.pwrite(to, b"!", 0)
tell("times", lambda: (os.fstat(to).st_mtime_ns > 1, same_as_below("to")))
os.chmod(path("to"), 0o400)
tell("open read-only file", lambda: os.close(os.open(path("to"), os.O_RDONLY)))
tell("vectors", lambda: (os.pwritev(h, [b"1", b"22", b"333"], 5), os.pread(h, 8, 4)))
