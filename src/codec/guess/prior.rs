//! Probabilities before any name is seen: charsets, and the languages written in them.

/// Frequency of a charset for names on disks and in archives, against the others, and the languages written in it.
pub(super) struct Prior {
    pub(super) label: &'static str,
    pub(super) weight: f64,
    /// Codes of the model, between spaces.
    pub(super) languages: &'static str,
}

/// Languages by how many names they write, against the others; those not here: 1.
pub(super) const LANGUAGES: [(&str, f64); 13] = [
    ("de", 6.0),
    ("fr", 6.0),
    ("es", 6.0),
    ("pt", 4.0),
    ("it", 3.0),
    ("pl", 3.0),
    ("ru", 10.0),
    ("sv", 2.0),
    ("nl", 2.0),
    ("cs", 2.0),
    ("tr", 2.0),
    ("uk", 2.0),
    ("zh-hans", 10.0),
];

const WESTERN: &str = "de fr es pt it sv nl da nb fi ca is ga gd";
const CENTRAL: &str = "pl cs sk hu hr sl ro";
const CYRILLIC: &str = "ru uk bg be sr mk";
const BALTIC: &str = "lt lv et";

const fn prior(label: &'static str, weight: f64, languages: &'static str) -> Prior {
    Prior {
        label,
        weight,
        languages,
    }
}

/// A row for each charset on offer. Where charsets read alike, the heavier names the reading: the plain ISO label
/// before Windows' superset, the older before the newer.
pub(super) static PRIORS: [Prior; 52] = [
    prior("iso-8859-1", 60.0, WESTERN),
    prior("iso-8859-2", 14.0, CENTRAL),
    prior("iso-8859-3", 0.3, "eo mt"),
    prior("iso-8859-4", 0.5, "lt lv et fi sv"),
    prior("iso-8859-5", 1.5, CYRILLIC),
    prior("iso-8859-6", 2.0, "ar"),
    prior("iso-8859-7", 5.0, "el"),
    prior("iso-8859-8", 3.0, "he"),
    prior("iso-8859-9", 6.0, "tr"),
    prior("iso-8859-10", 0.2, "is sv fi lt lv et"),
    prior("iso-8859-11", 3.0, "th"),
    prior("iso-8859-13", 2.0, BALTIC),
    prior("iso-8859-14", 0.2, "cy ga gd"),
    prior("iso-8859-15", 25.0, WESTERN),
    prior("iso-8859-16", 0.3, "ro hu pl hr"),
    prior("windows-874", 3.0, "th"),
    prior("windows-1250", 13.0, CENTRAL),
    prior("windows-1251", 30.0, CYRILLIC),
    prior("windows-1252", 50.0, WESTERN),
    prior("windows-1253", 4.5, "el"),
    prior("windows-1254", 5.0, "tr"),
    prior("windows-1255", 3.5, "he"),
    prior("windows-1256", 6.0, "ar fa"),
    prior("windows-1257", 3.0, BALTIC),
    prior("windows-1258", 1.5, "vi"),
    prior("koi8-r", 25.0, "ru"),
    prior("koi8-u", 4.0, "uk ru"),
    prior("macintosh", 10.0, WESTERN),
    prior("x-mac-cyrillic", 1.0, CYRILLIC),
    prior("ibm437", 22.0, WESTERN),
    prior("cp720", 0.8, "ar"),
    prior("cp737", 3.0, "el"),
    prior("ibm775", 1.0, BALTIC),
    prior("ibm850", 25.0, WESTERN),
    prior("ibm852", 8.0, CENTRAL),
    prior("ibm855", 0.4, "bg sr mk ru"),
    prior("ibm857", 2.0, "tr"),
    prior("ibm00858", 2.0, WESTERN),
    prior("ibm860", 0.3, "pt"),
    prior("ibm861", 0.2, "is"),
    prior("ibm862", 2.0, "he"),
    prior("ibm863", 0.2, "fr"),
    prior("ibm864", 0.1, "ar"),
    prior("ibm865", 0.4, "da nb sv fi"),
    prior("ibm866", 25.0, "ru uk be bg"),
    prior("ibm869", 0.4, "el"),
    prior("shift_jis", 30.0, "ja"),
    prior("euc-jp", 15.0, "ja"),
    prior("euc-kr", 15.0, "ko"),
    prior("gbk", 30.0, "zh-hans ja"),
    prior("gb18030", 3.0, "zh-hans ja"),
    prior("big5", 15.0, "zh-hant"),
];
