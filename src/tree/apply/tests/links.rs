//! Links lead to what they led to, whatever becomes of the names on the way.

use std::io::Read;

use super::*;
use crate::backing::{Dir, SetTime};
use crate::names::BackingName;
use crate::tree::change::TreePath;

/// Two files in a directory, and a link to each from another directory, all of which get other names.
fn linked() -> Stage {
    let stage = Stage::new();
    stage.dir(&[b"D\xE9"]);
    stage.dir(&[b"links"]);
    for file in [&b"f\xE9"[..], b"g\xE9"] {
        stage.file(&[b"D\xE9", file]);
        stage.link(&[b"../D\xE9/", file].concat(), &[b"links", file]);
    }
    stage.age();
    stage
}

fn target(stage: &Stage, link: &str) -> Vec<u8> {
    let target = fs::read_link(stage.tree().join("links").join(link)).unwrap();
    target.into_os_string().into_encoded_bytes()
}

/// The content of a file, whose access time stays.
fn octets(path: &Path) -> Vec<u8> {
    let mut options = fs::File::options();
    let mut opened = options
        .read(true)
        .custom_flags(libc::O_NOATIME)
        .open(path)
        .unwrap();
    let mut content = Vec::new();
    opened.read_to_end(&mut content).unwrap();
    content
}

#[test]
fn a_link_leads_to_a_file_that_could_not_be_renamed_as_before() {
    let stage = linked();
    let before = stage.manifest();
    let (mut journal, _) = stage.draft().unwrap();
    let strangers = path(&stage.tree(), &[b"D\xE9", "f\u{E9}".as_bytes()]);
    fs::write(&strangers, "a stranger's").unwrap();
    let (outcome, left) = stage.apply(&mut journal);
    let expected = [
        r"D\xe9/f\xe9: the name is taken",
        r"links/f\xe9: what it leads to was left, or got another name",
    ];
    assert_eq!(left, lines(&expected));
    assert_eq!((outcome.done, outcome.left), (journal.jobs.steps - 2, 2));
    assert_eq!(target(&stage, "f\u{E9}"), b"../D\xC3\xA9/f\xE9");
    assert_eq!(octets(&stage.tree().join("links/f\u{E9}")), b"D\xE9f\xE9");
    assert_eq!(target(&stage, "g\u{E9}"), "../D\u{E9}/g\u{E9}".as_bytes());
    fs::remove_file(stage.tree().join("D\u{E9}/f\u{E9}")).unwrap();
    let (_, left) = stage.undo(&mut journal, None);
    assert_eq!(left, BTreeSet::new());
    // The stranger has changed that.
    let time = before[&b"D\xE9"[..]].mtime();
    let directory = Dir::open_root(&path(&stage.tree(), &[b"D\xE9"])).unwrap();
    file::set_times(directory, SetTime::Omit, SetTime::At(time)).unwrap();
    assert_same(&stage.manifest(), &before, "undone");
}

#[test]
fn a_link_whose_file_got_another_name_than_was_planned_is_reported() {
    let stage = linked();
    let before = stage.manifest();
    let mut plans = plan(&stage.root());
    for line in plans.iter_mut().flat_map(|plan| &mut plan.lines) {
        if line.old.as_bytes() == b"D\xE9" {
            line.new = Some(name(b"other"));
        }
    }
    let (mut journal, _) = stage.draft_of(&plans).unwrap();
    let (_, left) = stage.apply(&mut journal);
    let expected = [
        r"links/f\xe9: what it led to was left, or got another name than its new target has",
        r"links/g\xe9: what it led to was left, or got another name than its new target has",
    ];
    assert_eq!(left, lines(&expected));
    let (_, left) = stage.undo(&mut journal, None);
    assert_eq!(left, BTreeSet::new());
    assert_same(&stage.manifest(), &before, "undone");
}

#[test]
fn a_link_leads_to_a_file_whose_name_could_not_be_put_back() {
    let stage = linked();
    let (mut journal, _) = stage.draft().unwrap();
    stage.apply(&mut journal);
    let strangers = path(&stage.tree(), &["D\u{E9}".as_bytes(), b"f\xE9"]);
    fs::write(&strangers, "a stranger's").unwrap();
    let (_, left) = stage.undo(&mut journal, None);
    assert_eq!(left.len(), 2, "{left:?}");
    let link = path(&stage.tree(), &[b"links", b"f\xE9"]);
    assert_eq!(octets(&link), b"D\xE9f\xE9");
}

/// In which order it was done: is each step one of a target?
#[derive(Default)]
struct Order(Mutex<Vec<bool>>);

impl Observer for Order {
    fn step(&self, _directory: &TreePath, _name: &BackingName, going: Movement<'_>) {
        self.0.lock().push(matches!(going, Movement::Target(_)));
    }

    fn skipped(&self, left: &Skipped) {
        panic!("{left:?}");
    }
}

/// Through a mount a file has its new name already, and never any more the old one: so the link must not lead to it.
#[test]
fn t7_links_get_their_targets_before_any_name_is_changed_and_back_after_all() {
    let stage = linked();
    let (mut journal, _) = stage.draft().unwrap();
    let (forth, back) = (Order::default(), Order::default());
    apply(&stage.root(), &mut journal, 2, &forth).unwrap();
    undo(&stage.root(), &mut journal, UndoScope::default(), &back).unwrap();
    let (forth, mut back) = (forth.0.into_inner(), back.0.into_inner());
    assert_eq!(forth.iter().filter(|is_target| **is_target).count(), 2);
    assert!(forth.is_sorted_by_key(|is_target| !is_target), "{forth:?}");
    back.reverse();
    assert_eq!(back, forth);
}

#[test]
fn a_link_over_another_leads_to_a_file_that_could_not_be_renamed_as_before() {
    let stage = linked();
    stage.link(b"../D\xE9", &[b"links", b"ak"]);
    stage.link(b"ak/f\xE9", &[b"links", b"over"]);
    let (mut journal, _) = stage.draft().unwrap();
    let strangers = path(&stage.tree(), &[b"D\xE9", "f\u{E9}".as_bytes()]);
    fs::write(&strangers, "a stranger's").unwrap();
    let (_, left) = stage.apply(&mut journal);
    assert_eq!(left.len(), 3, "{left:?}");
    let over = stage.tree().join("links/over");
    assert_eq!(octets(&over), b"D\xE9f\xE9");
    stage.undo(&mut journal, None);
    assert_eq!(octets(&over), b"D\xE9f\xE9");
}

#[test]
fn undoing_again_leaves_what_others_have_made_since() {
    let stage = linked();
    let (mut journal, _) = stage.draft().unwrap();
    stage.apply(&mut journal);
    let (_, left) = stage.undo(&mut journal, None);
    assert_eq!(left, BTreeSet::new());
    let strangers = path(&stage.tree(), &[b"D\xE9", "f\u{E9}".as_bytes()]);
    fs::create_dir(stage.tree().join("D\u{E9}")).unwrap();
    for strangers in [strangers, stage.tree().join("D\u{E9}/f\u{E9}")] {
        fs::write(strangers, "a stranger's").unwrap();
    }
    let (again, left) = stage.undo(&mut journal, None);
    assert_eq!((again.done, left), (0, BTreeSet::new()));
    let link = path(&stage.tree(), &[b"links", b"f\xE9"]);
    let target = fs::read_link(&link).unwrap().into_os_string();
    assert_eq!(target.into_encoded_bytes(), b"../D\xE9/f\xE9");
    assert_eq!(octets(&link), b"D\xE9f\xE9");
}

/// Undoing it gives back what was there: that the link led nowhere.
#[test]
fn a_link_that_led_nowhere_does_so_again_without_complaint() {
    let stage = Stage::new();
    stage.file(&[b"caf\xE9"]);
    stage.link(b"\xFC/../caf\xE9", &[b"link"]);
    stage.age();
    let before = stage.manifest();
    let (mut journal, _) = stage.draft().unwrap();
    stage.apply(&mut journal);
    let (_, left) = stage.undo(&mut journal, None);
    assert_eq!(left, BTreeSet::new());
    assert_same(&stage.manifest(), &before, "undone");
}
