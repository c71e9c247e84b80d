"""usage: marks.py BELOW ABOVE SCRIPT. Prints for each kind of mark on each side how many events of the script it hears."""
import ctypes, os, select, struct, subprocess, sys

FAN_CLOEXEC, FAN_NONBLOCK, FAN_MARK_ADD, FAN_MARK_MOUNT, FAN_MARK_FILESYSTEM = 1, 2, 1, 0x10, 0x100
FAN_MODIFY, FAN_CLOSE_WRITE, FAN_OPEN, FAN_EVENT_ON_CHILD = 2, 8, 0x20, 0x08000000
AT_FDCWD = -100
libc = ctypes.CDLL(None, use_errno=True)
kinds = {"mount": FAN_MARK_MOUNT, "filesystem": FAN_MARK_FILESYSTEM, "directory": 0}
groups = {}
for side, path in zip(["below", "above"], sys.argv[1:3]):
    for kind, flag in kinds.items():
        group = libc.fanotify_init(FAN_CLOEXEC | FAN_NONBLOCK, os.O_RDONLY)
        mask = FAN_MODIFY | FAN_CLOSE_WRITE | FAN_OPEN | (FAN_EVENT_ON_CHILD if kind == "directory" else 0)
        if libc.fanotify_mark(group, FAN_MARK_ADD | flag, ctypes.c_uint64(mask), AT_FDCWD, os.fsencode(path)):
            sys.exit(f"{kind} {side}: {os.strerror(ctypes.get_errno())}")
        groups[f"{kind} {side}"] = group
subprocess.run(["sh", "-c", sys.argv[3]], check=True, stdout=subprocess.DEVNULL)
for name, group in groups.items():
    count = 0
    # What the script did was queued before its calls returned.
    while select.select([group], [], [], 0)[0]:
        events = os.read(group, 65536)
        while events:
            length, _, _, _, _, descriptor, _ = struct.unpack_from("=IBBHQii", events)
            if descriptor >= 0:
                os.close(descriptor)
            count, events = count + 1, events[length:]
    print(name, count)
