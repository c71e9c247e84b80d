//! Law N9, `--exempt-uid` and `--exempt`: offending names are let through for some users and in some places, and still
//! reported; nothing else changes for anybody.

use rustix::io::Errno;

use super::offences::{FORBIDDEN, ILL_FORMED, check_rule};
use crate::support::at::{self, Make};
use crate::support::user::{self, NOBODY};
use crate::support::{Tree, needs, show};

fn own_uid() -> String {
    rustix::process::getuid().as_raw().to_string()
}

/// Each offence by each operation, once exempt for who asks and once for its path: created as asked, one record.
#[test]
fn exempt_names_are_made_as_asked_and_reported_once() {
    let rows = [ILL_FORMED, FORBIDDEN].concat();
    let uid = own_uid();
    let exemptions: [(&[&str], &str); 3] = [
        (&["--exempt-uid", &uid], "uid"),
        (&["--exempt", "/exempt/**"], "path"),
        (&["--exempt", "[!s]*"], "path"),
    ];
    for (options, why) in exemptions {
        let tree = Tree::new();
        let parent = tree.directory(b"exempt");
        for number in 0..rows.len() * Make::ALL.len() {
            at::mkdir(&parent, format!("d{number}").as_bytes()).unwrap();
            let dir = at::open_dir(&parent, format!("d{number}").as_bytes()).unwrap();
            at::write_new(&dir, Make::SOURCE, b"content").unwrap();
        }
        let mount = tree.mount(&[&["--profile", "portable"], options].concat());
        let above = mount.sub("exempt");
        let mut number = 0;
        for row in &rows {
            for make in Make::ALL {
                let what = format!("{} of {} with {options:?}", make.label(), show(row.0));
                let dir = at::open_dir(&above, format!("d{number}").as_bytes()).unwrap();
                assert_eq!(make.run(&dir, row.0), Ok(()), "{what}");
                let below = at::open_dir(&parent, format!("d{number}").as_bytes()).unwrap();
                assert!(at::list(&below).contains(&row.0.to_vec()), "{what}");
                // By the bytes that it was made with.
                assert!(at::stat(&dir, row.0).is_ok(), "{what}");
                assert!(Make::Mkdir.run(&dir, row.0) == Err(Errno::EXIST), "{what}");
                number += 1;
            }
        }
        drop(above);
        let records = mount.stop();
        assert_eq!(records.len(), number, "{options:?}");
        for (number, record) in records.iter().enumerate() {
            let row = &rows[number / Make::ALL.len()];
            check_rule(record, row);
            assert_eq!(record.text("verdict"), "reported");
            assert_eq!(record.text("exempt"), why);
            assert!(record.0["errno"].is_null());
            assert_eq!(record.name("backing").as_deref(), Some(row.0));
        }
    }
}

/// N10: an exempt name is reached by the bytes that it was made with and by the name that it is listed under, whatever
/// `--legacy` and `--on-violation` are, and none of them goes stale.
#[test]
fn exempt_names_are_reached_by_their_bytes_and_never_stale() {
    const LATIN: &[u8] = b"caf\xE9";
    let uid = own_uid();
    let rows: &[(&[&str], Option<&[u8]>)] = &[
        (&["--from", "iso-8859-1"], Some("café".as_bytes())),
        (&["--legacy", "escape"], Some(b"caf%E9")),
        (&["--legacy", "raw"], Some(LATIN)),
        (&["--legacy", "hide"], None),
        (
            &["--from", "iso-8859-1", "--on-violation", "normalize"],
            Some("café".as_bytes()),
        ),
        (
            &[
                "--from",
                "iso-8859-1",
                "--legacy",
                "hide",
                "--on-violation",
                "normalize",
            ],
            None,
        ),
    ];
    for &(options, listed) in rows {
        for exempt in [["--exempt-uid", &uid], ["--exempt", "*"]] {
            let what = format!("{options:?} {exempt:?}");
            let tree = Tree::new();
            let mount = tree.mount(&[options, &exempt].concat());
            let dir = mount.dir();
            let spellings: Vec<&[u8]> = [Some(LATIN), listed].into_iter().flatten().collect();
            for removed in &spellings {
                at::write_new(dir, LATIN, b"content").unwrap();
                assert_eq!(at::list(tree.below_dir()), [LATIN], "{what}");
                let names: Vec<Vec<u8>> = listed.iter().map(|name| name.to_vec()).collect();
                assert_eq!(at::list(dir), names, "{what}");
                for used in &spellings {
                    assert_eq!(at::read(dir, used).unwrap(), b"content", "{what}");
                }
                at::unlink(dir, removed).unwrap();
                for used in &spellings {
                    assert_eq!(at::stat(dir, used).err(), Some(Errno::NOENT), "{what}");
                }
            }
            at::mkdir(dir, LATIN).unwrap();
            at::mkdir(at::open_dir(dir, LATIN).unwrap(), b"sub").unwrap();
            at::rename(dir, LATIN, b"plain").unwrap();
            assert_eq!(at::stat(dir, LATIN).err(), Some(Errno::NOENT), "{what}");
            at::rename(dir, b"plain", LATIN).unwrap();
            assert!(at::stat(at::open_dir(dir, LATIN).unwrap(), b"sub").is_ok());
            mount.stop();
        }
    }
}

/// Users are told apart, also where one has looked the other's name up before.
#[test]
fn only_the_exempt_user_may() {
    if !needs::root("telling users apart") {
        return;
    }
    let tree = Tree::new();
    std::fs::set_permissions(
        tree.backing(),
        std::os::unix::fs::PermissionsExt::from_mode(0o777),
    )
    .unwrap();
    let mount = tree.mount(&["--exempt-uid", "65534"]);
    let script = "cd \"$PLACE\" && : >\"$(printf 'mine\\351')\" && mkdir \"$(printf 'dir\\351')\"";
    let output = user::script(NOBODY, &mount.point(), script);
    assert!(output.status.success(), "{output:?}");
    let dir = mount.dir();
    assert!(at::stat(dir, b"mine\xE9").is_ok());
    assert_eq!(at::mkdir(dir, b"ours\xE9"), Err(Errno::ILSEQ));
    assert_eq!(at::mkdir(dir, b"mine\xE9"), Err(Errno::EXIST));
    let child = at::open_dir(dir, b"dir\xE9").unwrap();
    assert_eq!(at::mkdir(&child, b"\xE9"), Err(Errno::ILSEQ));
    drop(child);
    let records = mount.stop();
    let exempt: Vec<&str> = records
        .iter()
        .map(|record| record.0["exempt"].as_str().unwrap_or("-"))
        .collect();
    assert_eq!(exempt, ["uid", "uid", "-", "-"]);
}

/// Found from outside: the kernel kept a name under the raw one that it was renamed to, and a write went to another file.
#[test]
fn a_name_renamed_to_exempt_octets_is_not_kept_under_them() {
    let tree = Tree::new();
    let options = ["--from", "iso-8859-1", "--exempt", "*", "--cache", "3600"];
    let mount = tree.mount(&options);
    let dir = mount.dir();
    let (raw, shown) = (b"\xC9".as_slice(), "\u{C9}".as_bytes());
    at::write_new(dir, b"f", b"one").unwrap();
    at::write_new(dir, b"g", b"two").unwrap();
    at::rename(dir, b"f", raw).unwrap();
    at::rename(dir, shown, b"moved").unwrap();
    assert_eq!(at::stat(dir, raw).err(), Some(Errno::NOENT));
    at::rename(dir, b"g", shown).unwrap();
    assert_ne!(at::read(dir, raw).ok().as_deref(), Some(b"one".as_slice()));
    at::unlink(dir, shown).unwrap();
    for name in [raw, shown] {
        assert_eq!(at::stat(dir, name).err(), Some(Errno::NOENT));
    }
    mount.stop();
}

/// The same by an escape, which is a spelling in every mode.
#[test]
fn a_name_renamed_to_an_escape_is_not_kept_under_it() {
    let tree = Tree::new();
    tree.file(b"caf\xE9", b"old");
    let mount = tree.mount(&["--from", "iso-8859-1", "--cache", "3600"]);
    let (dir, shown) = (mount.dir(), "caf\u{E9}".as_bytes());
    at::write_new(dir, b"f", b"one").unwrap();
    at::rename(dir, b"f", b"caf%E9").unwrap();
    assert_eq!(at::read(dir, shown).unwrap(), b"one");
    at::unlink(dir, shown).unwrap();
    assert_eq!(at::stat(dir, b"caf%E9").err(), Some(Errno::NOENT));
    mount.stop();
}
