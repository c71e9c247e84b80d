//! The charsets that names are likely in, for people and as JSON.

use super::CliError;
use crate::cli::output::{Output, quoted};
use crate::codec::guess::{Doubled, Guess, Guesser};
use crate::records::{GuessRecord, json_line, percent};

/// Guesses that people are shown.
const SHOWN: usize = 5;

/// Guesses less likely than this are not shown to people.
const WORTH_SHOWING: f64 = 0.01;

/// Charsets that read the names alike and are named to people.
const ALIKE: usize = 4;

/// Examples that people are shown with each guess.
const EXAMPLES: usize = 4;

/// Prints what was guessed of the names that `guesser` was given.
///
/// # Errors
/// Standard output cannot be written.
pub(super) fn print(guesser: &Guesser, is_json: bool, out: &mut Output) -> Result<(), CliError> {
    let lines = if is_json {
        let guesses = guesser.guesses();
        let doubled = guesser.doubled();
        let guesses = guesses.iter().map(GuessRecord::from);
        let guesses = guesses.chain(doubled.as_ref().map(GuessRecord::from));
        guesses.map(|guess| json_line(&guess)).collect()
    } else {
        lines(guesser)
    };
    lines.iter().try_for_each(|line| out.line(line))
}

fn lines(guesser: &Guesser) -> Vec<String> {
    let all = guesser.ill_formed + guesser.well_formed;
    let mut lines = Vec::new();
    let guesses = guesser.guesses();
    if guesses.is_empty() {
        let none = "no charset on offer reads any of them";
        lines.push(match guesser.ill_formed {
            0 => format!("ill-formed names: 0 of {all}; there is no charset to guess"),
            ill_formed => format!("ill-formed names: {ill_formed} of {all}; {none}"),
        });
    } else {
        let ill_formed = guesser.ill_formed;
        lines.push(format!(
            "ill-formed names: {ill_formed} of {all}; likely written in"
        ));
    }
    for guess in worth_showing(&guesses) {
        lines.extend(guess_lines(guess));
    }
    if let Some(doubled) = guesser.doubled() {
        lines.push(format!(
            "UTF-8 that was taken for another charset and encoded again, likely: {} of {} names beyond ASCII",
            doubled.names, doubled.of
        ));
        lines.push(format!(
            "  {:>5}  as these show",
            percent(doubled.confidence)
        ));
        let examples = doubled.examples.iter().take(EXAMPLES);
        lines.extend(examples.map(doubled_line));
    }
    lines
}

/// The guesses that people are shown.
pub(super) fn worth_showing(guesses: &[Guess]) -> impl Iterator<Item = &Guess> {
    let is_worth = |guess: &&Guess| guess.confidence >= WORTH_SHOWING;
    guesses.iter().filter(is_worth).take(SHOWN)
}

/// A guess and some examples, for people.
pub(super) fn guess_lines(guess: &Guess) -> Vec<String> {
    let mut labels = guess.charset.label().to_owned();
    let alike = guess
        .alike
        .iter()
        .take(ALIKE)
        .map(|charset| charset.label());
    let alike: Vec<&str> = alike.collect();
    let more = match guess.alike.len().saturating_sub(ALIKE) {
        0 => String::new(),
        more => format!(" and {more} others"),
    };
    if !alike.is_empty() {
        labels.push_str(&format!(" (read alike by {}{more})", alike.join(", ")));
    }
    let head = format!(
        "  {:>5}  {labels}, which reads {} of {}",
        percent(guess.confidence),
        guess.read,
        guess.of
    );
    let examples = guess.examples.iter().take(EXAMPLES).map(|example| {
        let name = quoted(&example.name);
        example.text.as_ref().map_or_else(
            || format!("         {name}  not read"),
            |text| {
                let (text, percent) = (quoted(text.as_bytes()), percent(example.confidence));
                format!("         {name}  {text}  {percent} for this name")
            },
        )
    });
    std::iter::once(head).chain(examples).collect()
}

pub(super) fn doubled_line(example: &Doubled) -> String {
    format!(
        "         {}  {}, encoded {} times, over {}",
        quoted(example.encoded_again().as_bytes()),
        quoted(example.text.as_bytes()),
        example.times(),
        example.labels()
    )
}
