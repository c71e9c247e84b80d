//! sftp and rsync over a mount, the server run by the client itself.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::fs::{Access, access};

use super::document::{Part, literal, literals, part};
use super::{names, prepare};
use crate::support::{Tree, at, needs};

const SERVER: &str = "/usr/lib/openssh/sftp-server";

fn sftp_possible() -> bool {
    if !needs::program("sftp", "a mount served by SFTP") {
        return false;
    }
    let server = access(SERVER, Access::EXEC_OK).is_ok();
    assert!(server || !needs::is_root(), "{SERVER} is not installed");
    server || needs::root("a mount served by SFTP")
}

/// Runs commands of sftp in a directory of the mount, and returns what it says of each.
fn sftp(tree: &Tree, directory: &str, commands: &[u8]) -> String {
    let place = tree.point().join(directory);
    let batch = tree.parent().join("batch");
    std::fs::write(&batch, commands).unwrap();
    let output = Command::new("sftp")
        .arg("-D")
        .arg(format!("{SERVER} -d {}", place.to_str().unwrap()))
        .arg("-b")
        .arg(&batch)
        .arg("nowhere")
        .env("LC_ALL", "C.UTF-8")
        .current_dir(tree.parent())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = [output.stdout, output.stderr].concat();
    String::from_utf8(said).unwrap()
}

fn check_sftp(part: &Part) {
    let tree = Tree::new();
    let mount = tree.mount(&part.options);
    std::fs::write(tree.parent().join("source"), "written").unwrap();
    let mut offences = Vec::new();
    for (number, row) in part.rows.iter().enumerate() {
        let [beside, written, below, client, logged] = row[..] else {
            panic!("{row:?}");
        };
        let directory = format!("row{number}");
        prepare(tree.below_dir(), &directory, &literals(beside));
        // A dash in front: what is refused does not end the batch.
        let commands = [
            b"-put source ",
            &literal(written)[..],
            b"\n-get ",
            &literal(client),
            b" got\n",
        ]
        .concat();
        let said = sftp(&tree, &directory, &commands);
        assert_eq!(
            names(tree.below_dir(), &directory),
            literals(below),
            "{row:?}"
        );
        if literals(below).is_empty() {
            let told = String::from_utf8(literal(client)).unwrap();
            assert!(said.contains(&format!(": {told}")), "{row:?}: {said}");
        } else {
            let got = tree.parent().join("got");
            assert_eq!(std::fs::read(&got).unwrap(), b"written", "{row:?}");
            std::fs::remove_file(got).unwrap();
            let said = sftp(&tree, &directory, b"ls -1\n");
            let listed = said.lines().filter(|line| !line.starts_with("sftp>"));
            let listed: Vec<_> = listed.map(|line| line.as_bytes().to_vec()).collect();
            assert_eq!(listed, literals(client), "{row:?}");
        }
        if !logged.is_empty() {
            offences.push(logged.split_once(", ").unwrap());
        }
    }
    let records = mount.stop();
    let found: Vec<_> = records
        .iter()
        .map(|record| (record.text("rule"), record.text("kind")))
        .collect();
    assert_eq!(found, offences);
    for record in records {
        assert_eq!(record.0["command"]["text"], "sftp-server", "{record:?}");
    }
}

#[test]
fn n9_n10_names_that_sftp_clients_write_lie_below_and_are_listed_as_documented() {
    if sftp_possible() {
        check_sftp(&part("sftp"));
        check_sftp(&part("sftp-normalize"));
    }
}

#[test]
fn n9_a_refusal_reaches_clients_of_sftp_and_rsync_as_documented() {
    if !(sftp_possible() && needs::program("rsync", "a mount served by rsync")) {
        return;
    }
    for row in part("errno").rows {
        let cell = |column: usize| String::from_utf8(literal(row[column])).unwrap();
        let tree = Tree::new();
        let mount = tree.mount(&["--errno", &cell(0)]);
        let source = tree.parent().join("source");
        std::fs::create_dir(&source).unwrap();
        at::write_new(at::open_dir_path(&source), b"na\xEFve", b"content").unwrap();
        let commands =
            b"-put batch na\xEFve\n-mkdir na\xEFve\nput batch naive\n-rename naive na\xEFve\n";
        let said = sftp(&tree, ".", commands);
        assert_eq!(said.matches(&format!(": {}", cell(2))).count(), 3, "{said}");
        let output = rsync(&source, &tree.point(), "");
        assert_eq!(output.status.code(), Some(23), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(&format!("failed: {} (", cell(3))), "{said}");
        assert_eq!(at::list(tree.below_dir()), [b"naive"]);
        assert_eq!(mount.stop().len(), 4);
    }
}

/// `rsync -a` from one directory into another, with further options.
fn rsync(from: &Path, to: &Path, options: &str) -> Output {
    Command::new("rsync")
        .arg("--archive")
        .args(options.split_whitespace())
        .arg(from.join(""))
        .arg(to.join(""))
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn n9_n10_n12_what_rsync_writes_lies_below_as_documented() {
    if !needs::program("rsync", "a mount served by rsync") {
        return;
    }
    for row in part("rsync").rows {
        let [mounted, options, status, below, after] = row[..] else {
            panic!("{row:?}");
        };
        let text =
            |cell: &str| String::from_utf8(literals(cell).pop().unwrap_or_default()).unwrap();
        let (mounted, options) = (text(mounted), text(options));
        let tree = Tree::new();
        let source = tree.parent().join("source");
        std::fs::create_dir(&source).unwrap();
        for name in [&b"caf\xE9.txt"[..], b"plain.txt"] {
            at::write_new(at::open_dir_path(&source), name, name).unwrap();
        }
        let mount = tree.mount(&mounted.split_whitespace().collect::<Vec<_>>());
        let output = rsync(&source, &tree.point(), &options);
        let code = output.status.code().map(|code| code.to_string());
        assert_eq!(code.as_deref(), Some(status), "{row:?}: {output:?}");
        assert_eq!(at::sorted(tree.below_dir()), literals(below), "{row:?}");
        rsync(&source, &tree.point(), &format!("{options} --delete-after"));
        assert_eq!(at::sorted(tree.below_dir()), literals(after), "{row:?}");
        let records = mount.stop();
        if status == "23" {
            // rsync makes each file under a temporary name first.
            let name = records[0].name("name").unwrap();
            assert!(name.starts_with(b".caf\xE9.txt."), "{records:?}");
            assert_eq!(records[0].text("operation"), "create");
            assert_eq!(records[0].0["command"]["text"], "rsync");
        }
    }
}

/// rsync's temporary names are longer than those that it writes.
#[test]
fn n9_names_at_the_limit_are_written_by_rsync_as_documented() {
    if !needs::program("rsync", "a mount served by rsync") {
        return;
    }
    for row in part("rsync-limit").rows {
        let [mounted, options, at_limit, longest] = row[..] else {
            panic!("{row:?}");
        };
        let text =
            |cell: &str| String::from_utf8(literals(cell).pop().unwrap_or_default()).unwrap();
        let mounted = text(mounted);
        let limit = if mounted.is_empty() { 255 } else { 143 };
        let written = [(limit, at_limit), (255, longest)];
        for (length, outcome) in written {
            // Characters of one, two and four bytes, which a cut may divide.
            for character in ["x", "é", "\u{1F600}"] {
                let room = length - ".txt".len();
                let name = character.repeat(room / character.len());
                let name = format!("{name}{}.txt", "y".repeat(room % character.len()));
                let tree = Tree::new();
                let source = tree.parent().join("source");
                std::fs::create_dir(&source).unwrap();
                at::write_new(at::open_dir_path(&source), name.as_bytes(), b"content").unwrap();
                let mount = tree.mount(&mounted.split_whitespace().collect::<Vec<_>>());
                let output = rsync(&source, &tree.point(), &text(options));
                let below = at::sorted(tree.below_dir());
                match outcome {
                    "is written" => {
                        assert!(output.status.success(), "{row:?} {character}: {output:?}");
                        assert_eq!(below, [name.as_bytes()], "{row:?}");
                    }
                    _ => {
                        assert_eq!(output.status.code(), Some(23), "{row:?} {character}");
                        assert!(below.is_empty(), "{row:?} {character}: {below:?}");
                    }
                }
                mount.stop();
            }
        }
    }
}

/// A tree in Latin-1, to the mount and back again.
#[test]
fn n3_a_tree_in_latin_1_comes_back_byte_for_byte_by_rsync() {
    if !needs::program("rsync", "a mount served by rsync") {
        return;
    }
    let tree = Tree::new();
    let [source, back] = ["source", "back"].map(|name| tree.parent().join(name));
    for directory in [&source, &back] {
        std::fs::create_dir(directory).unwrap();
        std::fs::set_permissions(directory, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let dir = at::open_dir_path(&source);
    for number in 0..500_usize {
        // All printing octets of ISO-8859-1.
        let octet = u8::try_from(0xA0 + number % 96).unwrap();
        let name = [format!("{number}-").as_bytes(), &[octet; 40]].concat();
        at::write_new(&dir, &name, &name).unwrap();
    }
    let mount = tree.mount(&["--profile", "utf8"]);
    let output = rsync(&source, &tree.point(), "--iconv=iso-8859-1,utf-8");
    assert!(output.status.success(), "{output:?}");
    let output = rsync(&tree.point(), &back, "--iconv=utf-8,iso-8859-1");
    assert!(output.status.success(), "{output:?}");
    let dir = at::open_dir_path(&back);
    assert_eq!(at::sorted(&dir), at::sorted(at::open_dir_path(&source)));
    for name in at::list(&dir) {
        assert_eq!(at::read(&dir, &name).unwrap(), name);
    }
    assert_eq!(mount.stop().len(), 0);
}
