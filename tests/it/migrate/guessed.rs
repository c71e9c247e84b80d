//! Law T8: what `--from auto` makes of names whose charset and text are known, in directories of every kind.

use std::collections::BTreeMap;
use std::fmt;

use utf8fs::backing::Kind;
use utf8fs::codec::Charset;
use utf8fs::codec::guess::Guesser;
use utf8fs::policy::Policy;
use utf8fs::records::PlanLine;
use utf8fs::tree::plan::plan_directory::plan;
use utf8fs::tree::plan::{CharsetSource, EntryList, PlanOptions, TreeGuess};

use crate::support::random::Random;

/// Phrases by language, each with the charsets that its users write in.
const PHRASES: &str = include_str!("guessed/phrases.txt");

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

/// One writer: a language in one of its charsets.
#[derive(Clone)]
struct Writer {
    charset: Charset,
    phrases: Vec<&'static str>,
}

fn writers() -> Vec<Writer> {
    let sections = PHRASES.split("# ").filter(|section| !section.is_empty());
    sections
        .flat_map(|section| {
            let mut lines = section.lines();
            let mut header = lines.next().unwrap().split(' ');
            let (_language, phrases) = (header.next(), lines.collect::<Vec<_>>());
            header.map(move |label| {
                let charset = Charset::from_label(label).unwrap();
                let phrases = phrases.clone();
                Writer { charset, phrases }
            })
        })
        .collect()
}

/// The names of one directory, each with its text.
type Directory = BTreeMap<Vec<u8>, String>;

struct Generator(Random);

impl Generator {
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.0.below(u64::try_from(end).unwrap())).unwrap()
    }

    /// Adds names of a writer that are not UTF-8.
    fn add(&mut self, directory: &mut Directory, writer: &Writer, count: usize) {
        let wanted = directory.len() + count;
        while directory.len() < wanted {
            let phrase = writer.phrases[self.below(writer.phrases.len())];
            let number = self.below(100).to_string();
            let frame = FRAMES[self.below(FRAMES.len())];
            let text = frame.replace('#', &number).replace('@', phrase);
            // A DOS charset lacks some capitals; some names happen to be UTF-8.
            let name = writer.charset.encode(&text).unwrap_or_default();
            if str::from_utf8(&name).is_err() {
                directory.insert(name, text);
            }
        }
    }
}

/// Right, wrong and left names.
#[derive(Default, Clone, Copy)]
struct Score {
    right: usize,
    wrong: usize,
    left: usize,
}

impl Score {
    fn of(self, count: usize) -> f64 {
        let all = self.right + self.wrong + self.left;
        100.0 * count as f64 / all as f64
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [right, wrong, left] = [self.right, self.wrong, self.left].map(|n| self.of(n));
        let all = self.right + self.wrong + self.left;
        write!(
            f,
            "{all:5} names: {right:5.1} % right, {wrong:4.1} % wrong, {left:5.1} % left"
        )
    }
}

fn lines(directory: &Directory, tree: &TreeGuess) -> Vec<PlanLine> {
    let mut listing = EntryList::default();
    for (inode, name) in directory.keys().enumerate() {
        listing.push(name, Kind::File, u64::try_from(inode).unwrap());
    }
    let options = PlanOptions::new(Policy::default(), CharsetSource::Auto);
    plan(&options, tree, &listing, &|_| true, &mut |_, _| false)
}

/// Plans the directories of a tree.
fn score(directories: &[Directory]) -> Score {
    let mut names = Guesser::new();
    directories
        .iter()
        .flat_map(Directory::keys)
        .for_each(|name| names.add(name));
    let tree = TreeGuess::of(&names);
    let mut score = Score::default();
    for directory in directories {
        for line in lines(directory, &tree) {
            let truth = directory[line.old.as_bytes()].as_bytes();
            match &line.new {
                Some(new) if new.as_bytes() == truth => score.right += 1,
                Some(new) => {
                    score.wrong += 1;
                    println!(
                        "wrong: {:?} -> {new:?} {:?}",
                        str::from_utf8(truth),
                        line.confidence
                    );
                }
                None => score.left += 1,
            }
        }
    }
    score
}

/// Directories of `count` names, of each writer as many.
fn single(count: usize, directories: usize, seed: u64) -> Vec<Directory> {
    let mut generator = Generator(Random::new(seed));
    let writers = writers();
    let writers = writers.iter().cycle().take(writers.len() * directories);
    let fill = |writer: &Writer| {
        let mut directory = Directory::new();
        generator.add(&mut directory, writer, count);
        directory
    };
    writers.map(fill).collect()
}

/// Directories of `hosts` names of one writer and `guests` of another, who writes in another charset.
fn mixed(hosts: usize, guests: usize, seed: u64) -> Vec<Directory> {
    let mut generator = Generator(Random::new(seed));
    let writers = writers();
    let mut directories = Vec::new();
    for host in &writers {
        let guest = loop {
            let guest = &writers[generator.below(writers.len())];
            if guest.charset != host.charset {
                break guest;
            }
        };
        let mut directory = Directory::new();
        generator.add(&mut directory, host, hosts);
        generator.add(&mut directory, guest, guests);
        directories.push(directory);
    }
    directories
}

#[test]
fn t8_names_of_one_charset_are_read_right() {
    let score = score(&single(25, 1, 1));
    println!("single, 25        {score}");
    assert!(score.of(score.right) >= 97.0, "{score}");
    assert_eq!(score.wrong, 0, "{score}");
}

/// Scores every kind first, so that all figures are seen.
fn assert_hardly_wrong(kinds: &[(&str, Vec<Directory>)]) {
    let scores: Vec<(&str, Score)> = kinds
        .iter()
        .map(|(kind, directories)| (*kind, score(directories)))
        .collect();
    for (kind, score) in &scores {
        println!("{kind:17} {score}");
    }
    for (kind, score) in scores {
        assert!(score.of(score.wrong) <= 1.0, "{kind}: {score}");
    }
}

#[test]
fn t8_few_names_are_read_right_or_left() {
    assert_hardly_wrong(&[
        ("one", single(1, 8, 2)),
        ("two", single(2, 4, 2)),
        ("three", single(3, 2, 2)),
    ]);
}

#[test]
fn t8_names_in_directories_of_two_charsets_are_read_right_or_left() {
    assert_hardly_wrong(&[
        ("two and two", mixed(2, 2, 3)),
        ("five and five", mixed(5, 5, 3)),
        ("twenty and twenty", mixed(20, 20, 3)),
    ]);
}

#[test]
fn t8_guests_among_names_of_another_charset_are_read_right_or_left() {
    assert_hardly_wrong(&[
        ("one of 26", mixed(25, 1, 4)),
        ("six of 26", mixed(20, 6, 4)),
        ("one of 101", mixed(100, 1, 4)),
    ]);
}
