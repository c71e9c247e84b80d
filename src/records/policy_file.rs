//! A policy file (docs/policy.md has its keys), and its text on the way from the helper process to the daemon.

use std::fmt;
use std::marker::PhantomData;
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

use serde::de::value::SeqAccessDeserializer;
use serde::de::{IntoDeserializer, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use toml::de::DeTable;

use super::{Name, SinkKind};
use crate::codec::{Charset, Encoding};
use crate::names::Legacy;
use crate::names::rules::Mode;
use crate::policy::{Alike, Class, ErrnoChoice, Normalization, Profile};

/// The keys of a policy file, or of the options that override one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyFile {
    /// Files to read as well.
    pub include: Option<List<String>>,
    /// Sections, the first of which that holds for a name decides.
    pub section: Vec<PolicySection>,
    /// The profile of conforming names.
    pub profile: Option<Profile>,
    /// The normalization form of names.
    pub normalization: Option<Normalization>,
    /// The definition of UTF-8.
    pub encoding: Option<Encoding>,
    /// Charsets that ill-formed names may be in.
    pub from: Option<List<Charset>>,
    /// The way to show names on disk that do not conform.
    pub legacy: Option<Legacy>,
    /// The charset that new names are stored in.
    pub store_as: Option<Charset>,
    /// Forbidden classes, besides those of the profile.
    pub forbid: Option<List<Class>>,
    /// Most bytes in a name.
    pub max_bytes: Option<usize>,
    /// Most characters in a name.
    pub max_chars: Option<usize>,
    /// In what siblings may not differ alone.
    pub unique: Option<Comparison>,
    /// The action on a new name that does not conform.
    pub mode: Option<Mode>,
    /// The error for a refused name.
    pub errno: Option<ErrnoChoice>,
    /// Patterns that are exempt.
    pub exempt: Option<List<String>>,
    /// Users who are exempt.
    pub exempt_uid: Option<List<Id>>,
    /// The log of offences.
    pub audit_log: Option<SinkKind>,
    /// The format of that log.
    pub audit_format: Option<LogFormat>,
    /// Records that pass at once.
    pub audit_burst: Option<u32>,
    /// Records that pass each minute.
    pub audit_per_minute: Option<u32>,
}

/// A section of a policy file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicySection {
    /// Its name.
    pub name: Option<String>,
    /// Patterns of the names that it holds for.
    pub path: Option<List<String>>,
    /// Users whom it holds for.
    pub users: Option<List<Id>>,
    /// Groups whose members it holds for.
    pub groups: Option<List<Id>>,
    /// The action on a new name that does not conform.
    pub mode: Option<Mode>,
    /// Forbidden classes, besides those of the whole mount.
    pub forbid: Option<List<Class>>,
    /// Most bytes in a name.
    pub max_bytes: Option<usize>,
    /// Most characters in a name.
    pub max_chars: Option<usize>,
    /// In what siblings may not differ alone.
    pub unique: Option<Comparison>,
    /// The error for a refused name.
    pub errno: Option<ErrnoChoice>,
}

/// The comparison of siblings: how, or `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison(pub Option<Alike>);

/// The format of audit records.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum LogFormat {
    /// A line for people (default)
    #[default]
    Text,
    /// A line of JSON
    Json,
}

/// A user or a group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged, expecting = "it takes the name or number of a user or group")]
pub enum Id {
    /// A number.
    Number(u32),
    /// A name.
    Name(String),
}

/// A list, which may be written as its only value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct List<T>(pub Vec<T>);

impl<T> List<T> {
    /// Returns the values of a list; none of one that is left out.
    pub fn values(list: &Option<Self>) -> &[T] {
        list.as_ref().map_or(&[], |list| &list.0)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMany<T> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list, or one value")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Vec<T>, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Vec<T>, E> {
                Ok(vec![T::deserialize(text.into_deserializer())?])
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Vec<T>, E> {
                Ok(vec![T::deserialize(number.into_deserializer())?])
            }
        }

        let list = deserializer.deserialize_any(OneOrMany(PhantomData))?;
        Ok(Self(list))
    }
}

impl PolicyFile {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// Each fault of the syntax, or the first key that is unknown or whose value is of another type.
    pub fn parse(text: &str) -> Result<Self, Vec<toml::de::Error>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            return Err(errors);
        }
        let document = toml::de::Deserializer::from(table);
        Self::deserialize(document).map_err(|error| vec![error])
    }
}

/// The files of a policy as they were read, with the system's own tables of users and groups.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyText {
    /// The file itself, then those that it includes, each followed by those that it includes itself.
    pub files: Vec<TextFile>,
    /// The table of users (passwd(5)).
    pub passwd: Name,
    /// The table of groups (group(5)).
    pub group: Name,
}

/// A file of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextFile {
    /// Its path.
    pub path: Name,
    /// Its text, or why there is none.
    pub text: Result<String, String>,
    /// The index of the file that includes it; `None` for the first.
    pub included_by: Option<usize>,
}
