//! The files of a policy as one, and what is contradictory in it.

use super::cover::Reached;
use super::decide::{Decided, Said};
use super::document::{self, Document, SectionText, Top};
use super::fault::{self, At, Faults, Place, line};
use super::source::Gathered;
use crate::cli::args::UniqueValue;
use crate::cli::config::directories::log_directory;
use crate::cli::config::log_sink;
use crate::daemon::audit::SinkKind;
use crate::names::Legacy;
use crate::names::rules::Mode;

/// A policy as its files say it.
#[derive(Debug, Default)]
pub(crate) struct Text {
    pub(super) files: Gathered,
    /// What was said first of each key: by the file itself, then by those that it includes, in order.
    pub(super) top: Top,
    /// Of all files, in the same order.
    pub(super) sections: Vec<At<SectionText>>,
    pub(super) faults: Faults,
}

/// Reads what was gathered.
pub(super) fn assemble(files: Gathered) -> Text {
    let mut text = Text {
        files,
        ..Text::default()
    };
    let mut seen = Vec::new();
    add(&mut text, 0, None, &mut Vec::new(), &mut seen);
    check_top(&mut text);
    check_sections(&mut text);
    text
}

/// Adds a file and what it includes. `from` is where it is included, `open` are the files that include it.
fn add(
    text: &mut Text,
    file: usize,
    from: Option<Place>,
    open: &mut Vec<usize>,
    seen: &mut Vec<usize>,
) {
    let Some(source) = text.files.files.get(file) else {
        return;
    };
    let place = from.unwrap_or(Place { file, offset: 0 });
    if open.contains(&file) {
        let chain: Vec<String> = open
            .iter()
            .chain([&file])
            .map(|&file| text.files.shown(file))
            .collect();
        let message = format!("include: a cycle: {}", chain.join(" includes "));
        text.faults.error(place, message);
        return;
    }
    if seen.contains(&file) {
        return;
    }
    seen.push(file);
    let (content, includes) = (source.text.clone(), source.includes.clone());
    let Document {
        top,
        sections,
        includes: places,
    } = match content {
        Ok(content) => document::read(&text.files, file, &content, &mut text.faults),
        Err(why) => {
            let message = match from {
                Some(_) => {
                    let included = Place { file, offset: 0 };
                    format!("include: {} {why}", fault::place(&text.files, included))
                }
                None => why,
            };
            text.faults.error(place, message);
            return;
        }
    };
    text.top.or(top);
    text.sections.extend(sections);
    open.push(file);
    for (place, include) in places.into_iter().zip(includes) {
        match include {
            Some(include) => add(text, include, Some(place), open, seen),
            None => text
                .faults
                .error(place, "include: these are too many files"),
        }
    }
    open.pop();
}

fn check_top(text: &mut Text) {
    let Text { top, faults, .. } = text;
    if let (Some(_), Some(other)) = (&top.mode, &top.on_violation) {
        let message =
            "on_violation contradicts mode: they are one; mode takes enforce for reject, and off";
        faults.error(other.place, message);
    }
    if let Some(legacy) = &top.legacy
        && legacy.value.0 != Legacy::Decode
        && top.store_as.is_some()
    {
        let message = "legacy contradicts store_as, which needs names to be decoded";
        faults.error(legacy.place, message);
    }
    if let Some(log) = &top.audit_log
        && let Err(error) = log_sink(log.value.as_ref())
    {
        faults.error(log.place, format!("audit_log: {}", error.message));
    }
}

/// Adds what keeps the policy from being in force where no option is given beside it, or some are.
pub(super) fn check_alone(text: &mut Text) {
    let Text { top, faults, .. } = text;
    let mut said = Said::default();
    let charsets = top.from.as_ref().map_or(0, |from| from.value.len());
    if let Some(legacy) = &top.legacy
        && legacy.value.0 == Legacy::Decode
        && charsets == 0
        && top.store_as.is_none()
    {
        let message =
            "legacy is decode without from: it can be in force only where --from is given as well";
        faults.warning(legacy.place, message);
        said.policy.from = Some(vec!["iso-8859-1".to_owned()]);
    }
    if let Some(log) = &top.audit_log {
        match log_sink(log.value.as_ref()) {
            Ok(SinkKind::Stderr) => {
                let message =
                    "audit_log is standard error: it can be in force only without --background";
                faults.warning(log.place, message);
            }
            Ok(SinkKind::File(path)) => {
                if let Err(error) = log_directory(&path) {
                    faults.error(log.place, format!("audit_log: {}", error.message));
                }
            }
            Ok(SinkKind::Syslog | SinkKind::Journal(_)) | Err(_) => {}
        }
    }
    if text.faults.is_fatal() {
        return;
    }
    // What the mount would say on top of that.
    if let Err(error) = Decided::with_file(said, text) {
        text.faults.error(Place::default(), error.message);
    }
}

fn check_sections(text: &mut Text) {
    let Text {
        files,
        top,
        sections,
        faults,
    } = text;
    // Siblings are compared in one way on a mount.
    let mut compared: Option<(UniqueValue, Place)> = top
        .unique
        .as_ref()
        .and_then(|unique| Some((unique.value?, unique.place)));
    let mut reached = Reached::default();
    for (
        index,
        At {
            value: section,
            place,
        },
    ) in sections.iter().enumerate()
    {
        let limits = [
            ("max_bytes", &section.max_bytes, &top.max_bytes),
            ("max_chars", &section.max_chars, &top.max_chars),
        ];
        for (key, here, whole) in limits {
            if let (Some(here), Some(whole)) = (here, whole)
                && here.value > whole.value
            {
                let message = format!(
                    "{key} is more than the {} of the whole mount ({}); a section can only be stricter",
                    whole.value,
                    line(files, whole.place)
                );
                faults.error(here.place, message);
            }
        }
        if let Some(At {
            value: Some(how),
            place,
        }) = section.unique
        {
            match compared {
                Some((other, first)) if other != how => {
                    let message = format!(
                        "unique contradicts {} of {}: names of a mount are compared in one way",
                        other.word(),
                        line(files, first)
                    );
                    faults.error(place, message);
                }
                Some(_) => {}
                None => compared = Some((how, place)),
            }
        }
        let mode = section.mode.as_ref().map(|mode| mode.value.0);
        if mode == Some(Mode::Report)
            && let Some(errno) = &section.errno
        {
            faults.warning(errno.place, "errno has no effect: mode is report here");
        }
        if mode == Some(Mode::Off) {
            let idle = [
                ("forbid", section.forbid.as_ref().map(|at| at.place)),
                ("max_bytes", section.max_bytes.as_ref().map(|at| at.place)),
                ("max_chars", section.max_chars.as_ref().map(|at| at.place)),
                ("unique", section.unique.as_ref().map(|at| at.place)),
                ("errno", section.errno.as_ref().map(|at| at.place)),
            ];
            for (key, place) in idle {
                if let Some(place) = place {
                    faults.warning(place, format!("{key} has no effect: mode is off here"));
                }
            }
        }
        let earlier = reached.take(index, section);
        if let Some(earlier) = earlier.and_then(|index| sections.get(index)) {
            let message = format!(
                "this section is never reached: that of {} holds for all that it holds for",
                line(files, earlier.place)
            );
            faults.warning(*place, message);
        }
    }
}
