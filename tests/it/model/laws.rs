//! The reference for names: what one is shown and stored as, by the laws alone, slowly, from scratch each time.
//! It shares with the program the policy (what conforms) and the codec (charsets, forms), nothing else.

use rustix::io::Errno;
use sha2::{Digest, Sha256};
use utf8fs::codec::{Charset, Form};
use utf8fs::policy::{Alike, Class, Policy, Rule, is_component};

/// `--legacy`, law N6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Legacy {
    Decode,
    Escape,
    Raw,
    Hide,
}

/// `--on-violation`, law N9.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnViolation {
    Reject,
    Normalize,
    Report,
}

#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) policy: Policy,
    pub(crate) legacy: Legacy,
    pub(crate) from: Vec<Charset>,
    /// N12: the first of `from`, where new names are stored in it.
    pub(crate) store_as: Option<Charset>,
    pub(crate) on_violation: OnViolation,
    /// `--unique`: in what no two names may differ alone.
    pub(crate) unique: Option<Alike>,
}

/// A character or an escape: what a cut never divides.
type Pieces = Vec<Vec<u8>>;

impl Settings {
    /// The first way of showing a backing name when no sibling takes anything.
    pub(crate) fn visible_alone(&self, name: &[u8]) -> Option<Vec<u8>> {
        if self.policy.conforms(name) || self.legacy == Legacy::Raw {
            return Some(name.to_vec());
        }
        (self.legacy != Legacy::Hide)
            .then(|| (0..).find_map(|way| self.way(name, way)))
            .flatten()
    }

    /// N6: the `number`th way of showing a name that does not conform: 0 plain, else escaped with that many `%`.
    pub(super) fn way(&self, name: &[u8], number: usize) -> Option<Vec<u8>> {
        let pieces = match number {
            0 => self.plain(name, self.legacy == Legacy::Decode)?,
            _ => self.escape(name, number),
        };
        let shown = self.cut(&pieces, number.max(1), name);
        self.allows_mapped(&self.policy, &shown).then_some(shown)
    }

    /// The text of a name in the wanted form, with what is forbidden in it escaped.
    fn plain(&self, name: &[u8], decode: bool) -> Option<Pieces> {
        let text = match std::str::from_utf8(name) {
            Ok(text) => text.to_owned(),
            Err(_) if decode => self
                .from
                .iter()
                .find_map(|charset| charset.decode_reversibly(name))?,
            Err(_) => return None,
        };
        let text = self.in_form(&text);
        if !is_component(text.as_bytes()) {
            return None;
        }
        if self.policy.offences(text.as_bytes()).is_empty() {
            return Some(text.chars().map(|c| c.to_string().into_bytes()).collect());
        }
        Some(self.escape(text.as_bytes(), 1))
    }

    pub(super) fn in_form(&self, text: &str) -> String {
        self.policy
            .form
            .map_or_else(|| text.to_owned(), |form| form.apply(text))
    }

    /// `name` with its offending octets, or if that is not enough all beyond ASCII too, as `%`s and two hex digits.
    fn escape(&self, name: &[u8], percents: usize) -> Pieces {
        let mut bad = vec![false; name.len()];
        for offence in self.policy.offences(name) {
            bad[offence.offset..offence.offset + offence.length].fill(true);
        }
        let narrow = escape_octets(name, &bad, percents);
        let unlimited = Policy {
            max_bytes: usize::MAX,
            max_chars: None,
            max_utf16: None,
            ..self.policy.clone()
        };
        if self.allows_mapped(&unlimited, &narrow.concat()) {
            return narrow;
        }
        for (bad, octet) in bad.iter_mut().zip(name) {
            *bad |= !octet.is_ascii();
        }
        escape_octets(name, &bad, percents)
    }

    /// Conforms, but for the marks `%` and `~` that POSIX's set lacks and mapped names need.
    fn allows_mapped(&self, policy: &Policy, name: &[u8]) -> bool {
        let mut name = name.to_vec();
        if policy.forbid.contains(&Class::NotPosix) {
            name.iter_mut()
                .filter(|octet| matches!(octet, b'%' | b'~'))
                .for_each(|octet| *octet = b'_');
        }
        policy.conforms(&name)
    }

    /// N7: what is too long is cut and ends in `~`s, a hash of `hashed`, and the extension.
    fn cut(&self, pieces: &Pieces, tildes: usize, hashed: &[u8]) -> Vec<u8> {
        let whole = pieces.concat();
        let fits = |name: &[u8]| {
            std::str::from_utf8(name).is_ok() && self.policy.over_a_limit(name).is_none()
        };
        if fits(&whole) {
            return whole;
        }
        let mark = "~".repeat(tildes) + &hash(hashed);
        let mut tail = [mark.as_bytes(), extension(&whole)].concat();
        if !fits(&tail) {
            tail = mark.into_bytes();
        }
        let mut prefix = Vec::new();
        for piece in pieces {
            if !fits(&[&prefix[..], piece, &tail].concat()) {
                break;
            }
            prefix.extend_from_slice(piece);
        }
        [prefix, tail].concat()
    }

    /// N9: the conforming name that a new name stands for, or the rule that it breaks.
    pub(crate) fn normalized(&self, name: &[u8]) -> Result<Vec<u8>, Rule> {
        let Err(offence) = self.policy.check(name) else {
            return Ok(name.to_vec());
        };
        // Hashed is the text in the wanted form, which all spellings of it share.
        let text = || {
            let decode = || {
                self.from
                    .iter()
                    .find_map(|charset| charset.decode_reversibly(name))
            };
            let text = std::str::from_utf8(name)
                .ok()
                .map(str::to_owned)
                .or_else(decode);
            text.map_or_else(Vec::new, |text| self.in_form(&text).into_bytes())
        };
        self.plain(name, true)
            .map(|pieces| self.cut(&pieces, 1, &text()))
            .filter(|result| self.policy.conforms(result))
            .ok_or(offence.rule)
    }

    /// N10: is `spelling` what `name`, which does not conform, would be escaped as? With any number of signs, which is that
    /// of the first ones in it; where it is cut, with 8 at most.
    pub(super) fn is_escape(&self, name: &[u8], spelling: &[u8]) -> bool {
        let maps = matches!(self.legacy, Legacy::Decode | Legacy::Escape);
        if !maps || self.policy.conforms(name) {
            return false;
        }
        let first = spelling.iter().position(|&octet| octet == b'%');
        let signs = spelling[first.unwrap_or(0)..]
            .iter()
            .take_while(|&&octet| octet == b'%')
            .count();
        let is_way = |way: usize| self.way(name, way).as_deref() == Some(spelling);
        signs > 0 && self.escape(name, signs).concat() == spelling && is_way(signs)
            || spelling.contains(&b'~') && (1..=8).any(is_way)
    }

    /// N12: what is on disk for a conforming name, or nothing where the charset lacks it.
    fn in_charset(&self, name: &[u8]) -> Option<Vec<u8>> {
        let Some(charset) = self.store_as else {
            return Some(name.to_vec());
        };
        let text = std::str::from_utf8(name).ok()?;
        // Charsets have composed letters.
        let composed = (self.policy.form == Some(Form::Nfd)).then(|| Form::Nfc.apply(text));
        let composed = composed.and_then(|text| charset.encode(&text).ok());
        let octets = composed.or_else(|| charset.encode(text).ok())?;
        // N1: what is UTF-8 by chance would be shown by that text.
        let is_misread = self.visible_alone(&octets).as_deref() != Some(name);
        Some(if is_misread { name.to_vec() } else { octets })
    }

    /// N9, N12: what a new name is stored as, or the errno of the refusal.
    pub(super) fn stored(&self, name: &[u8]) -> Result<Vec<u8>, Errno> {
        let Err(offence) = self.policy.check(name) else {
            return match (self.in_charset(name), self.on_violation) {
                (Some(stored), _) => Ok(stored),
                (None, OnViolation::Report) => Ok(name.to_vec()),
                (None, _) => Err(Errno::ILSEQ),
            };
        };
        let refused = |rule| match rule {
            Rule::TooLong { .. } => Errno::NAMETOOLONG,
            _ => Errno::ILSEQ,
        };
        match self.on_violation {
            OnViolation::Reject => Err(refused(offence.rule)),
            OnViolation::Normalize => {
                let name = self.normalized(name).map_err(refused)?;
                self.in_charset(&name).ok_or(Errno::ILSEQ)
            }
            OnViolation::Report if name.len() > 255 => Err(Errno::NAMETOOLONG),
            OnViolation::Report => Ok(name.to_vec()),
        }
    }
}

/// A name whose ill-formed octets are all `bad`, in pieces.
fn escape_octets(name: &[u8], bad: &[bool], percents: usize) -> Pieces {
    let mut pieces = Pieces::new();
    for (&octet, &bad) in name.iter().zip(bad) {
        match pieces.last_mut() {
            _ if bad || octet == b'%' => {
                let escape = "%".repeat(percents) + &format!("{octet:02X}");
                pieces.push(escape.into_bytes());
            }
            // A continuation byte that is not bad belongs to the character before it.
            Some(piece) if octet & 0xC0 == 0x80 => piece.push(octet),
            _ => pieces.push(vec![octet]),
        }
    }
    pieces
}

/// The first 80 bits of SHA-256 in the lower case of RFC 4648's base32.
fn hash(name: &[u8]) -> String {
    let digest = Sha256::digest(name);
    let bits: u128 = digest
        .iter()
        .take(10)
        .fold(0, |bits, &octet| bits << 8 | u128::from(octet));
    (0..16)
        .rev()
        .map(|place| {
            let five = usize::try_from(bits >> (5 * place) & 31).unwrap();
            char::from(b"abcdefghijklmnopqrstuvwxyz234567"[five])
        })
        .collect()
}

/// From the last `.`, where 1 to 12 characters follow and something precedes; else nothing.
fn extension(name: &[u8]) -> &[u8] {
    let text = std::str::from_utf8(name).unwrap();
    match text.rfind('.') {
        Some(dot @ 1..) if (1..=12).contains(&text[dot + 1..].chars().count()) => &name[dot..],
        _ => b"",
    }
}
