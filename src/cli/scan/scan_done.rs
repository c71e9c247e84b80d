//! A scan that is over.

use std::cell::OnceCell;

use crate::cli::guess_report::worth_showing;
use crate::codec::guess::CERTAIN;
use crate::names::ShellWord;
use crate::records::{Finding, Name, PolicyReport, Tally};
use crate::tree::scan::{Rules, TreeCharsets, joined};

/// A scan that is over.
pub(super) struct ScanDone {
    /// The directories as they were typed; empty for a list.
    pub(super) roots: Vec<Vec<u8>>,
    pub(super) rules: Rules,
    pub(super) tally: Tally,
    /// The line that other parts are merged with, where this is one.
    pub(super) part: Option<Vec<u8>>,
    /// Is a charset map proposed or judged?
    pub(super) has_map: bool,
    pub(super) charsets: OnceCell<TreeCharsets>,
}

impl ScanDone {
    pub(super) fn charsets(&self) -> &TreeCharsets {
        self.charsets.get_or_init(|| TreeCharsets::of(&self.tally))
    }

    /// Returns the commands that lead on.
    pub(super) fn next(&self) -> Vec<String> {
        let found = &self.tally.counts.found;
        let root = match &self.roots[..] {
            [root] if !root.is_empty() => ShellWord(root).to_string(),
            _ => "DIR".to_owned(),
        };
        let fix = match found.doubly_encoded {
            0 => "",
            _ => "--fix-double ",
        };
        let charsets = self.charsets();
        if self.has_map {
            return Vec::new();
        }
        if !charsets.totals.is_empty() {
            return vec![
                format!("utf8fs scan --propose-map charsets.toml {root}"),
                format!("utf8fs migrate --charset-map charsets.toml {fix}{root}"),
            ];
        }
        let Some(best) = worth_showing(&charsets.guesses).next() else {
            let fixes = (!fix.is_empty()).then(|| format!("utf8fs migrate {fix}{root}"));
            return fixes.into_iter().collect();
        };
        let mut next = vec![format!("utf8fs migrate --from auto {fix}{root}")];
        if best.confidence >= CERTAIN && best.read == best.of {
            let charset = best.charset.label();
            next.push(format!("utf8fs mount --from {charset} {root} MOUNTPOINT"));
        }
        next
    }

    /// Returns the path of a directory below a root.
    pub(super) fn path(&self, root: usize, path: &Name<'_>) -> Vec<u8> {
        let root: &[u8] = self.roots.get(root).map_or(b"", Vec::as_slice);
        joined(root, path.as_bytes())
    }
}

/// Returns the record of the rules that names were judged by.
pub(super) fn policy_report(rules: &Rules) -> PolicyReport {
    let policy = rules.policy();
    let offences = Finding::ALL.iter().copied();
    PolicyReport {
        encoding: policy.encoding,
        normalization: policy.form.into(),
        forbid: policy.forbid.iter().collect(),
        max_bytes: policy.max_bytes,
        max_chars: policy.max_chars,
        max_utf16: policy.max_utf16,
        offences: offences
            .filter(|finding| rules.is_offence(*finding))
            .collect(),
    }
}
