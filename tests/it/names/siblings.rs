//! Law N9, `--unique`: which new name is like a sibling's.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::sample::select;
use proptest::{prop_assert, prop_assert_eq, proptest};
use utf8fs::names::Siblings;
use utf8fs::policy::Alike;
use utf8fs::policy::alike::difference;

use super::config;
use super::strategies::name;

proptest! {
    #![proptest_config(config())]

    /// Against the definition: whatever came and went, a new name is refused if and only if its key is a sibling's.
    #[test]
    fn n9_a_new_name_is_like_a_sibling_that_has_its_key(
        alike in select(&[Alike::Casefold, Alike::Nfc]),
        changes in vec((name(), any::<bool>()), 0..40),
        new in name(),
    ) {
        let mut siblings = Siblings::new(alike);
        let mut there = BTreeSet::new();
        for (name, comes) in &changes {
            let name = name.as_bytes();
            if *comes {
                siblings.add(name);
                there.insert(name);
            } else {
                siblings.remove(name);
                there.remove(name);
            }
        }
        let new = new.as_bytes();
        let key = alike.key(new);
        let is_like = |sibling: &&&[u8]| alike.key(sibling) == key;
        let expected: Vec<&[u8]> = there.iter().filter(is_like).copied().collect();
        match siblings.like(new, None) {
            None => prop_assert!(expected.is_empty() || there.contains(new)),
            Some(sibling) => {
                let sibling = sibling.as_bytes();
                prop_assert!(expected.contains(&sibling) && !there.contains(new));
                let (offset, length) = difference(new, sibling);
                prop_assert!(length > 0 && offset + length <= new.len());
                let others = expected.len() > 1;
                prop_assert_eq!(siblings.like(new, Some(sibling)).is_some(), others);
            }
        }
        prop_assert_eq!(siblings.footprint() == 0, there.is_empty());
    }

    /// Names of one normalization form are alike in case and form too, and alike is alike both ways.
    #[test]
    fn n9_what_is_alike_in_form_is_alike_in_case_and_form(one in name(), other in name()) {
        let (one, other) = (one.as_bytes(), other.as_bytes());
        if Alike::Nfc.key(one) == Alike::Nfc.key(other) {
            prop_assert_eq!(Alike::Casefold.key(one), Alike::Casefold.key(other));
        }
        for alike in [Alike::Casefold, Alike::Nfc] {
            let key = alike.key(one);
            prop_assert_eq!(alike.key(&key), key, "a key is like what it is the key of");
        }
    }
}
