//! `utf8fs policy`: checking a file, and what holds by it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::PolicyAction;
use super::output::{Output, harmless};
use super::{CliError, ExitCode};
use crate::daemon::mount_policy::{
    LoadedPolicy, Place, ResolvedPolicy, groups_of, load, load_and_check, number_of,
};
use crate::names::Quoted;
use crate::names::rules::{Exempt, Mode, Settled, Terms, Verdict};
use crate::policy::{Class, Normalization, Profile, errno::symbol};
use crate::records::{Id, List, Name, PolicyFile, json_line};

/// Runs `utf8fs policy`.
///
/// # Errors
/// Wrong arguments, or standard output fails.
pub(super) fn run(action: PolicyAction) -> Result<ExitCode, CliError> {
    match action {
        PolicyAction::Check { files, json } => check(&files, json),
        PolicyAction::Show {
            file,
            path,
            user,
            group,
            json,
        } => show(&file, path, user.as_deref(), &group, json),
    }
}

fn check(files: &[PathBuf], is_json: bool) -> Result<ExitCode, CliError> {
    let mut out = Output::stdout();
    let mut exit = ExitCode::Ok;
    for file in files {
        let policy = load_and_check(file)?;
        let lines = policy.fault_lines();
        let count = policy.keys.section.len();
        if is_json {
            let file = Name::of_path(file);
            let fields = json!({"file": file, "valid": policy.is_valid(), "sections": count, "faults": lines});
            out.line(&json_line(&fields))?;
        } else {
            lines.iter().try_for_each(|line| out.line(line))?;
            if policy.is_valid() {
                out.line(&format!("{}: ok; sections: {count}", policy.shown()))?;
            }
        }
        if !policy.is_valid() {
            exit = ExitCode::Failure;
        }
    }
    out.flush()?;
    Ok(exit)
}

/// A user or group that was typed, by number.
fn id(what: &str, typed: &str) -> Result<u32, CliError> {
    let id = typed.parse().ok().or_else(|| number_of(what, typed));
    id.ok_or_else(|| {
        CliError::usage(format!("unknown {what} {}", Quoted(typed.as_bytes())))
            .hint("give a number, or a name of the system's own tables")
    })
}

fn show(
    file: &Path,
    path: OsString,
    user: Option<&str>,
    groups: &[String],
    is_json: bool,
) -> Result<ExitCode, CliError> {
    let uid = user.map_or(Ok(0), |user| id("user", user))?;
    let groups: BTreeSet<u32> = match user {
        Some(user) if groups.is_empty() => groups_of(user),
        _ => groups
            .iter()
            .map(|group| id("group", group))
            .collect::<Result<_, _>>()?,
    };
    let mut path = path.into_vec();
    if !path.starts_with(b"/") {
        path.insert(0, b'/');
    }
    let mut components = path.split(|&octet| octet == b'/').skip(1);
    let wrong = components.find(|component| !crate::policy::is_component(component));
    if let Some(wrong) = wrong {
        let shown = Quoted(&path).to_string();
        let what = match wrong {
            b"" => "an empty component".to_owned(),
            wrong => format!("{} as a component", Quoted(wrong)),
        };
        return Err(
            CliError::usage(format!("{shown} is not the path of a name: it has {what}")).hint(
                "give a path from the root of the mount as it is there, such as /docs/report.txt",
            ),
        );
    }
    let name = path.rsplit(|&octet| octet == b'/').next();
    let name = name.unwrap_or_default().to_vec();
    let policy = load(file)?;
    let resolved = ResolvedPolicy::new(PolicyFile::default(), &policy);
    let resolved = resolved.map_err(|error| CliError {
        code: ExitCode::Failure,
        ..error.into()
    })?;
    let outlook = resolved.outlook(uid, &groups, &path, &name)?;
    let terms = resolved.rules.terms_of(outlook.section);
    let mut rows = rows(&policy, outlook.section, terms);
    if let Some(exempt) = outlook.exempt {
        let key = match exempt {
            Exempt::Uid => "exempt_uid",
            Exempt::Path => "exempt",
        };
        let place = policy.place(key).map(|place| policy.line(place));
        rows.push(Row {
            key: "exempt",
            value: format!("by {}, as mode report", exempt.label()),
            places: place.unwrap_or_default(),
        });
    }
    let verdict = verdict(&outlook.end, terms, &name);
    let mut out = Output::stdout();
    if is_json {
        let rows = rows
            .iter()
            .map(|row| json!({"key": row.key.trim(), "value": row.value, "from": row.places}));
        let rows: Vec<_> = rows.collect();
        let path = Name::from(path.as_slice());
        let fields =
            json!({"path": path, "uid": uid, "groups": groups, "rows": rows, "verdict": verdict});
        out.line(&json_line(&fields))?;
    } else {
        let by = groups.iter().map(|group| format!(" and group {group}"));
        let by: String = by.collect();
        out.line(&format!("{} by user {uid}{by}", Quoted(&path)))?;
        for Row { key, value, places } in rows {
            out.line(format!("  {key:<14} {value:<28} {places}").trim_end())?;
        }
        out.line(&format!("  result         {verdict}"))?;
    }
    out.flush()?;
    Ok(ExitCode::Ok)
}

/// A key, its value, and the lines that say so.
struct Row {
    key: &'static str,
    value: String,
    places: String,
}

/// Returns what holds in a section, or that none does.
fn rows(policy: &LoadedPolicy, section: Option<usize>, terms: &Terms) -> Vec<Row> {
    let mut rows = section_rows(policy, section);
    let at = |places: &[Option<Place>]| {
        let lines = places.iter().flatten().map(|place| policy.line(*place));
        let lines: Vec<String> = lines.collect();
        if lines.is_empty() {
            "default".to_owned()
        } else {
            lines.join(" and ")
        }
    };
    let own = |key: &str| section.and_then(|section| policy.place_in(section, key));
    // What the section says, else what is said of the whole mount.
    let here = |key: &str| own(key).or_else(|| policy.place(key));
    let mut row = |key, value: &str, places: &[Option<Place>]| {
        let (value, places) = (value.to_owned(), at(places));
        rows.push(Row { key, value, places });
    };
    let mode = here("mode");
    row("mode", <&str>::from(terms.mode), &[mode]);
    row("errno", <&str>::from(terms.map.errno), &[here("errno")]);
    let profile = policy.keys.profile.unwrap_or(Profile::Utf8);
    let profile_place = policy.place("profile");
    row("profile", profile.into(), &[profile_place]);
    let names = &terms.map.policy;
    let form = <&str>::from(Normalization::from(names.form));
    row("normalization", form, &[policy.place("normalization")]);
    let classes: Vec<&str> = names.forbid.iter().map(Class::label).collect();
    let classes = match classes.as_slice() {
        [] => "nothing".to_owned(),
        classes => classes.join(" "),
    };
    let forbid = [profile_place, policy.place("forbid"), own("forbid")];
    row("forbid", &classes, &forbid);
    row(
        "max_bytes",
        &names.max_bytes.to_string(),
        &[here("max_bytes")],
    );
    let chars = names.max_chars.map(|most| most.to_string());
    let chars = chars.unwrap_or_else(|| "no limit".to_owned());
    row("max_chars", &chars, &[here("max_chars")]);
    let in_section = section.and_then(|section| policy.keys.section.get(section));
    let unique = in_section
        .and_then(|section| section.unique)
        .or(policy.keys.unique);
    let wants_comparison = unique.is_some_and(|unique| unique.alike().is_some());
    match terms.unique {
        None if terms.mode == Mode::Off && wants_comparison => {
            row("unique", "none: mode is off", &[mode]);
        }
        None => row("unique", "none", &[here("unique")]),
        Some(alike) => row("unique", alike.label(), &[here("unique")]),
    }
    rows
}

/// Returns which section holds, and for what.
fn section_rows(policy: &LoadedPolicy, section: Option<usize>) -> Vec<Row> {
    let found = section.and_then(|index| Some((index, policy.keys.section.get(index)?)));
    let Some((index, section)) = found else {
        return vec![Row {
            key: "section",
            value: "none".to_owned(),
            places: String::new(),
        }];
    };
    let ids = |ids: &List<Id>, what: &str| {
        let ids = ids.0.iter().filter_map(|id| match id {
            Id::Number(number) => Some(*number),
            Id::Name(name) => number_of(what, name),
        });
        let ids: Vec<String> = ids.map(|id| id.to_string()).collect();
        if ids.is_empty() {
            "nobody".to_owned()
        } else {
            ids.join(" ")
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
        Some(Row {
            key,
            value: value?,
            places: place.map(|place| policy.line(place)).unwrap_or_default(),
        })
    });
    rows.collect()
}

/// Returns what becomes of a new name, in words.
fn verdict(end: &Settled, terms: &Terms, name: &[u8]) -> String {
    match end {
        Settled::Made {
            visible,
            offence: Some((offence, Verdict::Normalized)),
            ..
        } => {
            let visible = Quoted(visible.as_bytes());
            format!("is created as {visible}: {}", offence.rule)
        }
        Settled::Made {
            offence: Some((offence, _)),
            ..
        } => format!("is created as asked, and recorded: {}", offence.rule),
        Settled::Made { offence: None, .. } if terms.map.policy.conforms(name) => {
            let unless = terms.unique.map(|_| ", unless a sibling is alike");
            format!("conforms{}", unless.unwrap_or_default())
        }
        Settled::Made { offence: None, .. } => {
            "is created as asked; it would not conform".to_owned()
        }
        Settled::Refused(offence) => {
            let errno = symbol(terms.map.errno.errno(offence.rule));
            format!("is refused with {errno}: {}", offence.rule)
        }
        Settled::TooLong => "is refused with ENAMETOOLONG: no name can be so long".to_owned(),
    }
}
