//! UTF-8 that was taken for a legacy charset and encoded again: `é` that became `Ã©`.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

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

/// A name that was encoded as UTF-8 more than once.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubled {
    /// The name.
    pub name: String,
    /// The charsets that it was taken for, one for each time that it was encoded again, the last time first. Of several
    /// that give the same text it is the commonest. ISO-8859-1 has the control characters U+0080..U+009F; in
    /// windows-1252 the bytes 81, 8D, 8F, 90 and 9D, which it does not assign, stand for U+0081 and so on.
    pub routes: Vec<Charset>,
    /// The text before it was encoded again.
    pub text: String,
    /// Probability that this is the text meant, 0.0..=1.0. Low where the name may be meant as it is, or is too short
    /// to tell.
    pub confidence: f64,
}

impl Doubled {
    /// Number of encodings, 2 or more.
    pub fn times(&self) -> usize {
        self.routes.len() + 1
    }

    /// The labels of all charsets that it was taken for.
    pub fn labels(&self) -> String {
        let mut labels: Vec<&str> = self.routes.iter().map(|route| route.label()).collect();
        labels.dedup();
        labels.join(", ")
    }
}

/// Undoes a name that was encoded as UTF-8 twice or more, if the whole of it can be undone and done again byte for byte.
///
/// `None` for ill-formed names, ASCII, and names of which only a part was encoded again: once mended, nothing would
/// tell which part.
///
/// ```
/// use utf8fs::codec::guess::doubly_encoded;
/// let doubled = doubly_encoded("Ð¿Ñ€Ð¸Ð²ÐµÑ‚".as_bytes()).unwrap();
/// assert_eq!((doubled.text.as_str(), doubled.labels().as_str()), ("привет", "windows-1252"));
/// assert_eq!(doubly_encoded("café".as_bytes()), None);
/// ```
pub fn doubly_encoded(name: &[u8]) -> Option<Doubled> {
    let name = std::str::from_utf8(name).ok()?;
    if name.is_ascii() {
        return None;
    }
    let mut best: Option<Doubled> = None;
    let mut as_it_is = None;
    for route in likely_routes(name) {
        let levels = std::iter::successors(undo(route, name), |text| undo(route, text));
        let last = levels.take(MOST_TIMES).enumerate().last();
        let Some((before, text)) = last else {
            continue;
        };
        let as_it_is = *as_it_is.get_or_insert_with(|| probability(name));
        let (prior, enough) = match route {
            ..USUAL_ROUTES => (USUAL_ROUTE, enough_letters(&text)),
            // Three letters of some languages are one character of another by chance.
            _ if is_one_ideograph(&text) => (OTHER_ROUTE, 0.4),
            _ => (OTHER_ROUTE, enough_letters(&text)),
        };
        let odds = prior + EVIDENCE * (probability(&text) - as_it_is);
        let doubled = Doubled {
            name: name.to_owned(),
            routes: vec![*ROUTES.get(route)?; before + 1],
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
    likely_routes(text).any(|route| undo(route, text).is_some())
}

/// Returns the routes whose bytes for the first characters beyond ASCII could start a sequence of UTF-8. That is none
/// for most names, and takes two look-ups instead of twenty.
fn likely_routes(text: &str) -> impl Iterator<Item = usize> {
    let mut characters = text.chars().skip_while(char::is_ascii);
    let mut bytes = || characters.next().and_then(|c| BYTES.get(&c));
    let (first, second) = (bytes(), bytes());
    let is_in = |range: RangeInclusive<u8>, bytes: Option<&Vec<Option<u8>>>, route: usize| {
        let byte = bytes.and_then(|bytes| *bytes.get(route)?);
        byte.is_some_and(|byte| range.contains(&byte))
    };
    (0..ROUTES.len())
        .filter(move |&route| is_in(0xC2..=0xF4, first, route) && is_in(0x80..=0xBF, second, route))
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
    let letters = text.chars().filter(|c| c.is_alphabetic());
    let letters = letters.take(100).count() as f64;
    1.0 - 0.5 / (1.0 + letters).powi(2)
}

/// The logarithm of the probability of a text in any language of the model.
fn probability(text: &str) -> f64 {
    let scored = ScoredText::new(&text.nfc().collect::<String>());
    let languages = model::LANGUAGES.iter();
    weigh::log_sum(languages.map(|language| -scored.cost(language)))
}

/// The text whose bytes were taken for this one by a route; `None` if there is none.
fn undo(route: usize, text: &str) -> Option<String> {
    if text.is_ascii() {
        return None;
    }
    let bytes = text.chars().map(|c| *BYTES.get(&c)?.get(route)?);
    let text = String::from_utf8(bytes.collect::<Option<_>>()?).ok()?;
    is_written(&text).then_some(text)
}

/// Nearly all such names were taken for the first ones.
const USUAL_ROUTES: usize = 2;

/// The charsets that UTF-8 may be taken for.
static ROUTES: LazyLock<Vec<Charset>> = LazyLock::new(|| {
    let labels = [
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
    let charsets = labels.iter().map(|label| Charset::from_label(label).ok());
    charsets.flatten().collect()
});

/// The byte of each character by each route that has it.
static BYTES: LazyLock<HashMap<char, Vec<Option<u8>>>> = LazyLock::new(|| {
    let mut bytes: HashMap<char, Vec<Option<u8>>> = HashMap::new();
    for (route, charset) in ROUTES.iter().enumerate() {
        for byte in 0..=0xFF {
            let c = match charset.decode(&[byte]) {
                Ok(text) => text.chars().next(),
                Err(_) => (charset.label() == "windows-1252").then(|| char::from(byte)),
            };
            let Some(c) = c else { continue };
            let row = bytes.entry(c).or_insert_with(|| vec![None; ROUTES.len()]);
            if let Some(place) = row.get_mut(route) {
                *place = Some(byte);
            }
        }
    }
    bytes
});
