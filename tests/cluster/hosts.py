"""Hosts that are namespaces of this machine, a bridge between them, and a replicated GlusterFS volume on them.

A host has its own network, mounts, processes and name. Its first process is killed with us, whatever becomes of us, and with
it all others of the host, its mounts and its end of the wire: nothing outlives the last of them but the files in `place`.
"""

import ctypes
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)
# So long anything may take that is waited for.
PATIENCE = 120

# How soon a host that is gone is taken for dead, in seconds; 42 unless told otherwise, which is right in real life.
DEAD_AFTER = 5
# All that one host does is seen by the others at once, as `utf8fs mount --cache none` promises of itself: nothing is kept.
VOLUME_OPTIONS = {
    "network.ping-timeout": DEAD_AFTER,
    "client.tcp-user-timeout": DEAD_AFTER,
    "server.tcp-user-timeout": DEAD_AFTER,
    "performance.stat-prefetch": "off",
    "performance.quick-read": "off",
    "performance.open-behind": "off",
    "performance.write-behind": "off",
    # GlusterFS 10 heals a brick that was away by renaming what was removed into a hidden directory. Of a file that had several
    # names there only the first goes so, since rename(2) of two names of one file does nothing; the others cannot be looked up.
    "cluster.use-anonymous-inode": "no",
    # An attribute on the brick for each name of a file: ext4 has room for some thirty.
    "storage.gfid2path": "off",
}
MOUNT_OPTIONS = "entry-timeout=0,attribute-timeout=0,negative-timeout=0"


class Broken(Exception):
    """The cluster could not be set up, or does not answer."""


def until(what, true, patience=PATIENCE):
    """Waits until `true()` is, and gives what it gave."""
    end = time.monotonic() + patience
    while not (found := true()):
        if time.monotonic() > end:
            raise Broken(f"waited {patience} s in vain: {what}")
        time.sleep(0.05)
    return found


def die_with_us():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Space:
    """Namespaces of their own."""

    def __init__(self, name):
        self.name = name
        command = ["unshare", "--net", "--uts", "--mount", "--propagation", "private"]
        command += ["--pid", "--fork", "--kill-child=KILL", "--mount-proc"]
        command += ["sh", "-c", 'hostname "$1" && shift && "$@" && echo ready && exec sleep infinity', "sh", name]
        # Not one mount of others is kept: they could not end it.
        command += [sys.executable, "-B", str(HERE / "alone.py"), os.readlink("/proc/self/ns/mnt")]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=die_with_us, start_new_session=True
        )
        if not select.select([self.process.stdout], [], [], PATIENCE)[0] or not self.process.stdout.readline():
            raise Broken(f"there is no {name}: are namespaces allowed here?")
        number = self.process.pid
        self.first = int(pathlib.Path(f"/proc/{number}/task/{number}/children").read_text().split()[0])

    def within(self, *command):
        return ["nsenter", "-t", str(self.first), "--net", "--mount", "--pid", "--uts", "--", *map(str, command)]

    def run(self, *command, fine=(0,)):
        done = subprocess.run(
            self.within(*command), stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="surrogateescape", timeout=PATIENCE
        )
        if fine and done.returncode not in fine:
            raise Broken(f"{self.name}: {' '.join(map(str, command))}: {done.stderr.strip() or done.stdout.strip()}")
        return done

    def network(self, *command):
        """Runs ip(8) in its network only, so that it knows the processes outside."""
        subprocess.run(
            ["nsenter", "-t", str(self.first), "--net", "--", "ip", *command], check=True, timeout=PATIENCE
        )

    def kill(self):
        """Kills all its processes at once, and waits until they are gone."""
        self.process.kill()
        self.process.wait()
        try:
            os.kill(self.first, signal.SIGKILL)
        except ProcessLookupError:
            return
        until(f"{self.name} to be gone", lambda: not os.path.exists(f"/proc/{self.first}"))


class Wired(Space):
    """One with a wire to the bridge, and with files of its own where GlusterFS has its state."""

    def __init__(self, name, address, switch, place):
        super().__init__(name)
        self.address, self.switch = address, switch
        self.place = pathlib.Path(place, name)
        for directory in ("glusterd", "log/glusterfs"):
            (self.place / directory).mkdir(parents=True)
        switch.network("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", str(self.first))
        switch.network("link", "set", name, "master", "bridge", "up")
        self.network("link", "set", "lo", "up")
        self.network("address", "add", f"{address}/24", "dev", "eth0")
        self.network("link", "set", "eth0", "up")
        self.run("mount", "--bind", self.place / "glusterd", "/var/lib/glusterd")
        self.run("mount", "--bind", self.place / "log", "/var/log")
        self.run("mount", "-t", "tmpfs", "tmpfs", "/run")

    def link(self, state):
        """Cuts the link to all others, or mends it: the far end of the wire is set `up` or `down`."""
        self.switch.network("link", "set", self.name, state)


class Store(Wired):
    """A host with a brick of the volume. Nobody works on it: who is cut off together with a brick can leave an entry on that one
    alone, and GlusterFS does not know then which bricks are right."""

    def __init__(self, number, *rest):
        super().__init__(f"store{number}", f"10.0.0.{number}", *rest)
        self.brick = self.place / "disk" / "brick"
        self.brick.parent.mkdir()
        self.run("glusterd")

    def gluster(self, *command, **options):
        return self.run("gluster", "--mode=script", *command, **options)

    def gluster_at_last(self, *command):
        """Tries until it succeeds: the daemons need a moment to know each other."""
        end = time.monotonic() + PATIENCE / 4
        while time.monotonic() < end and self.gluster(*command, fine=()).returncode:
            time.sleep(0.1)
        if time.monotonic() >= end:
            self.gluster(*command)


class Host(Wired):
    """A host that mounts the volume."""

    def __init__(self, number, stores, *rest):
        super().__init__(f"host{number}", f"10.0.0.{10 + number}", *rest)
        self.number, self.stores = number, stores
        self.below, self.above = self.place / "below", self.place / "above"
        self.below.mkdir()
        # Nobody's while nothing is mounted on it, see load.py.
        self.above.mkdir(mode=0)

    def mount_volume(self):
        others = ":".join(store.address for store in self.stores[1:])
        options = f"{MOUNT_OPTIONS},backup-volfile-servers={others},log-level=WARNING"
        self.run("mount", "-t", "glusterfs", "-o", options, f"{self.stores[0].address}:/names", self.below)

    def shown(self, program, options, directory):
        """Mounts utf8fs over a directory of the volume; gives the process of the daemon, as it is numbered outside."""
        before = set(self.processes(program))
        log = self.place / "log" / "audit.json"
        command = [program, "mount", "--background", *options, "--audit-format", "json", "--audit-log", log]
        self.run(*command, self.below / directory, self.above)
        return sorted(set(self.processes(program)) - before)

    def processes(self, program):
        """The processes of this host that run `program`."""
        space = os.readlink(f"/proc/{self.first}/ns/pid")
        for entry in os.listdir("/proc"):
            try:
                if entry.isdigit() and os.readlink(f"/proc/{entry}/ns/pid") == space:
                    if os.path.samefile(f"/proc/{entry}/exe", program):
                        yield int(entry)
            except OSError:
                pass


class Cluster:
    """Three hosts with bricks, of which the third holds names only (arbiter), so that any two of them are a quorum; and others
    that mount the volume."""

    def __init__(self, place):
        self.place, self.spaces, self.stores, self.switch = place, [], [], None

    def __enter__(self):
        try:
            return self.set_up()
        except BaseException:
            self.__exit__()
            raise

    def set_up(self):
        self.switch = self.kept(Space("switch"))
        self.switch.network("link", "add", "bridge", "type", "bridge")
        self.switch.network("link", "set", "bridge", "up")
        self.stores = [self.kept(Store(number, self.switch, self.place)) for number in (1, 2, 3)]
        first = self.stores[0]
        for other in self.stores[1:]:
            first.gluster_at_last("peer", "probe", other.address)
        bricks = [f"{store.address}:{store.brick}" for store in self.stores]
        first.gluster_at_last("volume", "create", "names", "replica", "3", "arbiter", "1", *bricks, "force")
        first.gluster("volume", "set", "names", *(word for pair in VOLUME_OPTIONS.items() for word in pair))
        first.gluster("volume", "start", "names")
        self.until_all_are_online()
        return self

    def kept(self, space):
        """Notes it, so that it ends with us."""
        self.spaces.append(space)
        return space

    def host(self, number):
        """Another host that mounts the volume."""
        host = self.kept(Host(number, self.stores, self.switch, self.place))
        host.mount_volume()
        return host

    def until_all_are_online(self):
        def are_online():
            status = self.stores[0].gluster("volume", "status", "names", fine=())
            return len(re.findall(r"^(?:Brick .*|/.*brick)\s+\d+\s+\d+\s+Y\s", status.stdout, re.M)) == len(self.stores)

        until("all bricks to be online", are_online)

    def until_healed(self, given_up=()):
        """Waits until the bricks are alike; Broken, with what GlusterFS says, if they disagree. On the paths that are given up they
        may, once that does not pass by itself."""
        told, begun = "", time.monotonic()

        def entries():
            # Also: PATH - Is in split-brain
            lines = {line.strip() for line in told.splitlines() if line.startswith(("/", "<gfid:"))}
            return {line for line in lines if line.split(" - ")[0] not in given_up}, lines

        def is_healed():
            nonlocal told
            told = self.stores[0].gluster("volume", "heal", "names", "info", fine=()).stdout
            counts = re.findall(r"^Number of entries: (\d+)$", told, re.M)
            left, lines = entries()
            if len(counts) == len(self.stores) and not left and (not lines or time.monotonic() - begun > PATIENCE / 4):
                return True
            self.stores[0].gluster("volume", "heal", "names", fine=())
            return any("split-brain" in line for line in left)

        try:
            until("the bricks to be alike", is_healed)
        except Broken as broken:
            raise Broken(f"{broken}\n{told}") from broken
        if entries()[0]:
            raise Broken(f"GlusterFS cannot decide between its bricks:\n{told}")

    def __exit__(self, *_):
        for space in reversed(self.spaces):
            space.kill()
