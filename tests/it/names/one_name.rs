//! Laws N9, N10 and C5: new names and other spellings.

use proptest::{prop_assert, prop_assert_eq, prop_assume, proptest};
use utf8fs::names::{BackingName, Legacy, NameMap, OnViolation, VisibleName};
use utf8fs::policy::is_component;

use super::config;
use super::strategies::{bytes, map, name};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn n9_what_a_new_name_is_normalized_to_conforms_and_stays(map in map(), bytes in bytes()) {
        match map.normalized(&bytes) {
            Ok(normalized) => {
                let normalized = normalized.as_bytes();
                prop_assert!(is_component(&bytes) && is_component(normalized));
                prop_assert!(map.policy.conforms(normalized));
                prop_assert_eq!(map.normalized(normalized), VisibleName::parse(normalized));
                if map.policy.conforms(&bytes) {
                    prop_assert_eq!(normalized, bytes);
                }
            }
            Err(offence) => {
                prop_assert_eq!(map.policy.check(&bytes), Err(offence));
                prop_assert!(offence.offset + offence.length <= bytes.len());
            }
        }
    }

    /// What lies on disk is found by its own bytes where they are normalized, and by the name that they are shown as.
    #[test]
    fn n10_a_spelling_leads_to_the_name_that_its_bytes_are_visible_as(map in map(), name in name()) {
        let visible = map.visible_alone(&name).unwrap();
        let has_text = map.normalized(name.as_bytes()).is_ok();
        if !map.policy.conforms(name.as_bytes()) && map.legacy == Legacy::Decode && has_text {
            prop_assert!(map.spellings(name.as_bytes(), true).any(|spelling| spelling == visible));
        }
    }

    #[test]
    fn n10_another_spelling_is_another(map in map(), bytes in bytes()) {
        let [few, many] = [false, true].map(|normalizes| map.spellings(&bytes, normalizes).collect::<Vec<_>>());
        prop_assert!(few.iter().all(|spelling| many.contains(spelling)));
        for canonical in many {
            prop_assert!(map.policy.conforms(&bytes) || canonical.as_bytes() != bytes);
        }
    }

    #[test]
    fn an_offence_lies_within_the_name(map in map(), bytes in bytes()) {
        let offences = map.policy.offences(&bytes);
        for offence in offences.iter().chain(map.policy.check(&bytes).err().as_ref()) {
            prop_assert!(offence.offset + offence.length <= bytes.len());
            prop_assert!(offence.length > 0 || bytes.is_empty());
        }
        prop_assert!(offences.is_sorted_by_key(|offence| offence.offset));
    }

    #[test]
    fn a_name_alone_is_visible_as_what_an_index_of_it_says(map in map(), name in name()) {
        prop_assert!(map.visible_alone(&name).is_some());
        let back = BackingName::parse(name.as_bytes());
        prop_assert_eq!(back.unwrap().as_visible(), name.as_visible());
    }

    /// Law N12: what is stored is read as what it was stored for, whatever charset that is in.
    #[test]
    fn n12_a_stored_name_is_visible_as_the_name_that_it_was_stored_for(map in map(), bytes in bytes()) {
        let Some(visible) = VisibleName::parse(&bytes).ok().filter(|_| map.policy.conforms(&bytes)) else {
            return Ok(());
        };
        match map.stored(&visible) {
            Ok(backing) => prop_assert_eq!(map.visible_alone(&backing), Some(visible)),
            Err(offence) => {
                prop_assert!(map.store_as.is_some());
                prop_assert!(offence.offset + offence.length <= bytes.len() && offence.length > 0);
            }
        }
    }

    /// Law N10: an escape leads to the name that it is the escape of, where that is shown decoded.
    #[test]
    fn n10_an_escape_leads_back_to_the_name_that_was_escaped(map in map(), name in name()) {
        let map = NameMap { on_violation: OnViolation::Normalize, legacy: Legacy::Decode, ..map };
        let escaping = NameMap { legacy: Legacy::Escape, from: Vec::new(), ..map.clone() };
        // What is well-formed is shown by its text, in the wanted form.
        prop_assume!(map.policy.encoding.validate(name.as_bytes()).is_err());
        if let Some(escaped) = escaping.visible_alone(&name)
            // A cut one may be the whole escape of another name.
            && !escaped.as_bytes().contains(&b'~')
            && let Some(back) = map.escaped_spelling(escaped.as_bytes())
        {
            prop_assert_eq!(back, name);
        }
    }
}
