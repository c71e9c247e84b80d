//! Words that stand for the values of an enum.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use strum::VariantArray;

/// A value of an enum of a lower layer, written as its word: `ill-formed`, `refused`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Word<T>(pub T);

impl<T: Copy + Into<&'static str>> Word<T> {
    /// Returns the word.
    #[must_use]
    pub fn text(self) -> &'static str {
        self.0.into()
    }
}

impl<T: Copy + Into<&'static str>> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}

impl<'de, T: FromStr + VariantArray + Copy + Into<&'static str>> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|_unknown| {
            let words = T::VARIANTS.iter().map(|value| Self(*value).text());
            let words: Vec<&str> = words.collect();
            de::Error::custom(format_args!(
                "unknown word {text:?}; it takes {}",
                words.join(", ")
            ))
        })
    }
}
