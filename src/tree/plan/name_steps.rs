//! The steps by which a name gets another one: each looks at what the one before made of it.

use std::borrow::Cow;
use std::ops::ControlFlow::{self, Break, Continue};

use super::charset_choice::CharsetChoice;
use super::name_spelling::{candidates, restored, spelled, stored, warning};
use super::plan_options::PlanOptions;
use crate::codec::Charset;
use crate::codec::guess::{TextGuess, doubly_encoded};
use crate::names::{BackingName, CharsetSource, Escapes, percent_decoded};
use crate::records::{Candidate, Kind, PlanLine, Reason, Warning};

/// A name that is less likely than this to have been encoded again is meant as it is.
const LIKELY: f64 = 0.25;

/// Among others that were surely encoded again, this is enough.
const AMONG_OTHERS: f64 = 0.5;

/// A step. It breaks off with the line of a name that stays; with none if nothing is amiss with the name.
type NameStep<'n> = fn(&mut NameDraft<'n>) -> ControlFlow<Option<PlanLine>>;

/// What was made of a name so far.
struct NameDraft<'n> {
    options: &'n PlanOptions,
    choice: &'n CharsetChoice,
    old: &'n BackingName,
    /// The bytes of the name, without escapes.
    bytes: Cow<'n, [u8]>,
    /// The text of these bytes.
    text: String,
    /// What was found about the name first; then the change is about that.
    reason: Option<Reason>,
    charset: Option<Charset>,
    confidence: Option<f64>,
    candidates: Vec<Candidate>,
    warning: Option<Warning>,
    /// The conforming name of the text, and the problem that the text had.
    spelled: Option<(BackingName, Reason)>,
    /// The name as it is stored.
    new: Option<BackingName>,
}

/// Takes all steps with a name. Returns its line; `None` if nothing is amiss with it.
pub(super) fn take_steps(
    options: &PlanOptions,
    choice: &CharsetChoice,
    old: &BackingName,
) -> Option<PlanLine> {
    let mut draft = NameDraft {
        options,
        choice,
        old,
        bytes: Cow::Borrowed(old.as_bytes()),
        text: String::new(),
        reason: None,
        charset: None,
        confidence: None,
        candidates: Vec::new(),
        warning: None,
        spelled: None,
        new: None,
    };
    let steps: [NameStep<'_>; 6] = [
        NameDraft::unescape,
        NameDraft::decode,
        NameDraft::undo_double_encoding,
        NameDraft::restore_private_use,
        NameDraft::spell,
        NameDraft::store,
    ];
    for step in steps {
        if let Break(line) = step(&mut draft) {
            return line;
        }
    }
    Some(PlanLine {
        new: draft.new,
        charset: draft.charset,
        confidence: draft.confidence,
        candidates: draft.candidates,
        warning: draft.warning,
        ..left(old, draft.reason.unwrap_or_default(), None)
    })
}

/// Returns the line of a name that stays.
pub(super) fn left(
    old: &BackingName,
    reason: Reason,
    candidates: impl IntoIterator<Item = Candidate>,
) -> PlanLine {
    PlanLine {
        candidates: candidates.into_iter().collect(),
        ..PlanLine::new(old.clone(), Kind::Unknown, 0, reason)
    }
}

impl NameDraft<'_> {
    /// Leaves the name as it is.
    fn leave(
        &self,
        reason: Reason,
        candidates: impl IntoIterator<Item = Candidate>,
    ) -> ControlFlow<Option<PlanLine>> {
        Break(Some(left(self.old, reason, candidates)))
    }

    /// Takes the escapes out that are asked for.
    fn unescape(&mut self) -> ControlFlow<Option<PlanLine>> {
        let name = self.old.as_bytes();
        let unescaped = match self.options.unescape {
            Some(Escapes::Utf8fs) => {
                let spelling = self.options.map.escaped_spelling(name);
                spelling.map(|spelling| spelling.as_bytes().to_vec())
            }
            Some(Escapes::Percent) => percent_decoded(name),
            None => None,
        };
        let Some(unescaped) = unescaped else {
            return Continue(());
        };
        // Text beside bytes of a charset: neither reading would be right for both.
        let is_mixed = !is_text(&unescaped) && is_text(name) && !name.is_ascii();
        if is_mixed {
            return self.leave(Reason::NoSpelling, None);
        }
        self.bytes = Cow::Owned(unescaped);
        self.reason = Some(Reason::Escaped);
        Continue(())
    }

    /// Reads the bytes as UTF-8, else in a charset.
    fn decode(&mut self) -> ControlFlow<Option<PlanLine>> {
        if let Ok(text) = str::from_utf8(&self.bytes) {
            self.text = text.to_owned();
            return Continue(());
        }
        let read = match &self.options.from {
            CharsetSource::Leave => return Break(None),
            CharsetSource::Charsets(charsets) => charsets
                .iter()
                .find_map(|charset| Some((charset.decode_reversibly(&self.bytes)?, *charset))),
            CharsetSource::Auto => Some(self.guess()?),
        };
        let Some((text, charset)) = read else {
            return self.leave(Reason::Unreadable, None);
        };
        self.reason.get_or_insert(Reason::Decoded);
        self.warning = warning(&text);
        self.charset = Some(charset);
        self.text = text;
        Continue(())
    }

    /// Returns the likeliest text of the bytes, if it is sure enough, and its charset.
    fn guess(&mut self) -> ControlFlow<Option<PlanLine>, (String, Charset)> {
        let mut guesses = self.choice.mixture.read(&self.bytes);
        let is_likely = |best: &TextGuess| best.confidence >= self.options.least;
        if !guesses.first().is_some_and(is_likely) {
            let candidates = candidates(self.options, &guesses, &self.bytes);
            let reason = match candidates.as_slice() {
                [] => Reason::Unreadable,
                _ => Reason::Unsure,
            };
            return Break(Some(left(self.old, reason, candidates)));
        }
        let best = guesses.remove(0);
        self.candidates = candidates(self.options, &guesses, &self.bytes);
        self.confidence = Some(best.confidence);
        Continue((best.text, best.charset))
    }

    /// Takes the text that was encoded twice, if nothing else was found about the name.
    fn undo_double_encoding(&mut self) -> ControlFlow<Option<PlanLine>> {
        if !self.options.fix_double || self.reason.is_some() {
            return Continue(());
        }
        let doubled = doubly_encoded(self.text.as_bytes());
        let Some(doubled) = doubled.filter(|doubled| doubled.confidence >= LIKELY) else {
            return Continue(());
        };
        let charset = doubled.routes.first().copied();
        let confidence = Some(doubled.confidence);
        // One name alone may be meant as it is; many of one directory are not.
        let least = self.options.least;
        let is_among_others = doubled.confidence >= AMONG_OTHERS && self.choice.doubled >= least;
        if is_among_others || doubled.confidence >= least {
            self.reason = Some(Reason::Doubled);
            (self.charset, self.confidence) = (charset, confidence);
            self.text = doubled.text;
        } else if self.options.policy().conforms(self.old.as_bytes()) {
            let name = BackingName::parse(doubled.text.as_bytes()).ok();
            let candidate = name.map(|name| Candidate {
                name,
                charset,
                confidence,
            });
            return self.leave(Reason::Unsure, candidate);
        }
        Continue(())
    }

    /// Puts the characters back that private-use characters stand for.
    fn restore_private_use(&mut self) -> ControlFlow<Option<PlanLine>> {
        if let Some(restored) = restored(self.options, &self.text) {
            self.reason.get_or_insert(Reason::Mapped);
            self.text = restored;
        }
        Continue(())
    }

    /// Makes a conforming name of the text.
    fn spell(&mut self) -> ControlFlow<Option<PlanLine>> {
        match spelled(self.options, &self.text, self.old.as_bytes()) {
            Ok(spelled) => {
                self.spelled = Some(spelled);
                Continue(())
            }
            Err((reason, cut)) => {
                let cut = cut.map(|name| Candidate {
                    name,
                    charset: self.charset,
                    confidence: self.confidence,
                });
                self.leave(reason, cut)
            }
        }
    }

    /// Puts the name into the charset that names are stored in, and decides what the change is about.
    fn store(&mut self) -> ControlFlow<Option<PlanLine>> {
        let Some((spelled, problem)) = self.spelled.take() else {
            return Break(None);
        };
        let Some(stored) = stored(self.options, spelled) else {
            return self.leave(Reason::Unmappable, None);
        };
        if stored == *self.old {
            return Break(None);
        }
        let reason = match self.reason {
            _ if !is_text(stored.as_bytes()) => Reason::Encoded,
            Some(Reason::Decoded) if problem != Reason::Form => problem,
            Some(reason) => reason,
            None => problem,
        };
        self.reason = Some(reason);
        self.new = Some(stored);
        Continue(())
    }
}

fn is_text(name: &[u8]) -> bool {
    str::from_utf8(name).is_ok()
}
