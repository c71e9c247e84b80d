//! Maps one backing name to its visible name, and a new name to the one that is stored.

#[cfg(test)]
pub(super) mod tests;

use std::borrow::Cow;
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::escape::{Pieces, escape, unescape};
use super::shorten::{mark, shorten};
use super::{BackingName, VisibleName};
use crate::codec::{Charset, Form};
use crate::policy::{Class, ErrnoChoice, NAME_MAX, Offence, Policy, Rule};

/// How a backing name that does not conform is shown (law N6).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Legacy {
    /// As text in the first charset of --from that decodes the name, else escaped (default with --from)
    Decode,
    /// With each offending byte as % and two hex digits: caf%E9.txt (default without --from)
    Escape,
    /// Unchanged: such names can be read, renamed and removed, but not created
    Raw,
    /// Not at all
    Hide,
}

/// What becomes of an attempt to make a name that does not conform (law N9).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum OnViolation {
    /// Refuse it (default)
    Reject,
    /// Create the conforming name that it stands for, or refuse it if there is none
    Normalize,
    /// Create it unchanged, and log it
    Report,
}

/// The mapping between backing and visible names: a pure function of names and these settings (law N4).
#[derive(Debug, Clone)]
pub struct NameMap {
    /// The policy that decides whether a name conforms.
    pub policy: Policy,
    /// Treatment of backing names that do not conform.
    pub legacy: Legacy,
    /// The charsets that ill-formed names may be in, in the order in which they are tried.
    pub from: Vec<Charset>,
    /// The charset that new names are stored in (law N12), the first of `from`; `None` stores them as they are.
    pub store_as: Option<Charset>,
    /// Treatment of new names that do not conform.
    pub on_violation: OnViolation,
    /// The errno of a refusal.
    pub errno: ErrnoChoice,
}

impl NameMap {
    /// Says whether an absent name has to be sought among the mapped ones. Never for ASCII names without `%` and `~`:
    /// no mapping yields such a name (law N8). A wanted form is an exception: it turns U+212A into `K`, U+037E into
    /// `;` and U+1FEF into a backtick, so that names with these may be mapped too (law N3).
    pub fn may_be_mapped(&self, visible: &[u8]) -> bool {
        self.maps() && visible.iter().any(|&byte| self.may_yield(byte))
    }

    /// Can a mapping yield a name with that byte?
    fn may_yield(&self, byte: u8) -> bool {
        match byte {
            b'%' | b'~' => true,
            b'K' | b';' | b'`' => self.policy.form.is_some(),
            _ => !byte.is_ascii(),
        }
    }

    /// Are there names that are shown as others?
    pub fn maps(&self) -> bool {
        matches!(self.legacy, Legacy::Decode | Legacy::Escape)
    }

    /// Can entries be reached by other spellings than the one that they are listed under (law N10)? So it is wherever names are
    /// mapped: by their escapes.
    pub fn has_spellings(&self) -> bool {
        self.maps() || self.on_violation != OnViolation::Reject || self.policy.form.is_some()
    }

    /// Says whether `visible`, a conforming backing name, has no alias (law N10). Always so where neither `normalize`
    /// nor a wanted form gives names aliases; else so for the names that no mapping yields (law N8).
    pub fn is_only_spelling(&self, visible: &[u8]) -> bool {
        (self.policy.form.is_none() && self.on_violation != OnViolation::Normalize)
            || !visible.iter().any(|&byte| self.may_yield(byte))
    }

    /// Returns the other names under which the entry of `name` may be listed, which does not conform and is not
    /// listed itself (law N10). These are its wanted form and, where names are normalized, its normalized form.
    pub fn spellings(&self, name: &[u8], normalizes: bool) -> impl Iterator<Item = VisibleName> {
        let in_form = self
            .is_well_formed(name)
            .then(|| VisibleName::parse(&self.policy.in_form(name)).ok())
            .flatten()
            .filter(|spelling| spelling.as_bytes() != name);
        let normalized = normalizes.then(|| self.normalized(name).ok()).flatten();
        // Cut, a name that lies below has another hash than a new one of its text.
        let as_below = normalized
            .is_some()
            .then(|| self.plain_candidate(name))
            .flatten();
        in_form.into_iter().chain(normalized).chain(as_below)
    }

    /// Can `name` be the escape of an entry that is visible otherwise, and so another spelling of it (law N10)?
    pub fn may_be_escaped(&self, name: &[u8]) -> bool {
        self.maps() && name.iter().any(|octet| matches!(octet, b'%' | b'~'))
    }

    /// Returns the backing name whose escape, with any number of signs, is `name` (law N10). Does not check that it
    /// exists. Escapes that were cut cannot be taken back: [`super::Index::cut_spelling`] finds those.
    pub fn escaped_spelling(&self, name: &[u8]) -> Option<BackingName> {
        let (backing, percents) = self.maps().then(|| unescape(name)).flatten()?;
        let backing = BackingName::parse(&backing).ok()?;
        let is_its_escape = || {
            self.escape_candidate(backing.as_bytes(), percents)
                .as_bytes()
                == name
        };
        (!self.policy.conforms(backing.as_bytes()) && is_its_escape()).then_some(backing)
    }

    /// The backing name that a new entry gets which is to be visible as `visible`, a conforming name that no entry has
    /// (law N12).
    ///
    /// A name whose bytes in the charset would be read as UTF-8, and so be visible as another (law N1), is stored as it
    /// is.
    ///
    /// # Errors
    /// The charset lacks one of its characters, or its bytes in the charset are more than a name can have.
    pub fn stored(&self, visible: &VisibleName) -> Result<BackingName, Offence> {
        let Some(charset) = self.store_as.filter(|_| !visible.as_bytes().is_ascii()) else {
            return Ok(visible.as_backing());
        };
        let unmappable = |offset: usize, code_point: Option<u32>, length| Offence {
            code_point,
            ..Offence::new(Rule::Unmappable(charset), offset, length)
        };
        let text = core::str::from_utf8(visible.as_bytes()).map_err(|error| {
            let offset = error.valid_up_to();
            let rest = visible.as_bytes().get(offset..).unwrap_or_default();
            let piece = self.policy.encoding.first(rest);
            let code_point = piece.and_then(|piece| piece.spells.ok());
            unmappable(offset, code_point, piece.map_or(1, |piece| piece.length))
        })?;
        // Charsets have composed letters, which the wanted form may take apart.
        let composed = (self.policy.form == Some(Form::Nfd)).then(|| Form::Nfc.apply(text));
        let octets = composed.and_then(|text| charset.encode(&text).ok());
        let octets = octets
            .map_or_else(|| charset.encode(text), Ok)
            .map_err(|lacking| {
                let (offset, c) = (lacking.offset, lacking.unmappable);
                unmappable(offset, Some(u32::from(c)), c.len_utf8())
            })?;
        if octets.len() > NAME_MAX {
            return Err(Offence::over_name_max(octets.len(), 0, text.len()));
        }
        // Checked after the last step: it is one component, and is read as what was asked for (laws C5, N1).
        let is_read_so = !self.policy.conforms(&octets)
            && self
                .text(&octets, true)
                .is_some_and(|read| self.policy.in_form(&read) == text.as_bytes());
        let backing = BackingName::parse(&octets).ok().filter(|_| is_read_so);
        Ok(backing.unwrap_or_else(|| visible.as_backing()))
    }

    /// The backing names in the charsets that are tried which would be visible as `visible` without siblings; whether they are there is
    /// another question.
    pub fn legacy_spellings(&self, visible: &VisibleName) -> impl Iterator<Item = BackingName> {
        let text = core::str::from_utf8(visible.as_bytes());
        let text = text.ok().filter(|_| self.legacy == Legacy::Decode);
        let charsets = self.from.iter().zip(text.into_iter().cycle());
        charsets
            .filter_map(|(charset, text)| BackingName::parse(&charset.encode(text).ok()?).ok())
            .filter(|backing| self.visible_alone(backing).as_ref() == Some(visible))
    }

    /// The conforming name that a new name stands for (law N9).
    ///
    /// # Errors
    /// The first offence of `name` where it stands for no conforming name. Either it is ill-formed and no charset of
    /// `--from` takes it, or the result does not conform either.
    pub fn normalized(&self, name: &[u8]) -> Result<VisibleName, Offence> {
        let Err(offence) = self.policy.check(name) else {
            return VisibleName::parse(name);
        };
        if offence.rule == Rule::NotAComponent {
            return Err(offence);
        }
        self.text(name, true)
            // Hashed is the text, which is one for all spellings of it.
            .map(|text| self.plain(&text, &self.policy.in_form(&text)))
            .filter(|normalized| self.policy.conforms(normalized))
            .and_then(|normalized| VisibleName::parse(&normalized).ok())
            .ok_or(offence)
    }

    /// Returns the visible name of a backing name that is shown as it is.
    pub fn itself(&self, name: &BackingName) -> Option<VisibleName> {
        let is_shown = self.legacy == Legacy::Raw || self.policy.conforms(name.as_bytes());
        is_shown.then(|| name.as_visible())
    }

    /// Returns the visible name that a backing name has in a directory of its own; `None` if it is hidden.
    pub fn visible_alone(&self, name: &BackingName) -> Option<VisibleName> {
        if let Some(itself) = self.itself(name) {
            return Some(itself);
        }
        if self.legacy == Legacy::Hide {
            return None;
        }
        // The first of its candidates, since no sibling has it.
        let plain = self.plain_candidate(name.as_bytes());
        Some(plain.unwrap_or_else(|| self.escape_candidate(name.as_bytes(), 1)))
    }

    /// Returns the visible name that a backing name which does not conform has by its text. The text is decoded where
    /// it is ill-formed, in the wanted form, with forbidden characters escaped; `None` where it has no text. The
    /// result is checked after the last step: it is one component of a path and conforms. The marks `%` and `~` are
    /// let through, though the profile `posix` refuses them in other names (laws C5 and N5).
    pub(super) fn plain_candidate(&self, name: &[u8]) -> Option<VisibleName> {
        let text = self.text(name, self.legacy == Legacy::Decode)?;
        self.spelled(&text, name)
    }

    /// Spells the well-formed `text` that the backing name `name` stands for. It is in the wanted form, with
    /// forbidden characters escaped, cut to length with the hash of `name`. `None` where it does not conform, the
    /// marks aside.
    pub fn spelled(&self, text: &[u8], name: &[u8]) -> Option<VisibleName> {
        let visible = self.plain(text, name);
        (self.conforms_but_for_marks(&visible))
            .then(|| VisibleName::parse(&visible).ok())
            .flatten()
    }

    /// Returns the visible name that a backing name which does not conform has by its bytes. Each offending byte is
    /// escaped by `percents` percent signs, 1 or more. There always is one, with any number of signs, so that no
    /// entry is ever lost: where the escaped name would not conform, the mark of a cut stands alone.
    pub fn escape_candidate(&self, name: &[u8], percents: usize) -> VisibleName {
        // An escape longer than the limit is cut away, so that it need not be longer still.
        let signs = percents.min(self.policy.max_bytes.saturating_add(1));
        let visible = shorten(self.escaped(name, signs), &self.policy, percents, name);
        if self.conforms_but_for_marks(&visible) {
            VisibleName(visible.into())
        } else {
            VisibleName(mark(name, percents).into())
        }
    }

    fn is_well_formed(&self, name: &[u8]) -> bool {
        self.policy.encoding.validate(name).is_ok()
    }

    /// Returns the text of a name: itself where it is well-formed. Else, if `decode`, the text in the first charset
    /// that takes it and gives it back byte for byte.
    fn text<'a>(&self, name: &'a [u8], decode: bool) -> Option<Cow<'a, [u8]>> {
        if self.is_well_formed(name) {
            return Some(Cow::Borrowed(name));
        }
        let mut charsets = self.from.iter().filter(|_| decode);
        let text = charsets.find_map(|charset| charset.decode_reversibly(name))?;
        Some(Cow::Owned(text.into()))
    }

    /// `text` in the wanted form, with forbidden characters escaped, cut to length with the hash of `name`.
    fn plain(&self, text: &[u8], name: &[u8]) -> Vec<u8> {
        let text = self.policy.in_form(text);
        let pieces = if self.policy.offences(&text).is_empty() {
            Pieces::of(&text, self.policy.encoding)
        } else {
            self.escaped(&text, 1)
        };
        shorten(pieces, &self.policy, 1, name)
    }

    /// Escapes the offending bytes of `name`: those of ill-formed sequences and forbidden characters. Escapes every
    /// non-ASCII byte too where the rest is not in the wanted form. It may never have been, or an escape's last digit
    /// would combine with a mark behind it.
    fn escaped(&self, name: &[u8], percents: usize) -> Pieces {
        let mut offends = vec![false; name.len()];
        for offence in self.policy.offences(name) {
            let span = offence.offset..offence.offset + offence.length;
            offends.get_mut(span).unwrap_or_default().fill(true);
        }
        let is_marked = |offset: usize| offends.get(offset).copied().unwrap_or(true);
        let narrowly = |percents| escape(name, percents, |offset, _| is_marked(offset));
        let in_form = |bytes: &[u8]| self.is_well_formed(bytes) && self.policy.is_in_form(bytes);
        // Only the digits of an escape are next to what follows, so that one sign tells as much as many.
        if in_form(&narrowly(1).bytes) {
            narrowly(percents)
        } else {
            escape(name, percents, |offset, octet| {
                is_marked(offset) || !octet.is_ascii()
            })
        }
    }

    fn conforms_but_for_marks(&self, visible: &[u8]) -> bool {
        if !self.policy.forbid.contains(&Class::NotPosix) {
            return self.policy.conforms(visible);
        }
        let without_marks: Vec<u8> = visible
            .iter()
            .map(|&byte| match byte {
                b'%' | b'~' => b'_',
                other => other,
            })
            .collect();
        self.policy.conforms(&without_marks)
    }
}
