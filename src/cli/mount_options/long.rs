//! The long options of `utf8fs mount` in the clothes of `-o`: `--from a,b` as `from=a:b`, `--cross-mounts` as
//! `cross_mounts`. Which there are, what they take and what is wrong with a value, the definition of the long options says.

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory};

use super::{contradicts, needed, no_value, parts, split};
use crate::cli::CliError;
use crate::cli::args::Cli;
use crate::names::Quoted;

/// Long options without a form in `-o`, and why.
pub(super) const NONE_OF_O: &[(&str, &str)] = &[
    (
        "background",
        "mount(8) always mounts in the background; else write --background",
    ),
    (
        "foreground",
        "mount(8) waits for the mount, not for its end; else write --foreground",
    ),
    ("help", "write 'utf8fs mount --help'"),
];

/// Puts what is said in `-o` of `utf8fs mount` as long options where it is one, so that one reader takes all of them.
/// What is no such command, or is wrong otherwise, is left as it is.
///
/// # Errors
/// A value that is none, or that contradicts another, here or there.
pub(in crate::cli) fn unfold(args: Vec<OsString>) -> Result<Vec<OsString>, CliError> {
    let Ok(matches) = Cli::command().try_get_matches_from(&args) else {
        return Ok(args);
    };
    let Some(("mount", typed)) = matches.subcommand() else {
        return Ok(args);
    };
    let mut long = Unfolded {
        typed,
        said: Vec::new(),
    };
    for list in typed.get_raw("options").into_iter().flatten() {
        for option in split(list) {
            long.take(&option)?;
        }
    }
    let mut unfolded = args;
    // Behind the program and the command, where no operand and no `--` is before them.
    unfolded.splice(2..2, long.arguments());
    Ok(unfolded)
}

/// The word's long option, if it is one that `-o` takes, with `_` or `-`.
pub(super) fn find(word: &str) -> Option<Arg> {
    let word = word.replace('_', "-");
    let is_it = |arg: &&Arg| arg.get_long() == Some(&*word) && why_not(&word).is_none();
    mount_command().get_arguments().find(is_it).cloned()
}

/// Why this long option has no form in `-o`.
pub(super) fn why_not(word: &str) -> Option<&'static str> {
    let found = NONE_OF_O.iter().find(|(none, _)| *none == word);
    found.map(|(_, why)| *why)
}

/// All words that are long options.
pub(super) fn words() -> Vec<String> {
    let command = mount_command();
    let long = command.get_arguments().filter_map(Arg::get_long);
    long.filter(|word| why_not(word).is_none())
        .map(str::to_owned)
        .collect()
}

pub(super) fn mount_command() -> Command {
    let mut all = Cli::command();
    let command = all.find_subcommand_mut("mount").map(std::mem::take);
    command.unwrap_or_default()
}

/// Long options that were said in `-o`.
struct Unfolded<'a> {
    /// What was said by long options themselves.
    typed: &'a ArgMatches,
    /// Each option with its values, as they go behind `--`.
    said: Vec<(Arg, Vec<OsString>)>,
}

impl Unfolded<'_> {
    fn take(&mut self, option: &[u8]) -> Result<(), CliError> {
        let (Some(word), value) = parts(option) else {
            return Ok(());
        };
        let Some(arg) = find(word) else {
            return Ok(());
        };
        let key = arg.get_long().unwrap_or_default().to_owned();
        if !arg.get_action().takes_values() {
            if value.is_some() {
                return Err(no_value(&key));
            }
            let once = !matches!(arg.get_action(), ArgAction::Count);
            let id = arg.get_id().as_str();
            let before = self.typed.value_source(id) == Some(ValueSource::CommandLine)
                || self.values_of(&arg).is_some();
            if !(once && before) {
                self.said.push((arg, Vec::new()));
            }
            return Ok(());
        }
        let value = needed(&key, value)?;
        let is_list = matches!(arg.get_action(), ArgAction::Append);
        let adds = is_list && arg.get_value_delimiter().is_none();
        let values: Vec<OsString> = match is_list {
            true => value.split(|&octet| octet == b':').map(owned).collect(),
            false => vec![owned(value)],
        };
        values.iter().try_for_each(|value| check(&key, value))?;
        if adds {
            // It is said once for each, as its values may have commas.
            let each = values.into_iter().map(|value| (arg.clone(), vec![value]));
            self.said.extend(each);
            return Ok(());
        }
        match self.before(&arg) {
            Some(before) if before != values => return Err(contradicts(&key)),
            Some(_) => {}
            None => self.said.push((arg, values)),
        }
        Ok(())
    }

    /// The values that this option has already.
    fn before(&self, arg: &Arg) -> Option<Vec<OsString>> {
        let typed = self.typed.get_raw(arg.get_id().as_str());
        let typed = typed.map(|values| values.map(OsStr::to_owned).collect());
        typed.or_else(|| self.values_of(arg).map(<[_]>::to_vec))
    }

    fn values_of(&self, arg: &Arg) -> Option<&[OsString]> {
        let said = self
            .said
            .iter()
            .find(|(said, _)| said.get_id() == arg.get_id());
        said.map(|(_, values)| &**values)
    }

    fn arguments(self) -> impl Iterator<Item = OsString> {
        self.said.into_iter().map(|(arg, values)| {
            let mut text = OsString::from("--");
            text.push(arg.get_long().unwrap_or_default());
            let delimiter = arg.get_value_delimiter().unwrap_or(',').to_string();
            for (index, value) in values.iter().enumerate() {
                text.push(if index == 0 { "=" } else { &*delimiter });
                text.push(value);
            }
            text
        })
    }
}

fn owned(octets: &[u8]) -> OsString {
    OsString::from_vec(octets.to_vec())
}

/// Has the long option look at one value.
fn check(key: &str, value: &OsStr) -> Result<(), CliError> {
    let mut option = OsString::from(format!("--{key}="));
    option.push(value);
    let line = ["mount".into(), option, "--".into(), "b".into(), "m".into()];
    let Err(error) = mount_command().try_get_matches_from(line) else {
        return Ok(());
    };
    let wrong = CliError::usage(format!(
        "-o {key}={} is not possible",
        Quoted(value.as_bytes())
    ));
    let hint = if error.kind() == ErrorKind::InvalidUtf8 {
        "it has to be text in UTF-8".to_owned()
    } else if error.kind() == ErrorKind::InvalidValue {
        match suggestion(&error) {
            Some(near) => format!("did you mean {key}={near}?"),
            None => format!("it takes {}", valid(&error).join(", ")),
        }
    } else if error.kind() == ErrorKind::ValueValidation {
        let source = error.source().map(ToString::to_string);
        source.unwrap_or_else(|| error.kind().to_string())
    } else {
        // What one option alone does not do: it may want others beside it, which may be there.
        return Ok(());
    };
    Err(wrong.hint(hint))
}

fn suggestion(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::SuggestedValue) {
        Some(ContextValue::String(near)) => Some(near),
        _ => None,
    }
}

fn valid(error: &clap::Error) -> &[String] {
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) => values,
        _ => &[],
    }
}
