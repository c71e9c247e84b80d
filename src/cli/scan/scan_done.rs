//! A scan that is over.

use crate::records::{Finding, Name, PolicyReport, Tally};
use crate::tree::scan::{Rules, joined};

/// A scan that is over.
pub(super) struct ScanDone<'d> {
    /// The directories as they were typed; empty for a list.
    pub(super) roots: &'d [Vec<u8>],
    pub(super) rules: &'d Rules,
    pub(super) tally: Tally,
    /// The line that other parts are merged with, where this is one.
    pub(super) part: Option<Vec<u8>>,
}

impl ScanDone<'_> {
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
