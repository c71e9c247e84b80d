//! `utf8fs policy`: checking a file, and what holds by it.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use serde_json::json;

use super::args::{PolicyAction, PolicyShowArgs};
use super::output::{harmless, print_lines};
use super::{CommandError, ExitCode};
use crate::daemon::mount_policy::{
    LoadedPolicy, ResolvedPolicy, Table, groups_of, load, number_of,
};
use crate::names::Quoted;
use crate::names::rules::{Decision, Exempt, Mode, Terms, Verdict};
use crate::policy::{Normalization, errno::symbol};
use crate::records::{Name, PolicyFile, PolicySection, json_line};

/// Runs `utf8fs policy`.
///
/// # Errors
/// Wrong arguments, or standard output fails.
pub(super) fn run(action: PolicyAction) -> Result<ExitCode, CommandError> {
    match action {
        PolicyAction::Check { files, json } => check(&files, json),
        PolicyAction::Show(args) => show(args),
    }
}

fn check(files: &[PathBuf], is_json: bool) -> Result<ExitCode, CommandError> {
    let mut exit = ExitCode::Ok;
    for file in files {
        let mut policy = load(file)?;
        policy.check_alone();
        let (mut lines, is_valid) = (policy.fault_lines(), policy.is_valid());
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

/// A user or group that was typed, by number.
fn id(what: &str, typed: &str) -> Result<u32, CommandError> {
    let id = typed.parse().ok().or_else(|| number_of(what, typed));
    id.ok_or_else(|| {
        CommandError::usage(format!("unknown {what} {}", Quoted::of(typed)))
            .hint("give a number, or a name of the system's own tables")
    })
}

fn show(args: PolicyShowArgs) -> Result<ExitCode, CommandError> {
    let user = args.user.as_deref();
    let uid = user.map_or(Ok(0), |user| id("user", user))?;
    let groups = args.group.iter().map(|group| id("group", group));
    let mut groups = groups.collect::<Result<BTreeSet<u32>, _>>()?;
    if args.group.is_empty() {
        groups.extend(user.map(groups_of).into_iter().flatten());
    }
    let mut path = args.path.into_vec();
    if !path.starts_with(b"/") {
        path.insert(0, b'/');
    }
    let mut components = path.split(|&octet| octet == b'/').skip(1);
    let shown = Quoted(&path);
    if let Some(wrong) = components.find(|component| !crate::policy::is_component(component)) {
        let what = match wrong {
            b"" => "an empty component".to_owned(),
            wrong => format!("{} as a component", Quoted(wrong)),
        };
        let message = format!("{shown} is not the path of a name: it has {what}");
        let hint =
            "give a path from the root of the mount as it is there, such as /docs/report.txt";
        return Err(CommandError::usage(message).hint(hint));
    }
    let name = path.rsplit(|&octet| octet == b'/').next();
    let name = name.unwrap_or_default();
    let policy = load(&args.file)?;
    let resolved = ResolvedPolicy::new(PolicyFile::default(), &policy);
    let resolved = resolved.map_err(|error| CommandError {
        is_usage: false,
        ..error
    })?;
    let outlook = resolved.outlook(uid, &groups, &path, name)?;
    let terms = resolved.rules.terms_of(outlook.section);
    let section = outlook.section.and_then(|index| policy.section(index));
    let mut rows = section_rows(&policy, section);
    rows.extend(key_rows(&policy, section, terms));
    if let Some(exempt) = outlook.exempt {
        let key = match exempt {
            Exempt::Uid => "exempt_uid",
            Exempt::Path => "exempt",
        };
        let value = format!("by {}, as mode report", <&str>::from(exempt));
        let place = policy.whole.place(key).map(|place| policy.text.line(place));
        rows.push(("exempt", value, place.unwrap_or_default()));
    }
    let verdict = verdict(&outlook.decision, terms, name);
    print_lines(if args.json {
        let rows = rows.iter();
        let rows = rows
            .map(|(key, value, places)| json!({"key": key.trim(), "value": value, "from": places}));
        let rows: Vec<_> = rows.collect();
        let path = Name::from(path.as_slice());
        let fields =
            json!({"path": path, "uid": uid, "groups": groups, "rows": rows, "verdict": verdict});
        vec![json_line(&fields)]
    } else {
        let by = groups.iter().map(|group| format!(" and group {group}"));
        let mut lines = vec![format!("{shown} by user {uid}{}", by.collect::<String>())];
        lines.extend(rows.iter().map(|(key, value, places)| {
            let line = format!("  {key:<14} {value:<28} {places}");
            line.trim_end().to_owned()
        }));
        lines.push(format!("  result         {verdict}"));
        lines
    })?;
    Ok(ExitCode::Ok)
}

/// A key, its value, and the lines that say so.
type Row = (&'static str, String, String);

/// A section, with its places.
type Section<'p> = (&'p PolicySection, &'p Table);

/// Returns the items, a space between two; `none` if there is none.
fn listed(items: impl IntoIterator<Item = impl ToString>, none: &str) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    match items.is_empty() {
        true => none.to_owned(),
        false => items.join(" "),
    }
}

/// Returns what holds in a section.
fn key_rows(policy: &LoadedPolicy, section: Option<Section<'_>>, terms: &Terms) -> [Row; 8] {
    let whole = |key: &str| policy.whole.place(key);
    let own = |key: &str| section.and_then(|(_, table)| table.place(key));
    // What the section says, else what is said of the whole mount.
    let here = |key: &str| own(key).or_else(|| whole(key));
    let row = |key, value: &str, places: &[Option<_>]| {
        let lines = places
            .iter()
            .flatten()
            .map(|place| policy.text.line(*place));
        let lines: Vec<String> = lines.collect();
        let places = match lines.as_slice() {
            [] => "default".to_owned(),
            lines => lines.join(" and "),
        };
        (key, value.to_owned(), places)
    };
    let simple = |key, value: &str| row(key, value, &[here(key)]);
    let names = &terms.map.policy;
    let classes = listed(names.forbid.iter().map(<&str>::from), "nothing");
    let said_of_classes = [whole("profile"), whole("forbid"), own("forbid")];
    let chars = names.max_chars.map(|most| most.to_string());
    let unique = section.and_then(|(keys, _)| keys.unique);
    let unique = unique.or(policy.keys.unique).and_then(|how| how.0);
    let (unique, unique_key) = match terms.unique {
        None if terms.mode == Mode::Off && unique.is_some() => ("none: mode is off", "mode"),
        None => ("none", "unique"),
        Some(alike) => (alike.into(), "unique"),
    };
    [
        simple("mode", terms.mode.into()),
        simple("errno", terms.map.errno.into()),
        simple("profile", policy.keys.profile.unwrap_or_default().into()),
        simple("normalization", Normalization::from(names.form).into()),
        row("forbid", &classes, &said_of_classes),
        simple("max_bytes", &names.max_bytes.to_string()),
        simple("max_chars", chars.as_deref().unwrap_or("no limit")),
        row("unique", unique, &[here(unique_key)]),
    ]
}

/// Returns which section holds, and for what.
fn section_rows(policy: &LoadedPolicy, section: Option<Section<'_>>) -> Vec<Row> {
    let Some((keys, table)) = section else {
        return vec![("section", "none".to_owned(), String::new())];
    };
    let name = keys.name.as_deref().unwrap_or("first matching section");
    let path = keys.path.as_ref().map(|path| path.0.join(" "));
    let users = policy.users(&keys.users);
    let users = keys.users.is_some().then(|| listed(users, "nobody"));
    let groups = policy.groups(&keys.groups);
    let groups = keys.groups.is_some().then(|| listed(groups, "nobody"));
    let rows = [
        ("section", Some(name.to_owned()), table.start),
        ("  path", path, table.at("path")),
        ("  users", users, table.at("users")),
        ("  groups", groups, table.at("groups")),
    ];
    let rows = rows.into_iter().filter_map(|(key, value, place)| {
        Some((key, harmless(&value?).into_owned(), policy.text.line(place)))
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
