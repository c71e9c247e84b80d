//! The charsets that names are likely in, for people and as JSON.

use crate::cli::output::{Output, quoted};
use crate::codec::guess::{Doubled, Guess, Guesser, likely};
use crate::records::{GuessRecord, json_line, percent};

/// Charsets that read the names alike and are named to people.
const ALIKE: usize = 4;

/// Examples that people are shown with each guess.
const EXAMPLES: usize = 4;

/// Prints what was guessed of the names that `guesser` was given.
pub(super) fn print(guesser: &Guesser, is_json: bool, out: &Output) {
    let lines = if is_json {
        let guesses = guesser.guesses();
        let doubled = guesser.doubled();
        let guesses = guesses.iter().map(GuessRecord::from);
        let guesses = guesses.chain(doubled.as_ref().map(GuessRecord::from));
        guesses.map(|guess| json_line(&guess)).collect()
    } else {
        lines(guesser)
    };
    out.lines(lines);
}

fn lines(guesser: &Guesser) -> Vec<String> {
    let all = guesser.ill_formed + guesser.well_formed;
    let guesses = guesser.guesses();
    let what = match (guesser.ill_formed, guesses.is_empty()) {
        (0, true) => "there is no charset to guess",
        (_, true) => "no charset on offer reads any of them",
        (_, false) => "likely written in",
    };
    let mut lines = vec![format!(
        "ill-formed names: {} of {all}; {what}",
        guesser.ill_formed
    )];
    lines.extend(likely(&guesses).flat_map(guess_lines));
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

/// A guess and some examples, for people.
pub(super) fn guess_lines(guess: &Guess) -> Vec<String> {
    let mut labels = guess.charset.label().to_owned();
    let alike = guess.alike.iter().take(ALIKE);
    let alike: Vec<&str> = alike.map(|charset| charset.label()).collect();
    let more = match guess.alike.len().saturating_sub(ALIKE) {
        0 => String::new(),
        more => format!(" and {more} others"),
    };
    if !alike.is_empty() {
        labels.push_str(&format!(" (read alike by {}{more})", alike.join(", ")));
    }
    let (percent_read, read, of) = (percent(guess.confidence), guess.read, guess.of);
    let head = format!("  {percent_read:>5}  {labels}, which reads {read} of {of}");
    let examples = guess.examples.iter().take(EXAMPLES).map(|example| {
        let name = quoted(&example.name);
        let Some(text) = &example.text else {
            return format!("         {name}  not read");
        };
        let (text, percent) = (quoted(text.as_bytes()), percent(example.confidence));
        format!("         {name}  {text}  {percent} for this name")
    });
    std::iter::once(head).chain(examples).collect()
}

pub(super) fn doubled_line(example: &Doubled) -> String {
    let name = quoted(example.name.as_bytes());
    let (text, times, route) = (
        quoted(example.text.as_bytes()),
        example.times(),
        example.labels(),
    );
    format!("         {name}  {text}, encoded {times} times, over {route}")
}
