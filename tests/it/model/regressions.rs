//! Cases that random operations found, by name.

use utf8fs::codec::Form;
use utf8fs::policy::Profile;

use super::directory::{Kind, RenameMode};
use super::laws::{Legacy, OnViolation};
use super::operations::{Bytes, Name, Operation};
use super::run::Case;
use super::settings::Setting;
use crate::support::Tree;

/// Does `operations` in a directory of files with these names, many times over where timing may matter.
fn check(setting: &Setting, names: &[&[u8]], operations: &[Operation]) {
    let tree = Tree::in_memory();
    let mount = tree.mount(&setting.options());
    for _ in 0..20 {
        let entries: Vec<(Bytes, Kind)> = names
            .iter()
            .map(|name| (Bytes(name.to_vec()), Kind::File))
            .collect();
        let mut case = Case::new(&tree, mount.dir(), setting, &entries);
        let result = case.compare("nothing").and_then(|()| {
            operations
                .iter()
                .try_for_each(|operation| case.step(operation))
        });
        if let Err(error) = result {
            panic!("{error}");
        }
    }
    mount.stop();
}

fn fresh(name: &[u8]) -> Name {
    Name::Fresh(name.to_vec())
}

fn rename(old: &[u8], new: &[u8]) -> Operation {
    Operation::Rename(fresh(old), fresh(new), RenameMode::Replace)
}

/// N11: what is visible as the new name is replaced, though nobody could make that name (`posix` lacks the `%`).
#[test]
fn an_escaped_name_is_replaced_by_rename_under_posix() {
    for on_violation in [
        OnViolation::Reject,
        OnViolation::Normalize,
        OnViolation::Report,
    ] {
        let setting = Setting::new(Legacy::Escape, on_violation, Profile::Posix, None, &[]);
        let operations = [rename(b"a", b"%2525"), rename(b"%2525", b"%C3%A9")];
        check(&setting, &[b"a", b"%25", b"\xC3\xA9"], &operations);
    }
}

/// N11: a grandfathered name is replaced by rename, as by an editor that saves a file.
#[test]
fn a_raw_name_is_replaced_by_rename() {
    for on_violation in [
        OnViolation::Reject,
        OnViolation::Normalize,
        OnViolation::Report,
    ] {
        let setting = Setting::new(Legacy::Raw, on_violation, Profile::Utf8, None, &[]);
        check(&setting, &[b"a", b"\xE9"], &[rename(b"a", b"\xE9")]);
    }
}

/// N3, N11: the raw name that is asked for is meant, not what `normalize` would make of it.
#[test]
fn a_raw_name_is_meant_though_it_stands_for_another_entry() {
    let from = ["windows-1252"];
    let setting = Setting::new(
        Legacy::Raw,
        OnViolation::Normalize,
        Profile::Utf8,
        None,
        &from,
    );
    let names: [&[u8]; 2] = [b"\xE9", b"\xC3\xA9"];
    check(&setting, &names, &[rename(b"\xC3\xA9", b"\xE9")]);
}

/// N10: what was stored as asked is also reached by those bytes, and not after it is gone by its visible name.
#[test]
fn a_reported_name_does_not_go_stale() {
    let setting = Setting::new(
        Legacy::Escape,
        OnViolation::Report,
        Profile::Utf8,
        None,
        &[],
    );
    let made = Operation::CreateNew(fresh(b"\xE9"));
    let operations = [
        made,
        Operation::Open(fresh(b"\xE9")),
        Operation::Unlink(fresh(b"%E9")),
    ];
    check(&setting, &[], &operations);
    let operations = [rename(b"a", b"\xE9"), rename(b"%E9", b"b")];
    check(&setting, &[b"a"], &operations);
}

/// N10: a rename to the other form of a name replaces what is there, also where that form could be stored.
#[test]
fn the_other_form_is_replaced_by_rename_under_report() {
    let form = Some(Form::Nfd);
    let setting = Setting::new(Legacy::Raw, OnViolation::Report, Profile::Utf8, form, &[]);
    check(
        &setting,
        &[b"a", b"e\xCC\x81"],
        &[rename(b"a", b"\xC3\xA9")],
    );
}

/// N10: after a rename away by one form, the other no longer works.
#[test]
fn the_other_form_does_not_outlive_a_rename() {
    let form = Some(Form::Nfc);
    let setting = Setting::new(Legacy::Hide, OnViolation::Reject, Profile::Utf8, form, &[]);
    let operations = [
        Operation::Open(fresh(b"e\xCC\x81")),
        rename(b"e\xCC\x81", b"b"),
    ];
    check(&setting, &[b"\xC3\xA9"], &operations);
}
