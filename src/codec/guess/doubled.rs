//! UTF-8 that was taken for a legacy charset and encoded again: `é` that became `Ã©`.

use std::collections::HashMap;
use std::sync::OnceLock;

use unicode_normalization::UnicodeNormalization;

use super::model;
use super::scored_text::ScoredText;
use super::weigh;
use crate::codec::Charset;

/// The most times that a name is undone; real ones were seen up to three times.
const MOST_TIMES: usize = 7;

/// The confidence from which a text is undone over another charset too.
const SURE: f64 = 0.9;

/// The log probability that a name was encoded again, before it is seen: through Latin-1 or Windows-1252, and through
/// another charset.
const USUAL_ROUTE: f64 = -4.0;
const OTHER_ROUTE: f64 = -6.5;

/// Evidence of neighbouring letters is not independent: it counts this part.
const EVIDENCE: f64 = 0.7;

/// The charset that the bytes of UTF-8 were taken for when they were encoded again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// ISO-8859-1, with its control characters U+0080..U+009F.
    Latin1,
    /// Windows-1252; the bytes 81, 8D, 8F, 90 and 9D, which it does not assign, stand for U+0081 and so on.
    Windows1252,
    /// Another charset: the Macintosh's, DOS's, Cyrillic ones.
    Other(Charset),
}

impl Route {
    /// The label of the charset.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Latin1 => "iso-8859-1",
            Self::Windows1252 => "windows-1252",
            Self::Other(charset) => charset.label(),
        }
    }
}

/// A name that was encoded as UTF-8 more than once.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubled {
    /// The charsets that it was taken for, one for each time that it was encoded again, the last time first. Of several
    /// that give the same text it is the first of [`Route`].
    pub routes: Vec<Route>,
    /// The text before it was encoded again.
    pub text: String,
    /// Probability that this is the text meant, 0.0..=1.0. Low where the name may be meant as it is, or is too short
    /// to tell.
    pub confidence: f64,
}

impl Doubled {
    /// Number of encodings, 2 or more.
    #[must_use]
    pub fn times(&self) -> usize {
        self.routes.len() + 1
    }

    /// The label of the charset that it was taken for last.
    #[must_use]
    pub fn label(&self) -> &'static str {
        self.routes.first().map_or("", |route| route.label())
    }

    /// The labels of all charsets that it was taken for.
    #[must_use]
    pub fn labels(&self) -> String {
        let mut labels: Vec<&str> = self.routes.iter().map(|route| route.label()).collect();
        labels.dedup();
        labels.join(", ")
    }

    /// The name again: the text, encoded over each route.
    ///
    /// ```
    /// use utf8fs::codec::guess::doubly_encoded;
    /// let name = "CafÃ© de la Gare";
    /// let doubled = doubly_encoded(name.as_bytes()).unwrap();
    /// assert_eq!(doubled.text, "Café de la Gare");
    /// assert_eq!(doubled.encoded_again(), name);
    /// ```
    #[must_use]
    pub fn encoded_again(&self) -> String {
        let routes = self.routes.iter().rev();
        routes.fold(self.text.clone(), |text, route| {
            let table = tables().iter().find(|table| table.route == *route);
            table.map_or(text.clone(), |table| table.redo(&text))
        })
    }
}

/// Undoes a name that was encoded as UTF-8 twice or more, if the whole of it can be undone and done again byte for byte.
///
/// `None` for ill-formed names, ASCII, and names of which only a part was encoded again: once mended, nothing would
/// tell which part.
///
/// ```
/// use utf8fs::codec::guess::{Route, doubly_encoded};
/// let doubled = doubly_encoded("Ð¿Ñ€Ð¸Ð²ÐµÑ‚".as_bytes()).unwrap();
/// assert_eq!((doubled.text.as_str(), doubled.routes), ("привет", vec![Route::Windows1252]));
/// assert_eq!(doubly_encoded("café".as_bytes()), None);
/// ```
#[must_use]
pub fn doubly_encoded(name: &[u8]) -> Option<Doubled> {
    let name = std::str::from_utf8(name).ok()?;
    if name.is_ascii() {
        return None;
    }
    let mut best: Option<Doubled> = None;
    let mut as_it_is = None;
    for table in likely_tables(name) {
        let levels = std::iter::successors(table.undo(name), |text| table.undo(text));
        let mut levels: Vec<String> = levels.take(MOST_TIMES).collect();
        let times = levels.len();
        let Some(text) = levels.pop() else {
            continue;
        };
        let as_it_is = *as_it_is.get_or_insert_with(|| probability(name));
        let prior = match table.route {
            Route::Latin1 | Route::Windows1252 => USUAL_ROUTE,
            Route::Other(_) => OTHER_ROUTE,
        };
        let odds = prior + EVIDENCE * (probability(&text) - as_it_is);
        let enough = match table.route {
            // By the unusual routes, three letters of some languages are one character of another by chance.
            Route::Other(_) if is_one_ideograph(&text) => 0.4,
            Route::Latin1 | Route::Windows1252 | Route::Other(_) => enough_letters(&text),
        };
        let doubled = Doubled {
            routes: vec![table.route; times],
            confidence: enough / (1.0 + (-odds).exp()),
            text,
        };
        if best
            .as_ref()
            .is_none_or(|best| best.confidence < doubled.confidence)
        {
            best = Some(doubled);
        }
    }
    let mut best = best?;
    if let Some(before) = doubly_encoded(best.text.as_bytes())
        && before.confidence >= SURE
    {
        best.routes.extend(before.routes);
        best.confidence = best.confidence.min(before.confidence);
        best.text = before.text;
    }
    Some(best)
}

/// Whether any route undoes the text.
pub(super) fn is_undone(text: &str) -> bool {
    likely_tables(text).any(|table| table.undo(text).is_some())
}

/// Returns the tables whose bytes for the first characters beyond ASCII could start a sequence of UTF-8. That is none
/// for most names, and takes two look-ups instead of twenty.
fn likely_tables(text: &str) -> impl Iterator<Item = &'static Table> {
    /// For each character: a bit for each table in which it is a lead byte, and one for each in which it is a continuation.
    static ROLES: OnceLock<HashMap<char, (u16, u16)>> = OnceLock::new();
    let roles = ROLES.get_or_init(|| {
        let mut roles: HashMap<char, (u16, u16)> = HashMap::new();
        for (index, table) in tables().iter().enumerate() {
            for (c, byte) in &table.bytes {
                let (leads, continuations) = roles.entry(*c).or_default();
                match byte {
                    0xC2..=0xF4 => *leads |= 1 << index,
                    0x80..=0xBF => *continuations |= 1 << index,
                    _ => {}
                }
            }
        }
        roles
    });
    let start = text.bytes().position(|byte| !byte.is_ascii());
    let mut characters = start
        .and_then(|start| text.get(start..))
        .unwrap_or_default()
        .chars();
    let mut role = || characters.next().and_then(|c| roles.get(&c).copied());
    let likely = role().map_or(0, |(leads, _)| leads);
    let likely = likely & role().map_or(0, |(_, continuations)| continuations);
    let tables = tables().iter().enumerate();
    tables
        .filter(move |(index, _)| likely >> index & 1 == 1)
        .map(|(_, table)| table)
}

/// Is all that is not ASCII one character of three octets or more?
fn is_one_ideograph(text: &str) -> bool {
    let mut beyond = text.chars().filter(|c| !c.is_ascii());
    beyond.next().is_some_and(|c| c >= '\u{800}') && beyond.next().is_none()
}

/// Is all of it in planes in which characters are that people write?
fn is_written(text: &str) -> bool {
    text.chars().all(|c| u32::from(c) < 0x4_0000)
}

/// A name of one letter may be meant; of many, it tells.
fn enough_letters(text: &str) -> f64 {
    let letters = text
        .chars()
        .filter(|c| c.is_alphabetic())
        .take(100)
        .map(|_| 1.0)
        .sum::<f64>();
    1.0 - 0.5 / (1.0 + letters).powi(2)
}

/// The logarithm of the probability of a text in any language of the model.
fn probability(text: &str) -> f64 {
    let scored = ScoredText::new(&text.nfc().collect::<String>());
    let costs: Vec<f64> = model::languages()
        .iter()
        .map(|language| -scored.cost(language))
        .collect();
    weigh::log_sum(costs.into_iter())
}

/// The meaning of each byte.
struct Table {
    route: Route,
    /// Characters of the bytes 80..FF.
    characters: Vec<Option<char>>,
    bytes: HashMap<char, u8>,
}

impl Table {
    fn new(route: Route, charset: Charset) -> Self {
        let is_1252 = route == Route::Windows1252;
        let characters: Vec<Option<char>> = (0x80..=0xFF)
            .map(|byte: u8| {
                let text = charset.decode_reversibly(&[byte]);
                let character = text.and_then(|text| text.chars().next());
                character.or_else(|| is_1252.then(|| char::from(byte)))
            })
            .collect();
        let bytes = (0x80..=0xFF)
            .zip(&characters)
            .filter_map(|(byte, c)| Some(((*c)?, byte)))
            .collect();
        Self {
            route,
            characters,
            bytes,
        }
    }

    /// The text whose bytes were taken for this one; `None` if there is none.
    fn undo(&self, text: &str) -> Option<String> {
        if text.is_ascii() {
            return None;
        }
        let byte = |c: char| {
            u8::try_from(c)
                .ok()
                .filter(u8::is_ascii)
                .or_else(|| self.bytes.get(&c).copied())
        };
        let bytes = text.chars().map(byte).collect::<Option<Vec<u8>>>()?;
        String::from_utf8(bytes)
            .ok()
            .filter(|text| is_written(text))
    }

    /// The opposite of [`Self::undo`].
    fn redo(&self, text: &str) -> String {
        let character = |byte: u8| match byte.checked_sub(0x80) {
            None => char::from(byte),
            Some(high) => self
                .characters
                .get(usize::from(high))
                .copied()
                .flatten()
                .unwrap_or(char::REPLACEMENT_CHARACTER),
        };
        text.bytes().map(character).collect()
    }
}

fn tables() -> &'static [Table] {
    static TABLES: OnceLock<Vec<Table>> = OnceLock::new();
    TABLES.get_or_init(|| {
        const ROUTES: [&str; 10] = [
            "iso-8859-1",
            "windows-1252",
            "macintosh",
            "ibm437",
            "ibm850",
            "windows-1251",
            "ibm866",
            "koi8-r",
            "windows-1250",
            "ibm852",
        ];
        let table = |label: &&str| {
            let charset = Charset::from_label(label).ok()?;
            let route = match *label {
                "iso-8859-1" => Route::Latin1,
                "windows-1252" => Route::Windows1252,
                _ => Route::Other(charset),
            };
            Some(Table::new(route, charset))
        };
        ROUTES.iter().filter_map(table).collect()
    })
}
