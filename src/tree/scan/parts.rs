//! The parts of a scan, and whether they are all of it.

use super::scanner::Scan;
use crate::records::{Name, PART_FORMAT, PolicyReport, ScanPart, Tally};

impl Scan<'_> {
    /// Returns what a scan that is over found, as a part of it or as a whole.
    #[must_use]
    pub fn part(self, tally: Tally) -> ScanPart {
        let policy = self.rules.policy();
        ScanPart {
            format: PART_FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            shard: self.shard.number,
            of: self.shard.of,
            depth: self.shard.depth,
            policy: PolicyReport {
                encoding: policy.encoding,
                normalization: policy.form.into(),
                forbid: policy.forbid.iter().collect(),
                max_bytes: policy.max_bytes,
                max_chars: policy.max_chars,
                max_utf16: policy.max_utf16,
                offences: self.rules.offences().to_vec(),
            },
            roots: self.roots.into_iter().map(Name::from).collect(),
            tally,
        }
    }
}

impl ScanPart {
    /// Checks that a part is of a format and version that this program can merge.
    ///
    /// # Errors
    /// Why it is not.
    pub fn check_origin(format: u64, version: &str) -> Result<(), String> {
        let own = env!("CARGO_PKG_VERSION");
        if format != PART_FORMAT {
            return Err(format!(
                "is of format {format}, and this version reads {PART_FORMAT}: scan that part again"
            ));
        }
        if version != own {
            return Err(format!(
                "is of utf8fs {version:?}, and this is {own:?}: all parts have to be of one version"
            ));
        }
        Ok(())
    }

    /// Checks that its report has as many lines of names and of unread directories as its tally counts.
    ///
    /// # Errors
    /// How many there are of which kind, and how many there were.
    pub fn check_lines(&self, names: u64, unread: u64) -> Result<(), String> {
        let tally = &self.tally;
        for (what, is, was) in [
            ("names", names, tally.counts.troubled()),
            ("what could not be read", unread, tally.all_unread().count),
        ] {
            if is != was {
                let how = if is < was { "lost" } else { "doubled or added" };
                return Err(format!(
                    "says that there are {was} lines of {what}, and there are {is}: some were {how}"
                ));
            }
        }
        Ok(())
    }

    /// Is it of a list of names, and not of trees?
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.roots.iter().all(|root| root.as_bytes().is_empty())
    }

    /// Returns what is another than in the first part of a scan; `None` if both are of one. Parts that are a whole each may be of
    /// any trees.
    #[must_use]
    pub fn difference(&self, first: &Self) -> Option<&'static str> {
        let is_alone = self.of == 1;
        let same = [
            (first.of == self.of, "how many parts there are"),
            (is_alone || first.depth == self.depth, "--shard-depth"),
            (
                first.is_list() == self.is_list(),
                "whether it is of trees or of a list",
            ),
            (first.policy == self.policy, "by what names conform"),
            (is_alone || first.roots == self.roots, "the directories"),
        ];
        let other = same.iter().find(|(is_same, _)| !is_same);
        other.map(|(_, what)| *what)
    }

    /// Returns the numbers of the parts that are missing of those of one scan.
    pub fn missing(parts: &[Self]) -> impl Iterator<Item = u64> {
        let of = parts.first().map_or(0, |first| first.of);
        (1..=of).filter(|number| parts.iter().all(|part| part.shard != *number))
    }
}
