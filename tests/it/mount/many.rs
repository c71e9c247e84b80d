//! A directory of very many names (laws N2, N3, N5); `model::many` has more of them.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use utf8fs::policy::Profile;

use crate::model::directory::Model;
use crate::model::laws::{Legacy, OnViolation};
use crate::model::settings::Setting;
use crate::support::random::Random;
use crate::support::{Mount, Tree, at, show};

/// Fills the backing directory with `names`, each a file whose content is its own name.
fn fill(tree: &Tree, names: &[Vec<u8>]) {
    let below = tree.below_dir();
    for name in names {
        at::write_new(&below, name, name).unwrap();
    }
}

/// Every visible name is well-formed and of legal length, none is doubled, each opens what it stands for by the
/// reference model, and no backing name is missing.
fn assert_all_reachable(mount: &Mount, setting: &Setting, names: &[Vec<u8>]) {
    let dir = mount.dir();
    let listed = at::list(dir);
    assert_eq!(listed.len(), names.len(), "none missing, none doubled");
    let model = Model::of_files(&setting.meaning, names);
    let expected = model.visible();
    let mut reached = BTreeMap::new();
    for visible in listed {
        let shown = show(&visible);
        let backing = expected
            .get(&visible)
            .unwrap_or_else(|| panic!("{shown} is not what the laws say"));
        assert_eq!(read(dir, &visible), *backing, "{shown}");
        assert!(std::str::from_utf8(&visible).is_ok(), "{shown}");
        assert!(visible.len() <= 255, "{shown}");
        assert!(reached.insert(visible, ()).is_none(), "{shown} is doubled");
    }
}

fn read(dir: impl AsFd, name: &[u8]) -> Vec<u8> {
    at::read(dir, name).unwrap_or_else(|error| panic!("{} does not open: {error}", show(name)))
}

/// 100,000 names of 1 to 255 random octets.
#[test]
fn a_hundred_thousand_random_names_are_visible_once_and_open() {
    let mut random = Random::new(0x0000_7574_6638_6673);
    let mut names = std::collections::BTreeSet::new();
    while names.len() < 100_000 {
        let length = 1 + random.below(255);
        let name: Vec<u8> = (0..length).map(|_| random.octet()).collect();
        if name != b"." && name != b".." {
            names.insert(name);
        }
    }
    let names: Vec<Vec<u8>> = names.into_iter().collect();
    let tree = Tree::in_memory();
    fill(&tree, &names);
    let setting = Setting::new(
        Legacy::Escape,
        OnViolation::Reject,
        Profile::Utf8,
        None,
        &[],
    );
    let mount = tree.mount(&setting.options());
    assert_all_reachable(&mount, &setting, &names);
    mount.stop();
}
