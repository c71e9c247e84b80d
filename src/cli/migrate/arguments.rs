//! The arguments of `migrate`, as options of a plan.

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use crate::cli::args::MigrateArgs;
use crate::cli::{CommandError, charset_map};
use crate::codec::Charset;
use crate::names::Quoted;
use crate::tree::plan::PlanOptions;

/// Returns the plan that is read, to be checked or done; `None` if one is made.
pub(super) fn plan_to_read(args: &MigrateArgs) -> Option<&Path> {
    let is_to_write = args.plan_format.is_some() || changes(args).next().is_some();
    let plan = args.plan.as_deref();
    plan.filter(|_| args.apply || !is_to_write)
}

/// Returns the file that the plan is written to; `None` for standard output.
pub(super) fn plan_to_write(args: &MigrateArgs) -> Option<&Path> {
    let plan = args.plan.as_deref();
    plan.filter(|plan| plan.as_os_str() != "-" && plan_to_read(args).is_none())
}

/// Do the arguments go together?
pub(super) fn check(args: &MigrateArgs) -> Result<(), CommandError> {
    let is_by_plan = plan_to_read(args).is_some();
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

/// Returns the options that ask for other names, as a person would type them.
fn changes(args: &MigrateArgs) -> impl Iterator<Item = String> {
    let options = [
        list("--from", args.from.as_deref()),
        value("--to", args.to.map(Charset::label)),
        value("--charset-map", args.charset_map.as_ref().map(Quoted::of)),
        list("--set-charset", args.set_charset.as_deref()),
        flag("--fix-double", args.fix_double),
        flag("--escape", args.escape),
        value("--unescape", args.unescape.map(<&str>::from)),
        value("--map", args.map.map(<&str>::from)),
        value("--normalize", args.normalize.map(<&str>::from)),
        value("--profile", args.profile.map(<&str>::from)),
    ];
    options.into_iter().flatten()
}

/// Returns the options that limit or refine this.
fn limits(args: &MigrateArgs) -> impl Iterator<Item = String> {
    let options = [
        flag("--shorten", args.shorten),
        flag("--allow-control", args.allow_control),
        value("--min-confidence", args.min_confidence),
        value("--on-collision", args.on_collision.map(<&str>::from)),
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

fn list(option: &str, values: Option<&[String]>) -> Option<String> {
    value(option, values.map(|values| values.join(",")))
}

/// Returns all these options, for headers.
pub(super) fn typed(args: &MigrateArgs) -> String {
    let options: Vec<String> = changes(args).chain(limits(args)).collect();
    options.join(" ")
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
