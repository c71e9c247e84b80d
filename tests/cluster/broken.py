"""Who broke a name: the volume, or utf8fs above it? The volume itself is asked, through the mount that utf8fs lies on.

A name that the volume broke fails by one error above and below. One that fails above alone is none.
"""

import errno
import os

# What a daemon that is dead, or a link that is cut, makes of an operation: it may have been done or not.
# EBADFD is what GlusterFS makes of a directory that was opened before the cut and is read after it, EACCES is the mount point
# between the mount of the dead daemon and the next.
LOST = {errno.ENOTCONN, errno.EIO, errno.EROFS, errno.ETIMEDOUT, errno.ECONNABORTED, errno.ESTALE, errno.ENODEV}
LOST |= {errno.EBADFD, errno.EACCES}
# The errors that a name can go on giving because the volume broke it.
BROKEN = {"ENOTCONN", "EIO"}
# So many seconds a name is out of reach, while its directory takes and gives others, before the volume is asked.
PATIENCE = 20


def name_of(number):
    return errno.errorcode.get(number, str(number))


def error_at(path):
    """The error, of those of faults, by which an entry cannot be looked up; None if it can be, or there is none."""
    try:
        os.lstat(path)
    except OSError as problem:
        if problem.errno in LOST:
            return name_of(problem.errno)
    return None


def told_below(directory, spellings):
    """What the volume says of a name, by each spelling that it could have there: those that fail, with the error, and those
    that its directory lists."""
    failed = {spelling.hex(): error_at(directory + b"/" + spelling) for spelling in spellings}
    try:
        listed = set(spellings) & set(os.listdir(directory))
    except OSError:
        listed = set()
    return {spelling: error for spelling, error in failed.items() if error}, sorted(map(bytes.hex, listed))
