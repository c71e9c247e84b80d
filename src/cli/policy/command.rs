//! `utf8fs policy`: checking a file, and what holds by it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use super::assemble::{Text, assemble, check_alone};
use super::decide::{Decided, Said, absolute};
use super::document::SectionText;
use super::fault::{At, Place, line};
use super::grounds::Grounds;
use super::outlook::End;
use super::source::{gather, number_of};
use crate::cli::args::{
    ErrnoValue, ModeValue, NormalizationValue, PolicyAction, ProfileValue, UniqueValue,
};
use crate::cli::output::{Output, harmless};
use crate::cli::{CliError, ExitCode};
use crate::names::Quoted;
use crate::names::rules::{Exempt, Mode, Terms, Verdict};
use crate::policy::{Class, Offence, Profile, errno::symbol};

/// Runs `utf8fs policy`.
///
/// # Errors
/// Wrong arguments, or standard output fails.
pub(crate) fn run(action: PolicyAction) -> Result<ExitCode, CliError> {
    match action {
        PolicyAction::Check { files } => check(files),
        PolicyAction::Show {
            file,
            path,
            user,
            group,
        } => show(file, path, user.as_deref(), &group),
    }
}

fn check(files: Vec<PathBuf>) -> Result<ExitCode, CliError> {
    let mut out = Output::stdout();
    let mut exit = ExitCode::Ok;
    for file in files {
        let mut text = assemble(gather(&absolute(file)?, &Grounds::none()));
        check_alone(&mut text);
        for line in text.faults.lines(&text.files) {
            out.line(&line)?;
        }
        if text.faults.is_fatal() {
            exit = ExitCode::Failure;
        } else {
            let count = text.sections.len();
            out.line(&format!("{}: ok; sections: {count}", text.files.shown(0)))?;
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
    file: PathBuf,
    path: OsString,
    user: Option<&str>,
    groups: &[String],
) -> Result<ExitCode, CliError> {
    let uid = user.map_or(Ok(0), |user| id("user", user))?;
    let groups: BTreeSet<u32> = groups
        .iter()
        .map(|group| id("group", group))
        .collect::<Result<_, _>>()?;
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
    let text = assemble(gather(&absolute(file)?, &Grounds::none()));
    let decided = match Decided::with_file(Said::default(), &text) {
        Ok(decided) => decided,
        Err(error) => {
            return Err(CliError::failure(error.message).hint(error.hint.unwrap_or_default()));
        }
    };
    let outlook = decided.outlook(uid, &groups, &path, &name)?;
    let section = outlook.section.and_then(|index| text.sections.get(index));
    let terms = decided.rules.terms_of(outlook.section);
    let mut out = Output::stdout();
    let by: Vec<String> = groups
        .iter()
        .map(|group| format!(" and group {group}"))
        .collect();
    out.line(&format!("{} by user {uid}{}", Quoted(&path), by.concat()))?;
    for [key, value, place] in rows(&text, section, terms) {
        out.line(format!("  {key:<14} {value:<28} {place}").trim_end())?;
    }
    if let Some(exempt) = outlook.exempt {
        let key = match exempt {
            Exempt::Uid => text.top.exempt_uid.as_ref().map(|at| at.place),
            Exempt::Path => text.top.exempt.as_ref().map(|at| at.place),
        };
        let place = key.map_or_else(String::new, |place| line(&text.files, place));
        let by = format!("by {}, as mode report", exempt.label());
        out.line(format!("  {:<14} {by:<28} {place}", "exempt").trim_end())?;
    }
    let verdict = verdict(&outlook.end, terms, &name);
    out.line(&format!("  so this name    {verdict}"))?;
    out.flush()?;
    Ok(ExitCode::Ok)
}

/// Each key, what holds of it, and where that is said.
fn rows(text: &Text, section: Option<&At<SectionText>>, terms: &Terms) -> Vec<[String; 3]> {
    let top = &text.top;
    let here = section.map(|section| &section.value);
    let at = |place: Option<Place>| match place {
        Some(place) => line(&text.files, place),
        None => "default".to_owned(),
    };
    fn place<T>(at: Option<&At<T>>) -> Option<Place> {
        at.map(|at| at.place)
    }
    let mut rows = Vec::new();
    let mut row = |key: &str, value: String, place: String| {
        rows.push([key.to_owned(), value, place]);
    };
    match section {
        None => row("section", "none holds".to_owned(), String::new()),
        Some(At { value, place }) => {
            let name = value
                .name
                .as_ref()
                .map(|name| harmless(&name.value).into_owned());
            let place = line(&text.files, *place);
            row(
                "section",
                name.unwrap_or_else(|| "the first that holds".to_owned()),
                place,
            );
            if let Some(path) = &value.path {
                row(
                    "  path",
                    harmless(&path.value.join(" ")).into_owned(),
                    at(Some(path.place)),
                );
            }
            for (key, ids) in [("  users", &value.users), ("  groups", &value.groups)] {
                if let Some(ids) = ids {
                    let numbers: Vec<String> = ids.value.iter().map(u32::to_string).collect();
                    let known = if numbers.is_empty() {
                        "nobody".to_owned()
                    } else {
                        numbers.join(" ")
                    };
                    row(key, known, at(Some(ids.place)));
                }
            }
        }
    }
    let mode = place(here.and_then(|here| here.mode.as_ref()))
        .or(place(top.mode.as_ref()))
        .or(place(top.on_violation.as_ref()));
    row("mode", ModeValue(terms.mode).word().to_owned(), at(mode));
    let errno = place(here.and_then(|here| here.errno.as_ref())).or(place(top.errno.as_ref()));
    row(
        "errno",
        ErrnoValue(terms.map.errno).word().to_owned(),
        at(errno),
    );
    let profile = top
        .profile
        .as_ref()
        .map_or(Profile::Utf8, |profile| profile.value.0);
    row(
        "profile",
        ProfileValue(profile).word().to_owned(),
        at(place(top.profile.as_ref())),
    );
    let form = NormalizationValue(terms.map.policy.form).word().to_owned();
    row("normalization", form, at(place(top.normalization.as_ref())));
    let classes: Vec<&str> = terms.map.policy.forbid.iter().map(Class::label).collect();
    let forbid = [
        place(top.profile.as_ref()),
        place(top.forbid.as_ref()),
        place(here.and_then(|here| here.forbid.as_ref())),
    ];
    let said: Vec<String> = forbid
        .into_iter()
        .flatten()
        .map(|place| at(Some(place)))
        .collect();
    let said = if said.is_empty() {
        at(None)
    } else {
        said.join(" and ")
    };
    let classes = if classes.is_empty() {
        "nothing".to_owned()
    } else {
        classes.join(" ")
    };
    row("forbid", classes, said);
    let policy = &terms.map.policy;
    let bytes =
        place(here.and_then(|here| here.max_bytes.as_ref())).or(place(top.max_bytes.as_ref()));
    row("max_bytes", policy.max_bytes.to_string(), at(bytes));
    let chars =
        place(here.and_then(|here| here.max_chars.as_ref())).or(place(top.max_chars.as_ref()));
    let most = policy
        .max_chars
        .map_or_else(|| "no limit".to_owned(), |most| most.to_string());
    row("max_chars", most, at(chars));
    let unique = here.and_then(|here| here.unique.as_ref());
    let unique = unique.or(top.unique.as_ref());
    let is_off = terms.mode == Mode::Off && unique.is_some_and(|unique| unique.value.is_some());
    let (compared, decided_at) = match terms.unique {
        None if is_off => ("none: mode is off", mode),
        None => ("none", place(unique)),
        Some(alike) => (UniqueValue(alike).word(), place(unique)),
    };
    row("unique", compared.to_owned(), at(decided_at));
    rows
}

/// What becomes of a new name, in words.
fn verdict(end: &End, terms: &Terms, name: &[u8]) -> String {
    let rule = |offence: Offence| offence.rule;
    match end {
        End::Made {
            visible,
            offence: Some((offence, Verdict::Normalized)),
        } => format!(
            "is made as {}: {}",
            Quoted(visible.as_bytes()),
            rule(*offence)
        ),
        End::Made {
            offence: Some((offence, _)),
            ..
        } => format!("is made as asked, and recorded: {}", rule(*offence)),
        End::Made { offence: None, .. } if terms.map.policy.conforms(name) => "conforms".to_owned(),
        End::Made { offence: None, .. } => "is made as asked; it would not conform".to_owned(),
        End::Refused { errno, offence } => {
            let why = offence.map(|offence| format!(": {}", offence.rule));
            let why = why.unwrap_or_else(|| ": no name can be so long".to_owned());
            format!("is refused with {}{why}", symbol(*errno))
        }
    }
}
