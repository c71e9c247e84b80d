//! Samba over a mount: a server of the test's own, and the client that comes with it.

/// The server, and what the client says.
mod server;

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use self::server::{Samba, option, status};
use super::document::{Part, literal, literals, part};
use super::{names, prepare};
use crate::support::{Mount, Tree, at, needs, show, user};

fn possible() -> bool {
    needs::root("Samba, which acts for its users,")
        && needs::program("smbd", "a mount served by Samba")
        && needs::program("smbclient", "a mount served by Samba")
}

/// A tree that SMB's guest may write in, with a mount.
fn shared<'t>(tree: &'t Tree, options: &[&str]) -> Mount<'t> {
    std::fs::set_permissions(tree.backing(), PermissionsExt::from_mode(0o777)).unwrap();
    tree.mount(options)
}

/// A client writes each name of a table beside what is there, and lists the directory.
fn check_written(part: &Part, configuration: &str) {
    let tree = Tree::new();
    let mount = shared(&tree, &part.options);
    let samba = Samba::start(&tree, configuration);
    let source = tree.parent().join("source");
    std::fs::write(&source, "written").unwrap();
    let mut offences = Vec::new();
    for (number, row) in part.rows.iter().enumerate() {
        let [beside, written, below, client, logged] = row[..] else {
            panic!("{row:?}");
        };
        let directory = format!("row{number}");
        prepare(tree.below_dir(), &directory, &literals(beside));
        let put = [
            &option("put ", &source).into_bytes()[..],
            b" \"",
            &literal(written),
            b"\"\n",
        ]
        .concat();
        let said = samba.client(&directory, &put);
        let listed = samba.list(&directory);
        if client.starts_with("`NT_STATUS_") {
            assert_eq!(
                status(&said).map(str::as_bytes),
                Some(&literal(client)[..]),
                "{row:?}"
            );
            assert_eq!(listed.len(), literals(beside).len(), "{row:?}");
        } else {
            assert_eq!(status(&said), None, "{row:?}");
            assert_eq!(listed, literals(client), "{row:?}");
            let get = [b"get \"", &literal(client)[..], b"\" got\n"].concat();
            samba.client(&directory, &get);
            let got = samba.place.join("got");
            assert_eq!(std::fs::read(&got).unwrap(), b"written", "{row:?}");
            std::fs::remove_file(got).unwrap();
        }
        assert_eq!(
            names(tree.below_dir(), &directory),
            literals(below),
            "{row:?}"
        );
        if !logged.is_empty() {
            offences.push(logged.split_once(", ").unwrap());
        }
    }
    drop(samba);
    let records = mount.stop();
    let found: Vec<_> = records
        .iter()
        .map(|record| (record.text("rule"), record.text("kind")))
        .collect();
    assert_eq!(found, offences);
    for record in &records {
        assert_eq!(record.0["command"]["text"], "smbd", "{record:?}");
        assert_eq!(record.number("uid"), u64::from(user::NOBODY), "{record:?}");
    }
}

#[test]
fn n9_names_that_clients_write_lie_below_and_are_listed_as_documented() {
    if possible() {
        let samba = part("samba");
        check_written(&samba, &samba.configuration);
        check_written(&part("samba-normalize"), &samba.configuration);
    }
}

#[test]
fn n9_names_that_macs_write_are_mapped_as_documented() {
    if possible() {
        let mac = part("samba-mac");
        check_written(&mac, &mac.configuration);
    }
}

#[test]
fn n3_n6_names_that_lie_below_are_listed_as_documented_and_open() {
    if !possible() {
        return;
    }
    let below = part("samba-below");
    let (mac, samba) = (part("samba-mac"), part("samba"));
    let plain = samba.configuration.replace("mangled names = no\n", "");
    assert_ne!(plain, samba.configuration);
    let ways = [
        (&vec![], &plain),
        (&mac.options, &mac.configuration),
        (&samba.options, &samba.configuration),
    ];
    for (column, (options, configuration)) in ways.into_iter().enumerate() {
        let tree = Tree::new();
        let rows = || {
            below
                .rows
                .iter()
                .map(|row| (literal(row[0]), literal(row[column + 1])))
        };
        for (name, _) in rows() {
            tree.file(&name, &name);
        }
        let mount = shared(&tree, options);
        let samba = Samba::start(&tree, configuration);
        let mut wanted: Vec<_> = rows().map(|(_, visible)| visible).collect();
        wanted.sort();
        assert_eq!(samba.list("."), wanted, "{options:?}");
        for (name, visible) in rows() {
            samba.client(".", &[b"get \"", &visible[..], b"\" got\n"].concat());
            let got = std::fs::read(samba.place.join("got")).unwrap();
            assert_eq!(got, name, "{options:?}: {}", show(&visible));
        }
        drop(samba);
        mount.stop();
    }
}

#[test]
fn n9_a_refusal_reaches_smb_clients_as_documented() {
    if !possible() {
        return;
    }
    for row in part("errno").rows {
        let errno = String::from_utf8(literal(row[0])).unwrap();
        let tree = Tree::new();
        let mount = shared(&tree, &["--profile", "portable", "--errno", &errno]);
        let samba = Samba::start(&tree, &part("samba").configuration);
        let said = samba.client(".", b"put smb.conf con.txt\n");
        assert_eq!(
            status(&said).map(str::as_bytes),
            Some(&literal(row[1])[..]),
            "{errno}"
        );
        drop(samba);
        assert_eq!(mount.stop().len(), 1, "{errno}");
    }
}

/// An old smb.conf, by which Samba writes names in another charset.
#[test]
fn n9_names_in_latin_1_by_an_old_smb_conf_are_refused() {
    if !possible() {
        return;
    }
    let part = part("samba");
    let old = part
        .configuration
        .replace("[global]\n", "[global]\nunix charset = iso-8859-1\n");
    let tree = Tree::new();
    let mount = shared(&tree, &part.options);
    let samba = Samba::start(&tree, &old);
    // The client reads the same configuration, and takes names in the same charset.
    let said = samba.client(".", b"put smb.conf na\xEFve\nput smb.conf naive\n");
    assert_eq!(status(&said), Some("NT_STATUS_OBJECT_NAME_INVALID"));
    assert_eq!(at::list(tree.below_dir()), [b"naive"]);
    drop(samba);
    let records = mount.stop();
    assert_eq!(records.len(), 1, "{records:?}");
    assert_eq!(records[0].name("name"), Some(b"na\xEFve".to_vec()));
    assert_eq!(records[0].name("accepted"), Some("naïve".into()));
}

/// Half a surrogate pair, which UTF-16 can have and UTF-8 cannot, and a name that is short in UTF-16 only.
#[test]
fn n9_names_that_utf_16_has_room_for_and_utf_8_has_not_are_refused() {
    if !possible() {
        return;
    }
    let part = part("samba");
    let tree = Tree::new();
    let mount = shared(&tree, &part.options);
    let samba = Samba::start(&tree, &part.configuration);
    let said = samba.client(".", b"put smb.conf half\xED\xA0\x80\n");
    assert_eq!(status(&said), Some("NT_STATUS_ILLEGAL_CHARACTER"));
    let long = "é".repeat(128);
    let said = samba.client(".", format!("put smb.conf {long}\n").as_bytes());
    assert_eq!(status(&said), Some("NT_STATUS_OBJECT_NAME_INVALID"));
    assert!(at::list(tree.below_dir()).is_empty());
    drop(samba);
    let records = mount.stop();
    assert_eq!(records.len(), 1, "{records:?}");
    assert_eq!(records[0].text("rule"), "too-long");
}

/// How many files go each way.
const FILES: usize = 1000;

/// Names of every kind, no two of which are alike.
fn many(kinds: &[&str]) -> Vec<Vec<u8>> {
    let name = |number: usize| {
        let kind = literal(&format!("`{}`", kinds[number % kinds.len()]));
        let mut name = [number.to_string().as_bytes(), &kind].concat();
        // The last kind is as long as a name can be.
        if number % kinds.len() == kinds.len() - 1 {
            name = name.repeat(255 / name.len());
        }
        name
    };
    (0..FILES).map(name).collect()
}

/// Content of 0 to 8 KiB that is the name, many times.
fn content(name: &[u8]) -> Vec<u8> {
    name.repeat(name.iter().map(|&octet| usize::from(octet)).sum::<usize>() % 32)
}

/// Content by name of all files in a directory.
fn contents(directory: &Path) -> std::collections::BTreeMap<Vec<u8>, Vec<u8>> {
    let entries = std::fs::read_dir(directory).unwrap().map(Result::unwrap);
    let file = |entry: std::fs::DirEntry| {
        (
            entry.file_name().as_bytes().to_vec(),
            std::fs::read(entry.path()).unwrap(),
        )
    };
    entries.map(file).collect()
}

/// From below to the client, then renamed and half of them removed by it.
#[test]
fn n3_a_thousand_files_that_lie_below_are_listed_read_renamed_and_removed_by_clients() {
    if !possible() {
        return;
    }
    let kinds = [
        "caf\\xE9",
        "cafe\\u{301}",
        "ф?.txt",
        "a:b",
        " .",
        "\\u{1F600}",
        "\\x01<>",
        "plain",
        "PLAIN",
        "\\xFF\\xE9",
    ];
    let part = part("samba");
    let tree = Tree::new();
    let mut wanted: Vec<_> = many(&kinds).iter().map(|name| content(name)).collect();
    for name in many(&kinds) {
        tree.file(&name, &content(&name));
        let path = tree.backing().join(std::ffi::OsStr::from_bytes(&name));
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o666)).unwrap();
    }
    let mount = shared(&tree, &part.options);
    let samba = Samba::start(&tree, &part.configuration);
    let got = tree.parent().join("got");
    std::fs::create_dir(&got).unwrap();
    let said = samba.client(
        ".",
        format!("{}\nprompt off\nmget *\n", option("lcd ", &got)).as_bytes(),
    );
    assert_eq!(status(&said), None);
    let by_client = contents(&got);
    assert_eq!(by_client, contents(&mount.point()));
    let mut read: Vec<_> = by_client.values().cloned().collect();
    wanted.sort();
    read.sort();
    assert!(read == wanted, "not what lies below");

    let mut commands = Vec::new();
    for (number, name) in by_client.keys().enumerate() {
        commands.extend(
            [
                b"rename \"",
                &name[..],
                format!("\" new-é-{number}\n").as_bytes(),
            ]
            .concat(),
        );
        if number % 2 == 1 {
            commands.extend(format!("del new-é-{number}\n").as_bytes());
        }
    }
    let said = samba.client(".", &commands);
    assert_eq!(status(&said), None);
    let kept = by_client
        .values()
        .enumerate()
        .filter(|(number, _)| number % 2 == 0);
    let kept =
        kept.map(|(number, content)| (format!("new-é-{number}").into_bytes(), content.clone()));
    assert!(
        contents(&tree.backing()) == kept.collect(),
        "not what was renamed and kept"
    );
    drop(samba);
    assert_eq!(mount.stop().len(), 0);
}

/// From the client to below.
#[test]
fn n1_a_thousand_files_that_clients_write_lie_below_byte_for_byte() {
    if !possible() {
        return;
    }
    let kinds = [
        "café",
        "cafe\\u{301}",
        "ф\\u{F025}.txt",
        "\\u{1F600}",
        " %41~",
        "plain",
        "東京",
        "é",
    ];
    let part = part("samba");
    let tree = Tree::new();
    let mount = shared(&tree, &part.options);
    let samba = Samba::start(&tree, &part.configuration);
    let put = tree.parent().join("put");
    std::fs::create_dir(&put).unwrap();
    let dir = at::open_dir_path(&put);
    for name in many(&kinds) {
        at::write_new(&dir, &name, &content(&name)).unwrap();
    }
    let said = samba.client(
        ".",
        format!("{}\nprompt off\nmput *\n", option("lcd ", &put)).as_bytes(),
    );
    assert_eq!(status(&said), None);
    assert!(
        contents(&tree.backing()) == contents(&put),
        "not what was put"
    );
    assert_eq!(samba.list("."), at::sorted(&dir));
    drop(samba);
    assert_eq!(mount.stop().len(), 0);
}
