//! One policy file: what it says, key by key, and where.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fault::{At, Faults, Place};
use super::reader::Reader;
use super::source::Gathered;
use crate::cli::args::{
    AuditFormatValue, ErrnoValue, ForbidValue, LegacyValue, ModeValue, MountEncodingValue,
    NormalizationValue, OnViolationValue, ProfileValue, UniqueValue,
};
use crate::cli::mount_options::nearest;

/// Declares what can be said in a table, each key with the method of [`Reader`] that takes its value. `merged` is a table to
/// which several files can add.
macro_rules! table {
    (merged $(#[$doc:meta])* $name:ident { $($key:ident: $type:ty = $read:ident,)+ }) => {
        table! { $(#[$doc])* $name { $($key: $type = $read,)+ } }

        impl $name {
            /// Adds what is said elsewhere and not here.
            pub(super) fn or(&mut self, other: Self) {
                $(if self.$key.is_none() { self.$key = other.$key; })+
            }
        }
    };
    ($(#[$doc:meta])* $name:ident { $($key:ident: $type:ty = $read:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default)]
        pub(super) struct $name {
            $(pub(super) $key: Option<At<$type>>,)+
        }

        impl $name {
            /// The keys.
            pub(super) const KEYS: &[&str] = &[$(stringify!($key)),+];

            /// Takes the value of `key`; `false` if there is no such key.
            pub(super) fn take(&mut self, key: &str, reader: &mut Reader<'_>, value: &Spanned<DeValue<'_>>) -> bool {
                match key {
                    $(stringify!($key) => self.$key = reader.$read(key, value),)+
                    _ => return false,
                }
                true
            }
        }
    };
}

table! {
    merged
    /// What a policy says of the whole mount: options of `mount`, with `_` for `-`.
    Top {
        profile: ProfileValue = word,
        normalization: NormalizationValue = word,
        encoding: MountEncodingValue = word,
        from: Vec<String> = charsets,
        legacy: LegacyValue = word,
        store_as: String = charset,
        forbid: Vec<ForbidValue> = words,
        max_bytes: usize = max_bytes,
        max_chars: usize = max_chars,
        unique: Option<UniqueValue> = unique,
        mode: ModeValue = word,
        on_violation: OnViolationValue = word,
        errno: ErrnoValue = word,
        exempt: Vec<String> = patterns,
        exempt_uid: Vec<u32> = users,
        audit_log: String = text,
        audit_format: AuditFormatValue = word,
        audit_burst: u32 = count,
        audit_per_minute: u32 = count,
    }
}

table! {
    /// A section.
    SectionText {
        name: String = text,
        path: Vec<String> = patterns,
        users: Vec<u32> = users,
        groups: Vec<u32> = groups,
        mode: ModeValue = word,
        forbid: Vec<ForbidValue> = words,
        max_bytes: usize = max_bytes,
        max_chars: usize = max_chars,
        unique: Option<UniqueValue> = unique,
        errno: ErrnoValue = word,
    }
}

/// What a file says.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) top: Top,
    /// Each with where it starts.
    pub(super) sections: Vec<At<SectionText>>,
    /// Where each file is named that it includes.
    pub(super) includes: Vec<Place>,
}

/// What a file names that is to be looked for elsewhere.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    pub(super) includes: Vec<String>,
    pub(super) users: Vec<String>,
    pub(super) groups: Vec<String>,
}

/// What `text` names, whatever else is wrong with it.
pub(super) fn mentions(text: &str) -> Mentions {
    let (document, _faults) = DeTable::parse_recoverable(text);
    let mut found = Mentions::default();
    let table = document.get_ref();
    let named = |table: &DeTable<'_>, key: &str| -> Vec<String> {
        let value = table.get(key).map(Spanned::get_ref);
        items(value)
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect()
    };
    found.includes = named(table, "include");
    found.users = named(table, "exempt_uid");
    let sections = items(table.get("section").map(Spanned::get_ref));
    for section in sections.filter_map(DeValue::as_table) {
        found.users.extend(named(section, "users"));
        found.groups.extend(named(section, "groups"));
    }
    found
}

/// The elements of an array, or what is alone.
fn items<'a, 't>(value: Option<&'a DeValue<'t>>) -> impl Iterator<Item = &'a DeValue<'t>> {
    let array = value.and_then(DeValue::as_array);
    let alone = value.filter(|_| array.is_none());
    let array = array.into_iter().flat_map(|array| array.iter());
    array.map(Spanned::get_ref).chain(alone)
}

/// Reads a file; what is wrong goes to `faults`.
pub(super) fn read(files: &Gathered, file: usize, text: &str, faults: &mut Faults) -> Document {
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let offset = error.span().map_or(text.len(), |span| span.start);
        faults.error(Place { file, offset }, error.message().to_owned());
    }
    let mut reader = Reader {
        files,
        file,
        faults,
    };
    let mut read = Document::default();
    for (key, value) in document.get_ref().iter() {
        let place = reader.at(key.span().start);
        match key.get_ref().as_ref() {
            "include" => {
                let named = reader.strings("include", value);
                read.includes = named.into_iter().map(|named| named.place).collect();
            }
            "section" => read.sections = reader.sections(value),
            other if read.top.take(other, &mut reader, value) => {}
            other => {
                let keys = [Top::KEYS, &["include", "section"]].concat();
                let in_section = SectionText::KEYS.contains(&other);
                let hint = match other {
                    "sections" => "write [[section]]".to_owned(),
                    _ if in_section => "it is said in a [[section]]".to_owned(),
                    _ => suggestion(other, &keys),
                };
                reader.unknown(place, other, &hint);
            }
        }
    }
    read.sections.sort_by_key(|section| section.place);
    read
}

pub(super) fn suggestion(key: &str, known: &[&str]) -> String {
    const OF_MOUNT: &[&str] = &[
        "cache",
        "passthrough",
        "locks",
        "threads",
        "sandbox",
        "uring",
        "cross_mounts",
        "options",
        "background",
    ];
    let plain = key.replace('-', "_").to_ascii_lowercase();
    if OF_MOUNT.contains(&plain.as_str()) {
        return "it is no matter of the policy: an option of 'utf8fs mount'".to_owned();
    }
    match nearest(&plain, known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => "docs/policy.md has all keys".to_owned(),
    }
}
