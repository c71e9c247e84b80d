//! The charsets of the directories of a tree, as `migrate` would read their names.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use parking_lot::Mutex;

use super::change::TreePath;
use super::plan::planner::Planner;
use super::plan::{Filter, PlanObserver, PlanOptions};
use crate::backing::Dir;
use crate::codec::Charset;
use crate::names::BackingName;
use crate::records::{PlanLine, Reason};

/// Names that are kept as samples, of those that are read and of those that are left.
const SAMPLES: u8 = 3;

/// A reading of an uncertain name that is less likely than the best by this factor speaks against a charset.
const UNLIKELY: f64 = 0.1;

/// The directories of trees that have ill-formed names.
#[derive(Debug, Default)]
pub struct CharsetSurvey(Mutex<Vec<(TreePath, SurveyedNames)>>);

/// The ill-formed names of one directory, or of several.
#[derive(Debug, Clone, Default)]
pub struct SurveyedNames {
    /// The number of directories.
    pub directories: u64,
    /// The numbers of names that surely are in a charset, by its label.
    pub read: BTreeMap<&'static str, u64>,
    /// The sum of the confidences of these names.
    pub confidence: f64,
    /// The number of names that are left.
    pub left: u64,
    /// A few of the names that are read, then of those that are left.
    pub samples: Vec<NameSample>,
    /// The charsets in which each sure name has its text, and each other name one of its likely texts.
    fitting: Vec<Charset>,
}

/// A name, and its likeliest text.
#[derive(Debug, Clone)]
pub struct NameSample {
    /// Is it left?
    pub is_left: bool,
    /// The number of those before it in its directory that are in the same charset.
    rank: u64,
    /// The path of its directory from the root of the tree.
    pub directory: TreePath,
    /// The name.
    pub name: BackingName,
    /// The text, if it has one.
    pub text: Option<String>,
}

/// An entry of a charset map, and the names that it stands for.
#[derive(Debug)]
pub struct ProposedEntry {
    /// The directory that it is about, with all below.
    pub path: TreePath,
    /// The charset; `None` if each name is to be guessed.
    pub charset: Option<Charset>,
    /// The names.
    pub names: SurveyedNames,
}

/// The scan itself reports what cannot be read.
impl PlanObserver for CharsetSurvey {}

impl CharsetSurvey {
    /// Reads trees.
    ///
    /// # Errors
    /// A root cannot be read.
    pub fn of(directories: &[PathBuf], options: &PlanOptions) -> io::Result<Self> {
        let survey = Self::default();
        for directory in directories {
            let planner = Planner {
                root: &Dir::open_root(directory)?.into_fd(),
                options,
                filter: &Filter::default(),
            };
            planner.plan(&survey, &|plan| {
                let is_ill_formed =
                    |line: &&PlanLine| std::str::from_utf8(line.old.as_bytes()).is_err();
                let mut lines = plan.lines.iter().filter(is_ill_formed).peekable();
                if lines.peek().is_some() {
                    let names = SurveyedNames::of(lines);
                    survey.0.lock().push((plan.directory(), names));
                }
            })?;
        }
        Ok(survey)
    }

    /// Returns the entries of the charset map that it proposes for a tree.
    pub fn proposed(self) -> Vec<ProposedEntry> {
        let mut directories = self.0.into_inner();
        directories.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut entries = Vec::new();
        push_entries(&mut entries, &directories, 0, None);
        entries
    }

    /// Returns the numbers of names in each charset, and of directories that have such; then the number of those that are left.
    pub fn totals(self) -> (BTreeMap<&'static str, (u64, u64)>, u64) {
        let (mut charsets, mut left) = (BTreeMap::new(), 0);
        for (_, directory) in self.0.into_inner() {
            for (label, names) in directory.read {
                let total: &mut (u64, u64) = charsets.entry(label).or_default();
                *total = (total.0 + names, total.1 + 1);
            }
            left += directory.left;
        }
        (charsets, left)
    }
}

impl SurveyedNames {
    fn none() -> Self {
        Self {
            fitting: Charset::all().collect(),
            ..Self::default()
        }
    }

    /// Takes the names of one directory.
    fn of<'l>(lines: impl Iterator<Item = &'l PlanLine>) -> Self {
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
            let names = match sure {
                Some(charset) => {
                    found.confidence += confidence.unwrap_or(1.0);
                    found.read.entry(charset.label()).or_default()
                }
                None => &mut found.left,
            };
            if *names < u64::from(SAMPLES) {
                found.samples.push(NameSample {
                    is_left: sure.is_none(),
                    rank: *names,
                    directory: line.directory.clone(),
                    name: line.old.clone(),
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
        let names = |charset: &Charset| self.read.get(charset.label());
        let best = self.fitting.iter().rev().copied().max_by_key(names);
        best.filter(|best| names(best).is_some() && self.left <= self.read.values().sum())
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
        self.samples.extend(other.samples.iter().cloned());
        self.samples
            .sort_by_key(|sample| (sample.is_left, sample.rank));
        let kinds = self
            .samples
            .chunk_by(|one, other| one.is_left == other.is_left);
        let kept = kinds.flat_map(|kind| kind.iter().take(SAMPLES.into()));
        self.samples = kept.cloned().collect();
    }
}

/// Returns the texts that an ill-formed name may likely have, the likeliest first.
fn texts(line: &PlanLine) -> Vec<String> {
    let best = line.candidates.first().and_then(|best| best.confidence);
    let least = best.unwrap_or_default() * UNLIKELY;
    let likely = line
        .candidates
        .iter()
        .filter(|candidate| line.charset.is_none() && candidate.confidence >= Some(least));
    let likely = likely.filter_map(|candidate| candidate.charset);
    let texts = line.charset.into_iter().chain(likely);
    let texts = texts.filter_map(|charset| charset.decode_reversibly(line.old.as_bytes()));
    texts.collect()
}

/// Adds `directories`, sorted by path, which have the first `depth` names in common. They are added to the entry above them,
/// `inherited`, if its charset fits; else where all of them agree one entry stands for them. A directory whose names are guessed
/// has an entry of its own, since somebody has to look at it.
///
/// Returns the entry of the first directory.
fn push_entries(
    entries: &mut Vec<ProposedEntry>,
    directories: &[(TreePath, SurveyedNames)],
    depth: usize,
    inherited: Option<usize>,
) -> Option<usize> {
    let [head @ (first, _), rest @ ..] = directories else {
        return inherited;
    };
    let mut names = SurveyedNames::none();
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
