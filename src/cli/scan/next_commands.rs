//! The commands that lead on from a scan.

use strum::VariantArray;

use crate::codec::guess::{CERTAIN, likely};
use crate::names::ShellWord;
use crate::policy::Profile;
use crate::records::{Finding, ScanPart};
use crate::tree::scan::ScanDone;

/// Returns the commands that lead on.
pub(super) fn next_commands(done: &ScanDone) -> Vec<String> {
    let root = match &done.scan.roots[..] {
        [root] if !root.as_bytes().is_empty() => ShellWord(root.as_bytes()).to_string(),
        _ => "DIR".to_owned(),
    };
    let options = migrate_options(&done.scan);
    if !done.charsets.totals.is_empty() {
        return vec![
            format!("utf8fs scan --propose-map charsets.toml {root}"),
            format!("utf8fs migrate --charset-map charsets.toml {options}{root}"),
        ];
    }
    let Some(best) = likely(&done.charsets.guesses).next() else {
        let found = &done.scan.tally.counts.found;
        let is_fixed = found.doubly_encoded > 0
            || found.forbidden > 0 && !options.is_empty()
            || found.not_normalized > 0 && options.contains("--normalize");
        let fixes = is_fixed.then(|| format!("utf8fs migrate {options}{root}"));
        return fixes.into_iter().collect();
    };
    let mut next = vec![format!("utf8fs migrate --from auto {options}{root}")];
    if best.confidence >= CERTAIN && best.read == best.of {
        let charset = best.charset.label();
        let unique = match [Finding::CollidesInCase, Finding::CollidesInForm]
            .map(|finding| done.is_offence(finding))
        {
            [true, _] => "--unique casefold ",
            [_, true] => "--unique nfc ",
            _ => "",
        };
        let options = policy_options(&done.scan, "--normalization");
        next.push(format!(
            "utf8fs mount --from {charset} {options}{unique}{root} MOUNTPOINT"
        ));
    }
    next
}

/// Returns the options of a migration beside the charsets, each with a space behind it.
pub(super) fn migrate_options(scan: &ScanPart) -> String {
    let fix = match scan.tally.counts.found.doubly_encoded {
        0 => "",
        _ => "--fix-double ",
    };
    fix.to_owned() + &policy_options(scan, "--normalize")
}

/// Returns the options of the profile that forbids what the scan takes for an offence, and of its form.
fn policy_options(scan: &ScanPart, form_option: &str) -> String {
    let policy = &scan.policy;
    let mut profiles = Profile::VARIANTS.iter().skip(1);
    let profile = profiles.find(|profile| profile.policy().forbid == policy.forbid);
    let options: [(&str, Option<&str>); 2] = [
        ("--profile", profile.map(Into::into)),
        (form_option, policy.normalization.form().map(Into::into)),
    ];
    let options = options.into_iter();
    options
        .filter_map(|(option, value)| Some(format!("{option} {} ", value?)))
        .collect()
}
