//! The arguments of `migrate`, as options of a plan.

use std::sync::Arc;

use crate::cli::args::MigrateArgs;
use crate::cli::{CommandError, charset_map};
use crate::names::{Patterns, Quoted};
use crate::tree::plan::{Filter, PlanOptions};

/// An option that says what is planned, and its value, if it was given; empty for a flag.
type Asked = (&'static str, Option<String>);

/// Is a plan read, to be checked or done? Else one is made.
pub(super) fn is_by_plan(args: &MigrateArgs) -> bool {
    let is_to_write = args.plan_format.is_some() || first(changes(args)).is_some();
    args.plan.is_some() && (args.apply || !is_to_write)
}

/// Do the arguments go together?
pub(super) fn check(args: &MigrateArgs) -> Result<(), CommandError> {
    let is_by_plan = is_by_plan(args);
    let change = first(changes(args));
    match change.or_else(|| first(limits(args))) {
        Some(option) if is_by_plan => Err(CommandError::usage(format!(
            "{option} contradicts a plan that is read: the plan says what is done"
        ))
        .hint("make a new plan with it, or leave it out")),
        None | Some(_) if is_by_plan || change.is_some() => Ok(()),
        None | Some(_) => Err(CommandError::usage("nothing is asked for")
            .hint("give --from CHARSET or --from auto; see 'utf8fs migrate --help'")),
    }
}

/// Returns the first option that was given.
fn first<const N: usize>(asked: [Asked; N]) -> Option<&'static str> {
    let mut asked = asked.into_iter();
    asked.find_map(|(option, value)| value.map(|_| option))
}

/// The options that ask for other names.
fn changes(args: &MigrateArgs) -> [Asked; 10] {
    let map = args.charset_map.as_ref();
    let map = map.map(|path| Quoted::of(path).to_string());
    [
        ("--from", list(args.from.as_deref())),
        ("--to", args.to.map(|charset| charset.label().to_owned())),
        ("--charset-map", map),
        ("--set-charset", list(args.set_charset.as_deref())),
        ("--fix-double", flag(args.fix_double)),
        ("--escape", flag(args.escape)),
        ("--unescape", word(args.unescape)),
        ("--map", word(args.map)),
        ("--normalize", word(args.normalize)),
        ("--profile", word(args.profile)),
    ]
}

/// The options that limit or refine this.
fn limits(args: &MigrateArgs) -> [Asked; 7] {
    let least = args.min_confidence.map(|least| least.to_string());
    [
        ("--shorten", flag(args.shorten)),
        ("--allow-control", flag(args.allow_control)),
        ("--min-confidence", least),
        ("--on-collision", word(args.on_collision)),
        ("--own-name", flag(args.own_name)),
        ("--only", list(args.only.as_deref())),
        ("--exclude", list(args.exclude.as_deref())),
    ]
}

fn list(values: Option<&[String]>) -> Option<String> {
    values.map(|values| values.join(","))
}

fn flag(is_set: bool) -> Option<String> {
    is_set.then(String::new)
}

fn word<W: Into<&'static str>>(value: Option<W>) -> Option<String> {
    value.map(|word| word.into().to_owned())
}

/// The options as a person would type them, for headers.
pub(super) fn typed(args: &MigrateArgs) -> String {
    let asked = changes(args).into_iter().chain(limits(args));
    let words = asked.filter_map(|(option, value)| match value?.as_str() {
        "" => Some(option.to_owned()),
        value => Some(format!("{option} {value}")),
    });
    words.collect::<Vec<String>>().join(" ")
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
            let pattern = Quoted(error.pattern.as_bytes());
            CommandError::usage(format!(
                "{option} {pattern} is not a pattern: {}",
                error.reason
            ))
            .hint(
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
