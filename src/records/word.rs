//! Enums that documents know by their words: `ill-formed`, `refused`, `iso-8859-1`.

use std::convert::identity;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use strum::VariantArray;

use super::{Comparison, Finding, KindLabel, LogFormat, Operation, Time};
use crate::codec::{Charset, Encoding};
use crate::names::rules::{Exempt, Mode, Verdict};
use crate::names::{Legacy, charset};
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
    Comparison: |how: Comparison| how.0.map_or("none", Into::into), comparison;
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
