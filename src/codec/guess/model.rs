//! Frequencies of letter pairs in each language, as `scripts/guess-model` counted them.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The languages as the script wrote them; its text up to the first NUL says what they were counted in.
static MODEL: &[u8] = include_bytes!("model.bin");

/// Costs in the file are natural logarithms of 1/probability in this part.
const STEP: f64 = 16.0;

/// The model of one language.
pub(super) struct Language {
    /// ISO 639-1, `zh-hans` and `zh-hant` for the two ways of writing Chinese.
    pub(super) code: &'static str,
    costs: Costs,
}

enum Costs {
    /// Costs of letters that follow one another.
    Pairs {
        /// The row and column of each code point's letter, 0 for others.
        letters: Vec<u8>,
        /// The cost of a letter after a letter, row by row; row and column 0 are the edge of the word.
        table: &'static [u8],
        width: usize,
    },
    /// Costs of characters that make words by themselves.
    Singles {
        /// The cost of each character by itself.
        characters: HashMap<char, f64>,
        /// The cost of the second of two characters that often follow one another.
        pairs: HashMap<(char, char), f64>,
    },
}

/// A letter that the language does not know.
const UNKNOWN_LETTER: f64 = 10.0;
/// A letter after one that the language does not know.
const AFTER_UNKNOWN: f64 = 4.0;
/// A character beyond those that the language uses most: there are thousands of them.
const RARE_CHARACTER: f64 = 12.5;
/// Cost of one more character in a word, and of its start and its end.
const ONE_MORE: f64 = 0.2;
const ENDS: f64 = 1.6;

impl Language {
    /// The cost, in nats, of this word of lower-case letters; finite and 0 or more.
    pub(super) fn cost(&self, word: &[char]) -> f64 {
        match &self.costs {
            Costs::Pairs {
                letters,
                table,
                width,
            } => cost_of_letters(letters, table, *width, word),
            Costs::Singles { characters, pairs } => cost_of_characters(characters, pairs, word),
        }
    }
}

fn cost_of_letters(letters: &[u8], table: &[u8], width: usize, word: &[char]) -> f64 {
    let pair = |before: u8, after: u8| {
        let cell = usize::from(before) * width + usize::from(after);
        let cost = table.get(cell);
        cost.map_or(UNKNOWN_LETTER, |cost| f64::from(*cost) / STEP)
    };
    let mut sum = 0.0;
    let mut before = Some(0);
    for c in word {
        let here = usize::try_from(u32::from(*c)).ok();
        let here = here.and_then(|c| letters.get(c)).copied();
        let here = here.filter(|letter| *letter > 0);
        sum += match (before, here) {
            (Some(before), Some(here)) => pair(before, here),
            (None, Some(_)) => AFTER_UNKNOWN,
            (_, None) => UNKNOWN_LETTER,
        };
        before = here;
    }
    sum + before.map_or(AFTER_UNKNOWN, |before| pair(before, 0))
}

fn cost_of_characters(
    characters: &HashMap<char, f64>,
    pairs: &HashMap<(char, char), f64>,
    word: &[char],
) -> f64 {
    let mut before = None;
    let mut sum = ENDS;
    for c in word {
        let pair = before.and_then(|before| pairs.get(&(before, *c)));
        let cost = pair.or_else(|| characters.get(c));
        sum += ONE_MORE + cost.copied().unwrap_or(RARE_CHARACTER);
        before = Some(*c);
    }
    sum
}

/// Every language of the model.
pub(super) static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
    let heading = MODEL.iter().take_while(|b| **b != 0).count() + 1;
    let mut rest = MODEL.get(heading..).unwrap_or_default();
    std::iter::from_fn(|| take(&mut rest)).collect()
});

/// Takes one language off the front. Its code has 8 bytes, its kind 1, the number of characters 2, each character 2;
/// then come the costs. Characters that make words by themselves also have the number of pairs in 2, each in 4, and
/// costs.
fn take(rest: &mut &'static [u8]) -> Option<Language> {
    let (code, after) = rest.split_first_chunk::<8>()?;
    let (kind, after) = after.split_first()?;
    let (count, after) = after.split_first_chunk::<2>()?;
    let count = usize::from(u16::from_le_bytes(*count));
    let (units, after) = after.split_at_checked(2 * count)?;
    let (costs, after) = if *kind == 0 {
        let width = count + 1;
        let (table, after) = after.split_at_checked(width * width)?;
        let mut letters = Vec::new();
        for (letter, c) in (1..=u8::MAX).zip(characters(units)) {
            let code_point = usize::try_from(u32::from(c)).ok()?;
            letters.resize(letters.len().max(code_point + 1), 0);
            *letters.get_mut(code_point)? = letter;
        }
        let costs = Costs::Pairs {
            letters,
            table,
            width,
        };
        (costs, after)
    } else {
        let (table, after) = after.split_at_checked(count)?;
        let (count, after) = after.split_first_chunk::<2>()?;
        let count = usize::from(u16::from_le_bytes(*count));
        let (pairs, after) = after.split_at_checked(4 * count)?;
        let (costs, after) = after.split_at_checked(count)?;
        let cost = |cost: &u8| f64::from(*cost) / STEP;
        let pairs = characters(pairs);
        let pairs = pairs.as_chunks::<2>().0.iter().map(|[a, b]| (*a, *b));
        let singles = characters(units).into_iter();
        let costs = Costs::Singles {
            characters: singles.zip(table.iter().map(cost)).collect(),
            pairs: pairs.zip(costs.iter().map(cost)).collect(),
        };
        (costs, after)
    };
    *rest = after;
    Some(Language {
        code: std::str::from_utf8(code).ok()?.trim_end_matches('\0'),
        costs,
    })
}

/// Characters of two bytes each.
fn characters(units: &[u8]) -> Vec<char> {
    let units = units.as_chunks::<2>().0.iter();
    units
        .filter_map(|unit| char::from_u32(u32::from(u16::from_le_bytes(*unit))))
        .collect()
}
