//! The charsets of the directories of a tree, as `migrate` would read their names (`--propose-map`, `--charset-map`).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::backing::Dir;
use crate::cli::args::ScanArgs;
use crate::cli::error::reason;
use crate::cli::guess_report::percent;
use crate::cli::output::{Output, counted, grouped, print_note, quoted};
use crate::cli::{CliError, charset_map};
use crate::codec::Charset;
use crate::names::quoted::is_dangerous;
use crate::names::{CharsetMap, CharsetSource, DirectoryPattern, ShellWord};
use crate::policy::Policy;
use crate::records::PlanLine;
use crate::tree::plan::planner::Planner;
use crate::tree::plan::{DirectoryPlan, Filter, PlanOptions, PlanSink};
use crate::tree::tree_walk::Place;

/// Names that are shown of each directory in a charset map.
const SAMPLES: usize = 3;

/// Threads that read the tree.
const THREADS: usize = 4;

/// The head of a proposal.
const HEAD: &str = "\
# A charset map for utf8fs migrate --charset-map (docs/migrating.md).
# What stands for a directory holds for all below it, down to one that has an entry of its own.
# charset takes a charset, a list that is tried in order, \"auto\" (each name is guessed) or \"leave\" (names stay as they are). Look at the samples, and correct what is wrong.
";

/// The work of a scan on the charsets of directories, beside the scan itself.
#[derive(Debug)]
pub(super) enum Task {
    /// Writes a charset map to this file.
    Propose(File),
    /// Prints what a charset map reads.
    Judge(CharsetMap),
}

impl Task {
    /// Returns what the arguments ask for.
    ///
    /// # Errors
    /// More than one directory, a file that is there already, or one that is no charset map.
    pub(super) fn of(args: &ScanArgs) -> Result<Option<Self>, CliError> {
        if let Some(map) = &args.charset_map {
            return Ok(Some(Self::Judge(charset_map::read(map)?)));
        }
        let Some(path) = &args.propose_map else {
            return Ok(None);
        };
        if args.directories.len() > 1 {
            return Err(CliError::usage("--propose-map is for one directory")
                .hint("the paths in a charset map start there"));
        }
        let file = File::create_new(path).map_err(|error| {
            let name = quoted(path.as_os_str().as_bytes());
            CliError::usage(format!(
                "the charset map {name} cannot be written: {}",
                reason(&error)
            ))
            .hint("give the name of a file that is not there yet")
        })?;
        Ok(Some(Self::Propose(file)))
    }

    /// Does it, on the directories of the arguments.
    ///
    /// # Errors
    /// A directory cannot be read, or a file not be written.
    pub(super) fn run(self, args: &ScanArgs) -> Result<(), CliError> {
        let survey = CharsetSurvey::default();
        let mut options = PlanOptions::new(Policy::default(), CharsetSource::Auto);
        let file = match self {
            Self::Propose(file) => Some(file),
            Self::Judge(map) => {
                options.from = CharsetSource::Nothing;
                options.charset_map = Arc::new(map);
                None
            }
        };
        for directory in &args.directories {
            survey.add(directory, &options)?;
        }
        if let Some(mut file) = file {
            let written = file.write_all(survey.proposal().as_bytes());
            written.map_err(|error| {
                CliError::failure(format!(
                    "the charset map cannot be written: {}",
                    reason(&error)
                ))
            })?;
            let word = |path: &PathBuf| ShellWord(path.as_os_str().as_bytes()).to_string();
            let map = args.propose_map.as_ref().map(word).unwrap_or_default();
            let directory = args.directories.first().map(word).unwrap_or_default();
            print_note(&format!(
                "look at {map}, and go on with: utf8fs migrate --charset-map {map} {directory}"
            ));
            return Ok(());
        }
        let mut out = Output::stdout();
        out.line("\nby the charset map, ill-formed names are")?;
        survey.totals().iter().try_for_each(|line| out.line(line))?;
        out.flush()
    }
}

/// The ill-formed names of one directory.
#[derive(Debug, Clone, Default)]
struct SurveyedDirectory {
    /// Number of names surely in each charset.
    read: BTreeMap<&'static str, u64>,
    /// The sum of the confidences of these names.
    confidence: f64,
    /// Names that are left.
    left: u64,
    /// The map's entry for the directory: the charset that reads all names as they likely are, `auto` if no one charset does,
    /// `leave` if no name is sure.
    charset: &'static str,
    /// Names and their texts, each with the number of those before it that are in the same charset.
    samples: Vec<(usize, String)>,
}

/// The path of a directory from the root.
type Path = Vec<Box<[u8]>>;

/// The directories of a tree that have ill-formed names, in the order of their paths.
#[derive(Debug, Default)]
struct CharsetSurvey(Mutex<BTreeMap<Path, SurveyedDirectory>>);

impl PlanSink for CharsetSurvey {
    fn take(&self, plan: &DirectoryPlan) {
        let is_ill_formed = |line: &&PlanLine| std::str::from_utf8(line.old.as_bytes()).is_err();
        let lines: Vec<&PlanLine> = plan.lines.iter().filter(is_ill_formed).collect();
        if !lines.is_empty() {
            let path = plan.directory.iter().map(|name| name.as_bytes().into());
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.insert(path.collect(), SurveyedDirectory::of(&lines));
        }
    }

    /// The scan itself reports it.
    fn failed(&self, _: &Place, _: &io::Error) {}
}

impl SurveyedDirectory {
    fn of(lines: &[&PlanLine]) -> Self {
        let mut found = Self::default();
        let mut readings = Vec::new();
        // By charset, and of names that are left.
        let mut ranks: BTreeMap<Option<&str>, usize> = BTreeMap::new();
        for line in lines {
            let candidate = line.candidates.first();
            let likely = line
                .charset
                .or(candidate.and_then(|candidate| candidate.charset));
            let name = line.old.as_bytes();
            let text = likely.and_then(|charset| charset.decode_reversibly(name));
            match line.charset.filter(|_| !line.is_left()) {
                Some(charset) => {
                    *found.read.entry(charset.label()).or_default() += 1;
                    found.confidence += line.confidence.unwrap_or(1.0);
                }
                None => found.left += 1,
            }
            if let Some(text) = text {
                let doubt = match line.is_left() {
                    true => "is left; perhaps ",
                    false => "",
                };
                let kind = likely.filter(|_| !line.is_left()).map(Charset::label);
                let rank = ranks.entry(kind).or_insert(0);
                if *rank < SAMPLES {
                    let (old, new) = (quoted(name), quoted(text.as_bytes()));
                    found.samples.push((*rank, format!("{old} {doubt}{new}")));
                    *rank += 1;
                }
                readings.push((name, text));
            }
        }
        let reads_all = |charset: &Charset| {
            let mut readings = readings.iter();
            readings.all(|(name, text)| charset.decode_reversibly(name).as_ref() == Some(text))
        };
        let mut usual: Vec<(&str, u64)> = found
            .read
            .iter()
            .map(|(label, names)| (*label, *names))
            .collect();
        usual.sort_by_key(|(_, names)| std::cmp::Reverse(*names));
        let charsets = usual
            .iter()
            .filter_map(|(label, _)| Charset::from_label(label).ok());
        found.charset = match charsets.clone().find(reads_all) {
            Some(charset) => charset.label(),
            None if usual.is_empty() => "leave",
            None => "auto",
        };
        found
    }

    fn merge(&mut self, other: &Self) {
        for (label, names) in &other.read {
            *self.read.entry(label).or_default() += names;
        }
        self.confidence += other.confidence;
        self.left += other.left;
        self.samples.extend(other.samples.iter().cloned());
        self.samples.sort_by_key(|(rank, _)| *rank);
        self.samples.truncate(SAMPLES);
    }
}

impl CharsetSurvey {
    /// Reads the tree below `root`.
    ///
    /// # Errors
    /// The root cannot be read.
    fn add(&self, root: &std::path::Path, options: &PlanOptions) -> Result<(), CliError> {
        let read = |root: Dir<OwnedFd>| {
            let planner = Planner {
                roots: &[root.into_fd()],
                options,
                filter: &Filter::default(),
                threads: THREADS,
            };
            planner.plan(&planner.guess(&|| false)?, self)
        };
        let read = Dir::open_root(root).and_then(read);
        read.map_err(|error| CliError::failure(format!("the walk failed: {}", reason(&error))))
    }

    fn into_directories(self) -> Vec<(Path, SurveyedDirectory)> {
        let all = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        all.into_iter().collect()
    }

    /// Returns the charset map that it proposes.
    fn proposal(self) -> String {
        let mut text = HEAD.to_owned();
        push_entries(&mut text, &self.into_directories(), 0, None);
        text
    }

    /// Returns how many names are read in which charset, and how many are left.
    fn totals(self) -> Vec<String> {
        let mut charsets: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        let mut left = 0;
        for (_, directory) in self.into_directories() {
            for (label, names) in directory.read {
                let total = charsets.entry(label).or_default();
                *total = (total.0 + names, total.1 + 1);
            }
            left += directory.left;
        }
        let totals = charsets.into_iter().map(|(label, (names, directories))| {
            let places = counted(directories, "directory", "directories");
            format!("  {:>13}  {label}, in {places}", grouped(names))
        });
        let left = (left > 0).then(|| format!("  {:>13}  left as they are", grouped(left)));
        totals.chain(left).collect()
    }
}

/// Appends entries for `directories`, sorted by path, which have the first `depth` names in common. Where all of them agree one entry
/// stands for them; none is needed where they agree with the one above, `inherited`.
fn push_entries(
    text: &mut String,
    directories: &[(Path, SurveyedDirectory)],
    depth: usize,
    inherited: Option<&str>,
) {
    let [head @ (first, own), rest @ ..] = directories else {
        return;
    };
    if rest.iter().all(|(_, other)| other.charset == own.charset) {
        if inherited != Some(own.charset) {
            let last = rest.last().map_or(first, |(last, _)| last);
            let common = first
                .iter()
                .zip(last)
                .take_while(|(one, other)| one == other)
                .count();
            push_entry(text, first.get(..common).unwrap_or_default(), directories);
        }
        return;
    }
    let (inherited, below) = match first.len() == depth {
        true => {
            if inherited != Some(own.charset) {
                push_entry(text, first, std::slice::from_ref(head));
            }
            (Some(own.charset), rest)
        }
        false => (inherited, directories),
    };
    for group in below.chunk_by(|(one, _), (other, _)| one.get(depth) == other.get(depth)) {
        push_entries(text, group, depth + 1, inherited);
    }
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

fn push_entry(text: &mut String, path: &[Box<[u8]>], directories: &[(Path, SurveyedDirectory)]) {
    let mut all = SurveyedDirectory::default();
    directories.iter().for_each(|(_, one)| all.merge(one));
    let read: u64 = all.read.values().sum();
    let charset = directories.first().map_or("leave", |(_, one)| one.charset);
    let names = counted(read + all.left, "name", "names");
    let places = counted(
        u64::try_from(directories.len()).unwrap_or(u64::MAX),
        "directory",
        "directories",
    );
    let mut lines = vec![format!("{names} in {places}")];
    if read > 0 {
        #[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
        let confidence = all.confidence / read as f64;
        lines.push(format!("{} sure on average", percent(confidence).trim()));
    }
    if all.left > 0 {
        lines.push(format!("{} not sure", all.left));
    }
    text.push_str(&format!("\n# {}\n", lines.join(", ")));
    if charset == "auto" {
        let charsets = all
            .read
            .iter()
            .map(|(label, names)| format!("{label} {names}"));
        let charsets: Vec<String> = charsets.collect();
        text.push_str(&format!("# mixes charsets: {}\n", charsets.join(", ")));
    }
    all.samples
        .iter()
        .for_each(|(_, sample)| text.push_str(&format!("#   {sample}\n")));
    let path = DirectoryPattern::of(path.iter().map(AsRef::as_ref));
    let path = toml_string(&path);
    text.push_str(&format!(
        "[[directory]]\npath = {path}\ncharset = \"{charset}\"\n"
    ));
}
