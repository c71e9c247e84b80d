//! A plan in words: its lines for people, and both formats of its file.

use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::directory_plan::DirectoryPlan;
use crate::codec::Charset;
use crate::names::Quoted;
use crate::records::{
    PLAN_VERSION, PlanEnd, PlanHeader, PlanLine, Reason, describe, join_path, json_line, percent,
};

/// Most readings that are shown of a name that is left.
const SHOWN: usize = 2;

/// Format of a plan.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum PlanFormat {
    /// A line of JSON for each entry, for programs
    Json,
    /// The old and the new name in quotes, a line for each change, for people; names that stay are comments
    Readable,
}

impl PlanFormat {
    /// Returns the start of a tree.
    pub fn header(self, header: &PlanHeader) -> String {
        match self {
            Self::Json => json_line(header) + "\n",
            Self::Readable => {
                let (version, root) = (header.version, &header.root);
                let to = header.to.map(|charset| format!(" to {}", charset.label()));
                let to = to.unwrap_or_default();
                let options = Quoted(header.options.as_bytes());
                format!("plan {version} of {root}{to} by {options}\n")
            }
        }
    }

    /// Returns the lines of a directory.
    pub fn directory(self, plan: &DirectoryPlan) -> String {
        let lines = plan.lines.iter();
        match (self, plan.lines.first()) {
            (Self::Json, _) => lines.map(|line| json_line(line) + "\n").collect(),
            (Self::Readable, None) => String::new(),
            (Self::Readable, Some(first)) => {
                let path = [b"/".as_slice(), &plan.path()].concat();
                let inode = first.directory_inode;
                let lines: String = lines.map(PlanLine::readable).collect();
                format!("\nin {} {inode}\n{lines}", Quoted(&path))
            }
        }
    }

    /// Returns the end of the plan.
    pub fn end(self) -> String {
        let version = PLAN_VERSION;
        match self {
            Self::Json => json_line(&PlanEnd { version }) + "\n",
            Self::Readable => format!("\nend of plan {version}\n"),
        }
    }
}

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
    /// Returns what becomes of the entry, to follow its old name.
    pub fn outcome(&self) -> String {
        let mut outcome = String::new();
        if let Some(new) = &self.new {
            outcome += &format!(" -> {}", Quoted(new.as_bytes()));
        }
        if let Some(same) = &self.same_as {
            outcome += &format!(" is set aside for {}", Quoted(same.as_bytes()));
        }
        outcome + &self.leads()
    }

    /// Returns where the link leads, and where it will lead.
    fn leads(&self) -> String {
        let targets = self.target.as_ref().zip(self.new_target.as_ref());
        targets.map_or_else(String::new, |(target, new)| {
            format!(" leads to {target} -> {new}")
        })
    }

    /// Returns the lines of a readable plan for this entry. An entry that is left is a comment, and so is each candidate, or a
    /// line into which a name can be written.
    pub fn readable(&self) -> String {
        let kind: &str = self.kind.into();
        let old = Quoted(self.old.as_bytes());
        let tail = format!("{kind} {}", self.inode);
        let (outcome, cause) = (self.outcome(), self.cause(None));
        let mut text = if !self.is_left() {
            // A name that is not given has no text.
            let charset = self.charset.filter(|_| self.new.is_some());
            let confidence = self.confidence.filter(|_| self.new.is_some());
            let reading = reading(charset, confidence, self.reason);
            format!("{old}{outcome}  {tail}  # {reading}{}\n", self.beware())
        } else if outcome.is_empty() {
            format!("# {old} {cause}\n")
        } else {
            format!("{old}{outcome}  {tail}  # {cause}\n")
        };
        let leads = self.leads();
        if self.is_left() && self.new.is_none() && self.candidates.is_empty() {
            text += &format!("#{old} -> \"\"{leads}  {tail}\n");
        }
        for candidate in self.candidates.iter().filter(|_| self.is_left()) {
            let name = Quoted(candidate.name.as_bytes());
            let reading = reading(candidate.charset, candidate.confidence, self.reason);
            text += &format!("#{old} -> {name}{leads}  {tail}  # {reading}\n");
        }
        text
    }

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
    fn beware(&self) -> String {
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

/// Returns the charset of a text, its likelihood, and what else the text had; or the reason of a change without a charset.
fn reading(charset: Option<Charset>, confidence: Option<f64>, reason: Reason) -> String {
    let mut words = charset
        .map_or_else(|| describe(reason), Charset::label)
        .to_owned();
    if let Some(confidence) = confidence {
        words += &format!(" {}", percent(confidence));
    }
    if charset.is_some() && matches!(reason, Reason::Forbidden | Reason::TooLong) {
        words += &format!(", {}", describe(reason));
    }
    words
}
