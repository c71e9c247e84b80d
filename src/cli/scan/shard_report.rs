//! The part of a scan that one host did, in its report.

use super::json_lines::LineCounts;
use super::scan_done::policy_report;
use crate::policy::{Classes, Policy};
use crate::records::{PART_FORMAT, PolicyReport, ScanPart, ScanSource, Tally};
use crate::tree::scan::{Rules, Scan, Sink};

/// Returns the record of a part.
pub(super) fn part<S: Sink>(
    scan: &Scan<'_, S>,
    source: ScanSource,
    tally: &Tally,
    lines: LineCounts,
) -> ScanPart {
    let roots = scan.roots.iter();
    ScanPart {
        format: PART_FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        shard: scan.shard.number,
        of: scan.shard.of,
        depth: scan.shard.depth,
        source,
        roots: roots.map(|root| root.clone().into()).collect(),
        policy: policy_report(&scan.rules),
        entries: lines.entries,
        unread: lines.unread,
        tally: tally.clone(),
    }
}

/// Checks that a line is of a part that this program can merge.
///
/// # Errors
/// Why it cannot.
pub(super) fn check_origin(format: u64, version: &str) -> Result<(), String> {
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

/// Checks that the report of a part has the lines that were written.
///
/// # Errors
/// How many there are of which kind, and how many there were.
pub(super) fn check_lines(part: &ScanPart, lines: LineCounts) -> Result<(), String> {
    for (what, is, was) in [
        ("names", lines.entries, part.entries),
        ("what could not be read", lines.unread, part.unread),
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

/// Returns the rules of a report.
pub(super) fn rules_of(report: &PolicyReport) -> Rules {
    let forbid = report.forbid.iter();
    let policy = Policy {
        encoding: report.encoding,
        max_bytes: report.max_bytes,
        max_chars: report.max_chars,
        max_utf16: report.max_utf16,
        form: report.normalization.form(),
        forbid: forbid.fold(Classes::default(), |all, class| all.with(*class)),
    };
    Rules::of(policy, report.offences.clone())
}

#[cfg(test)]
mod tests {
    use super::{policy_report, rules_of};
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
                    let told = policy_report(&Rules::new(policy_of.clone(), unique, doubled));
                    let rules = rules_of(&told);
                    assert_eq!(policy_report(&rules), told);
                    assert_eq!(*rules.policy(), policy_of);
                }
            }
        }
    }
}
