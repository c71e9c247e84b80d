//! The charsets of the directories of a tree, as `migrate` would read their names (`--propose-map`, `--charset-map`).

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use super::next_commands::migrate_options;
use crate::cli::args::ScanArgs;
use crate::cli::output::{counted, grouped, number_row, print_lines, print_note, quoted};
use crate::cli::{CommandError, Doing, cannot_be, charset_map};
use crate::codec::Charset;
use crate::names::quoted::is_dangerous;
use crate::names::{BackingName, CharsetMap, CharsetSource, DirectoryPattern, Quoted, ShellWord};
use crate::policy::Policy;
use crate::records::{join_path, percent};
use crate::tree::charset_survey::{CharsetSurvey, ProposedEntry};
use crate::tree::plan::PlanOptions;
use crate::tree::scan::ScanDone;

/// The head of a proposal.
const HEAD: &str = "\
# A charset map for utf8fs migrate --charset-map (docs/migrating.md).
# What stands for a directory holds for all below it, down to one that has an entry of its own.
# charset takes a charset, a list that is tried in order, \"auto\" (each name is guessed) or \"leave\" (names stay, and are not reported). Look at the samples, and correct what is wrong.
";

/// Makes the file of the charset map that the arguments ask for.
///
/// # Errors
/// More than one directory, or a file that is there already.
pub(super) fn create_map(args: &ScanArgs) -> Result<Option<File>, CommandError> {
    let Some(path) = &args.propose_map else {
        return Ok(None);
    };
    if args.directories.len() > 1 {
        return Err(CommandError::usage("--propose-map is for one directory")
            .hint("the paths in a charset map start there"));
    }
    let file = File::create_new(path).map_err(|error| {
        let what = format!("the charset map {}", Quoted::of(path));
        CommandError::usage(cannot_be("written", what, &error))
            .hint("give the name of a file that is not there yet")
    })?;
    Ok(Some(file))
}

/// Writes a charset map to this file, and says how to go on.
///
/// # Errors
/// The directory cannot be read, or the file not be written.
pub(super) fn propose(
    mut file: File,
    args: &ScanArgs,
    done: &ScanDone,
) -> Result<(), CommandError> {
    let options = PlanOptions::new(Policy::default(), CharsetSource::Auto);
    let entries = survey(args, &options)?.proposed();
    let entries: String = entries.iter().map(entry_text).collect();
    let written = file.write_all((HEAD.to_owned() + &entries).as_bytes());
    written.doing("write the charset map")?;
    let options = migrate_options(&done.scan);
    if let (Some(map), Some(directory)) = (&args.propose_map, args.directories.first()) {
        let (map, directory) = (ShellWord::of(map), ShellWord::of(directory));
        print_note(&format!(
            "look at {map}, and go on with: utf8fs migrate --charset-map {map} {options}{directory}"
        ));
    }
    Ok(())
}

/// Prints what a charset map reads.
///
/// # Errors
/// A directory cannot be read, or nothing be printed.
pub(super) fn judge(mut map: CharsetMap, args: &ScanArgs) -> Result<(), CommandError> {
    // Names that are left on purpose are counted as well.
    let nothing = CharsetSource::Charsets(Vec::new());
    for rule in &mut map.rules {
        if rule.source == CharsetSource::Leave {
            rule.source = nothing.clone();
        }
    }
    let mut options = PlanOptions::new(Policy::default(), nothing);
    options.charset_map = Arc::new(map);
    let (charsets, left) = survey(args, &options)?.totals();
    let charsets = charsets.into_iter();
    let rows = charsets.map(|(label, (names, directories))| {
        let places = counted(directories, "directory");
        number_row(names, &format!("{label}, in {places}"))
    });
    let left = (left > 0).then(|| number_row(left, "left as they are"));
    let head = "\nby the charset map, ill-formed names are".to_owned();
    print_lines([head].into_iter().chain(rows).chain(left))?;
    charset_map::warn_of_unmatched(&options.charset_map);
    Ok(())
}

/// Reads the trees.
fn survey(args: &ScanArgs, options: &PlanOptions) -> Result<CharsetSurvey, CommandError> {
    CharsetSurvey::of(&args.directories, options).doing("walk the directories")
}

/// A basic string of TOML, harmless to a terminal.
fn toml_string(text: &str) -> String {
    let mut string = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => string.extend(['\\', c]),
            c if is_dangerous(c) => string.push_str(&format!("\\U{:08X}", u32::from(c))),
            c => string.push(c),
        }
    }
    string + "\""
}

/// Returns an entry of a charset map, with comments that say what it stands for.
fn entry_text(entry: &ProposedEntry) -> String {
    let all = &entry.names;
    let read: u64 = all.read.values().sum();
    let names = counted(read + all.left, "name");
    let places = counted(all.directories, "directory");
    let mut text = format!("\n# {names} in {places}");
    if read > 0 {
        #[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
        let confidence = percent(all.confidence / read as f64);
        text += &format!(", {confidence} sure on average");
    }
    if all.left > 0 {
        text += &format!(", {} not sure", grouped(all.left));
    }
    if entry.charset.is_none() && read > 0 {
        let charsets = all.read.iter();
        let charsets = charsets.map(|(label, names)| format!("{label} {names}"));
        let charsets: Vec<String> = charsets.collect();
        let mixes = match charsets.len() {
            1 => "sure are",
            _ => "mixes charsets",
        };
        text += &format!("\n# {mixes}: {}", charsets.join(", "));
    }
    for sample in &all.samples {
        let name = sample.name.as_bytes();
        text += "\n#   ";
        text += &match sample.is_left {
            true => {
                let path = join_path(sample.directory.iter().chain([&sample.name]));
                format!("not sure: {}", quoted(&path))
            }
            false => quoted(name),
        };
        let charset = entry.charset;
        let read = charset.and_then(|charset| charset.decode_reversibly(name));
        if let Some(read) = read.as_ref().or(sample.text.as_ref()) {
            text += &format!(" {}", quoted(read.as_bytes()));
        }
    }
    let path = entry.path.iter().map(BackingName::as_bytes);
    let path = toml_string(&DirectoryPattern::of(path));
    let charset = entry.charset.map_or("auto", Charset::label);
    format!("{text}\n[[directory]]\npath = {path}\ncharset = \"{charset}\"\n")
}
