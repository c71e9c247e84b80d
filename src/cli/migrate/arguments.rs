//! The arguments of `migrate`, as options of a plan.

use std::sync::Arc;

use super::work::quoted;
use crate::cli::args::MigrateArgs;
use crate::cli::{CliError, charset_map, config};
use crate::names::{Patterns, Quoted};
use crate::tree::plan::{Filter, PlanOptions};

/// Do the arguments go together?
pub(super) fn check(args: &MigrateArgs, is_by_plan: bool) -> Result<(), CliError> {
    let asked = options(args);
    if is_by_plan && !asked.is_empty() {
        return Err(CliError::usage(format!(
            "{} contradicts --plan with --apply: the plan says what is done",
            asked.first().map_or("", |(option, _)| option)
        ))
        .hint("make a new plan with it, or leave it out"));
    }
    let asks_for_names = [
        "--from",
        "--to",
        "--charset-map",
        "--set-charset",
        "--fix-double",
        "--unescape",
        "--map",
        "--normalize",
        "--profile",
    ];
    if !is_by_plan
        && !asked
            .iter()
            .any(|(option, _)| asks_for_names.contains(option))
    {
        return Err(CliError::usage("nothing is asked for")
            .hint("give --from CHARSET or --from auto; see 'utf8fs migrate --help'"));
    }
    Ok(())
}

/// The options that say what is planned, with their values.
fn options(args: &MigrateArgs) -> Vec<(&'static str, Option<String>)> {
    let list = |values: &Option<Vec<String>>| values.as_ref().map(|values| values.join(","));
    let flag = |is_set: bool| is_set.then(String::new);
    let all = [
        ("--from", list(&args.from)),
        ("--to", args.to.clone()),
        ("--charset-map", args.charset_map.as_deref().map(quoted)),
        ("--set-charset", list(&args.set_charset)),
        ("--fix-double", flag(args.fix_double)),
        (
            "--unescape",
            args.unescape.map(|whose| <&str>::from(whose).to_owned()),
        ),
        ("--map", args.map.map(|how| <&str>::from(how).to_owned())),
        (
            "--normalize",
            args.normalize.map(|form| <&str>::from(form).to_owned()),
        ),
        (
            "--profile",
            args.profile.map(|profile| <&str>::from(profile).to_owned()),
        ),
        ("--shorten", flag(args.shorten)),
        ("--allow-control", flag(args.allow_control)),
        (
            "--min-confidence",
            args.min_confidence.map(|p| p.get().to_string()),
        ),
        (
            "--on-collision",
            args.on_collision.map(|what| <&str>::from(what).to_owned()),
        ),
        ("--own-name", flag(args.own_name)),
        ("--only", list(&args.only)),
        ("--exclude", list(&args.exclude)),
    ];
    let given = all
        .into_iter()
        .filter_map(|(option, value)| Some((option, value?)));
    given
        .map(|(option, value)| (option, (!value.is_empty()).then_some(value)))
        .collect()
}

/// The options as a person would type them, for headers.
pub(super) fn typed(args: &MigrateArgs) -> String {
    let words = options(args)
        .into_iter()
        .map(|(option, value)| match value {
            Some(value) => format!("{option} {value}"),
            None => option.to_owned(),
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
pub(super) fn plan_options(args: &MigrateArgs) -> Result<PlanOptions, CliError> {
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
    if let Some(to) = &args.to {
        options.store_as(config::charset("--to", to)?);
    }
    options.fix_double = args.fix_double;
    options.unescape = args.unescape;
    options.private_use = args.map;
    options.shorten = args.shorten;
    options.allow_control = args.allow_control;
    if let Some(least) = args.min_confidence {
        options.least = least.get();
    }
    if let Some(what) = args.on_collision {
        options.on_collision = what;
    }
    Ok(options)
}

/// Returns the filter of the entries that are in question.
///
/// # Errors
/// A pattern that is none.
pub(super) fn filter(args: &MigrateArgs) -> Result<Filter, CliError> {
    let patterns = |option: &str, patterns: &Option<Vec<String>>| {
        Patterns::new(patterns.as_deref().unwrap_or_default()).map_err(|error| {
            let pattern = Quoted(error.pattern.as_bytes());
            CliError::usage(format!(
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
