//! Directories of very many names (laws N2, N3, N5): the program's index equals the reference model's.

use std::collections::{BTreeMap, HashSet};

use utf8fs::names::{BackingName, Index};
use utf8fs::policy::Profile;

use super::directory::Model;
use super::laws::{Legacy, OnViolation};
use super::settings::Setting;
use super::single::map;
use crate::support::show;

/// Every visible name is well-formed and of legal length, none is doubled, and each leads to what it stands for by the
/// reference model.
fn assert_as_the_model_says(setting: &Setting, names: &[Vec<u8>]) {
    let map = map(&setting.meaning);
    let backing = |name: &Vec<u8>| BackingName::parse(name).unwrap();
    let (conforming, others): (Vec<BackingName>, Vec<BackingName>) = names
        .iter()
        .map(backing)
        .partition(|name| map.policy.conforms(name.as_bytes()));
    let siblings: HashSet<&[u8]> = conforming.iter().map(|name| name.as_bytes()).collect();
    let index = Index::build(&map, others.clone(), |name| siblings.contains(name));
    let itself = |name: &BackingName| (name.as_bytes().to_vec(), name.as_bytes().to_vec());
    let mut found: BTreeMap<Vec<u8>, Vec<u8>> = conforming.iter().map(itself).collect();
    for name in &others {
        let visible = index.visible(name).unwrap().as_bytes();
        assert_eq!(index.backing(visible), Some(name));
        assert!(std::str::from_utf8(visible).is_ok(), "{}", show(visible));
        assert!(visible.len() <= 255, "{}", show(visible));
        let other = found.insert(visible.to_vec(), name.as_bytes().to_vec());
        assert_eq!(other, None, "{} is doubled", show(visible));
    }
    let model = Model::of_files(&setting.meaning, names);
    for (visible, expected) in model.visible() {
        assert_eq!(found.remove(&visible), Some(expected), "{}", show(&visible));
    }
    assert!(found.is_empty(), "{found:?} are not what the laws say");
}

fn setting(legacy: Legacy, from: &[&str]) -> Setting {
    Setting::new(legacy, OnViolation::Reject, Profile::Utf8, None, from)
}

/// All names of two octets that can exist: 65,536 without those with NUL or `/` in them, and without `..`.
#[test]
fn every_name_of_two_octets_is_visible_once() {
    let octets = || (1..=255_u8).filter(|&octet| octet != b'/');
    let names: Vec<Vec<u8>> = octets()
        .flat_map(|first| octets().map(move |second| vec![first, second]))
        .filter(|name| name != b"..")
        .collect();
    assert_eq!(names.len(), 254 * 254 - 1);
    assert_as_the_model_says(&setting(Legacy::Escape, &[]), &names);
}

/// Names that want each other's visible name, by the thousand: Latin-1, UTF-8, and what either is escaped as.
#[test]
fn thousands_of_names_that_collide_stay_apart() {
    let mut names = Vec::new();
    for number in 0..1000 {
        names.push(format!("{number}é").into_bytes());
        names.push([number.to_string().as_bytes(), b"\xE9"].concat());
        names.push(format!("{number}%E9").into_bytes());
        names.push(format!("{number}%%E9%").into_bytes());
    }
    assert_as_the_model_says(&setting(Legacy::Decode, &["iso-8859-1"]), &names);
}
