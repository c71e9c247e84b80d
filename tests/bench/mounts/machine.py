"""The machine and what the work suite works on."""

import os
import pathlib
import re
import shutil
import subprocess


def about(memory, disk):
    """What a reader has to know of the machine to judge the figures."""
    kernel = re.match(r"[\d.]+", os.uname().release)
    model = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    total = re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())
    virtual = subprocess.run(["systemd-detect-virt", "--quiet"], check=False) if shutil.which("systemd-detect-virt") else None
    return {
        "kernel": kernel.group(0) if kernel else "?",
        "architecture": os.uname().machine,
        "processor": model.group(1).strip() if model else "?",
        "virtual": bool(virtual and virtual.returncode == 0) or "hypervisor" in pathlib.Path("/proc/cpuinfo").read_text(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory": round(int(total.group(1)) / (1 << 20)) if total else 0,
        "filesystems": [filesystem(memory), filesystem(disk)],
        "descriptors": os.sysconf("SC_OPEN_MAX"),
        "rust": said(["rustc", "--version"]).split(" (")[0],
        "git": said(["git", "--version"]),
    }


def said(command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def filesystem(directory):
    return said(["stat", "--file-system", "--format=%T", str(directory)]).replace("ext2/ext3", "ext4")


class Material:
    """A tree of sources as an archive and as a repository: this project at HEAD, and, but if it is to be small, all crates that
    it depends on. Kept in `place` for the next time."""

    def __init__(self, project, place, small):
        self.small = small
        self.tar, self.repository = place / "tree.tar", place / "tree.git"
        self.crates = "" if small else "--package base64 --package strsim"
        self.files = self.mib = 0
        if not (self.tar.exists() and self.repository.exists()):
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            try:
                self.make(project, place, place / "tree")
            except BaseException:
                shutil.rmtree(place, ignore_errors=True)
                raise
        listing = said(["tar", "-tf", str(self.tar)]).splitlines()
        self.files = sum(not name.endswith("/") for name in listing)
        self.mib = self.tar.stat().st_size >> 20

    def make(self, project, place, tree):
        def run(*command, **options):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **options)

        tree.mkdir()
        run("sh", "-c", f"git -C '{project}' archive HEAD | tar -x -C '{tree}'")
        if not self.small:
            self.add_crates(run, tree)
        run("tar", "-cf", str(self.tar), "-C", str(place), "tree")
        (tree / ".gitignore").unlink(missing_ok=True)
        git = ["git", "-C", str(tree), "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"]
        run(*git, "init", "--quiet")
        run(*git, "add", "--all", "--force")
        run(*git, "commit", "--quiet", "--message", "Sources")
        run("git", "clone", "--quiet", "--bare", "--no-hardlinks", str(tree), str(self.repository), stderr=subprocess.DEVNULL)
        shutil.rmtree(tree)

    def add_crates(self, run, tree):
        run("cargo", "vendor", "--quiet", "--locked", "vendor", cwd=tree)
        # Bindings that are not built here are most of the bytes: their manifests and roots do.
        for crate in tree.glob("vendor/*"):
            if re.match("winapi|windows|linux-raw-sys", crate.name):
                for file in crate.rglob("*"):
                    if file.is_file() and file.name not in ("Cargo.toml", ".cargo-checksum.json", "lib.rs"):
                        file.unlink()
        (tree / ".cargo").mkdir(exist_ok=True)
        (tree / ".cargo" / "config.toml").write_text(
            '[source.crates-io]\nreplace-with = "vendored"\n[source.vendored]\ndirectory = "vendor"\n'
        )
