//! `utf8fs policy`: checking a file, and what holds by it.

use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use serde_json::json;

use super::args::{PolicyAction, PolicyShowArgs};
use super::output::{harmless, print_lines};
use super::{CommandError, ExitCode};
use crate::daemon::mount_policy::{LoadedPolicy, Outlook, ResolvedPolicy, Table, load};
use crate::names::rules::{Decision, Exempt, Mode, Terms, Verdict};
use crate::names::{Quoted, VisibleName};
use crate::policy::{Normalization, errno::symbol};
use crate::records::{Name, PolicyFile, PolicySection, json_line};

/// Runs `utf8fs policy`.
///
/// # Errors
/// Wrong arguments, or standard output fails.
pub(super) fn run(action: PolicyAction) -> Result<ExitCode, CommandError> {
    match action {
        PolicyAction::Check { files, json } => check(&files, json),
        PolicyAction::Show(args) => show(args).map(|()| ExitCode::Ok),
    }
}

fn check(files: &[PathBuf], is_json: bool) -> Result<ExitCode, CommandError> {
    let mut exit = ExitCode::Ok;
    for file in files {
        let mut policy = load(file)?;
        policy.check_alone();
        let (mut lines, is_valid) = (policy.fault_lines(), policy.check().is_ok());
        let count = policy.keys.section.len();
        if is_json {
            let file = Name::of_path(file);
            let fields =
                json!({"file": file, "valid": is_valid, "sections": count, "faults": lines});
            lines = vec![json_line(&fields)];
        } else if is_valid {
            lines.push(format!("{}: ok; sections: {count}", policy.text.shown(0)));
        }
        print_lines(lines)?;
        if !is_valid {
            exit = ExitCode::Failure;
        }
    }
    Ok(exit)
}

fn show(args: PolicyShowArgs) -> Result<(), CommandError> {
    let (uid, mut groups) = args.user.unwrap_or_default();
    if !args.group.is_empty() {
        groups = args.group.into_iter().collect();
    }
    let mut path = args.path.into_vec();
    if !path.starts_with(b"/") {
        path.insert(0, b'/');
    }
    let shown = Quoted(&path);
    let components = path.split(|&octet| octet == b'/').skip(1);
    let names: Result<Vec<_>, _> = components.map(VisibleName::parse).collect();
    let Ok(Some(name)) = names.map(|mut names| names.pop()) else {
        let message = format!("{shown} is not the path of a name: a component is empty, . or ..");
        let hint =
            "give a path from the root of the mount as it is there, such as /docs/report.txt";
        return Err(CommandError::usage(message).hint(hint));
    };
    let policy = load(&args.file)?;
    let resolved = ResolvedPolicy::new(PolicyFile::default(), &policy);
    let resolved = resolved.map_err(|error| CommandError {
        is_usage: false,
        ..error
    })?;
    let outlook = resolved.outlook(uid, &groups, &path, &name);
    let terms = resolved.rules.terms_of(outlook.section);
    let rows = rows(&policy, terms, &outlook);
    let verdict = verdict(&outlook.decision, terms, name.as_bytes());
    print_lines(if args.json {
        let row =
            |(key, value, from): &Row| json!({"key": key.trim(), "value": value, "from": from});
        let rows: Vec<_> = rows.iter().map(row).collect();
        let path = Name::from(path.as_slice());
        let fields =
            json!({"path": path, "uid": uid, "groups": groups, "rows": rows, "verdict": verdict});
        vec![json_line(&fields)]
    } else {
        let by = groups.iter().map(|group| format!(" and group {group}"));
        let mut lines = vec![format!("{shown} by user {uid}{}", by.collect::<String>())];
        lines.extend(rows.iter().map(|(key, value, from)| {
            let line = format!("  {key:<14} {value:<28} {from}");
            line.trim_end().to_owned()
        }));
        lines.push(format!("  result         {verdict}"));
        lines
    })
}

/// A key, its value, and the lines that say so.
type Row = (String, String, String);

/// Returns the items, a space between two; `none` if there is none.
fn listed(items: impl IntoIterator<Item = impl ToString>, none: &str) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    match items.is_empty() {
        true => none.to_owned(),
        false => items.join(" "),
    }
}

/// Returns which section holds and for what, and what holds in it.
fn rows(policy: &LoadedPolicy, terms: &Terms, outlook: &Outlook) -> Vec<Row> {
    let section = outlook.section.and_then(|index| policy.section(index));
    let no_section = (PolicySection::default(), Table::default());
    let (keys, table) = section.unwrap_or((&no_section.0, &no_section.1));
    let names = &terms.map.policy;
    let unique = keys.unique.or(policy.keys.unique).and_then(|how| how.0);
    let (unique, unique_key) = match terms.unique {
        None if terms.mode == Mode::Off && unique.is_some() => ("none: mode is off", "mode"),
        None => ("none", "unique"),
        Some(alike) => (alike.into(), "unique"),
    };
    let values = json!({
        "section": section.map_or("none", |_| keys.name.as_deref().unwrap_or("first matching section")),
        "  path": keys.path.as_ref().map(|path| path.0.join(" ")),
        "  users": keys.users.as_ref().map(|_| listed(policy.users(&keys.users), "nobody")),
        "  groups": keys.groups.as_ref().map(|_| listed(policy.groups(&keys.groups), "nobody")),
        "mode": terms.mode,
        "errno": terms.map.errno,
        "profile": policy.keys.profile.unwrap_or_default(),
        "normalization": Normalization::from(names.form),
        "forbid": listed(names.forbid.iter().map(<&str>::from), "nothing"),
        "max_bytes": names.max_bytes.to_string(),
        "max_chars": names.max_chars.map_or("no limit".to_owned(), |most| most.to_string()),
        "unique": unique,
        "exempt": outlook.exempt.map(|by| format!("by {}, as mode report", <&str>::from(by))),
    });
    let whole = |key: &str| policy.whole.place(key);
    let own = |key: &str| table.place(key);
    // What the section says, else what is said of the whole mount.
    let here = |key: &str| vec![own(key).or_else(|| whole(key))];
    let rows = values.as_object().into_iter().flatten();
    let rows = rows.filter_map(|(key, value)| {
        let places = match key.trim() {
            "section" => vec![section.map(|_| table.start)],
            "forbid" => vec![whole("profile"), whole("forbid"), own("forbid")],
            "unique" => here(unique_key),
            "exempt" if outlook.exempt == Some(Exempt::Uid) => here("exempt_uid"),
            key => here(key),
        };
        let places = places.into_iter().flatten();
        let lines: Vec<String> = places.map(|place| policy.text.line(place)).collect();
        let from = match lines.is_empty() && key != "section" {
            true => "default".to_owned(),
            false => lines.join(" and "),
        };
        Some((key.clone(), harmless(value.as_str()?).into_owned(), from))
    });
    rows.collect()
}

/// Returns what becomes of a new name, in words.
fn verdict(decision: &Decision, terms: &Terms, name: &[u8]) -> String {
    match decision {
        Decision::Create(new) => match &new.offence {
            Some((offence, Verdict::Normalized)) => {
                let visible = Quoted(new.visible.as_bytes());
                format!("is created as {visible}: {}", offence.rule)
            }
            Some((offence, _)) => format!("is created as asked, and recorded: {}", offence.rule),
            None if terms.map.policy.conforms(name) => {
                let unless = terms.unique.map(|_| ", unless a sibling is alike");
                format!("conforms{}", unless.unwrap_or_default())
            }
            None => "is created as asked; it would not conform".to_owned(),
        },
        Decision::Refuse(offence) => {
            let errno = symbol(terms.map.errno.errno(offence.rule));
            format!("is refused with {errno}: {}", offence.rule)
        }
        Decision::TooLong => "is refused with ENAMETOOLONG: no name can be so long".to_owned(),
    }
}
