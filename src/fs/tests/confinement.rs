//! Law C5: no conversion of a name yields `/`, NUL, an empty name, `.` or `..`. Law F2: nothing outside the backing
//! directory can be reached.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;

use super::programs::errno;
use super::{CALLER, Plus, Scratch, map, new_entry};
use crate::at::{self, Make};
use crate::backing::SetTime;
use crate::codec::Charset;
use crate::fs::{Change, Listed};
use crate::names::rules::Exemptions;
use crate::names::{Legacy, NameMap, OnViolation, Quoted};

/// Names that somebody or other has taken for a path, in whatever encoding.
const TRICKS: &[&[u8]] = &[
    // Overlong `/`, NUL and `..`, and `../etc` spelled with them.
    b"\xC0\xAF",
    b"\xC0\x80",
    b"\xC0\xAE\xC0\xAE",
    b"\xC0\xAE\xC0\xAE\xC0\xAF\x65\x74\x63",
    b"..\xC0\xAFtarget",
    b"\xE0\x80\xAF",
    b"..\xE0\x80\xAFtarget",
    b"..\xF0\x80\x80\xAFtarget",
    b"..\xFC\x80\x80\x80\x80\xAFtarget",
    // Escapes that must not be undone.
    b"%2F",
    b"..%2Ftarget",
    b"%2E%2E",
    b"%2E%2E%2Ftarget",
    b"%00",
    b"%%2F",
    b"..%252Ftarget",
    // Characters that look like `/` or `.` or fold into them.
    b"..\xEF\xBC\x8Ftarget",
    b"\xEF\xBC\x8E\xEF\xBC\x8E",
    b"\xE2\x80\xA5",
    b"..\xE2\x81\x84target",
    b"..\xE2\x88\x95target",
    // UTF-7, UTF-16, ISO-2022 and HZ.
    b"..+AC8-target",
    b"+AC4ALg-",
    b"\xFF\xFE.",
    b"\x1B$B!?\x1B(B",
    b"..~{#/~}target",
    // Backslash, yen and the octets that end with 5C in multi-byte charsets.
    b"..\\target",
    b"..\x81\x5Ctarget",
    b"..\xA1\x5Ctarget",
    // Solidus, full stop and two-dot leader of full width in Shift_JIS, EUC-JP, GBK, Big5, EUC-KR.
    b"\x81\x44\x81\x44\x81\x5Etarget",
    b"\xA1\xA5\xA1\xA5\xA1\xBFtarget",
    b"\xA3\xAE\xA3\xAE\xA3\xAFtarget",
    b"\xA1\x44\xA1\x44\xA1\xFEtarget",
    b"\xA8\x45",
    // EBCDIC `../`.
    b"\x4B\x4B\x61",
    b"...",
    b".. ",
    b" ..",
    b"..\x85",
];

/// Names of one and two octets that a decoder of `charset` turns into something that is no component, and the
/// encodings of characters that look like `/` or `.`.
fn tricks_of(charset: Charset) -> BTreeSet<Vec<u8>> {
    let suspicious = |name: &[u8]| {
        charset.decode(name).is_ok_and(|text| {
            text.contains(['/', '\0']) || matches!(text.as_str(), "" | "." | "..")
        })
    };
    let octets = || (1..=255_u8).filter(|&octet| octet != b'/');
    let one = octets().map(|octet| vec![octet]);
    let two = octets().flat_map(|first| octets().map(move |second| vec![first, second]));
    let mut tricks: BTreeSet<Vec<u8>> = one
        .chain(two)
        .filter(|name| name != b"." && name != b".." && suspicious(name))
        .collect();
    for text in ["／", "．．", "‥", "..／target", "⁄", "∕", "＼"] {
        tricks.extend(charset.encode(text).ok());
    }
    tricks.extend(TRICKS.iter().map(|name| name.to_vec()));
    tricks.retain(|name| !name.contains(&b'/') && !name.contains(&0));
    tricks
}

/// What lies beside the backing directory, with the times at which it was changed.
fn outside(parent: &Path) -> Vec<(PathBuf, u64, i64, i64)> {
    let paths = ["", "target", "target/file", "secret", "secret/file"];
    let seen = paths.map(|path| {
        let path = parent.join(path);
        let of = std::fs::metadata(&path).unwrap();
        (path, of.ino(), of.ctime(), of.ctime_nsec())
    });
    seen.to_vec()
}

/// Nothing in the parent of the backing directory changes or is reached, whatever name is made, looked up or lies below,
/// through every charset on offer.
#[test]
fn no_name_in_any_charset_leads_out_of_the_backing_directory() {
    let charsets: Vec<Charset> = Charset::all().collect();
    assert!(charsets.len() > 30, "{} charsets", charsets.len());
    for charset in charsets {
        let label = charset.label();
        let parent = tempfile::tempdir().unwrap();
        for part in ["target", "secret"] {
            let part = parent.path().join(part);
            std::fs::create_dir(&part).unwrap();
            std::fs::write(part.join("file"), "untouched").unwrap();
        }
        let map = NameMap {
            on_violation: OnViolation::Normalize,
            ..map(Legacy::Decode, &[label])
        };
        let backing = Arc::new(tempfile::tempdir_in(parent.path()).unwrap());
        let scratch = Scratch::of(backing, Exemptions::default(), map, None);
        let before = outside(parent.path());
        let tricks = tricks_of(charset);
        // Below, where no policy is between.
        let (dir, below) = scratch.directory(b"below");
        for name in &tricks {
            at::write_new(&below, name, name).unwrap();
        }
        let listed = dir.sorted();
        assert_eq!(listed.len(), tricks.len(), "{label}");
        for visible in &listed {
            let what = format!("{label} {}", Quoted(visible));
            assert!(std::str::from_utf8(visible).is_ok(), "{what}");
            let content = dir.read(visible).unwrap();
            assert!(tricks.contains(&content), "{what}");
        }
        for make in Make::ALL {
            let (dir, below) = scratch.directory(make.label().as_bytes());
            at::write_new(&below, Make::SOURCE, b"content").unwrap();
            for name in &tricks {
                // Made or refused; neither may touch what is outside.
                if dir.make(make, name).is_ok() {
                    dir.stat(name).unwrap();
                    if make == Make::Rename {
                        dir.rename(name, Make::SOURCE).unwrap();
                    }
                }
            }
            let made = at::sorted(&below);
            for name in &made {
                assert!(
                    std::str::from_utf8(name).is_ok(),
                    "{label} {}",
                    Quoted(name)
                );
            }
            assert_eq!(made, dir.sorted(), "{label}");
        }
        assert_eq!(outside(parent.path()), before, "{label}");
        let roots = Make::ALL.len() + 1;
        assert_eq!(at::list(scratch.below_dir()).len(), roots, "{label}");
    }
}

/// Law F2: a link that lies in the backing directory is a link above, with its target as it is.
#[test]
fn links_are_shown_and_not_followed() {
    let scratch = Scratch::new(map(Legacy::Escape, &[]), &[]);
    let (dir, below) = (scratch.root(), scratch.below_dir());
    let rows = [
        (&b"/nowhere/at/all"[..], &b"absolute"[..]),
        (b"../secret/file", b"out"),
    ];
    for (target, name) in rows {
        at::symlink(target, &below, name).unwrap();
        assert!(dir.stat(name).unwrap().is_symlink());
        assert_eq!(dir.readlink(name).unwrap(), target);
    }
}

/// Law F2: what somebody has moved out of the backing directory is not followed there, by whatever operation.
#[test]
fn f2_a_directory_that_was_moved_out_is_not_followed() {
    let mut scratch = Scratch::new(map(Legacy::Escape, &[]), &[]);
    scratch.fs.settings.unseen = Duration::ZERO;
    let outside = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(scratch.path(b"a/b/c/sub")).unwrap();
    std::fs::write(scratch.path(b"a/b/c/file"), "content").unwrap();
    let fs = &scratch.fs;
    let [dir, file] =
        [&b"a/b/c"[..], b"a/b/c/file"].map(|path| scratch.root().number_of(path).unwrap());
    let listing = fs.opendir(CALLER, dir, 0).unwrap();
    let made = || new_entry(dir, b"made", 0o755);
    let make = || fs.mkdir(&made()).map(drop).map_err(errno);
    assert_eq!(make(), Ok(()));
    fs.rmdir(CALLER, dir, b"made").unwrap();
    rustix::fs::rename(scratch.path(b"a/b"), outside.path().join("b")).unwrap();
    let stale = Err(Errno::STALE);
    assert_eq!(make(), stale);
    let change = Change {
        mode: Some(0o700),
        uid: None,
        gid: None,
        size: None,
        atime: SetTime::Omit,
        mtime: SetTime::Omit,
    };
    let all = |_: Listed<'_>| false;
    let rename = || fs.rename_at_once(CALLER, (dir, b"file"), (dir, b"made"), 0);
    let set = fs.change_xattr(CALLER, dir, b"user.set", Some((b"x", 0)));
    for (what, result) in [
        ("create", fs.create(&made(), libc::O_RDWR).map(drop)),
        ("mknod", fs.mknod(&made(), 0).map(drop)),
        ("symlink", fs.symlink(&made(), b"x").map(drop)),
        ("link", fs.link(&made(), file).map(drop)),
        ("unlink", fs.unlink(CALLER, dir, b"file")),
        ("rmdir", fs.rmdir(CALLER, dir, b"sub")),
        ("rename", rename().map(drop)),
        ("setxattr", set),
        ("chmod", fs.setattr(CALLER, dir, None, change).map(drop)),
        ("lookup", fs.lookup(CALLER, dir, b"file").map(drop)),
        ("opendir", fs.opendir(CALLER, dir, 0).map(drop)),
        ("readdir", fs.readdir(listing, 0, Plus::No, all).map(drop)),
    ] {
        assert_eq!(result.map_err(errno), stale, "{what}");
    }
    let left = at::sorted(at::open_dir_path(&outside.path().join("b/c")));
    assert_eq!(left, [&b"file"[..], b"sub"]);
    // It is where it belongs again, though not where it was.
    rustix::fs::rename(outside.path().join("b"), scratch.path(b"b")).unwrap();
    assert_eq!(make().or_else(|_| make()), Ok(()), "asked for again");
}
