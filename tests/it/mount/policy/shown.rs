//! `utf8fs policy show` and the mount say the same of a new name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use super::Policy;
use crate::support::mount::binary;
use crate::support::{Tree, at, needs};

/// What becomes of `name` in `/web` by what `show` says: an errno, or the name that it is made as.
fn shown(policy: &Policy, name: &[u8]) -> Result<Vec<u8>, String> {
    let path = [b"/web/", name].concat();
    let output = Command::new(binary())
        .args(["policy", "show"])
        .arg(&policy.path)
        .arg(OsStr::from_bytes(&path))
        .args(["--user", "0"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let last = said.lines().last().unwrap();
    let verdict = last.trim_start().strip_prefix("result").unwrap();
    let verdict = verdict.trim_start();
    if let Some(rest) = verdict.strip_prefix("is refused with ") {
        return Err(rest.split(':').next().unwrap().to_owned());
    }
    match verdict.strip_prefix("is created as \"") {
        Some(rest) => Ok(rest.split('"').next().unwrap().into()),
        None => {
            assert!(
                verdict == "conforms" || verdict.starts_with("is created as asked"),
                "{verdict}"
            );
            Ok(name.to_vec())
        }
    }
}

#[test]
fn names_end_on_the_mount_as_show_says() {
    if !needs::root("user 0") {
        return;
    }
    let long = vec![b'a'; 256];
    let long_bad = [&[b'a'; 255][..], b"\xE9"].concat();
    let names: [&[u8]; 9] = [
        &long,
        &long_bad,
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaae\u{301}".as_bytes(),
        b"caf\xE9",
        "cafe\u{301}".as_bytes(),
        "café".as_bytes(),
        b"a:b",
        "\u{20AC}\u{4E2D}".as_bytes(),
        b"plain",
    ];
    let section = "\n[[section]]\npath = \"/web/**\"\n";
    let policies = [
        "mode = \"off\"\n".to_owned(),
        "mode = \"report\"\n".to_owned(),
        "exempt_uid = [0]\n".to_owned(),
        "exempt = [\"/web/**\"]\nmode = \"normalize\"\n".to_owned(),
        "mode = \"normalize\"\nfrom = \"iso-8859-1\"\nnormalization = \"nfc\"\n".to_owned(),
        format!("normalization = \"nfc\"\nerrno = \"einval\"\n{section}max_bytes = 24\n"),
        format!(
            "normalization = \"nfc\"\nmode = \"off\"\n{section}mode = \"enforce\"\nmax_bytes = 24\nforbid = \"windows\"\n"
        ),
        format!("{section}mode = \"normalize\"\nforbid = \"windows\"\nerrno = \"eperm\"\n"),
        "store_as = \"iso-8859-15\"\n".to_owned(),
        "store_as = \"iso-8859-15\"\nexempt_uid = 0\n".to_owned(),
    ];
    for text in policies {
        let tree = Tree::new();
        std::fs::create_dir(tree.backing().join("web")).unwrap();
        let policy = Policy::new(&tree, &text);
        let mount = tree.mount(&[&policy.option()[..], &["--cache", "none"]].concat());
        let web = mount.sub("web");
        for name in names {
            let expected = shown(&policy, name);
            let made = at::mkdir(&web, name);
            let what = format!("{text}{}", name.escape_ascii());
            match expected {
                Err(errno) => {
                    assert_eq!(format!("{:?}", made.unwrap_err()), named(&errno), "{what}");
                }
                Ok(visible) => {
                    assert_eq!(made, Ok(()), "{what}");
                    at::stat(&web, &visible).unwrap();
                    at::rmdir(&web, &visible).unwrap();
                }
            }
        }
        drop(web);
        mount.stop();
    }
}

/// An errno as rustix writes it.
fn named(errno: &str) -> String {
    let errno = match errno {
        "EILSEQ" => rustix::io::Errno::ILSEQ,
        "EINVAL" => rustix::io::Errno::INVAL,
        "EPERM" => rustix::io::Errno::PERM,
        "ENAMETOOLONG" => rustix::io::Errno::NAMETOOLONG,
        other => panic!("{other}"),
    };
    format!("{errno:?}")
}
