//! The text of a name in one charset, cut into what costs the same in every language and the words that languages judge.

use super::model::Language;
use super::script::{self, Script};
use super::symbol;
use crate::codec::charset::is_meaningless;

/// An ASCII character where no language judges it: the same for every charset, unless one takes it for half a character.
const ASCII: f64 = 3.0;
/// ... and a backslash, which is half a character of an East Asian charset more often than meant.
const BACKSLASH: f64 = 8.0;
/// ... and a letter of a word that is ASCII throughout: a little more than in a word of a language.
const ASCII_LETTER: f64 = 3.4;

/// The cost of words in ASCII and in another script in one name.
const TWO_SCRIPTS: f64 = 5.0;

/// The most characters of a text that are weighed.
const WEIGHED: usize = 1024;

/// The text of a name in one charset.
pub(super) struct ScoredText {
    /// The cost of all but the words, in nats.
    shared: f64,
    /// Whether it has words in ASCII, not counting an extension, and words in another script than Latin.
    is_plain: bool,
    is_foreign: bool,
    /// Has it characters beyond ASCII that no legacy name means?
    pub(super) is_meaningless: bool,
    /// Runs of letters of one script with a letter that is not ASCII, in lower case.
    words: Vec<Vec<char>>,
}

impl ScoredText {
    pub(super) fn new(text: &str) -> Self {
        let mut this = Self {
            shared: 0.0,
            is_plain: false,
            is_foreign: false,
            is_meaningless: text
                .chars()
                .any(|c| !c.is_ascii() && (is_meaningless(c) || is_private(c))),
            words: Vec::new(),
        };
        let mut run: Vec<char> = Vec::new();
        let mut script: Option<Script> = None;
        let mut characters = text.chars().take(WEIGHED).peekable();
        let (mut before, mut start, mut letters, mut is_open) = (None, None, 0, false);
        while let Some(c) = characters.next() {
            let here = script::of(c, script);
            if here != script {
                this.end_word(&mut run, script, start);
                start = before;
                if let (Some(from), Some(to)) = (script, here) {
                    this.shared += script::switch(from, to);
                }
            }
            match here {
                Some(_) => run.push(c),
                None if c == '\\' => this.shared += BACKSLASH,
                None if c.is_ascii() => this.shared += ASCII,
                None => {
                    let after = characters.peek().copied();
                    this.shared += symbol::cost(c, before, after, letters);
                    is_open ^= symbol::is_paired(c);
                }
            }
            letters = if here.is_some() { letters + 1 } else { 0 };
            before = Some(c);
            script = here;
        }
        this.end_word(&mut run, script, start);
        if this.is_plain && this.is_foreign {
            this.shared += TWO_SCRIPTS;
        }
        if is_open {
            this.shared += symbol::UNPAIRED;
        }
        this
    }

    /// Its cost in this language: the negative logarithm of its probability, in nats.
    pub(super) fn cost(&self, language: &Language) -> f64 {
        self.shared
            + self
                .words
                .iter()
                .map(|word| language.cost(word))
                .sum::<f64>()
    }

    fn end_word(&mut self, run: &mut Vec<char>, script: Option<Script>, before: Option<char>) {
        if run.is_empty() {
            return;
        }
        self.is_foreign |= script != Some(Script::Latin);
        if run.iter().all(char::is_ascii) {
            self.is_plain |= run.len() > 2 && before != Some('.');
            self.shared += ASCII_LETTER * run.len() as f64;
        } else if script == Some(Script::HalfKana) {
            self.shared += 7.0 + 4.2 * run.len() as f64;
        } else {
            self.shared += letter_case(run);
            let lower = |c: &char| c.to_lowercase().next().unwrap_or(*c);
            self.words.push(run.iter().map(lower).collect());
        }
        run.clear();
    }
}

/// A private character other than the apple, which Macintosh charsets have: names mean none, a wrong charset shows some.
fn is_private(c: char) -> bool {
    matches!(c, '\u{E000}'..='\u{F8FE}')
}

/// The cost of a word's capitals: `Word`, `word` and `WORD` are common, `wORD` and `WoRD` are signs of a wrong charset.
fn letter_case(word: &[char]) -> f64 {
    let mut cost = 0.0;
    let mut before = Before::Nothing;
    for c in word {
        let (is_upper, is_lower) = (c.is_uppercase(), c.is_lowercase());
        if !is_upper && !is_lower {
            continue;
        }
        let (here, price) = match (before, is_upper) {
            (Before::Nothing, true) => (Before::OneCapital, 0.7),
            (Before::Nothing, false) => (Before::Small, 0.7),
            (Before::Small, false) => (Before::Small, 0.0),
            (Before::Small, true) => (Before::OneCapital, 6.5),
            (Before::OneCapital, false) => (Before::Small, 0.2),
            (Before::OneCapital, true) => (Before::Capitals, 1.8),
            (Before::Capitals, true) => (Before::Capitals, 0.05),
            (Before::Capitals, false) => (Before::Small, 4.5),
        };
        cost += price;
        before = here;
    }
    cost
}

#[derive(Clone, Copy)]
enum Before {
    Nothing,
    Small,
    OneCapital,
    Capitals,
}
