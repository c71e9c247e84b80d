"""Runs suites: mounts, works, reads clocks, unmounts. Knows nothing of goals or documents."""

import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

import contestants as parties


class Bench:
    """Where the work is done, and by what."""

    def __init__(self, load, memory, disk, pin, deadline, log):
        self.load, self.memory, self.disk, self.pin, self.deadline, self.log = load, memory, disk, pin, deadline, log
        self.mountpoint = pathlib.Path(memory, "mountpoint")
        self.mountpoint.mkdir()

    def time_for(self, seconds):
        return self.deadline is None or time.monotonic() + seconds < self.deadline

    def cpus(self, suite):
        """Where client and daemon may run, as two sets; None for anywhere."""
        allowed = sorted(os.sched_getaffinity(0))
        if not suite.pinned or self.pin == "none" or (self.pin == "apart" and len(allowed) < 2):
            return None, None
        return {allowed[0]}, {allowed[1 if self.pin == "apart" else 0]}

    def run(self, suite, contestants, shared=None):
        """Measures a suite; `shared` is the directory that all see where the suite has one.

        Rounds go on until all are done or the time is over, but there is one. Within a round each chunk is done by all, one
        after the other, and who begins changes each time. Once a step of a contestant has failed, its later rounds skip it.
        """
        samples = {step.key: {} for chunk in suite.chunks for step in chunk if step.title}
        memory, errors = {}, {}
        root = pathlib.Path(self.disk if suite.on_disk else self.memory, suite.key)
        turn = rounds = 0
        longest = 0.0
        while rounds < suite.rounds and (rounds == 0 or self.time_for(longest)):
            began = time.monotonic()
            try:
                for chunk in suite.chunks:
                    for place in range(len(contestants)):
                        contestant = contestants[(place + turn) % len(contestants)]
                        source = pathlib.Path(shared) if shared else root / contestant.key
                        source.mkdir(parents=True, exist_ok=True)
                        if suite.user:
                            for directory in (source, self.mountpoint):
                                os.chown(directory, parties.USER, parties.USER)
                        self.run_chunk(suite, chunk, contestant, source, samples, memory, errors)
                    turn += 1
            finally:
                shutil.rmtree(root, ignore_errors=True)
                os.chown(self.mountpoint, 0, 0)
            rounds += 1
            longest = max(longest, time.monotonic() - began)
            print(f"  {suite.key}: round {rounds} of {suite.rounds}, {longest:.0f} s", file=sys.stderr)
        return {
            "title": suite.title,
            "rounds": rounds,
            "contestants": [contestant.key for contestant in contestants],
            "steps": {step.key: step.title for chunk in suite.chunks for step in chunk if step.title},
            "samples": samples,
            "memory": memory,
            "errors": errors,
        }

    def run_chunk(self, suite, chunk, contestant, source, samples, memory, errors):
        client, daemon = self.cpus(suite)
        if errors.get(contestant.key, {}).get(chunk[-1].key):
            return
        step = chunk[0]
        try:
            with parties.Mounted(contestant, source, self.mountpoint, self.log, daemon, suite.user) as mounted:
                before = mounted.memory()
                for step in chunk:
                    took = self.run_step(step, mounted, client)
                    if step.title:
                        samples[step.key].setdefault(contestant.key, []).append(took)
                if suite.key == "walk":
                    memory.setdefault(contestant.key, []).append(mounted.memory() - before)
        except (parties.Unusable, Failed, OSError) as error:
            # The steps after it are not done either.
            for late in chunk[chunk.index(step):]:
                errors.setdefault(contestant.key, {})[late.key] = str(error)[-300:]
            print(f"  {contestant.key}, {step.key}: {error}", file=sys.stderr)

    def run_step(self, step, mounted, cpus):
        """Seconds, CPU seconds of client and daemon, and operations of one step."""
        if step.cold:
            os.sync()
            pathlib.Path("/proc/sys/vm/drop_caches").write_text("2")
        daemon = mounted.settled_cpu_ns()
        if step.work:
            took = self.run_load(step, mounted.directory, cpus, mounted.user)
        else:
            took = self.run_shell(step.shell, mounted.directory, cpus)
        took["daemon"] = (mounted.settled_cpu_ns() - daemon) / 1e9
        return took

    def run_load(self, step, directory, cpus, user):
        numbers = [f"{key}={number}" for key, number in step.numbers]
        said = start([str(self.load), step.work, str(directory), *numbers], cpus, user, stdout=subprocess.PIPE)
        said = json.loads(said)
        return {"wall": said["wall_ns"] / 1e9, "client": said["cpu_ns"] / 1e9, "operations": said["operations"]}

    def run_shell(self, command, directory, cpus):
        used, began = children_cpu(), time.monotonic()
        start(["sh", "-c", command], cpus, cwd=directory, stdout=subprocess.DEVNULL)
        return {"wall": time.monotonic() - began, "client": children_cpu() - used, "operations": 1}


class Failed(Exception):
    """A step did not do what it should."""


def children_cpu():
    """CPU seconds of all processes that were waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def start(command, cpus, user=False, **options):
    """Runs a command to its end, on these CPUs, as an ordinary user or as root; what it has written."""
    def prepare():
        if cpus:
            os.sched_setaffinity(0, cpus)
        if user:
            parties.become_user()

    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=prepare, start_new_session=True,
        **options
    )
    try:
        out, err = process.communicate(timeout=900)
    except BaseException as error:
        # All that the command has started, too.
        try:
            os.killpg(process.pid, 9)
        except ProcessLookupError:
            pass
        process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            raise Failed(f"{command[0]} took more than 15 minutes") from error
        raise
    if process.returncode != 0:
        raise Failed(err.strip()[-300:] or f"{command[0]} ended with {process.returncode}")
    return out
