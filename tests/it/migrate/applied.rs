//! Random trees, migrated and taken back: every byte of every name, time, owner and target is what it was.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::process::Command;

use utf8fs::codec::Charset;

use super::{migrate, utf8fs};
use crate::mount::mounts_inside::Inner;
use crate::support::random::Random;
use crate::support::snapshot::{self, Content, Snapshot, Times};
use crate::support::{Tree, at, needs};

const CHARSETS: [(&str, &[&str]); 5] = [
    ("iso-8859-1", &["café", "garçon", "über", "señor", "été"]),
    ("windows-1252", &["prix €", "“cité”", "œuvre"]),
    ("koi8-r", &["привет", "Москва", "ёж", "отчёт"]),
    ("shift_jis", &["日本語", "表示", "ソフト"]),
    ("gb18030", &["中文", "文件夹", "你好"]),
];

/// A tree of so many names in five charsets, doubly encoded, colliding, nested.
fn plant(tree: &Tree, count: usize, seed: u64) {
    let mut random = Random::new(seed);
    let mut pick = |end: usize| usize::try_from(random.below(u64::try_from(end).unwrap())).unwrap();
    let mut directories: Vec<(OwnedFd, usize, BTreeSet<Vec<u8>>)> =
        vec![(tree.below_dir(), 0, BTreeSet::new())];
    let mut made = 0;
    while made < count {
        let (label, words) = CHARSETS[pick(CHARSETS.len())];
        let mut text = words[pick(words.len())].to_owned();
        // Few enough numbers that names collide.
        text.push_str(&format!(" {}", pick(40)));
        let name = match pick(8) {
            0 => text.into_bytes(),
            1 => text
                .bytes()
                .map(char::from)
                .collect::<String>()
                .into_bytes(),
            2 => [text.as_bytes(), b"\xFF"].concat(),
            _ => Charset::from_label(label).unwrap().encode(&text).unwrap(),
        };
        let place = pick(directories.len());
        let kind = pick(20);
        let (dir, depth, names) = &mut directories[place];
        if !names.insert(name.clone()) {
            continue;
        }
        made += 1;
        match kind {
            0 | 1 if *depth < 8 => {
                at::mkdir(&*dir, &name).unwrap();
                let entry = (
                    at::open_dir(&*dir, &name).unwrap(),
                    *depth + 1,
                    BTreeSet::new(),
                );
                directories.push(entry);
            }
            2 => {
                let others: Vec<&Vec<u8>> = names.iter().collect();
                let target = [b"./".as_slice(), others[pick(others.len())]].concat();
                at::symlink(&target, &*dir, &name).unwrap();
            }
            // Few contents, so that some that collide are the same.
            _ => at::write_new(&*dir, &name, format!("{}", pick(3)).as_bytes()).unwrap(),
        }
    }
    for (dir, _, names) in &directories {
        for (index, name) in names.iter().enumerate() {
            at::set_mtime(dir, name, 1_000_000_000 + i64::try_from(index).unwrap()).unwrap();
        }
    }
}

/// What stays whatever names are: by inode number, kind, content (but of links), times and owners.
fn kept(dir: impl AsFd, all: &mut BTreeMap<u64, (u32, u32, i64, i64, u64)>) {
    for name in at::list(&dir) {
        let stat = at::stat(&dir, &name).unwrap();
        let is_link = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_symlink();
        if !is_link {
            let size = u64::try_from(stat.st_size).unwrap();
            let entry = (
                stat.st_mode,
                stat.st_uid,
                stat.st_mtime,
                i64::try_from(stat.st_mtime_nsec).unwrap(),
                size,
            );
            all.insert(stat.st_ino, entry);
        }
        if rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir() {
            kept(at::open_dir(&dir, &name).unwrap(), all);
        }
    }
}

/// Sizes of directories may grow.
fn kept_of(tree: &Tree) -> BTreeMap<u64, (u32, u32, i64, i64, u64)> {
    let mut all = BTreeMap::new();
    kept(tree.below_dir(), &mut all);
    for entry in all.values_mut() {
        if rustix::fs::FileType::from_raw_mode(entry.0).is_dir() {
            entry.4 = 0;
        }
    }
    all
}

fn is_text(snapshot: &Snapshot) -> usize {
    snapshot
        .keys()
        .filter(|path| std::str::from_utf8(path).is_err())
        .count()
}

/// Migrates, and undoes it.
fn there_and_back(count: usize, seed: u64, options: &[&str], is_by_plan: bool) {
    let tree = Tree::new();
    plant(&tree, count, seed);
    let before = snapshot::take(&tree.backing(), Times::Kept);
    let (inodes, ill_formed) = (kept_of(&tree), is_text(&before));
    let run = if is_by_plan {
        let arguments = [options, &["--plan", "plan", "backing"]].concat();
        assert!(matches!(
            migrate(tree.parent(), &arguments).code,
            Some(0 | 1)
        ));
        migrate(
            tree.parent(),
            &["--plan", "plan", "--apply", "--journal", "journal"],
        )
    } else {
        let arguments = [options, &["--apply", "--journal", "journal", "backing"]].concat();
        migrate(tree.parent(), &arguments)
    };
    assert!(matches!(run.code, Some(0 | 1)), "{run:?}");
    assert!(!run.stderr.contains("not done"), "{}", run.stderr);
    let after = snapshot::take(&tree.backing(), Times::Kept);
    assert!(
        is_text(&after) * 2 < ill_formed,
        "{} of {ill_formed} are left",
        is_text(&after)
    );
    // No link that led somewhere leads nowhere.
    let leads = |snapshot: &Snapshot| {
        let links = snapshot
            .values()
            .filter(|entry| matches!(entry.content, Content::Symlink(_)));
        links.count()
    };
    assert_eq!(leads(&after), leads(&before));
    let kept = kept_of(&tree);
    for (inode, entry) in &inodes {
        assert_eq!(kept.get(inode), Some(entry), "inode {inode}");
    }
    // Planning again finds nothing to do, but what is left.
    if !options.contains(&"auto") && !options.contains(&"--fix-double") {
        let again = migrate(tree.parent(), &[options, &["backing"]].concat());
        assert!(
            !again.stderr.contains("would be changed"),
            "{}",
            again.stderr
        );
    }
    utf8fs(tree.parent(), &[b"undo", b"--apply", b"journal"]).expect(0);
    snapshot::assert_same(&before, &snapshot::take(&tree.backing(), Times::Kept));
}

#[test]
fn ten_thousand_names_in_five_charsets_come_back_as_they_were() {
    there_and_back(
        10_000,
        1,
        &["--from", "shift_jis,windows-1252,koi8-r", "--fix-double"],
        false,
    );
}

#[test]
fn so_they_do_by_a_plan_and_with_numbers_for_collisions() {
    let options = [
        "--from",
        "koi8-r",
        "--on-collision",
        "suffix",
        "--normalize",
        "nfc",
    ];
    there_and_back(3000, 2, &options, true);
}

#[test]
fn so_they_do_with_files_set_aside_and_charsets_guessed() {
    there_and_back(
        3000,
        3,
        &["--from", "gb18030,iso-8859-1", "--on-collision", "same"],
        false,
    );
    there_and_back(
        1000,
        4,
        &[
            "--from",
            "auto",
            "--on-collision",
            "same",
            "--min-confidence",
            "0.1",
        ],
        true,
    );
}

/// Law T3: it would lead nowhere.
#[test]
fn t3_a_link_to_a_file_that_is_set_aside_is_reported() {
    let tree = Tree::new();
    tree.file("café".as_bytes(), b"same");
    tree.file(b"caf\xE9", b"same");
    at::symlink(b"caf\xE9", tree.below_dir(), b"link").unwrap();
    let same = ["--from", "iso-8859-1", "--on-collision", "same", "backing"];
    let readable = ["--plan", "-", "--plan-format", "readable"];
    let plan = migrate(tree.parent(), &[&same[..], &readable].concat()).expect(1);
    let inode = at::stat(tree.below_dir(), b"caf\xE9").unwrap().st_ino;
    let why = "another file has its new name and the same content";
    let line = format!("\n\"caf\\xE9\" is set aside for \"café\"  file {inode}  # {why}\n");
    assert!(plan.stdout.contains(&line), "{plan:?}");
    let run = migrate(
        tree.parent(),
        &[&same[..], &["--apply", "--journal", "journal"]].concat(),
    )
    .expect(1);
    assert_eq!(
        run.stdout,
        "\"link\" stays: it leads to a file that is set aside\n"
    );
    assert!(
        run.stderr
            .contains("1 file set aside, 1 entry was left as it is, of 3 entries"),
        "{run:?}"
    );
}

/// Another migration in between makes no difference.
#[test]
fn a_plan_that_was_applied_is_known_after_later_migrations() {
    let tree = Tree::new();
    tree.file(b"a\xE9", b"");
    let run = |arguments: &[&str]| migrate(tree.parent(), arguments);
    run(&["--from", "iso-8859-1", "--plan", "plan", "backing"]).expect(0);
    run(&["--plan", "plan", "--apply"]).expect(0);
    tree.file(b"b\xE9", b"");
    run(&["--from", "iso-8859-1", "--apply", "backing"]).expect(0);
    for again in [&["--plan", "plan", "--apply"][..], &["--plan", "plan"]] {
        let again = run(again).expect(0);
        assert!(
            again.stderr.contains("has already been applied"),
            "{again:?}"
        );
    }
}

/// Law T1: a plan that somebody edited is done as it says: exchanged names, names of one's own, lines taken out.
#[test]
fn an_edited_plan_is_done_as_it_says() {
    let tree = Tree::new();
    for (name, content) in [
        (b"\xE9".as_slice(), "1"),
        (b"\xE8", "2"),
        (b"\xE0", "3"),
        (b"x", "4"),
    ] {
        tree.file(name, content.as_bytes());
    }
    migrate(
        tree.parent(),
        &["--from", "iso-8859-1", "--plan", "plan", "backing"],
    )
    .expect(0);
    let path = tree.parent().join("plan");
    let text = std::fs::read_to_string(&path).unwrap();
    let edited: Vec<String> = text
        .lines()
        .filter(|line| !line.contains("\"à\""))
        .map(|line| line.replace("\"new\":{\"text\":\"é\"}", "\"new\":{\"text\":\"my own\"}"))
        .collect();
    std::fs::write(&path, edited.join("\n") + "\n").unwrap();
    migrate(
        tree.parent(),
        &["--plan", "plan", "--apply", "--journal", "journal"],
    )
    .expect(0);
    let names = at::sorted(tree.below_dir());
    assert_eq!(
        names,
        [
            b"my own".to_vec(),
            b"x".to_vec(),
            "è".as_bytes().to_vec(),
            b"\xE0".to_vec()
        ]
    );
    // The same command again finds it done.
    let again = migrate(
        tree.parent(),
        &["--plan", "plan", "--apply", "--journal", "journal"],
    )
    .expect(0);
    assert!(
        again.stderr.contains("has already been applied"),
        "{again:?}"
    );
    utf8fs(tree.parent(), &[b"undo", b"--apply", b"journal"]).expect(0);
    let names = at::sorted(tree.below_dir());
    assert_eq!(
        names,
        [
            b"x".to_vec(),
            b"\xE0".to_vec(),
            b"\xE8".to_vec(),
            b"\xE9".to_vec()
        ]
    );
}

/// A listing of overlayfs has other inode numbers for directories than statx(2).
#[test]
fn directories_on_overlayfs_are_renamed_and_come_back() {
    if !needs::root("mounting an overlay") {
        return;
    }
    let tree = Tree::new();
    let [low, high] = ["low", "high"].map(|name| tree.parent().join(name));
    for layer in [&low, &high] {
        std::fs::create_dir(layer).unwrap();
    }
    let _layers = [&low, &high].map(|layer| Inner::memory(layer.clone()));
    let [upper, work] = ["upper", "work"].map(|name| high.join(name));
    for directory in [&upper, &work] {
        std::fs::create_dir(directory).unwrap();
    }
    let [low, upper, work] = [&low, &upper, &work].map(|layer| layer.to_str().unwrap());
    let options = format!("lowerdir={low},upperdir={upper},workdir={work},xino=off");
    let mount = Command::new("mount")
        .args(["-t", "overlay", "-o", &options, "overlay"])
        .arg(tree.backing())
        .status();
    assert!(mount.unwrap().success());
    let below = tree.directory(b"d\xE9p\xF4t");
    at::write_new(&below, b"\xE9t\xE9", b"").unwrap();
    at::symlink(b"d\xE9p\xF4t/\xE9t\xE9", tree.below_dir(), b"link").unwrap();
    let listed = std::fs::read_dir(tree.backing()).unwrap();
    let mut listed = listed.map(|entry| entry.unwrap());
    let is_other = |entry: std::fs::DirEntry| entry.ino() != entry.metadata().unwrap().ino();
    assert!(listed.any(is_other), "a test of nothing");
    let before = snapshot::take(&tree.backing(), Times::Kept);
    let apply = [
        "--from",
        "iso-8859-1",
        "--apply",
        "--journal",
        "journal",
        "backing",
    ];
    migrate(tree.parent(), &apply).expect(0);
    assert!(tree.backing().join("link").metadata().unwrap().is_file());
    assert!(tree.backing().join("dépôt/été").is_file());
    utf8fs(tree.parent(), &[b"undo", b"--apply", b"journal"]).expect(0);
    snapshot::assert_same(&before, &snapshot::take(&tree.backing(), Times::Kept));
}
