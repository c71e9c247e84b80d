//! A line of a plan in words.

use super::directory_plan::DirectoryPlan;
use crate::codec::Charset;
use crate::names::Quoted;
use crate::records::{PlanLine, Reason, describe, join_path, percent};

/// Most readings that are shown of a name that is left.
const SHOWN: usize = 2;

impl DirectoryPlan {
    /// Returns a line of text for each entry that `has` takes.
    pub fn text(&self, has: impl Fn(&PlanLine) -> bool) -> String {
        let mut text = String::with_capacity(self.lines.len() * 160);
        for line in self.lines.iter().filter(|line| has(line)) {
            let path = join_path(line.directory.iter().chain([&line.old]));
            let outcome = line.outcome();
            let between = match (line.is_left(), outcome.is_empty()) {
                (true, false) => "; ",
                (true, true) => " ",
                (false, _) => "  ",
            };
            text += &format!("{}{outcome}", Quoted(&path));
            if line.is_left() || line.reason != Reason::Target {
                text += between;
                text += &line.cause(line.confidence);
            }
            text += &line.others();
            text.push('\n');
        }
        text
    }
}

impl PlanLine {
    /// Returns the entry and what becomes of it, without the cause.
    pub fn change(&self) -> String {
        let old = Quoted(self.old.as_bytes());
        format!("{old}{}{}", self.outcome(), self.others())
    }

    /// Returns why the entry changes or stays, without its name.
    pub fn cause(&self, confidence: Option<f64>) -> String {
        // A person decided to leave the name, and is not warned.
        let is_by_person = self.is_left() && !self.reason.is_of_what_stays();
        let stays = self.what_stays();
        let mut text = stays.map_or_else(String::new, |stays| format!("{stays}: "));
        text += match is_by_person {
            true => "the plan leaves it",
            false => describe(self.reason),
        };
        if !self.is_left() && self.new.is_some() {
            text += &guess(self.charset, confidence);
        }
        if !is_by_person {
            text += &self.beware();
        }
        text
    }

    /// Returns the warning, as the end of a line.
    pub(super) fn beware(&self) -> String {
        let warning = self.warning.map(describe);
        warning.map_or_else(String::new, |warning| format!("; beware: {warning}"))
    }

    /// Returns the likeliest names that an entry which is left could get.
    fn others(&self) -> String {
        let candidates = self.candidates.iter().take(SHOWN);
        let candidates = candidates.filter(|_| self.is_left()).map(|candidate| {
            let name = Quoted(candidate.name.as_bytes());
            let guess = guess(candidate.charset, candidate.confidence);
            format!("; {name}?{guess}")
        });
        candidates.collect()
    }
}

fn guess(charset: Option<Charset>, confidence: Option<f64>) -> String {
    let charset = charset.map(|charset| format!(" from {}", charset.label()));
    let confidence = confidence.map(|confidence| format!(" ({})", percent(confidence)));
    charset.into_iter().chain(confidence).collect()
}
