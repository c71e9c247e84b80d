//! Ordinary users, hostile names, and files where others could write.

use std::path::Path;
use std::process::Command;

use super::{IN_FORCE, Policy, everybody_may};
use crate::support::mount::binary;
use crate::support::user::{self, NOBODY};
use crate::support::{Mount, Tree, needs, status};

#[test]
fn an_ordinary_users_mount_has_its_policy_too() {
    if !needs::root("mounting as another user") {
        return;
    }
    let tree = Tree::new();
    everybody_may(&tree);
    let program = tree.parent().join("utf8fs");
    let copied = Command::new("cp").arg(binary()).arg(&program).status();
    assert!(copied.unwrap().success());
    for directory in [tree.backing(), tree.point()] {
        std::os::unix::fs::chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let policy = Policy::new(&tree, "mode = \"report\"\n");
    let mount = Mount::start_as(&tree, NOBODY, &program, &policy.option());
    let script = "mkdir \"$PLACE/$(printf 'x\\351')\"";
    assert!(
        user::script(NOBODY, &mount.point(), script)
            .status
            .success()
    );
    policy.replace("mode = \"enforce\"\n");
    assert_eq!(policy.reload(&mount), IN_FORCE);
    let script = "mkdir \"$PLACE/$(printf 'y\\351')\"";
    assert!(
        !user::script(NOBODY, &mount.point(), script)
            .status
            .success()
    );
    mount.stop();
}

/// A path that is no text, and words that would forge a line of the log.
#[test]
fn hostile_names_in_it_forge_nothing() {
    let tree = Tree::new();
    let policy = Policy::named(&tree, b"p\n\xE9\x1B[2J.toml", "mode = \"enforce\"\n");
    let path: &Path = &policy.path;
    let log = tree.parent().join("log");
    let run = |text: &str| {
        std::fs::write(path, text).unwrap();
        let mut command = Command::new(binary());
        command.args(["mount", "--background", "--audit-log"]);
        command
            .arg(&log)
            .arg("--policy")
            .args([path, &tree.backing(), &tree.point()]);
        command.output().unwrap()
    };
    let output = run(
        "\"a\\nerror: b\\u001b[2J\" = 1\ninclude = \"x\\n\\u202e\"\nexempt_uid = [\"r\\u001bt\"]\n",
    );
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(
        !said.contains(|c: char| c.is_control() && c != '\n'),
        "{said:?}"
    );
    assert!(
        said.contains(r#"p\n\xE9\x1B[2J.toml":1:1: unknown field `a\u{A}error: b\u{1B}[2J`"#),
        "{said}"
    );
    let output = run("mode = \"enforce\"\n");
    assert!(output.status.success(), "{output:?}");
    let status = status::of(&tree.point());
    assert!(status["policy"]["file"]["bytes"].is_string(), "{status}");
}

/// The first of the two processes has said what there is to warn of.
#[test]
fn in_the_background_each_warning_is_said_once() {
    let tree = Tree::new();
    let policy = Policy::new(&tree, "[[section]]\n[[section]]\n");
    let log = tree.parent().join("log");
    let output = Command::new(binary())
        .args([
            "mount",
            "--background",
            "-o",
            "sloppy,nonsense",
            "--audit-log",
        ])
        .arg(&log)
        .args(policy.option())
        .args([tree.backing(), tree.point()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    for warning in [
        "unknown option in -o left out: \"nonsense\"",
        "is never reached",
    ] {
        assert_eq!(said.matches(warning).count(), 1, "{said}");
    }
}
