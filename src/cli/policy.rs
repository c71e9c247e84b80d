//! `utf8fs policy`: checking a file, and what holds by it.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use serde_json::json;

use super::args::{PolicyAction, PolicyShowArgs};
use super::output::{harmless, print_lines};
use super::{CommandError, ExitCode};
use crate::daemon::mount_policy::{LoadedPolicy, ResolvedPolicy, groups_of, load, number_of};
use crate::names::Quoted;
use crate::names::rules::{Decision, Exempt, Mode, Terms, Verdict};
use crate::policy::{Class, Normalization, errno::symbol};
use crate::records::{Id, List, Name, PolicyFile, json_line};

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
            lines.push(format!("{}: ok; sections: {count}", policy.shown()));
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
    let mut rows = section_rows(&policy, outlook.section);
    rows.extend(key_rows(&policy, outlook.section, terms));
    if let Some(exempt) = outlook.exempt {
        let key = match exempt {
            Exempt::Uid => "exempt_uid",
            Exempt::Path => "exempt",
        };
        let value = format!("by {}, as mode report", exempt.label());
        let place = policy.place(key).map(|place| policy.line(place));
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

/// Returns what holds in a section.
fn key_rows(policy: &LoadedPolicy, section: Option<usize>, terms: &Terms) -> [Row; 8] {
    let own = |key: &str| section.and_then(|section| policy.place_in(section, key));
    // What the section says, else what is said of the whole mount.
    let here = |key: &str| own(key).or_else(|| policy.place(key));
    let row = |key, value: &str, places: &[Option<_>]| {
        let lines = places.iter().flatten().map(|place| policy.line(*place));
        let lines: Vec<String> = lines.collect();
        let places = match lines.as_slice() {
            [] => "default".to_owned(),
            lines => lines.join(" and "),
        };
        (key, value.to_owned(), places)
    };
    let simple = |key, value: &str| row(key, value, &[here(key)]);
    let names = &terms.map.policy;
    let classes: Vec<&str> = names.forbid.iter().map(Class::label).collect();
    let classes = match classes.as_slice() {
        [] => "nothing".to_owned(),
        classes => classes.join(" "),
    };
    let said_of_classes = [
        policy.place("profile"),
        policy.place("forbid"),
        own("forbid"),
    ];
    let chars = names.max_chars.map(|most| most.to_string());
    let in_section = section.and_then(|section| policy.keys.section.get(section));
    let in_section = in_section.and_then(|section| section.unique);
    let unique = in_section.or(policy.keys.unique);
    let is_compared = unique.is_some_and(|how| how.0.is_some());
    let (unique, unique_key) = match terms.unique {
        None if terms.mode == Mode::Off && is_compared => ("none: mode is off", "mode"),
        None => ("none", "unique"),
        Some(alike) => (alike.label(), "unique"),
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
fn section_rows(policy: &LoadedPolicy, section: Option<usize>) -> Vec<Row> {
    let found = section.and_then(|index| Some((index, policy.keys.section.get(index)?)));
    let Some((index, section)) = found else {
        return vec![("section", "none".to_owned(), String::new())];
    };
    let ids = |ids: &List<Id>, what: &str| {
        let ids = ids.0.iter().filter_map(|id| match id {
            Id::Number(number) => Some(*number),
            Id::Name(name) => number_of(what, name),
        });
        let ids: Vec<String> = ids.map(|id| id.to_string()).collect();
        match ids.as_slice() {
            [] => "nobody".to_owned(),
            ids => ids.join(" "),
        }
    };
    let name = section.name.as_deref().unwrap_or("first matching section");
    let name = harmless(name).into_owned();
    let path = section.path.as_ref();
    let path = path.map(|path| harmless(&path.0.join(" ")).into_owned());
    let users = section.users.as_ref().map(|users| ids(users, "user"));
    let groups = section.groups.as_ref().map(|groups| ids(groups, "group"));
    let rows = [
        ("section", Some(name), policy.section_place(index)),
        ("  path", path, policy.place_in(index, "path")),
        ("  users", users, policy.place_in(index, "users")),
        ("  groups", groups, policy.place_in(index, "groups")),
    ];
    let rows = rows.into_iter().filter_map(|(key, value, place)| {
        let place = place.map(|place| policy.line(place));
        Some((key, value?, place.unwrap_or_default()))
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
