//! A scan that is over.

use std::cell::OnceCell;

use strum::VariantArray;

use crate::cli::guess_report::worth_showing;
use crate::codec::Form;
use crate::codec::guess::CERTAIN;
use crate::names::ShellWord;
use crate::policy::{Alike, Profile};
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
        let root = match &self.roots[..] {
            [root] if !root.is_empty() => ShellWord(root).to_string(),
            _ => "DIR".to_owned(),
        };
        let options = self.migrate_options();
        let charsets = self.charsets();
        if self.has_map {
            return Vec::new();
        }
        if !charsets.totals.is_empty() {
            return vec![
                format!("utf8fs scan --propose-map charsets.toml {root}"),
                format!("utf8fs migrate --charset-map charsets.toml {options}{root}"),
            ];
        }
        let Some(best) = worth_showing(&charsets.guesses).next() else {
            let found = &self.tally.counts.found;
            let is_fixed = found.doubly_encoded > 0
                || found.forbidden > 0 && !options.is_empty()
                || found.not_normalized > 0 && options.contains("--normalize");
            let fixes = is_fixed.then(|| format!("utf8fs migrate {options}{root}"));
            return fixes.into_iter().collect();
        };
        let mut next = vec![format!("utf8fs migrate --from auto {options}{root}")];
        if best.confidence >= CERTAIN && best.read == best.of {
            let charset = best.charset.label();
            let options = [self.profile(), self.form("--normalization"), self.unique()];
            let options = options.concat();
            next.push(format!(
                "utf8fs mount --from {charset} {options}{root} MOUNTPOINT"
            ));
        }
        next
    }

    /// Returns the options of a migration beside the charsets, each with a space behind it.
    pub(super) fn migrate_options(&self) -> String {
        let fix = match self.tally.counts.found.doubly_encoded {
            0 => "",
            _ => "--fix-double ",
        };
        [fix, &self.profile(), &self.form("--normalize")].concat()
    }

    /// Returns the option of the profile that forbids what the scan takes for an offence.
    fn profile(&self) -> String {
        let forbid = self.rules.policy().forbid;
        let mut profiles = Profile::VARIANTS.iter().skip(1);
        let profile = profiles.find(|profile| profile.policy().forbid == forbid);
        option("--profile", profile.map(Into::into))
    }

    fn form(&self, name: &str) -> String {
        option(name, self.rules.policy().form.map(Form::label))
    }

    fn unique(&self) -> String {
        let of = |finding: Finding, alike: Alike| self.rules.is_offence(finding).then_some(alike);
        let alike = of(Finding::CollidesInCase, Alike::Casefold);
        let alike = alike.or(of(Finding::CollidesInForm, Alike::Nfc));
        option("--unique", alike.map(Into::into))
    }

    /// Returns the path of a directory below a root.
    pub(super) fn path(&self, root: usize, path: &Name<'_>) -> Vec<u8> {
        let root: &[u8] = self.roots.get(root).map_or(b"", Vec::as_slice);
        joined(root, path.as_bytes())
    }

    /// Returns the path of a directory below a root; a dot for that of a list.
    pub(super) fn path_or_dot(&self, root: usize, path: &Name<'_>) -> Vec<u8> {
        let path = self.path(root, path);
        if path.is_empty() { b".".to_vec() } else { path }
    }
}

/// Returns an option with a space behind it; nothing without a value.
fn option(name: &str, value: Option<&'static str>) -> String {
    value.map_or_else(String::new, |value| format!("{name} {value} "))
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
