"""Who is measured: utf8fs, its peers, and the bare filesystem; how each is mounted, watched and ended."""

import contextlib
import ctypes
import dataclasses
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import time

PR_SET_PDEATHSIG = 1
RINGS = pathlib.Path("/sys/module/fuse/parameters/enable_uring")
# Who mounts and works where an ordinary user does.
USER = 65534


class Unusable(Exception):
    """A contestant does not mount, or ended by itself."""


@dataclasses.dataclass(frozen=True)
class Contestant:
    """A way to see a directory. The command stays in the foreground; `{src}` and `{mnt}` are filled in."""

    key: str
    title: str
    command: tuple = ()
    package: str = ""  # of Debian
    version: str = ""

    def shown(self):
        """The command as documents show it: the program without its directory, BACKING and MOUNTPOINT."""
        words = [os.path.basename(self.command[0]), *self.command[1:]]
        return shlex.join(words).replace("'", "").replace("{src}", "BACKING").replace("{mnt}", "MOUNTPOINT")


NATIVE = Contestant("native", "native")

PEERS = (
    Contestant("bindfs", "bindfs", ("bindfs", "-f", "{src}", "{mnt}"), "bindfs"),
    Contestant("bindfs-user", "bindfs", ("bindfs", "-f", "--no-allow-other", "{src}", "{mnt}"), "bindfs"),
    Contestant("bindfs-mt", "bindfs -mt", ("bindfs", "-f", "--multithreaded", "{src}", "{mnt}"), "bindfs"),
    Contestant(
        "convmvfs",
        "convmvfs",
        ("convmvfs", "-f", "-o", "srcdir={src},icharset=ISO-8859-1,ocharset=UTF-8", "{mnt}"),
        "fuse-convmvfs",
    ),
    Contestant("mergerfs", "mergerfs", ("mergerfs", "-f", "{src}", "{mnt}"), "mergerfs"),
)


def ours(program, further):
    """utf8fs as it is by default, without rings, with old names decoded, with its names policy off, and with the strictest; all with these further options."""
    mount = (str(program), "mount", *further)
    off = ("--legacy", "raw", "--on-violation", "report", "--quiet")
    strict = ("--profile", "portable", "--normalization", "nfc", "--from", "iso-8859-1")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()
    version = said[1] if len(said) > 1 else "?"
    return tuple(
        Contestant(key, title, (*mount, *options, "{src}", "{mnt}"), version=version)
        for key, title, options in (
            ("utf8fs", "utf8fs", ()),
            ("utf8fs-device", "utf8fs, no rings", ("--uring", "off")),
            ("utf8fs-latin1", "utf8fs", ("--from", "iso-8859-1")),
            ("utf8fs-off", "policy off", off),
            ("utf8fs-strict", "policy strict", strict),
        )
    )


def peers(libfuse, install):
    """The peers that are there, after an attempt to install those that Debian carries."""
    missing = sorted({peer.package for peer in PEERS if shutil.which(peer.command[0]) is None})
    if missing and install and shutil.which("apt-get"):
        quiet = dict(stdout=subprocess.DEVNULL, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
        subprocess.run(["apt-get", "update", "-qq"], check=False, **quiet)
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]
        subprocess.run(command, check=False, **quiet)
    found = [
        dataclasses.replace(peer, version=package_version(peer.package))
        for peer in PEERS
        if shutil.which(peer.command[0])
    ]
    if libfuse:
        program = pathlib.Path(libfuse, "example", "passthrough_hp").absolute()
        if not os.access(program, os.X_OK):
            raise SystemExit(f"bench: there is no {program}; --libfuse takes a build directory of libfuse")
        command = (str(program), "--foreground", "{src}", "{mnt}")
        version = libfuse_version(libfuse)
        found.append(Contestant("passthrough_hp", "passthrough_hp", command, version=version))
        if rings():
            command = (str(program), "--foreground", "-o", "io_uring", "{src}", "{mnt}")
            found.append(Contestant("passthrough_hp-rings", "passthrough_hp, rings", command, version=version))
    return found


def rings():
    """Does the kernel offer rings (FUSE over io_uring)?"""
    try:
        return RINGS.read_text().startswith("Y")
    except OSError:
        return False


@contextlib.contextmanager
def rings_on():
    """Has the kernel offer rings meanwhile, where it can."""
    before = rings()
    try:
        if not before and RINGS.exists():
            RINGS.write_text("Y")
        yield
    finally:
        if not before and rings():
            RINGS.write_text("N")


def package_version(package):
    command = ["dpkg-query", "--show", "--showformat=${Version}", package]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "?"
    return said.stdout.strip() or "?"


def libfuse_version(build):
    try:
        facts = json.loads(pathlib.Path(build, "meson-info", "intro-projectinfo.json").read_text())
        return f"libfuse {facts['version']}"
    except (OSError, ValueError, KeyError):
        return "libfuse"


def process_cpu_ns(pid):
    """CPU time of a process and of all its threads, ended ones too; None where there is no such process.

    The clock id of another process is made as clock_getcpuclockid(3) makes it.
    """
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)
    except OSError:
        return None


def is_mounted(mountpoint):
    """Is a filesystem mounted there? Asks the kernel alone: root is not let into a user's."""
    table = pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    return any(line.split()[4] == str(mountpoint) for line in table.splitlines())


def become_user():
    """Makes this process that of an ordinary user."""
    os.setgroups([])
    os.setgid(USER)
    os.setuid(USER)


class Mounted:
    """A contestant over a directory, mounted by root or by an ordinary user. Leaving the context unmounts it, whatever happened."""

    def __init__(self, contestant, source, mountpoint, log, cpus=None, user=False):
        self.contestant, self.source, self.mountpoint, self.log = contestant, source, mountpoint, log
        self.cpus, self.user, self.process = cpus, user, None
        # What each process used when it was last looked at, since helpers of a daemon may end.
        self.used = {}

    @property
    def directory(self):
        return self.mountpoint if self.contestant.command else self.source

    def __enter__(self):
        if self.contestant.command:
            try:
                self.start()
            except BaseException:
                self.stop()
                raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        command = [word.format(src=self.source, mnt=self.mountpoint) for word in self.contestant.command]
        parent = os.getpid()
        libc = ctypes.CDLL(None)

        def prepare():
            # Should the benchmark be killed, its daemons unmount and end.
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:
                os._exit(1)
            if self.cpus:
                os.sched_setaffinity(0, self.cpus)
            if self.user:
                become_user()
                # Given up with the rights of root.
                libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)

        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=prepare
        )
        for _ in range(1000):
            if self.process.poll() is not None:
                raise Unusable(f"{self.contestant.key} ended with {self.process.returncode} instead of mounting")
            if is_mounted(self.mountpoint):
                return
            time.sleep(0.01)
        raise Unusable(f"{self.contestant.key} has not mounted within 10 s")

    def stop(self):
        if self.process is None:
            return
        for _ in range(100):
            if not is_mounted(self.mountpoint):
                break
            if subprocess.run(["umount", self.mountpoint], stderr=subprocess.DEVNULL, check=False).returncode == 0:
                break
            time.sleep(0.05)
        else:
            subprocess.run(["umount", "--lazy", self.mountpoint], check=False)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None
        self.used = {}

    def processes(self):
        """The daemon and all that it has started."""
        found, look_at = [], [self.process.pid] if self.process else []
        while look_at:
            pid = look_at.pop()
            found.append(pid)
            for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
                try:
                    look_at.extend(int(child) for child in children.read_text().split())
                except OSError:
                    continue
        return found

    def cpu_ns(self):
        """CPU time that the daemon and its helpers have used since they were started."""
        for pid in self.processes():
            used = process_cpu_ns(pid)
            if used is not None:
                self.used[pid] = used
        return sum(self.used.values())

    def settled_cpu_ns(self):
        """The same, once it has done what it puts off: forgetting inodes, hearing of changes. Waits 2 s at most."""
        before = self.cpu_ns()
        if self.process is None:
            return before
        for _ in range(100):
            time.sleep(0.02)
            now = self.cpu_ns()
            if now - before < 100_000:
                return now
            before = now
        return before

    def memory(self):
        """Private memory of the daemon and its helpers in bytes."""
        total = 0
        for pid in self.processes():
            for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("RssAnon:"):
                    total += int(line.split()[1]) * 1024
        return total
