//! The charsets of the directories of a tree, as `migrate` would read their names (`--propose-map`, `--charset-map`).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::scan_done::ScanDone;
use crate::backing::Dir;
use crate::cli::args::ScanArgs;
use crate::cli::error::cannot_be;
use crate::cli::output::{counted, grouped, number_row, print_lines, print_note, quoted};
use crate::cli::{CommandError, charset_map};
use crate::codec::Charset;
use crate::daemon::command_error::Doing;
use crate::names::quoted::is_dangerous;
use crate::names::{BackingName, CharsetMap, CharsetSource, DirectoryPattern, Quoted, ShellWord};
use crate::policy::Policy;
use crate::records::{Candidate, PlanLine, Reason, percent};
use crate::tree::change::TreePath;
use crate::tree::plan::planner::Planner;
use crate::tree::plan::{DirectoryPlan, Filter, PlanOptions, PlanSink};
use crate::tree::scan::joined;
use crate::tree::tree_walk::Place;

/// Names that are shown of each directory in a charset map.
const SAMPLES: u64 = 3;

/// A reading of an uncertain name that is less likely than the best by this factor speaks against a charset.
const UNLIKELY: f64 = 0.1;

/// Threads that read the tree.
const THREADS: usize = 4;

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
    let survey = CharsetSurvey::of(&args.directories, &options)?;
    let written = file.write_all(survey.proposal().as_bytes());
    written
        .map_err(|error| CommandError::failure(cannot_be("written", "the charset map", &error)))?;
    let word = |path: &PathBuf| ShellWord::of(path).to_string();
    let map = args.propose_map.as_ref().map(word).unwrap_or_default();
    let directory = args.directories.first().map(word).unwrap_or_default();
    let options = done.migrate_options();
    print_note(&format!(
        "look at {map}, and go on with: utf8fs migrate --charset-map {map} {options}{directory}"
    ));
    Ok(())
}

/// Prints what a charset map reads.
///
/// # Errors
/// A directory cannot be read, or nothing be printed.
pub(super) fn judge(mut map: CharsetMap, args: &ScanArgs) -> Result<(), CommandError> {
    // Names that are left on purpose are counted as well.
    let sources = map.sources_mut();
    let left = sources.filter(|source| **source == CharsetSource::Leave);
    left.for_each(|source| *source = CharsetSource::Nothing);
    let mut options = PlanOptions::new(Policy::default(), CharsetSource::Nothing);
    options.charset_map = Arc::new(map);
    let survey = CharsetSurvey::of(&args.directories, &options)?;
    let head = "\nby the charset map, ill-formed names are".to_owned();
    print_lines([head].into_iter().chain(survey.totals()))?;
    charset_map::warn_of_unmatched(&options.charset_map);
    Ok(())
}

/// The ill-formed names of one directory, or of several.
#[derive(Debug, Clone, Default)]
struct SurveyedDirectory {
    directories: u64,
    /// Number of names surely in each charset.
    read: BTreeMap<&'static str, u64>,
    /// The sum of the confidences of these names.
    confidence: f64,
    /// Names that are left.
    left: u64,
    /// The charsets in which each sure name has its text, and each other name one of its likely texts.
    fitting: Vec<Charset>,
    /// A few of the names that are read, then of those that are left.
    samples: [Vec<NameSample>; 2],
}

/// A name, as a charset map shows it.
#[derive(Debug, Clone)]
struct NameSample {
    /// The number of those before it in its directory that are in the same charset.
    rank: u64,
    path: Vec<u8>,
    name: Box<[u8]>,
    text: Option<String>,
}

/// An entry of a charset map, and the names that it stands for.
#[derive(Debug)]
struct ProposedEntry {
    path: TreePath,
    /// `None` if each name is to be guessed.
    charset: Option<Charset>,
    names: SurveyedDirectory,
}

/// The directories of a tree that have ill-formed names, in the order of their paths.
#[derive(Debug, Default)]
struct CharsetSurvey(Mutex<BTreeMap<TreePath, SurveyedDirectory>>);

impl PlanSink for CharsetSurvey {
    fn take(&self, plan: &DirectoryPlan) {
        let is_ill_formed = |line: &&PlanLine| std::str::from_utf8(line.old.as_bytes()).is_err();
        let lines: Vec<&PlanLine> = plan.lines.iter().filter(is_ill_formed).collect();
        if !lines.is_empty() {
            let names = SurveyedDirectory::of(&lines, &plan.path());
            self.0.lock().insert(plan.directory().into(), names);
        }
    }

    /// The scan itself reports it.
    fn failed(&self, _: &Place, _: &io::Error) {}
}

impl SurveyedDirectory {
    fn none() -> Self {
        Self {
            fitting: Charset::all().collect(),
            ..Self::default()
        }
    }

    fn of(lines: &[&PlanLine], path: &[u8]) -> Self {
        let mut found = Self::none();
        found.directories = 1;
        for line in lines {
            let name = line.old.as_bytes();
            let texts = texts(line);
            found.fitting.retain(|charset| {
                let text = charset.decode_reversibly(name);
                text.is_some_and(|text| texts.contains(&text))
            });
            let (sure, confidence) = match line.candidates.first() {
                Some(wanted) if line.reason == Reason::Taken => (wanted.charset, wanted.confidence),
                _ => (line.charset.filter(|_| !line.is_left()), line.confidence),
            };
            let [of_read, of_left] = &mut found.samples;
            let (names, samples) = match sure {
                Some(charset) => {
                    found.confidence += confidence.unwrap_or(1.0);
                    (found.read.entry(charset.label()).or_default(), of_read)
                }
                None => (&mut found.left, of_left),
            };
            if *names < SAMPLES {
                samples.push(NameSample {
                    rank: *names,
                    path: joined(path, name),
                    name: name.into(),
                    text: texts.into_iter().next(),
                });
            }
            *names += 1;
        }
        found
    }

    /// Returns the charset that they are in: of those that fit, the one in which most names surely are. `None` if most names are
    /// uncertain.
    fn charset(&self) -> Option<Charset> {
        let names = |charset: &&Charset| self.read.get(charset.label());
        let fitting = self.fitting.iter().rev();
        let best = fitting.filter(|charset| names(charset).is_some());
        let best = best.max_by_key(|charset| names(charset)).copied();
        best.filter(|_| self.left <= self.read.values().sum())
    }

    fn merge(&mut self, other: &Self) {
        self.directories += other.directories;
        for (label, names) in &other.read {
            *self.read.entry(label).or_default() += names;
        }
        self.confidence += other.confidence;
        self.left += other.left;
        self.fitting
            .retain(|charset| other.fitting.contains(charset));
        for (samples, more) in self.samples.iter_mut().zip(&other.samples) {
            samples.extend(more.iter().cloned());
            samples.sort_by_key(|sample| sample.rank);
            samples.truncate(usize::try_from(SAMPLES).unwrap_or(usize::MAX));
        }
    }
}

/// Returns the texts that an ill-formed name may likely have, the likeliest first.
fn texts(line: &PlanLine) -> Vec<String> {
    if let Some(charset) = line.charset {
        let text = charset.decode_reversibly(line.old.as_bytes());
        return text.into_iter().collect();
    }
    let best = line.candidates.first().and_then(|best| best.confidence);
    let least = best.unwrap_or_default() * UNLIKELY;
    let likely = line.candidates.iter();
    let likely = likely.filter(|candidate| candidate.confidence >= Some(least));
    let text = |candidate: &Candidate| {
        let charset = candidate.charset?;
        charset.decode_reversibly(line.old.as_bytes())
    };
    likely.filter_map(text).collect()
}

impl CharsetSurvey {
    /// Reads trees.
    ///
    /// # Errors
    /// A root cannot be read.
    fn of(directories: &[PathBuf], options: &PlanOptions) -> Result<Self, CommandError> {
        const WALK: &str = "walk the directories";
        let survey = Self::default();
        for directory in directories {
            let root = Dir::open_root(directory).doing(WALK)?;
            let planner = Planner {
                root: &root.into_fd(),
                options,
                filter: &Filter::default(),
                threads: THREADS,
            };
            planner.plan(&survey).doing(WALK)?;
        }
        Ok(survey)
    }

    /// Returns the charset map that it proposes.
    fn proposal(self) -> String {
        let mut entries = Vec::new();
        let directories: Vec<_> = self.0.into_inner().into_iter().collect();
        push_entries(&mut entries, &directories, 0, None);
        let entries = entries.iter().map(ProposedEntry::text);
        std::iter::once(HEAD.to_owned()).chain(entries).collect()
    }

    /// Returns how many names are read in which charset, and how many are left.
    fn totals(self) -> Vec<String> {
        let mut charsets: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        let mut left = 0;
        for directory in self.0.into_inner().into_values() {
            for (label, names) in directory.read {
                let total = charsets.entry(label).or_default();
                *total = (total.0 + names, total.1 + 1);
            }
            left += directory.left;
        }
        let totals = charsets.into_iter().map(|(label, (names, directories))| {
            let places = counted(directories, "directory");
            number_row(names, &format!("{label}, in {places}"))
        });
        let left = (left > 0).then(|| number_row(left, "left as they are"));
        totals.chain(left).collect()
    }
}

/// Adds `directories`, sorted by path, which have the first `depth` names in common. They are added to the entry above them,
/// `inherited`, if its charset fits; else where all of them agree one entry stands for them. A directory whose names are guessed
/// has an entry of its own, since somebody has to look at it.
///
/// Returns the entry of the first directory.
fn push_entries(
    entries: &mut Vec<ProposedEntry>,
    directories: &[(TreePath, SurveyedDirectory)],
    depth: usize,
    inherited: Option<usize>,
) -> Option<usize> {
    let [head @ (first, _), rest @ ..] = directories else {
        return inherited;
    };
    let mut names = SurveyedDirectory::none();
    directories.iter().for_each(|(_, one)| names.merge(one));
    let above = inherited.and_then(|index| entries.get_mut(index));
    if let Some(above) = above
        && let Some(charset) = above.charset
        && names.fitting.contains(&charset)
    {
        above.names.merge(&names);
        return inherited;
    }
    let charset = names.charset();
    if charset.is_some() || rest.is_empty() {
        let last = rest.last().map_or(first, |(last, _)| last);
        let both = first.iter().zip(last.iter());
        let same = both.take_while(|(one, other)| one == other);
        entries.push(ProposedEntry {
            path: first.iter().take(same.count()).cloned().collect(),
            charset,
            names,
        });
        return Some(entries.len() - 1);
    }
    let (inherited, below) = if first.len() == depth {
        let own = std::slice::from_ref(head);
        (push_entries(entries, own, depth, inherited), rest)
    } else {
        (inherited, directories)
    };
    for group in below.chunk_by(|(one, _), (other, _)| one.get(depth) == other.get(depth)) {
        push_entries(entries, group, depth + 1, inherited);
    }
    inherited
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

impl ProposedEntry {
    fn text(&self) -> String {
        let all = &self.names;
        let read: u64 = all.read.values().sum();
        let names = counted(read + all.left, "name");
        let places = counted(all.directories, "directory");
        let mut text = format!("\n# {names} in {places}");
        if read > 0 {
            #[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
            let confidence = all.confidence / read as f64;
            text += &format!(", {} sure on average", percent(confidence));
        }
        if all.left > 0 {
            text += &format!(", {} not sure", grouped(all.left));
        }
        if self.charset.is_none() && read > 0 {
            let mixes = match all.read.len() {
                1 => "sure are",
                _ => "mixes charsets",
            };
            let charsets = all.read.iter();
            let charsets = charsets.map(|(label, names)| format!("{label} {names}"));
            let charsets: Vec<String> = charsets.collect();
            text += &format!("\n# {mixes}: {}", charsets.join(", "));
        }
        let [read, left] = &all.samples;
        let read = read.iter().map(|sample| ("", &*sample.name, sample));
        let left = left.iter();
        let left = left.map(|sample| ("not sure: ", &*sample.path, sample));
        for (doubt, name, sample) in read.chain(left) {
            let charset = self.charset;
            let read = charset.and_then(|charset| charset.decode_reversibly(&sample.name));
            text += &format!("\n#   {doubt}{}", quoted(name));
            if let Some(read) = read.as_ref().or(sample.text.as_ref()) {
                text += &format!(" {}", quoted(read.as_bytes()));
            }
        }
        let path = toml_string(&DirectoryPattern::of(
            self.path.iter().map(BackingName::as_bytes),
        ));
        let charset = self.charset.map_or("auto", Charset::label);
        format!("{text}\n[[directory]]\npath = {path}\ncharset = \"{charset}\"\n")
    }
}
