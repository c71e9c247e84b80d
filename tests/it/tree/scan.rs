//! Tallies of parts are the tally of the whole.

use proptest::prelude::*;
use utf8fs::policy::{Alike, Profile};
use utf8fs::records::{Name, Tally};
use utf8fs::tree::scan::{Rules, Scan, Shard};

fn tally(directories: &[(usize, Vec<Vec<u8>>)]) -> Tally {
    let rules = Rules::new(Profile::Safe.policy(), Some(Alike::Nfc), false);
    let scan = Scan::new(rules, Shard::WHOLE, vec![Name::default()], None);
    let mut list = Vec::new();
    for (directory, names) in directories {
        for name in names {
            list.extend(format!("d{directory}/").bytes());
            list.extend(name);
            list.push(0);
        }
    }
    scan.read_list(list.as_slice(), b"list");
    scan.part().tally
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"caf\xE9".to_vec()),
        Just("CafÃ© de la gare".as_bytes().to_vec()),
        Just(b"e\xCC\x81".to_vec()),
        Just("\u{E9}".as_bytes().to_vec()),
        Just(b"A".to_vec()),
        Just(b"a".to_vec()),
        Just(b"-".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\xC0\xAE".to_vec()),
        Just(b"\x82\xA0".to_vec()),
        Just(b"plain".to_vec()),
    ];
    prop::collection::vec(piece, 1..4).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn merged_tallies_are_one_tally(
        directories in prop::collection::vec(prop::collection::vec(name(), 0..12), 1..12),
        parts in prop::collection::vec(0_usize..3, 12),
        order in Just([0_usize, 1, 2]).prop_shuffle(),
    ) {
        let numbered: Vec<_> = directories.into_iter().enumerate().collect();
        let mut whole = Tally::default();
        whole.merge(tally(&numbered));
        let mut merged = Tally::default();
        for part in order {
            let own: Vec<_> = numbered
                .iter()
                .filter(|(index, _)| parts[*index] == part)
                .cloned()
                .collect();
            merged.merge(tally(&own));
        }
        // All that is in them, the samples that guesses are made from too.
        prop_assert_eq!(format!("{:?}", merged), format!("{:?}", whole));
    }
}
