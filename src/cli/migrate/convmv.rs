//! Hints for people who know convmv.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};

use crate::cli::output::print_warning;

/// Prints what `migrate` has for an option of convmv, if that is what clap does not know.
pub(in crate::cli) fn print_hint(error: &clap::Error, args: &[OsString]) {
    let is_migrate = args.get(1).is_some_and(|command| command == "migrate");
    let unknown = error.get(ContextKind::InvalidArg);
    let Some(ContextValue::String(option)) = unknown.filter(|_| is_migrate) else {
        return;
    };
    let instead = match option.as_str() {
        "-f" => "--from CHARSET or --from auto",
        "-t" => "nothing: names become UTF-8; --to CHARSET stores UTF-8 in another charset",
        "--notest" => "--apply",
        "--nfc" => "--normalize nfc",
        "--nfd" => "--normalize nfd",
        "--fixdouble" => "--fix-double",
        "--replace" => "--on-collision same, which overwrites nothing",
        "--parsable" => "--plan -",
        "--run-parsable" => "--plan FILE --apply",
        "--undo-script" => "a journal, which 'utf8fs undo' takes",
        "--exec" => "--plan FILE, which programs can read",
        "--nosmart" => "nothing: it would encode names twice; a plan can give any name",
        "--list" => "'utf8fs convert --list'",
        "--qfrom" | "--qto" => "nothing: names are always quoted",
        "--lowmem" => "nothing: memory grows with the largest directory alone",
        _ => return,
    };
    print_warning(&format!("for {option} of convmv, migrate has {instead}"));
}
