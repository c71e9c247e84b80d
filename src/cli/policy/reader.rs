//! The values of a policy file, each taken as what it must be, or told to be wrong.

use clap::ValueEnum;
use toml::Spanned;
use toml::de::DeValue;

use super::document::{SectionText, Top, suggestion};
use super::fault::{At, Faults, Place};
use super::source::Gathered;
use crate::cli::args::UniqueValue;
use crate::cli::mount_options::nearest;
use crate::codec::Charset;
use crate::names::Patterns;
use crate::names::Quoted;
use crate::policy::{NAME_MAX, SMALLEST_LIMIT};

/// Takes values, each with what is wrong with it.
pub(super) struct Reader<'a> {
    pub(super) files: &'a Gathered,
    pub(super) file: usize,
    pub(super) faults: &'a mut Faults,
}

impl Reader<'_> {
    pub(super) fn at(&self, offset: usize) -> Place {
        Place {
            file: self.file,
            offset,
        }
    }

    pub(super) fn unknown(&mut self, place: Place, key: &str, hint: &str) {
        let key = Quoted(key.as_bytes());
        self.faults
            .error(place, format!("unknown key {key}; {hint}"));
    }

    pub(super) fn wrong_type(&mut self, key: &str, wanted: &str, value: &Spanned<DeValue<'_>>) {
        let found = match value.get_ref() {
            DeValue::String(_) => "text",
            DeValue::Integer(_) => "a number",
            DeValue::Float(_) => "a fraction",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a time",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        let place = self.at(value.span().start);
        self.faults
            .error(place, format!("{key} must be {wanted}, and is {found}"));
    }

    pub(super) fn sections(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<At<SectionText>> {
        let Some(array) = value.get_ref().as_array() else {
            self.wrong_type("section", "written [[section]]", value);
            return Vec::new();
        };
        let mut sections = Vec::new();
        for item in array.iter() {
            let Some(table) = item.get_ref().as_table() else {
                self.wrong_type("section", "written [[section]]", item);
                continue;
            };
            let mut section = SectionText::default();
            for (key, value) in table.iter() {
                let place = self.at(key.span().start);
                let key = key.get_ref().as_ref();
                if section.take(key, self, value) {
                    continue;
                }
                let hint = match Top::KEYS.contains(&key) || key == "include" {
                    true => {
                        "it is for the whole mount, and goes above the first [[section]]".to_owned()
                    }
                    false => suggestion(key, SectionText::KEYS),
                };
                self.unknown(place, key, &hint);
            }
            let place = self.at(item.span().start);
            sections.push(At {
                value: section,
                place,
            });
        }
        sections
    }

    pub(super) fn text(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<At<String>> {
        let Some(text) = value.get_ref().as_str() else {
            self.wrong_type(key, "text", value);
            return None;
        };
        Some(At {
            value: text.to_owned(),
            place: self.at(value.span().start),
        })
    }

    /// A list of texts, or one.
    pub(super) fn strings(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Vec<At<String>> {
        match value.get_ref().as_array() {
            Some(array) => array
                .iter()
                .filter_map(|item| self.text(key, item))
                .collect(),
            None if value.get_ref().is_str() => self.text(key, value).into_iter().collect(),
            None => {
                self.wrong_type(key, "a list of texts", value);
                Vec::new()
            }
        }
    }

    /// Says that a list is empty where that would be for nobody, and nowhere.
    fn refuse_empty(&mut self, key: &str, value: &Spanned<DeValue<'_>>) {
        let array = value.get_ref().as_array();
        if key != "exempt"
            && key != "exempt_uid"
            && array.is_some_and(|array| array.iter().next().is_none())
        {
            let message = format!("{key} is empty: leave it out if the section is for all");
            let place = self.at(value.span().start);
            self.faults.error(place, message);
        }
    }

    /// All of a list, each made of a text by `make`.
    pub(super) fn list<T>(
        &mut self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        make: impl Fn(&mut Self, At<String>) -> Option<T>,
    ) -> Option<At<Vec<T>>> {
        let texts = self.strings(key, value);
        let made = texts.into_iter().filter_map(|text| make(self, text));
        Some(At {
            value: made.collect(),
            place: self.at(value.span().start),
        })
    }

    pub(super) fn word_of<T: ValueEnum>(&mut self, key: &str, text: &At<String>) -> Option<T> {
        if let Ok(value) = T::from_str(&text.value, false) {
            return Some(value);
        }
        let words = T::value_variants().iter();
        let words: Vec<String> = words
            .filter_map(|value| Some(value.to_possible_value()?.get_name().to_owned()))
            .collect();
        let hint = match nearest(&text.value, words.iter().map(String::as_str)) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("it takes {}", words.join(", ")),
        };
        let value = Quoted(text.value.as_bytes());
        self.faults
            .error(text.place, format!("{key} cannot be {value}; {hint}"));
        None
    }

    pub(super) fn word<T: ValueEnum>(
        &mut self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<At<T>> {
        let text = self.text(key, value)?;
        let value = self.word_of(key, &text)?;
        Some(At {
            value,
            place: text.place,
        })
    }

    pub(super) fn words<T: ValueEnum>(
        &mut self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<At<Vec<T>>> {
        self.list(key, value, |reader, text| reader.word_of(key, &text))
    }

    pub(super) fn unique(
        &mut self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<At<Option<UniqueValue>>> {
        let text = self.text(key, value)?;
        let value = match text.value.as_str() {
            "none" => None,
            _ => Some(self.word_of(key, &text)?),
        };
        Some(At {
            value,
            place: text.place,
        })
    }

    pub(super) fn label(&mut self, key: &str, text: At<String>) -> Option<String> {
        let Err(unknown) = Charset::from_label(&text.value) else {
            return Some(text.value);
        };
        let label = Quoted(text.value.as_bytes());
        let message = match (unknown.reason, unknown.near.first()) {
            (Some(reason), _) => format!("{key}: charset {label} is not on offer: {reason}"),
            (None, Some(near)) => format!("{key}: unknown charset {label}; did you mean {near}?"),
            (None, None) => format!("{key}: unknown charset {label}"),
        };
        self.faults.error(text.place, message);
        None
    }

    pub(super) fn charset(
        &mut self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<At<String>> {
        let text = self.text(key, value)?;
        let place = text.place;
        let value = self.label(key, text)?;
        Some(At { value, place })
    }

    pub(super) fn charsets(
        &mut self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<At<Vec<String>>> {
        self.list(key, value, |reader, text| reader.label(key, text))
    }

    pub(super) fn patterns(
        &mut self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<At<Vec<String>>> {
        self.refuse_empty(key, value);
        self.list(key, value, |reader, text| {
            let Err(error) = Patterns::new(std::slice::from_ref(&text.value)) else {
                return Some(text.value);
            };
            let pattern = Quoted(text.value.as_bytes());
            let message = format!("{key}: {pattern} is no pattern: {}", error.reason);
            reader.faults.error(text.place, message);
            None
        })
    }

    pub(super) fn number(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<At<u64>> {
        let Some(number) = value.get_ref().as_integer() else {
            self.wrong_type(key, "a number", value);
            return None;
        };
        let place = self.at(value.span().start);
        match u64::from_str_radix(number.as_str(), number.radix()) {
            Ok(value) => Some(At { value, place }),
            Err(_beyond) => {
                self.faults.error(place, format!("{key} is out of range"));
                None
            }
        }
    }

    pub(super) fn within(
        &mut self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        most: Option<usize>,
    ) -> Option<At<usize>> {
        let At { value, place } = self.number(key, value)?;
        let number = usize::try_from(value).unwrap_or(usize::MAX);
        if number >= SMALLEST_LIMIT && most.is_none_or(|most| number <= most) {
            let value = number;
            return Some(At { value, place });
        }
        let range = match most {
            Some(most) => format!("{SMALLEST_LIMIT} to {most}"),
            None => format!("{SMALLEST_LIMIT} or more"),
        };
        self.faults.error(place, format!("{key} must be {range}"));
        None
    }

    pub(super) fn max_bytes(
        &mut self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<At<usize>> {
        self.within(key, value, Some(NAME_MAX))
    }

    pub(super) fn max_chars(
        &mut self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<At<usize>> {
        self.within(key, value, None)
    }

    pub(super) fn count(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<At<u32>> {
        let At { value, place } = self.number(key, value)?;
        let value = u32::try_from(value).unwrap_or(u32::MAX);
        Some(At { value, place })
    }

    pub(super) fn users(
        &mut self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<At<Vec<u32>>> {
        self.ids(key, value, "user")
    }

    pub(super) fn groups(
        &mut self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<At<Vec<u32>>> {
        self.ids(key, value, "group")
    }

    /// Takes users or groups, each by name or number. A name that the system does not know matches nobody.
    pub(super) fn ids(
        &mut self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        what: &str,
    ) -> Option<At<Vec<u32>>> {
        self.refuse_empty(key, value);
        let alone = std::slice::from_ref(value);
        let items: Vec<&Spanned<DeValue<'_>>> = match value.get_ref().as_array() {
            Some(array) => array.iter().collect(),
            None => alone.iter().collect(),
        };
        let mut ids = Vec::new();
        for item in items {
            let place = self.at(item.span().start);
            match item.get_ref() {
                DeValue::Integer(_) => {
                    let Some(At { value: number, .. }) = self.number(key, item) else {
                        continue;
                    };
                    // The last one is that of nobody at all: chown(2).
                    match u32::try_from(number).ok().filter(|&id| id != u32::MAX) {
                        Some(id) => ids.push(id),
                        None => self.faults.error(place, format!("{key} is out of range")),
                    }
                }
                DeValue::String(name) => {
                    let known = match what {
                        "user" => &self.files.users,
                        _ => &self.files.groups,
                    };
                    match known.get(name.as_ref()) {
                        Some(Some(id)) => ids.push(*id),
                        _ => {
                            let name = Quoted(name.as_bytes());
                            let message = format!(
                                "{key}: unknown {what} {name} matches nobody; names are those of /etc/{}, others go by number",
                                if what == "user" { "passwd" } else { "group" }
                            );
                            self.faults.warning(place, message);
                        }
                    }
                }
                DeValue::Float(_)
                | DeValue::Boolean(_)
                | DeValue::Datetime(_)
                | DeValue::Array(_)
                | DeValue::Table(_) => self.wrong_type(key, "a list of names or numbers", item),
            }
        }
        Some(At {
            value: ids,
            place: self.at(value.span().start),
        })
    }
}
