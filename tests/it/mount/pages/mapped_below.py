# Changes $BELOW/file by a mapping, which need not change any of its times, and waits until that is seen at $PLACE.
import mmap, os, time

above, below = (os.environ[where] + "/file" for where in ("PLACE", "BELOW"))
file = os.open(below, os.O_RDWR | os.O_CREAT)
os.truncate(below, 4096)
written = mmap.mmap(file, 4096)
written[:5] = b"first"
held = os.open(above, os.O_RDONLY)
mapped = mmap.mmap(held, 4096, prot=mmap.PROT_READ)


def by_name():
    with open(above, "rb") as file:
        return file.read(5)


readers = [by_name, lambda: os.pread(held, 5, 0), lambda: mapped[:5]]
while any(read() != b"first" for read in readers):
    os.sched_yield()
# Once a change would give it another ctime, and all who could have noticed that it was just made have.
while time.time() < os.stat(below).st_ctime + 4:
    time.sleep(0.05)
    assert all(read() == b"first" for read in readers)
written[:5] = b"later"
while any(read() != b"later" for read in readers):
    time.sleep(0.05)
print("seen")
