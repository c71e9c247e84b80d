//! Random names, initial directories and operations, made so that names collide.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use utf8fs::codec::Form;
use utf8fs::policy::is_component;

use super::directory::{Kind, Model, RenameMode};

/// A name in an operation: new bytes, or one that the directory of that moment suggests.
#[derive(Clone)]
pub(crate) enum Name {
    Fresh(Vec<u8>),
    /// The visible name of this number, modulo their count.
    Visible(usize),
    /// The backing name of this number.
    Backing(usize),
    /// A visible name brought to the other form: composed if `true`.
    Form(usize, bool),
    /// What the backing name of this number is shown as in this way, be it taken or not.
    Way(usize, usize),
}

impl std::fmt::Debug for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fresh(name) => write!(f, "Fresh(b\"{}\")", name.escape_ascii()),
            Self::Visible(number) => write!(f, "Visible({number})"),
            Self::Backing(number) => write!(f, "Backing({number})"),
            Self::Form(number, composed) => write!(f, "Form({number}, {composed})"),
            Self::Way(number, way) => write!(f, "Way({number}, {way})"),
        }
    }
}

impl Name {
    /// The bytes that it stands for now.
    pub(crate) fn resolve(&self, model: &Model) -> Vec<u8> {
        let nth = |names: Vec<&Vec<u8>>, number: usize| {
            let number = number.checked_rem(names.len());
            number.map_or_else(|| b"none".to_vec(), |number| names[number].clone())
        };
        match self {
            Self::Fresh(name) => name.clone(),
            Self::Visible(number) => nth(model.visible().keys().collect(), *number),
            Self::Backing(number) => nth(model.directory.keys().collect(), *number),
            Self::Form(number, composed) => {
                let name = nth(model.visible().keys().collect(), *number);
                let form = if *composed { Form::Nfc } else { Form::Nfd };
                match std::str::from_utf8(&name) {
                    Ok(text) => form.apply(text).into_bytes(),
                    Err(_) => name,
                }
            }
            Self::Way(number, way) => {
                let name = nth(model.directory.keys().collect(), *number);
                model.settings.way(&name, *way).unwrap_or(name)
            }
        }
    }
}

/// An operation through the mount; the last goes on below it.
#[derive(Debug, Clone)]
pub(crate) enum Operation {
    /// `O_CREAT | O_EXCL`.
    CreateNew(Name),
    /// `O_CREAT` alone.
    Create(Name),
    Open(Name),
    Mkdir(Name, bool),
    Symlink(Name),
    Link(Name, Name),
    Rename(Name, Name, RenameMode),
    Unlink(Name),
    Rmdir(Name),
    /// Entries made and removed below the mount, in a directory that the mount has not seen yet.
    Below(Vec<(Bytes, Kind)>, Vec<usize>),
}

/// Bytes that print as ASCII.
#[derive(Clone)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

/// Pieces of which many combinations are shown alike.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let common: [&[u8]; 8] = [
        b"a",
        b"%",
        b"\xE9",
        b"\xC3\xA9",
        b"e\xCC\x81",
        b"%E9",
        b"%C3%A9",
        b"\n",
    ];
    let rare: [&[u8]; 36] = [
        // Case: a letter, a letter with an accent, sharp s.
        b"A",
        b"\xC3\x89",
        b"\xC3\x9F",
        b" ",
        b"-",
        b"~",
        b".",
        b"E9",
        b"e",
        b"%25",
        b"%0A",
        b"%20",
        b"%2D",
        b"con",
        b":",
        b"\xEA",
        // A combining acute, which joins with the last digit of an escape before it.
        b"\xCC\x81",
        // Continuation bytes, C1 controls of ISO 8859, quotes of windows-1252.
        b"\x81",
        b"\x85",
        b"\x93",
        b"\xC2\x85",
        // Shift_JIS: a kana, a half-width kana, a kanji with a backslash in it.
        b"\x82\xA0",
        b"\xB1",
        b"\x95\x5C",
        b"\xE3\x81\x82",
        b"\xE2\x80\xAE",
        b"\xC0\xAF",
        b"\xED\xA0\x80",
        b"\xF0\x9F\x98\x80",
        b"\xF0\x9F",
        // Ångström sign, which is out of both forms; a composition exclusion; full-width percent and solidus.
        b"\xE2\x84\xAB",
        b"\xE0\xA5\x98",
        b"\xEF\xBC\x85",
        b"\xEF\xBC\x8F",
        b"\xB9",
        b".txt",
    ];
    let pick = |pieces: &[&[u8]]| {
        let pieces: Vec<Vec<u8>> = pieces.iter().map(|piece| piece.to_vec()).collect();
        proptest::sample::select(pieces)
    };
    prop_oneof![3 => pick(&common), 1 => pick(&rare)]
}

/// A name of a few pieces, now and then a long one.
pub(crate) fn name(longest: usize) -> impl Strategy<Value = Vec<u8>> {
    let short = vec(piece(), 1..4).prop_map(|pieces| pieces.concat());
    let long =
        (piece(), 40..256_usize, piece(), 0..3_usize).prop_map(|(body, length, end, tail)| {
            let mut name = body.repeat(length / body.len());
            name.extend(match tail {
                0 => end,
                1 => b".jpeg".to_vec(),
                _ => Vec::new(),
            });
            name
        });
    prop_oneof![9 => short, 1 => long]
        .prop_filter("a component that is not too long", move |name| {
            is_component(name) && name.len() <= longest
        })
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        4 => Just(Kind::File),
        1 => Just(Kind::Symlink),
        1 => Just(Kind::EmptyDirectory),
        1 => Just(Kind::FullDirectory),
    ]
}

/// What lies in the backing directory at first.
pub(crate) fn initial() -> impl Strategy<Value = Vec<(Bytes, Kind)>> {
    vec((name(255).prop_map(Bytes), kind()), 0..8)
}

fn reference() -> impl Strategy<Value = Name> {
    let number = 0..64_usize;
    prop_oneof![
        3 => name(300).prop_map(Name::Fresh),
        3 => number.clone().prop_map(Name::Visible),
        2 => number.clone().prop_map(Name::Backing),
        1 => (number.clone(), any::<bool>()).prop_map(|(number, form)| Name::Form(number, form)),
        1 => (number, 0..3_usize).prop_map(|(number, way)| Name::Way(number, way)),
    ]
}

pub(crate) fn operation() -> impl Strategy<Value = Operation> {
    let mode = prop_oneof![
        3 => Just(RenameMode::Replace),
        1 => Just(RenameMode::NoReplace),
        1 => Just(RenameMode::Exchange),
    ];
    let removed = vec(0..64_usize, 0..3);
    prop_oneof![
        3 => reference().prop_map(Operation::CreateNew),
        2 => reference().prop_map(Operation::Create),
        2 => reference().prop_map(Operation::Open),
        2 => (reference(), any::<bool>()).prop_map(|(name, full)| Operation::Mkdir(name, full)),
        1 => reference().prop_map(Operation::Symlink),
        2 => (reference(), reference()).prop_map(|(old, new)| Operation::Link(old, new)),
        5 => (reference(), reference(), mode)
            .prop_map(|(old, new, mode)| Operation::Rename(old, new, mode)),
        3 => reference().prop_map(Operation::Unlink),
        1 => reference().prop_map(Operation::Rmdir),
        1 => (initial(), removed).prop_map(|(added, removed)| Operation::Below(added, removed)),
    ]
}
