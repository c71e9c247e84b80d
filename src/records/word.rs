//! Enums that documents know by their words: `ill-formed`, `refused`, `iso-8859-1`.

use std::convert::identity;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use strum::VariantArray;

use super::{Comparison, Finding, KindLabel, LogFormat, Operation, Time};
use crate::codec::{Charset, Encoding, UnknownCharset};
use crate::names::rules::{Exempt, Mode, Verdict};
use crate::names::{Legacy, Quoted};
use crate::policy::{Alike, Class, ErrnoChoice, Normalization, Profile, RuleName};

macro_rules! by_word {
    ($($type:ty: $to_word:expr, $of_word:expr;)+) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&($to_word)(*self))
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                ($of_word)(&String::deserialize(deserializer)?).map_err(de::Error::custom)
            }
        }
    )+};
    ($($type:ty),+) => { by_word!($($type: <&'static str>::from, of_word;)+); };
}

by_word!(
    Charset: Charset::label, charset;
    Comparison: |how: Comparison| how.0.map_or("none", Alike::label), comparison;
    KindLabel: |kind: KindLabel| kind.0, KindLabel::parse;
    Time: identity, |text: &str| text.parse().map(Time);
);
by_word!(
    Alike,
    Class,
    Encoding,
    ErrnoChoice,
    Exempt,
    Finding,
    Legacy,
    LogFormat,
    Mode,
    Normalization,
    Operation,
    Profile,
    RuleName,
    Verdict
);

/// Returns the value of a word, or what is wrong with it.
fn of_word<T>(word: &str) -> Result<T, String>
where
    T: FromStr + VariantArray + Copy + Into<&'static str>,
{
    word.parse().map_err(|_unknown| {
        let words: Vec<&str> = T::VARIANTS.iter().map(|value| (*value).into()).collect();
        format!("unknown word {word:?}; it takes {}", words.join(", "))
    })
}

fn comparison(word: &str) -> Result<Comparison, String> {
    match word {
        "none" => Ok(Comparison(None)),
        word => of_word(word)
            .map(|alike| Comparison(Some(alike)))
            .map_err(|error| format!("{error}, none")),
    }
}

/// Returns the charset of a label.
///
/// # Errors
/// The label is not on offer; and what to write instead.
pub fn charset(label: &str) -> Result<Charset, String> {
    let offer = "it takes IANA's names of stateless charsets, such as iso-8859-1, windows-1252, shift_jis, koi8-r";
    Charset::from_label(label).map_err(|unknown| not_on_offer(&unknown, offer))
}

/// Returns why a charset is not known, and what is alike or else `offer`.
#[must_use]
pub fn not_on_offer(unknown: &UnknownCharset, offer: &str) -> String {
    let label = Quoted::of(&unknown.label);
    let fault = match unknown.reason {
        Some(reason) => format!("charset {label} is not supported: {reason}"),
        None => format!("unknown charset {label}"),
    };
    match unknown.near.split_last() {
        _ if unknown.label == "auto" => "charsets are guessed by migrate alone; 'utf8fs scan --propose-map charsets.toml DIR' writes a map of them, by directory, for migrate --charset-map".to_owned(),
        None => format!("{fault}; {offer}"),
        Some((only, [])) => format!("{fault}; did you mean {only}?"),
        Some((last, others)) => format!("{fault}; did you mean {} or {last}?", others.join(", ")),
    }
}

/// Returns the most similar of `words`, if it is similar enough to be what was meant.
pub fn nearest<'a>(text: &str, words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    words
        .map(|word| (strsim::jaro_winkler(text, word), word))
        .filter(|&(similarity, _)| similarity > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, word)| word)
}
