//! `utf8fs status` where there is nothing to ask; `mount::status` asks real mounts.

use super::run;

#[test]
fn wrong_arguments_are_refused_with_exit_code_2() {
    let missing = run(&[b"status"]);
    assert!(missing.refusal().1.contains("<MOUNTPOINT>"), "{missing:?}");
    let format = run(&[b"status", b"--format", b"yaml", b"/"]);
    assert!(format.refusal().0.contains("yaml"), "{format:?}");
}

#[test]
fn a_path_that_leads_nowhere_is_told_quoted_with_exit_code_1() {
    for (path, shown) in [
        (&b"/none/caf\xE9\x1B[2J"[..], r#""/none/caf\xE9\x1B[2J""#),
        (b"--none", r#""--none""#),
    ] {
        let run = run(&[b"status", b"--", path]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
        let wanted =
            format!("error: {shown} cannot be looked at: No such file or directory\nhint: ");
        assert!(run.stderr.starts_with(&wanted), "{run:?}");
    }
}
