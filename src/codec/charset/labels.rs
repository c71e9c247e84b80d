//! From a label to a charset, or to a reason and the labels that look like it.

use super::{Charset, UnknownCharset};
use crate::codec::label_key;

impl Charset {
    /// Finds the charset with this label or alias; neither case nor `-` and `_` matter.
    ///
    /// # Errors
    /// No such charset, or one that is kept out on purpose.
    pub fn from_label(label: &str) -> Result<Self, UnknownCharset> {
        let unknown = |reason, near| UnknownCharset {
            label: label.to_owned(),
            reason,
            near,
        };
        let label = label.trim_ascii();
        if let Some((before, _)) = label.split_once("//") {
            let near = with_name(&label_key(before)).map(|charset| charset.label());
            return Err(unknown(Some(LOSSY), near.into_iter().collect()));
        }
        let key = label_key(label);
        if let Some(charset) = with_name(&key) {
            return Ok(charset);
        }
        let reason = refusal(&key);
        let near = reason.map_or_else(|| near(&key), |_| Vec::new());
        Err(unknown(reason, near))
    }

    /// The label and the aliases.
    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.label()).chain(self.aliases())
    }
}

fn with_name(key: &str) -> Option<Charset> {
    Charset::all().find(|charset| charset.names().any(|name| label_key(name) == key))
}

/// The labels that look like this one, nearest first, at most five.
fn near(key: &str) -> Vec<&'static str> {
    /// No label is as long; the comparison takes the product of the lengths.
    const LONGEST: usize = 64;
    /// Below this, names have little more than a digit in common.
    const ALIKE: f64 = 0.6;
    if key.len() > LONGEST {
        return Vec::new();
    }
    let likeness = |name| strsim::normalized_damerau_levenshtein(key, &label_key(name));
    let mut found: Vec<(f64, &'static str)> = Charset::all()
        .map(|charset| {
            let best = charset.names().map(likeness).fold(0.0, f64::max);
            (best, charset.label())
        })
        .filter(|(best, _)| *best >= ALIKE)
        .collect();
    // Stable: of equals, the first in the list is the commonest.
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    found.into_iter().take(5).map(|(_, label)| label).collect()
}

const LOSSY: &str =
    "what it drops or spells in other letters cannot be undone; give the label alone";
const UTF_8: &str =
    "not a legacy charset: names that are UTF-8 are taken as they are and need no charset";
const ASCII: &str = "ASCII is UTF-8 already: such names are taken as they are and need no charset";
const UTF_7: &str =
    "stateful: one name has many spellings, and one of them spells `/` with other bytes";
const WIDE: &str = "its characters have bytes 00 and 2F in them, which no file name can hold: it cannot be on disk";
const STATEFUL: &str =
    "stateful: what a byte means hangs on those before it, and one name has many spellings";
const EBCDIC: &str = "not over ASCII: the byte 61 is `/` there, and the byte 2F is not";
const NO_PART_12: &str =
    "ISO 8859 has no part 12: it was given up; Celtic is iso-8859-14, Baltic iso-8859-13";
const HKSCS: &str = "its characters in rows 87 to A0 are not written back by any table at hand; big5 takes the names without them";

/// Why a charset that has this key is kept out; `None` if it is not one we know.
fn refusal(key: &str) -> Option<&'static str> {
    const BY_START: [(&str, &str); 25] = [
        ("utf8", UTF_8),
        ("csutf8", UTF_8),
        ("cesu8", UTF_8),
        ("wtf8", UTF_8),
        ("usascii", ASCII),
        ("ansix3.4", ASCII),
        ("iso646", ASCII),
        ("utf7", UTF_7),
        ("csutf7", UTF_7),
        ("unicode11utf7", UTF_7),
        ("utf16", WIDE),
        ("csutf16", WIDE),
        ("utf32", WIDE),
        ("csutf32", WIDE),
        ("ucs", WIDE),
        ("csucs", WIDE),
        ("iso10646", WIDE),
        ("iso2022", STATEFUL),
        ("csiso2022", STATEFUL),
        ("hz", STATEFUL),
        ("scsu", STATEFUL),
        ("bocu", STATEFUL),
        ("ebcdic", EBCDIC),
        ("utfebcdic", EBCDIC),
        ("big5hkscs", HKSCS),
    ];
    match key {
        "ascii" | "646" | "cp367" | "ibm367" | "us" | "csascii" | "cp20127" => Some(ASCII),
        "cp65001" => Some(UTF_8),
        "cp65000" => Some(UTF_7),
        "unicode" | "cp1200" | "cp1201" | "cp12000" | "cp12001" => Some(WIDE),
        "cp50220" | "cp50221" | "cp50222" | "cp50225" | "cp50227" | "cp52936" | "jis" => {
            Some(STATEFUL)
        }
        "iso885912" => Some(NO_PART_12),
        _ if is_ebcdic_page(key) => Some(EBCDIC),
        _ => {
            let (_, reason) = BY_START.iter().find(|(start, _)| key.starts_with(start))?;
            Some(reason)
        }
    }
}

/// `ibm037`, `cp500`, `csibm1047`, `ibm01140`, ...
fn is_ebcdic_page(key: &str) -> bool {
    const PAGES: [u16; 46] = [
        37, 256, 273, 274, 275, 277, 278, 280, 281, 284, 285, 290, 297, 420, 423, 424, 500, 833,
        836, 838, 870, 871, 875, 880, 905, 918, 924, 1025, 1026, 1027, 1047, 1097, 1112, 1122,
        1123, 1140, 1141, 1142, 1143, 1144, 1145, 1146, 1147, 1148, 1149, 1388,
    ];
    let digits = ["csibm", "xibm", "ibm", "ccsid", "cp", ""]
        .iter()
        .find_map(|start| key.strip_prefix(start));
    let page = digits.and_then(|digits| digits.parse().ok());
    page.is_some_and(|page: u16| PAGES.contains(&page))
}
