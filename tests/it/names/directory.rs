//! Laws N1 to N7 and C5: the names of a directory.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use proptest::prelude::{Just, Strategy, any};
use proptest::{prop_assert, prop_assert_eq, proptest};
use sha2::{Digest, Sha256};
use utf8fs::names::{BackingName, Index, Legacy, NameMap, VisibleName};
use utf8fs::policy::{Class, Policy, is_component};

use super::config;
use super::strategies::{directory, name};

type Names = BTreeSet<BackingName>;

fn conforms(map: &NameMap, name: &BackingName) -> bool {
    map.policy.conforms(name.as_bytes())
}

/// The index as the filesystem makes it: of all the siblings it keeps only those that a mapped name could be.
fn index<'a>(map: &NameMap, names: impl IntoIterator<Item = &'a BackingName>) -> Index {
    let (siblings, legacy): (Vec<_>, Vec<_>) = names
        .into_iter()
        .cloned()
        .partition(|name| conforms(map, name));
    let siblings: HashSet<BackingName> = siblings
        .into_iter()
        .filter(|name| map.may_be_mapped(name.as_bytes()))
        .collect();
    Index::build(map, legacy, |name| siblings.contains(name))
}

/// What each name of a directory is visible as that does not conform.
pub(super) fn shown<'a>(
    map: &NameMap,
    names: impl IntoIterator<Item = &'a BackingName>,
) -> BTreeMap<BackingName, VisibleName> {
    let names: Vec<_> = names.into_iter().collect();
    let index = index(map, names.iter().copied());
    names
        .into_iter()
        .filter_map(|name| Some((name.clone(), index.visible(name)?.clone())))
        .collect()
}

fn all_visible(index: &Index) -> BTreeSet<VisibleName> {
    index.visible_names().cloned().collect()
}

/// Law N5 lets the marks `%` and `~` through where the policy asks for POSIX's portable characters.
fn conforms_but_for_marks(policy: &Policy, visible: &[u8]) -> bool {
    if !policy.forbid.contains(&Class::NotPosix) {
        return policy.conforms(visible);
    }
    let plain: Vec<u8> = visible
        .iter()
        .map(|&octet| {
            if matches!(octet, b'%' | b'~') {
                b'_'
            } else {
                octet
            }
        })
        .collect();
    policy.conforms(&plain)
}

/// The name whose octets were escaped with this many percent signs; `None` if it was not so escaped.
fn unescape(visible: &[u8], percents: usize) -> Option<Vec<u8>> {
    let mut name = Vec::new();
    let mut rest = visible;
    while let Some((&octet, after)) = rest.split_first() {
        if octet != b'%' {
            name.push(octet);
            rest = after;
            continue;
        }
        let (signs, after) = rest.split_at_checked(percents)?;
        let (digits, after) = after.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        name.push(u8::from_str_radix(digits, 16).ok()?);
        signs.iter().all(|&sign| sign == b'%').then_some(())?;
        rest = after;
    }
    Some(name)
}

/// The mark of law N7, written out from its description: tildes, eight at most, and the hash of the whole name; of the
/// number of tildes too, where there would be more.
fn mark(name: &BackingName, tildes: usize) -> Vec<u8> {
    let mut hashed = name.as_bytes().to_vec();
    if tildes > 8 {
        hashed.extend(format!("\0{tildes}").into_bytes());
    }
    let bits: String = Sha256::digest(hashed)
        .iter()
        .take(10)
        .map(|octet| format!("{octet:08b}"))
        .collect();
    let groups = bits
        .as_bytes()
        .chunks(5)
        .map(|group| std::str::from_utf8(group).unwrap());
    let values = groups.map(|group| usize::from_str_radix(group, 2).unwrap());
    let hash = values.map(|value| b"abcdefghijklmnopqrstuvwxyz234567"[value]);
    std::iter::repeat_n(b'~', tildes.min(8))
        .chain(hash)
        .collect()
}

/// What stands before and behind each mark that `visible` could have: `~` may be of the name too.
fn cuts<'a>(name: &BackingName, visible: &'a VisibleName) -> Vec<(&'a [u8], &'a [u8])> {
    let visible = visible.as_bytes();
    let split = |mark: Vec<u8>| {
        let start = visible.windows(mark.len()).position(|part| part == mark)?;
        Some((&visible[..start], &visible[start + mark.len()..]))
    };
    (1..=40)
        .filter_map(|tildes| split(mark(name, tildes)))
        .collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn n2_no_two_names_are_visible_as_one((map, names) in directory()) {
        let shown = shown(&map, &names);
        let conforming = names.iter().filter(|name| conforms(&map, name));
        prop_assert_eq!(shown.len() + conforming.clone().count(), names.len(), "no name is lost");
        let all: HashSet<VisibleName> =
            shown.values().cloned().chain(conforming.map(BackingName::as_visible)).collect();
        prop_assert_eq!(all.len(), names.len());
    }

    #[test]
    fn n3_a_visible_name_leads_to_the_name_that_it_was_listed_for((map, names) in directory()) {
        let index = index(&map, &names);
        prop_assert_eq!(index.visible_names().count(), names.iter().filter(|name| !conforms(&map, name)).count());
        for (name, visible) in shown(&map, &names) {
            prop_assert_eq!(index.backing(visible.as_bytes()), Some(&name));
            prop_assert!(map.may_be_mapped(visible.as_bytes()), "it would not be sought");
        }
    }

    #[test]
    fn n4_the_order_of_names_does_not_matter(
        (map, names, shuffled) in directory().prop_flat_map(|(map, names)| {
            let list: Vec<BackingName> = names.iter().cloned().collect();
            (Just(map), Just(names), Just(list).prop_shuffle())
        })
    ) {
        prop_assert_eq!(shown(&map, &names), shown(&map, &shuffled));
    }

    #[test]
    fn n4_unrelated_siblings_do_not_matter(
        (map, names) in directory(),
        others in proptest::collection::vec(name(), 0..5)
    ) {
        let unrelated = others.iter().filter_map(|other| {
            BackingName::parse(&[b"unrelated".as_slice(), other.as_bytes()].concat()).ok()
        });
        let more: Names = names.iter().cloned().chain(unrelated).collect();
        let mut found = shown(&map, &more);
        found.retain(|name, _| names.contains(name));
        prop_assert_eq!(shown(&map, &names), found);
    }

    #[test]
    fn n5_c5_every_visible_name_conforms((map, names) in directory()) {
        for visible in shown(&map, &names).values() {
            prop_assert!(is_component(visible.as_bytes()));
            prop_assert!(conforms_but_for_marks(&map.policy, visible.as_bytes()), "{:?}", visible);
        }
    }

    #[test]
    fn n6_an_escape_gives_the_name_back((map, names) in directory()) {
        let map = NameMap {
            legacy: Legacy::Escape,
            policy: Policy { form: None, ..map.policy },
            ..map
        };
        for (name, visible) in shown(&map, &names) {
            let is_escape = (1..=names.len())
                .any(|percents| unescape(visible.as_bytes(), percents).as_deref() == Some(name.as_bytes()));
            prop_assert!(is_escape || !cuts(&name, &visible).is_empty(), "{:?}", visible);
        }
    }

    /// Well-formed names without `%`, which only their length offends: they are cut between characters, and no more goes
    /// than has to.
    #[test]
    fn n7_a_name_that_is_too_long_is_cut_before_its_hash_and_extension(
        (map, names) in directory()
    ) {
        let policy = Policy { forbid: Policy::default().forbid, form: None, ..map.policy };
        let map = NameMap { policy, ..map };
        for (name, visible) in shown(&map, &names) {
            let (text, encoding) = (name.as_bytes(), map.policy.encoding);
            if encoding.validate(text).is_err() || text.contains(&b'%') {
                continue;
            }
            let is_cut = |&(stem, extension): &(&[u8], &[u8])| {
                let Some(rest) = text.strip_prefix(stem) else { return false };
                let next = encoding.first(rest).map_or(0, |piece| piece.length);
                let longer = [visible.as_bytes(), &rest[..next]].concat();
                rest.ends_with(extension)
                    && (extension.is_empty() || extension.starts_with(b".") && encoding.pieces(extension).count() <= 13)
                    && (rest == extension || map.policy.over_a_limit(&longer).is_some())
            };
            prop_assert!(cuts(&name, &visible).iter().any(is_cut), "{:?}", visible);
        }
    }

    /// Names that go and come back, in any order: the index that took each change in is the one of a new reading.
    #[test]
    fn n4_an_index_that_took_changes_in_is_the_one_of_a_new_reading(
        (map, names, list, order) in directory().prop_flat_map(|(map, names)| {
            let list: Vec<BackingName> = names.iter().cloned().collect();
            let index = any::<proptest::sample::Index>();
            (Just(map), Just(names), Just(list), proptest::collection::vec(index, 0..30))
        })
    ) {
        let mut left = names.clone();
        let mut kept = index(&map, &names);
        for index in order.into_iter().filter(|_| !list.is_empty()) {
            let name = index.get(&list).clone();
            let (comes, conforms) = (!left.contains(&name), conforms(&map, &name));
            let before = all_visible(&kept);
            if comes {
                left.insert(name.clone());
            } else {
                left.remove(&name);
            }
            let is_taken = |wanted: &[u8]| map.policy.conforms(wanted) && left.contains(wanted);
            let moves = match (comes, conforms) {
                (true, true) => Some(kept.add_sibling(&map, name.as_bytes(), is_taken)),
                (true, false) => Some(kept.add(&map, &name, is_taken)),
                (false, true) => kept.remove_sibling(&map, name.as_bytes()),
                (false, false) => kept.remove(&map, &name),
            };
            let moves = moves.unwrap();
            let gone: BTreeSet<_> = moves.left.into_iter().collect();
            let taken: BTreeSet<_> = moves.taken.into_iter().collect();
            let followed: BTreeSet<_> = before.difference(&gone).chain(&taken).cloned().collect();
            prop_assert_eq!(all_visible(&kept), followed);
            let anew = shown(&map, &left);
            prop_assert_eq!(kept.visible_names().count(), anew.len());
            for (name, visible) in anew {
                prop_assert_eq!(kept.visible(&name), Some(&visible));
                prop_assert_eq!(kept.backing(visible.as_bytes()), Some(&name));
            }
        }
    }
}
