//! Bugs of others who convert or check names, tried on a mount of ours; `src/fs/tests/peers.rs` has those that need none.
//! Each comment says whose bug it is and where it was seen; "measured" is on Debian 12, with bindfs 1.14.7 over libfuse
//! 2.9.9 and fuse-convmvfs 0.2.6.

use std::process::Command;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::support::{Tree, at, show};

const NFC: &[u8] = b"caf\xC3\xA9";
const NFD: &[u8] = b"cafe\xCC\x81";
const LATIN: &[u8] = b"caf\xE9";

/// ZFS's `utf8only` cannot be set on a filesystem that exists, nor taken off (nixpkgs#427579, zfs#11892).
#[test]
fn unlike_zfs_a_tree_of_old_names_can_be_mounted_and_unmounted_as_it_is() {
    let tree = Tree::new();
    tree.file(LATIN, b"old");
    let mount = tree.mount(&[]);
    assert_eq!(at::read(mount.dir(), b"caf%E9").unwrap(), b"old");
    assert_eq!(at::mkdir(mount.dir(), b"\xE8"), Err(Errno::ILSEQ));
    mount.stop();
    assert_eq!(at::list(tree.below_dir()), [LATIN]);
    assert_eq!(at::mkdir(tree.below_dir(), b"\xE8"), Ok(()));
}

/// ZFS and the iconv module answer EILSEQ where a name is only looked up, which surprises `rm -f` and `test -e` (measured).
#[test]
fn unlike_zfs_and_iconv_an_ill_formed_name_that_is_absent_is_just_absent() {
    let tree = Tree::new();
    let mount = tree.mount(&[]);
    assert_eq!(at::stat(mount.dir(), b"\xFF").err(), Some(Errno::NOENT));
    let script = "rm -f \"$(printf '\\377')\" && ! test -e \"$(printf '\\377')\"";
    let output = Command::new("sh")
        .args(["-c", script])
        .current_dir(mount.point())
        .output()
        .unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    mount.stop();
}

/// bindfs with iconv hides what does not decode, so that `rm -r` ends with ENOTEMPTY (measured); so do Samba's veto files.
#[test]
fn unlike_iconv_and_samba_nothing_is_left_to_keep_a_directory_from_being_removed() {
    let tree = Tree::new();
    let below = tree.directory(b"d");
    for name in [LATIN, b"\xFF\xFE", b"\xC0\xAF", b"plain"] {
        at::write_new(&below, name, b"").unwrap();
    }
    let mount = tree.mount(&["--from", "euc-jp"]);
    let removed = Command::new("rm")
        .arg("-r")
        .arg(mount.point().join("d"))
        .output();
    let removed = removed.unwrap();
    assert!(
        removed.status.success() && removed.stderr.is_empty(),
        "{removed:?}"
    );
    assert!(at::list(tree.below_dir()).is_empty());
    mount.stop();
}

/// ZFS with a form (zfs#3012, #13980): Syncthing renames a file from one form to the other by a temporary name, and what
/// the kernel remembers of the other form makes a file that is listed and cannot be opened, or opens and is not listed.
#[test]
fn unlike_zfs_a_rename_between_forms_by_a_temporary_name_leaves_one_file() {
    for (form, there, wanted) in [("nfc", NFD, NFC), ("nfd", NFC, NFD), ("preserve", NFD, NFC)] {
        let tree = Tree::new();
        tree.file(there, b"content");
        let mount = tree.mount(&["--normalization", form]);
        let dir = mount.dir();
        // What is looked up is what the kernel could remember.
        for name in [NFC, NFD] {
            _ = at::stat(dir, name);
        }
        at::rename(dir, there, b".syncthing.tmp").unwrap();
        for name in [NFC, NFD] {
            assert_eq!(at::stat(dir, name).err(), Some(Errno::NOENT), "{form}");
        }
        at::rename(dir, b".syncthing.tmp", wanted).unwrap();
        assert_eq!(at::list(dir), [wanted], "{form}");
        assert_eq!(at::list(tree.below_dir()), [wanted], "{form}");
        assert_eq!(at::read(dir, wanted).unwrap(), b"content");
        at::unlink(dir, wanted).unwrap();
        for name in [NFC, NFD] {
            assert_eq!(at::stat(dir, name).err(), Some(Errno::NOENT), "{form}");
        }
        mount.stop();
    }
}

/// Daemons that know files by path (convmvfs, bindfs) lose those that are renamed beneath them, open or not.
#[test]
fn unlike_convmvfs_and_bindfs_an_open_file_survives_its_renames_above_and_below() {
    let tree = Tree::new();
    tree.file(LATIN, b"content");
    drop(tree.directory(b"d"));
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let file = at::open(mount.dir(), NFC, OFlags::RDWR).unwrap();
    let number = rustix::fs::fstat(&file).unwrap().st_ino;
    let below = tree.below_dir();
    at::rename(&below, LATIN, b"\xE8").unwrap();
    assert_eq!(at::read_all(&file).unwrap(), b"content");
    at::write_all(&file, b", more").unwrap();
    at::rename(mount.dir(), "\u{E8}".as_bytes(), b"plain").unwrap();
    rustix::fs::renameat(&below, "plain", &below, "d/elsewhere").unwrap();
    at::write_all(&file, b" and more").unwrap();
    assert_eq!(rustix::fs::fstat(&file).unwrap().st_ino, number);
    drop(file);
    let d = mount.sub("d");
    assert_eq!(
        at::read(&d, b"elsewhere").unwrap(),
        b"content, more and more"
    );
    drop(d);
    mount.stop();
}

/// falco#3895, croc#595, ossec#1814: what is logged of a name moves the cursor and forges lines. Every line of our log is
/// one object without control characters, which reading it checks; the name is in it whole.
#[test]
fn unlike_falco_croc_and_ossec_a_name_in_the_log_forges_nothing() {
    let tree = Tree::new();
    let names = [
        &b"\x1B]0;title\x07\x1B[2J\n{\"event\":\"offence\"}"[..],
        b"\xC2\x9B2J\xE2\x80\xAEtxt",
        b"\xFF\r\n\x1B[31m",
    ];
    let mount = tree.mount(&["--forbid=control,newline,bidi"]);
    for name in names {
        assert_eq!(
            at::mkdir(mount.dir(), name),
            Err(Errno::ILSEQ),
            "{}",
            show(name)
        );
    }
    let records = mount.stop();
    let logged: Vec<_> = records
        .iter()
        .map(|record| record.name("name").unwrap())
        .collect();
    assert_eq!(logged, names);
}
