//! The line of a report by which the scans of all parts of a tree are made one.

use serde_json::{Value, json};

use super::lines::policy;
use super::seal::{self, Sealed};
use crate::cli::args::ScanArgs;
use crate::codec::{Encoding, Form};
use crate::names::{json_line, json_name, name_of_json};
use crate::policy::{Alike, Class, Classes, Policy};
use crate::tree::scan::{Finding, Kept, PartError, Rules, Shard, Tally, tally_json, tally_of_json};

/// What such a line looks like; counted up when that changes.
const FORMAT: u64 = 2;

/// What was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// Trees.
    Walk,
    /// A list of names.
    List,
}

impl Source {
    pub(super) fn of(args: &ScanArgs) -> Self {
        match args.names_from {
            Some(_) => Self::List,
            None => Self::Walk,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Walk => "walk",
            Self::List => "list",
        }
    }
}

/// The line of a part.
pub(super) fn line(
    shard: Shard,
    source: Source,
    roots: &[Vec<u8>],
    rules: &Rules,
    tally: &Tally,
    told: &Sealed,
) -> String {
    let line = json!({
        "scan": "part",
        "format": FORMAT,
        "version": env!("CARGO_PKG_VERSION"),
        "shard": shard.number(),
        "of": shard.of(),
        "depth": shard.depth(),
        "source": source.label(),
        "roots": roots.iter().map(|root| json_name(root)).collect::<Vec<_>>(),
        "policy": policy(rules),
        "entries": told.entries,
        "unread": told.unread,
        "digest": told.digest(),
        "tally": tally_json(tally),
    });
    seal::sealed(&json_line(&line))
}

/// A line that was read.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) number: u64,
    pub(super) of: u64,
    pub(super) depth: u64,
    pub(super) source: Source,
    pub(super) roots: Vec<Vec<u8>>,
    pub(super) policy: Value,
    tally: Value,
    /// How many lines of names and of what could not be read there are with it, and the digest of them.
    told: (u64, u64, String),
    /// Is the line as it was written?
    is_sound: bool,
}

impl Part {
    /// Reads a line.
    ///
    /// # Errors
    /// Why it can't be, in words.
    pub(super) fn read(line: &[u8]) -> Result<Self, String> {
        let mut value: Value =
            serde_json::from_slice(line).map_err(|error| format!("is no JSON: {error}"))?;
        let format = value.get("format").and_then(Value::as_u64);
        let version = value.get("version").and_then(Value::as_str);
        let version = version.unwrap_or_default();
        if let Some(other) = format.filter(|format| *format != FORMAT) {
            return Err(format!(
                "is of format {other}, and this version reads {FORMAT}: scan that part again"
            ));
        }
        if format.is_none() || version != env!("CARGO_PKG_VERSION") {
            return Err(format!(
                "is of utf8fs {version:?}, and this is {:?}: all parts have to be of one version",
                env!("CARGO_PKG_VERSION")
            ));
        }
        let tally = value.get_mut("tally").map(Value::take);
        let read = || {
            let number = |key: &str| value.get(key)?.as_u64();
            let source = value.get("source")?.as_str()?;
            let roots = value.get("roots")?.as_array()?.iter();
            Some(Self {
                number: number("shard")?,
                of: number("of")?,
                depth: number("depth")?,
                source: [Source::Walk, Source::List]
                    .into_iter()
                    .find(|known| known.label() == source)?,
                roots: roots.map(name_of_json).collect::<Option<_>>()?,
                policy: value.get("policy")?.clone(),
                tally: tally?,
                told: (
                    number("entries")?,
                    number("unread")?,
                    value.get("digest")?.as_str()?.to_owned(),
                ),
                is_sound: seal::is_sound(line),
            })
        };
        let is_sound = |part: &Self| (1..=part.of).contains(&part.number);
        let part = read().filter(is_sound);
        part.ok_or_else(|| "has no shard, roots, policy and tally".to_owned())
    }

    /// Why the part's line, or the lines told with it, are not those that were written, in words.
    pub(super) fn altered(&self, told: &Sealed) -> Option<String> {
        let (entries, unread, digest) = &self.told;
        let differs = |what: &str, is: u64, was: u64| {
            let how = if is < was { "lost" } else { "doubled or added" };
            (is != was).then(|| {
                format!(
                    "says that there are {was} lines of {what}, and there are {is}: some were {how}"
                )
            })
        };
        if !self.is_sound {
            return Some("was altered: its seal is that of another line".to_owned());
        }
        differs("names", told.entries, *entries)
            .or_else(|| differs("what could not be read", told.unread, *unread))
            .or_else(|| {
                let is_same = told.digest() == *digest;
                (!is_same)
                    .then(|| "has the digest of other lines of names: some were altered".to_owned())
            })
    }

    /// What was gathered; its roots come behind `first_root` others.
    pub(super) fn tally(&self, kept: Kept, first_root: usize) -> Result<Tally, PartError> {
        tally_of_json(&self.tally, kept, first_root, self.roots.len())
    }
}

/// The rules that [`policy`] told; `None` where it cannot have told that.
pub(super) fn rules_of(told: &Value) -> Option<Rules> {
    let labels = |key: &str| -> Option<Vec<&str>> {
        told.get(key)?
            .as_array()?
            .iter()
            .map(Value::as_str)
            .collect()
    };
    let limit = |key: &str| {
        let most = told.get(key)?;
        match most.is_null() {
            true => Some(None),
            false => usize::try_from(most.as_u64()?).ok().map(Some),
        }
    };
    let form = told.get("normalization")?.as_str()?;
    let mut forbid = Classes::default();
    for label in labels("forbid")? {
        forbid = forbid.with(
            Class::ALL
                .into_iter()
                .find(|class| class.label() == label)?,
        );
    }
    let conforming = Policy {
        encoding: Encoding::from_label(told.get("encoding")?.as_str()?)?,
        max_bytes: limit("max_bytes")??,
        max_chars: limit("max_chars")?,
        max_utf16: limit("max_utf16")?,
        form: [Form::Nfc, Form::Nfd]
            .into_iter()
            .find(|known| known.label() == form),
        forbid,
    };
    let offences = labels("offences")?;
    let is_offence = |finding: Finding| offences.contains(&finding.label());
    let unique = match (
        is_offence(Finding::CollidesInCase),
        is_offence(Finding::CollidesInForm),
    ) {
        (true, _) => Some(Alike::Casefold),
        (_, true) => Some(Alike::Nfc),
        _ => None,
    };
    let rules = Rules::new(conforming, unique, is_offence(Finding::DoublyEncoded));
    (policy(&rules) == *told).then_some(rules)
}

#[cfg(test)]
mod tests {
    use super::{policy, rules_of};
    use crate::codec::Form;
    use crate::policy::{Alike, Class, Policy, Profile};
    use crate::tree::scan::Rules;

    #[test]
    fn rules_come_back_from_what_is_told_of_them() {
        let strict = Policy {
            form: Some(Form::Nfd),
            max_bytes: 100,
            max_chars: Some(30),
            forbid: Profile::Portable.policy().forbid.with(Class::NonAscii),
            ..Profile::Portable.policy()
        };
        for policy_of in [Profile::Utf8.policy(), Profile::Posix.policy(), strict] {
            for unique in [None, Some(Alike::Nfc), Some(Alike::Casefold)] {
                for doubled in [false, true] {
                    let told = policy(&Rules::new(policy_of.clone(), unique, doubled));
                    let rules = rules_of(&told).unwrap();
                    assert_eq!(policy(&rules), told);
                    assert_eq!(*rules.policy(), policy_of);
                }
            }
        }
        assert!(rules_of(&serde_json::json!({"encoding": "utf-8"})).is_none());
    }
}
