"""Run first in new namespaces: lets go of the utf8fs mounts that came along from outside, which would last as long as the copy
of them here, whatever was done to end them there. Argument: the namespace of mounts outside, as readlink(1) of /proc/self/ns/mnt."""

import os
import pathlib
import re
import subprocess
import sys

if os.readlink("/proc/self/ns/mnt") == sys.argv[1]:
    sys.exit("alone.py: these are the mounts of all")
# proc_pid_mountinfo(5), in octets as names are: the mount point is the fifth field; those between the sixth and the dash say
# whether the mount is shared.
for line in reversed(pathlib.Path("/proc/self/mountinfo").read_bytes().split(b"\n")[:-1]):
    fields = line.split(b" ")
    dash = fields.index(b"-")
    if fields[dash + 1] == b"fuse.utf8fs" and not any(field.startswith(b"shared:") for field in fields[6:dash]):
        point = re.sub(rb"\\([0-7]{3})", lambda octal: bytes([int(octal[1], 8)]), fields[4])
        # One below another is gone with it.
        subprocess.run([b"umount", b"-l", point], stderr=subprocess.DEVNULL)
