//! The arguments of `migrate`, as options of a plan.

use std::fmt::Display;
use std::sync::Arc;

use crate::cli::args::MigrateArgs;
use crate::cli::{CommandError, charset_map};
use crate::codec::Charset;
use crate::names::{Patterns, Quoted};
use crate::tree::plan::{Filter, PlanOptions};

/// Is a plan read, to be checked or done? Else one is made.
pub(super) fn is_by_plan(args: &MigrateArgs) -> bool {
    let is_to_write = args.plan_format.is_some() || changes(args).next().is_some();
    args.plan.is_some() && (args.apply || !is_to_write)
}

/// Do the arguments go together?
pub(super) fn check(args: &MigrateArgs) -> Result<(), CommandError> {
    let is_by_plan = is_by_plan(args);
    let is_change = changes(args).next().is_some();
    match changes(args).chain(limits(args)).next() {
        Some(option) if is_by_plan => Err(CommandError::usage(format!(
            "{} contradicts a plan that is read: the plan says what is done",
            option.split(' ').next().unwrap_or_default()
        ))
        .hint("make a new plan with it, or leave it out")),
        None | Some(_) if is_by_plan || is_change => Ok(()),
        None | Some(_) => Err(CommandError::usage("nothing is asked for")
            .hint("give --from CHARSET or --from auto; see 'utf8fs migrate --help'")),
    }
}

/// Is a journal asked for where each of several trees has its own?
pub(super) fn check_journal(args: &MigrateArgs, roots: usize) -> Result<(), CommandError> {
    if args.journal.is_some() && roots > 1 {
        return Err(CommandError::usage("--journal is for one directory")
            .hint("migrate them one by one, or leave it out"));
    }
    Ok(())
}

/// Returns the options that ask for other names, as a person would type them.
fn changes(args: &MigrateArgs) -> impl Iterator<Item = String> {
    let options = [
        list("--from", args.from.as_deref()),
        value("--to", args.to.map(Charset::label)),
        value("--charset-map", args.charset_map.as_ref().map(Quoted::of)),
        list("--set-charset", args.set_charset.as_deref()),
        flag("--fix-double", args.fix_double),
        flag("--escape", args.escape),
        word("--unescape", args.unescape),
        word("--map", args.map),
        word("--normalize", args.normalize),
        word("--profile", args.profile),
    ];
    options.into_iter().flatten()
}

/// Returns the options that limit or refine this.
fn limits(args: &MigrateArgs) -> impl Iterator<Item = String> {
    let options = [
        flag("--shorten", args.shorten),
        flag("--allow-control", args.allow_control),
        value("--min-confidence", args.min_confidence),
        word("--on-collision", args.on_collision),
        flag("--own-name", args.own_name),
        list("--only", args.only.as_deref()),
        list("--exclude", args.exclude.as_deref()),
    ];
    options.into_iter().flatten()
}

fn flag(option: &str, is_set: bool) -> Option<String> {
    is_set.then(|| option.to_owned())
}

fn value(option: &str, value: Option<impl Display>) -> Option<String> {
    value.map(|value| format!("{option} {value}"))
}

fn word(option: &str, word: Option<impl Into<&'static str>>) -> Option<String> {
    value(option, word.map(Into::into))
}

fn list(option: &str, values: Option<&[String]>) -> Option<String> {
    value(option, values.map(|values| values.join(",")))
}

/// Returns all these options, for headers.
pub(super) fn typed(args: &MigrateArgs) -> String {
    let options: Vec<String> = changes(args).chain(limits(args)).collect();
    options.join(" ")
}

/// Returns the options of a header for a plan that was read from a file with that hash.
pub(super) fn of_a_plan(hash: &str) -> String {
    format!("--plan {hash}")
}

/// Are those the options of such a plan?
pub(super) fn is_of_a_plan(options: &str) -> bool {
    options.starts_with("--plan ")
}

/// Returns the options of a plan.
///
/// # Errors
/// A charset that is not on offer.
pub(super) fn plan_options(args: &MigrateArgs) -> Result<PlanOptions, CommandError> {
    let mut policy = args.profile.unwrap_or_default().policy();
    policy.form = args.normalize;
    let labels: Vec<&str> = args.from.iter().flatten().map(String::as_str).collect();
    let mut options = PlanOptions::new(policy, charset_map::source("--from", &labels)?);
    let map = args.charset_map.as_deref().map(charset_map::read);
    let mut map = map.transpose()?.unwrap_or_default();
    for entry in args.set_charset.iter().flatten() {
        charset_map::set(&mut map, entry)?;
    }
    options.charset_map = Arc::new(map);
    options.fix_double = args.fix_double;
    options.escape = args.escape;
    options.unescape = args.unescape;
    options.private_use = args.map;
    options.shorten = args.shorten;
    options.allow_control = args.allow_control;
    options.least = args.min_confidence.unwrap_or(options.least);
    options.on_collision = args.on_collision.unwrap_or(options.on_collision);
    if let Some(to) = args.to {
        options.store_as(to);
    }
    Ok(options)
}

/// Returns the filter of the entries that are in question.
///
/// # Errors
/// A pattern that is none.
pub(super) fn filter(args: &MigrateArgs) -> Result<Filter, CommandError> {
    let patterns = |option: &str, patterns: &Option<Vec<String>>| {
        Patterns::new(patterns.as_deref().unwrap_or_default()).map_err(|error| {
            CommandError::usage(format!("{option} {error}")).hint(
                "a pattern is a path as /photos/** or a name as *.tmp, with * ? [a-z] {one,other}",
            )
        })
    };
    Ok(Filter {
        only: patterns("--only", &args.only)?,
        exclude: patterns("--exclude", &args.exclude)?,
        ..Filter::default()
    })
}
