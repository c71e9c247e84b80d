//! The words that options take, for clap.
//!
//! The layers below know nothing of clap: their enums have the words, and the documentation of their variants is the help.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use strum::{EnumMessage, VariantArray};

/// Takes the words of all variants.
pub(super) fn word<T>() -> impl TypedValueParser<Value = T>
where
    T: VariantArray + EnumMessage + Copy + Into<&'static str> + Send + Sync,
{
    one_of(T::VARIANTS)
}

/// Takes the words of some variants.
pub(super) fn one_of<T>(values: &'static [T]) -> impl TypedValueParser<Value = T>
where
    T: EnumMessage + Copy + Into<&'static str> + Send + Sync,
{
    let label = |value: &T| -> &'static str { (*value).into() };
    let possible = values.iter();
    let possible = possible.map(move |value| PossibleValue::new(label(value)).help(help(*value)));
    PossibleValuesParser::new(possible).map(move |word| {
        let value = values.iter().find(|value| label(value) == word);
        *value.expect("invariant: clap takes no other word")
    })
}

/// Returns what the help says about a value.
pub(in crate::cli) fn help(value: impl EnumMessage) -> &'static str {
    let help = value.get_message().or(value.get_documentation());
    help.unwrap_or_default()
}
