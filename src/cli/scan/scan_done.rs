//! A scan that is over.

use strum::VariantArray;

use crate::cli::guess_report::worth_showing;
use crate::codec::guess::CERTAIN;
use crate::names::ShellWord;
use crate::policy::{Alike, Profile};
use crate::records::{Finding, ScanPart};
use crate::tree::scan::TreeCharsets;

/// A scan that is over.
pub(super) struct ScanDone {
    /// All that was found, of the whole or of a part.
    pub(super) scan: ScanPart,
    /// Is a charset map proposed or judged?
    pub(super) has_map: bool,
    /// The charsets of the ill-formed names.
    pub(super) charsets: TreeCharsets,
}

impl ScanDone {
    pub(super) fn new(scan: ScanPart, has_map: bool) -> Self {
        Self {
            charsets: TreeCharsets::of(&scan.tally),
            scan,
            has_map,
        }
    }

    pub(super) fn is_offence(&self, finding: Finding) -> bool {
        self.scan.policy.offences.contains(&finding)
    }

    /// Returns the commands that lead on.
    pub(super) fn next(&self) -> Vec<String> {
        let root = match &self.scan.roots[..] {
            [root] if !root.as_bytes().is_empty() => ShellWord(root.as_bytes()).to_string(),
            _ => "DIR".to_owned(),
        };
        let options = self.migrate_options();
        if self.has_map {
            return Vec::new();
        }
        if !self.charsets.totals.is_empty() {
            return vec![
                format!("utf8fs scan --propose-map charsets.toml {root}"),
                format!("utf8fs migrate --charset-map charsets.toml {options}{root}"),
            ];
        }
        let Some(best) = worth_showing(&self.charsets.guesses).next() else {
            let found = &self.scan.tally.counts.found;
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
        let fix = match self.scan.tally.counts.found.doubly_encoded {
            0 => "",
            _ => "--fix-double ",
        };
        [fix, &self.profile(), &self.form("--normalize")].concat()
    }

    /// Returns the option of the profile that forbids what the scan takes for an offence.
    fn profile(&self) -> String {
        let forbid = self.scan.policy.forbid.iter().copied();
        let mut profiles = Profile::VARIANTS.iter().skip(1);
        let profile = profiles.find(|profile| profile.policy().forbid.iter().eq(forbid.clone()));
        option("--profile", profile.map(Into::into))
    }

    fn form(&self, name: &str) -> String {
        option(name, self.scan.policy.normalization.form().map(Into::into))
    }

    fn unique(&self) -> String {
        let of = |finding: Finding, alike: Alike| self.is_offence(finding).then_some(alike);
        let alike = of(Finding::CollidesInCase, Alike::Casefold);
        let alike = alike.or(of(Finding::CollidesInForm, Alike::Nfc));
        option("--unique", alike.map(Into::into))
    }
}

/// Returns an option with a space behind it; nothing without a value.
fn option(name: &str, value: Option<&'static str>) -> String {
    value.map_or_else(String::new, |value| format!("{name} {value} "))
}
