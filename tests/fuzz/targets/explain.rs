//! Any name under any policy: what is refused is explained, and what is shown or made in its place conforms (laws N5, N6, N9,
//! L1, L2).
//!
//! The first five octets choose the settings, the rest is the name.

#![no_main]

use libfuzzer_sys::fuzz_target;
use utf8fs::codec::{Charset, Encoding, Form};
use utf8fs::names::{BackingName, Legacy, NameMap, OnViolation, Quoted};
use utf8fs::records::{Name, json_line};
use utf8fs::policy::{Class, ErrnoChoice, Policy};

fuzz_target!(|input: &[u8]| {
    let Some((&[encoding, form, limits, forbid, rest], name)) = input.split_first_chunk() else {
        return;
    };
    let policy = policy(encoding, form, limits, forbid);
    check(&policy, name);
    // What is stored on disk can be in these alone.
    if !policy.encoding.is_file_system_safe() {
        return;
    }
    let charsets: Vec<Charset> = Charset::all().collect();
    let charset = charsets[usize::from(rest >> 1) % charsets.len()];
    let map = NameMap {
        policy,
        legacy: [Legacy::Decode, Legacy::Escape][usize::from(rest & 1)],
        from: vec![charset],
        store_as: (rest & 1 == 0).then_some(charset),
        on_violation: OnViolation::Normalize,
        errno: ErrnoChoice::Eilseq,
    };
    let Ok(backing) = BackingName::parse(name) else {
        return;
    };
    let visible = map.visible_alone(&backing).expect("nothing is hidden");
    if map.policy.conforms(name) {
        assert_eq!(visible.as_bytes(), name, "law N1");
    }
    if let Ok(normalized) = map.normalized(name) {
        assert!(map.policy.conforms(normalized.as_bytes()), "law N9");
        // What an encoding has that the charset's text cannot be is not stored.
        if map.policy.encoding == Encoding::Utf8
            && let Ok(stored) = map.stored(&normalized)
        {
            assert_eq!(map.visible_alone(&stored), Some(normalized), "law N12");
        }
    }
    if let Some(escaped) = map.escaped_spelling(name) {
        assert!(!map.policy.conforms(escaped.as_bytes()), "law N10");
    }
});

fn policy(encoding: u8, form: u8, limits: u8, forbid: u8) -> Policy {
    let classes = Class::ALL.iter().copied().enumerate();
    let chosen =
        classes.filter(|(index, _)| (forbid.rotate_left(form.into()) >> (index % 8)) & 1 == 1);
    Policy {
        encoding: Encoding::ALL[usize::from(encoding) % Encoding::ALL.len()],
        max_bytes: 24 + usize::from(limits) % 232,
        max_chars: (limits & 1 == 1).then_some(usize::from(limits)),
        max_utf16: (limits & 2 == 2).then_some(usize::from(limits)),
        form: [None, Some(Form::Nfc), Some(Form::Nfd)][usize::from(form) % 3],
        forbid: chosen.map(|(_, class)| class).collect(),
    }
}

fn check(policy: &Policy, name: &[u8]) {
    assert_eq!(policy.conforms(name), policy.check(name).is_ok());
    let offences = policy.offences(name);
    for offence in policy.check(name).err().iter().chain(&offences) {
        assert!(offence.offset + offence.length <= name.len(), "{offence:?}");
        assert!(!offence.rule.label().is_empty());
    }
    assert!(
        offences.is_sorted_by_key(|offence| offence.offset),
        "{offences:?}"
    );
    // For people: printable ASCII and text, in quotation marks, on one line.
    let quoted = Quoted(name).to_string();
    assert!(!quoted.chars().any(char::is_control), "{quoted:?}");
    assert!(json_line(&Name::from(name)).starts_with('{'));
}
