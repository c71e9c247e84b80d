//! Law T8: what `--from auto` makes of names whose charset and text are known, in directories of every kind.
//! `scripts/guess-table` prints the results.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;
use std::str::Lines;

use utf8fs::backing::Kind;
use utf8fs::codec::Charset;
use utf8fs::codec::guess::Guesser;
use utf8fs::policy::Policy;
use utf8fs::records::PlanLine;
use utf8fs::tree::plan::plan_directory::plan;
use utf8fs::tree::plan::{CharsetChoice, CharsetSource, EntryList, PlanOptions};

use crate::support::random::Random;

/// Short words of the same languages as the phrases: letters alone, not all of them ASCII, those of a language sorted by length. They
/// are from Unicode's CLDR 41: names of emoji, languages and places.
const SHORT_WORDS: &str = include_str!("../../data/short_words.txt");

/// What names are made of.
#[derive(Clone, Copy)]
struct Vocabulary {
    /// Phrases by language, each language with the charsets that its users write in.
    phrases: &'static str,
    /// The first of its [`SHORT_WORDS`] of a language; the others are every other word from there.
    first_word: usize,
}

/// The guesser may be tuned on this one.
const TUNED: Vocabulary = Vocabulary {
    phrases: include_str!("../../data/phrases.txt"),
    first_word: 0,
};
/// Other words of the same languages, on which nothing was tuned.
const HELD_OUT: Vocabulary = Vocabulary {
    phrases: include_str!("../../data/phrases_held_out.txt"),
    first_word: 1,
};

/// Frames around a phrase, as names of files have them; `@` is the phrase, `#` a number.
const FRAMES: [&str; 8] = [
    "@.txt",
    "@",
    "# - @.jpg",
    "@ #.doc",
    "#_@.pdf",
    "@ (#).mp3",
    "@ v#.xls",
    "IMG# @.png",
];
/// Frames of names that say little.
const SHORT_FRAMES: [&str; 4] = ["@", "@.txt", "@ #", "#@"];

/// The shape of a name.
#[derive(Clone, Copy)]
enum Shape {
    /// A phrase.
    Phrase,
    /// A short word.
    Short,
    /// A phrase in UTF-8, cut within a character: no charset reads it right.
    Cut,
}

/// A kind of directory.
#[derive(Clone, Copy)]
struct DirectoryKind {
    label: &'static str,
    /// The number of names of each of its writers, who differ in charset.
    names: &'static [usize],
    shape: Shape,
    /// The number of directories for each writer.
    directories: usize,
    /// The least share of right names, in percent.
    least_right: f64,
}

const fn kind(
    label: &'static str,
    names: &'static [usize],
    directories: usize,
    least_right: f64,
) -> DirectoryKind {
    DirectoryKind {
        label,
        names,
        shape: Shape::Phrase,
        directories,
        least_right,
    }
}

const fn short(label: &'static str, names: &'static [usize], directories: usize) -> DirectoryKind {
    DirectoryKind {
        shape: Shape::Short,
        ..kind(label, names, directories, 0.0)
    }
}

const fn cut(label: &'static str, names: &'static [usize], directories: usize) -> DirectoryKind {
    DirectoryKind {
        shape: Shape::Cut,
        ..kind(label, names, directories, 0.0)
    }
}

const SINGLE: [DirectoryKind; 3] = [
    kind("one charset, 3 names", &[3], 6, 99.0),
    kind("one charset, 10 names", &[10], 2, 99.0),
    kind("one charset, 25 names", &[25], 1, 99.0),
];
const TINY: [DirectoryKind; 5] = [
    kind("1 name", &[1], 360, 0.0),
    kind("2 names", &[2], 180, 0.0),
    short("1 short name", &[1], 360),
    short("2 short names", &[2], 180),
    short("6 short names", &[6], 3),
];
const CUT: [DirectoryKind; 3] = [
    cut("1 name of cut UTF-8", &[1], 60),
    cut("2 names of cut UTF-8", &[2], 30),
    cut("10 names of cut UTF-8", &[10], 6),
];
const MIXED: [DirectoryKind; 4] = [
    kind("two charsets, 2 and 2 names", &[2, 2], 5, 0.0),
    kind("two charsets, 5 and 5 names", &[5, 5], 2, 90.0),
    kind("two charsets, 20 and 20 names", &[20, 20], 1, 90.0),
    kind("three charsets, 10 names each", &[10, 10, 10], 1, 90.0),
];
const GUESTS: [DirectoryKind; 3] = [
    kind("6 guests among 26 names", &[20, 6], 1, 90.0),
    kind("1 guest among 26 names", &[25, 1], 1, 90.0),
    kind("1 guest among 101 names", &[100, 1], 1, 90.0),
];

/// Most names that may be read wrong, in percent.
const MOST_WRONG: f64 = 0.2;

/// One writer: a language in one of its charsets.
#[derive(Clone)]
struct Writer {
    charset: Charset,
    phrases: Vec<&'static str>,
    short_words: Vec<&'static str>,
}

/// The languages of a file, each with its first line and the others.
fn languages(file: &'static str) -> impl Iterator<Item = (&'static str, Lines<'static>)> {
    file.split("# ").skip(1).map(|section| {
        let mut lines = section.lines();
        (lines.next().unwrap(), lines)
    })
}

fn writers(vocabulary: Vocabulary) -> Vec<Writer> {
    let words: BTreeMap<_, _> = languages(SHORT_WORDS).collect();
    let writers = languages(vocabulary.phrases).flat_map(|(header, phrases)| {
        let phrases: Vec<&str> = phrases.collect();
        let words = words[header].clone().skip(vocabulary.first_word);
        let short_words: Vec<&str> = words.step_by(2).collect();
        let labels = header.split(' ').skip(1);
        labels.map(move |label| Writer {
            charset: Charset::from_label(label).unwrap(),
            phrases: phrases.clone(),
            short_words: short_words.clone(),
        })
    });
    writers.collect()
}

/// The names of one directory, each with its charset and text.
type Directory = BTreeMap<Vec<u8>, (Charset, String)>;

struct Generator(Random);

impl Generator {
    fn pick<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        let index = self.0.below(u64::try_from(all.len()).unwrap());
        &all[usize::try_from(index).unwrap()]
    }

    /// Adds names of a writer that are not UTF-8.
    fn add(&mut self, directory: &mut Directory, writer: &Writer, count: usize, shape: Shape) {
        let wanted = directory.len() + count;
        while directory.len() < wanted {
            let (phrase, frame) = match shape {
                Shape::Short => (*self.pick(&writer.short_words), *self.pick(&SHORT_FRAMES)),
                Shape::Phrase | Shape::Cut => (*self.pick(&writer.phrases), *self.pick(&FRAMES)),
            };
            let frame = frame.replace('#', &self.0.below(100).to_string());
            if matches!(shape, Shape::Cut) {
                let cuts = (1..phrase.len()).filter(|at| !phrase.is_char_boundary(*at));
                if let cuts @ [_, ..] = &cuts.collect::<Vec<_>>()[..] {
                    let phrase = &phrase.as_bytes()[..*self.pick(cuts)];
                    let (before, after) = frame.split_once('@').unwrap();
                    let name = [before.as_bytes(), phrase, after.as_bytes()].concat();
                    directory.insert(name, (writer.charset, String::new()));
                }
                continue;
            }
            let text = frame.replace('@', phrase);
            // A DOS charset lacks some capitals; some names happen to be UTF-8.
            let name = writer.charset.encode(&text).unwrap_or_default();
            if str::from_utf8(&name).is_err() {
                directory.insert(name, (writer.charset, text));
            }
        }
    }

    /// Makes directories of a kind, the same number for each writer as the first of its names.
    fn directories(&mut self, writers: &[Writer], kind: DirectoryKind) -> Vec<Directory> {
        let mut directories = Vec::new();
        for host in writers
            .iter()
            .cycle()
            .take(writers.len() * kind.directories)
        {
            let mut charsets = vec![host.charset];
            let mut directory = Directory::new();
            self.add(&mut directory, host, kind.names[0], kind.shape);
            for count in &kind.names[1..] {
                let guest = loop {
                    let guest = self.pick(writers);
                    if !charsets.contains(&guest.charset) {
                        break guest;
                    }
                };
                charsets.push(guest.charset);
                self.add(&mut directory, guest, *count, kind.shape);
            }
            directories.push(directory);
        }
        directories
    }
}

/// Right, wrong and left names.
#[derive(Default, Clone, Copy)]
struct Score {
    right: u32,
    wrong: u32,
    left: u32,
}

impl Score {
    fn all(self) -> u32 {
        self.right + self.wrong + self.left
    }

    fn percent(self, count: u32) -> f64 {
        100.0 * f64::from(count) / f64::from(self.all())
    }
}

impl AddAssign for Score {
    fn add_assign(&mut self, other: Self) {
        self.right += other.right;
        self.wrong += other.wrong;
        self.left += other.left;
    }
}

/// The cells of a row in Markdown.
impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [right, wrong, left] = [self.right, self.wrong, self.left].map(|n| self.percent(n));
        write!(f, "{} | {right:.1} | {wrong:.2} | {left:.1} |", self.all())
    }
}

fn lines(directory: &Directory, tree: &CharsetChoice) -> Vec<PlanLine> {
    let mut listing = EntryList::default();
    for (inode, name) in directory.keys().enumerate() {
        listing.push(name, Kind::File, u64::try_from(inode).unwrap());
    }
    let options = PlanOptions::new(Policy::default(), CharsetSource::Auto);
    plan(&options, tree, &listing, &|_| true, &|_, _| false)
}

/// Plans the directories of a tree; the scores by charset.
fn score(directories: &[Directory]) -> BTreeMap<&'static str, Score> {
    let mut names = Guesser::default();
    let all = directories.iter().flat_map(Directory::keys);
    all.for_each(|name| names.add(name));
    let tree = CharsetChoice::of(&names);
    let mut scores: BTreeMap<&'static str, Score> = BTreeMap::new();
    for directory in directories {
        for line in lines(directory, &tree) {
            let (charset, text) = &directory[line.old.as_bytes()];
            let score = scores.entry(charset.label()).or_default();
            match &line.new {
                Some(new) if new.as_bytes() == text.as_bytes() => score.right += 1,
                Some(new) => {
                    score.wrong += 1;
                    println!(
                        "wrong: {text:?} in {charset:?} -> {new:?} {:?}",
                        line.confidence
                    );
                }
                None => score.left += 1,
            }
        }
    }
    scores
}

/// Prints the table of these kinds and asserts their bounds, which `slack` loosens by percentage points for each kind, and not for
/// all names together. Scores every kind first, so that all figures are seen.
fn assert_read_right(vocabulary: Vocabulary, kinds: &[DirectoryKind], slack: f64) {
    let writers = writers(vocabulary);
    let mut rows = Vec::new();
    let mut charsets: BTreeMap<&'static str, Score> = BTreeMap::new();
    for (seed, kind) in (1..).zip(kinds) {
        println!("{}:", kind.label);
        let directories = Generator(Random::new(seed)).directories(&writers, *kind);
        let mut whole = Score::default();
        for (charset, score) in score(&directories) {
            whole += score;
            // What is cut is in none of them.
            if !matches!(kind.shape, Shape::Cut) {
                *charsets.entry(charset).or_default() += score;
            }
        }
        rows.push((kind, whole));
    }
    println!("| directory | names | right % | wrong % | left % |\n|---|---|---|---|---|");
    for (kind, score) in &rows {
        println!("| {} | {score}", kind.label);
    }
    println!("\n| charset | names | right % | wrong % | left % |\n|---|---|---|---|---|");
    for (charset, score) in &charsets {
        println!("| {charset} | {score}");
    }
    let mut all = Score::default();
    for (kind, score) in rows {
        let (right, wrong) = (score.percent(score.right), score.percent(score.wrong));
        assert!(wrong <= MOST_WRONG + slack, "{}: {score}", kind.label);
        assert!(right >= kind.least_right - slack, "{}: {score}", kind.label);
        all += score;
    }
    assert!(all.percent(all.wrong) <= MOST_WRONG, "{all}");
}

#[test]
fn t8_names_of_one_charset_are_read_right() {
    assert_read_right(TUNED, &SINGLE, 0.0);
}

#[test]
fn t8_few_and_short_names_are_read_right_or_left() {
    assert_read_right(TUNED, &TINY, 0.0);
}

#[test]
fn t8_names_of_cut_utf8_are_left() {
    assert_read_right(TUNED, &CUT, 0.0);
}

#[test]
fn t8_names_in_directories_of_several_charsets_are_read_right_or_left() {
    assert_read_right(TUNED, &MIXED, 0.0);
}

#[test]
fn t8_guests_among_names_of_another_charset_are_read_right_or_left() {
    assert_read_right(TUNED, &GUESTS, 0.0);
}

#[test]
fn t8_names_of_another_vocabulary_are_read_as_well() {
    let kinds = [&SINGLE[..], &TINY, &CUT, &MIXED, &GUESTS].concat();
    assert_read_right(HELD_OUT, &kinds, 2.0);
}
