//! `scripts/package`, run on the program that was built for the tests.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::support::mount::binary;
use crate::support::{needs, page};

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn shows_all_of_it(program: &Path, place: &Path) {
    let mut demo = Command::new(program);
    run(demo.arg("demo").env("TMPDIR", place));
}

/// With the static program where the toolchain has its target; `scripts/test` has built it then.
#[test]
fn the_package_is_built_and_its_programs_show_all_of_it() {
    if !needs::program("dpkg-shlibdeps", "building the package") {
        return;
    }
    needs::fuse();
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/package");
    let mut package = Command::new(script);
    package.args(["--profile", "dev"]).arg(place.join("built"));
    let built = run(package.env("UTF8FS", binary()));
    let (debs, programs): (Vec<_>, Vec<_>) = built
        .lines()
        .map(Path::new)
        .partition(|path| path.extension() == Some("deb".as_ref()));
    assert_eq!(debs.len(), 1, "{built}");
    let root = place.join("root");
    run(Command::new("dpkg-deb")
        .arg("--extract")
        .args([debs[0], &root]));
    shows_all_of_it(&root.join("usr/bin/utf8fs"), place);
    for program in programs {
        shows_all_of_it(program, place);
    }
    let list = run(Command::new("find")
        .arg(&root)
        .args(["-not", "-type", "d", "-printf", "/%P\\n"]));
    let installed: BTreeSet<&str> = list.lines().collect();
    for path in [
        "/usr/bin/utf8fs",
        "/usr/sbin/mount.fuse.utf8fs",
        "/lib/systemd/system/utf8fs@.service",
        "/lib/systemd/system/utf8fs-guard@.service",
        "/lib/systemd/system-generators/utf8fs-generator",
        "/etc/utf8fs/policy.toml",
    ] {
        assert!(installed.contains(path), "{path} is missing: {list}");
        assert!(
            page("docs/installing.md").contains(path),
            "{path} is undocumented"
        );
    }
}
