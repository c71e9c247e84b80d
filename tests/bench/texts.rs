//! What is measured: names as people give them, and long texts.

use utf8fs::codec::Encoding;

/// Octets of a long text.
const LONG: usize = 64 << 10;

/// Names of 8 to 40 octets: ASCII, French, Russian, Japanese.
pub(crate) const NAMES: [&str; 24] = [
    "README.md",
    "Cargo.lock",
    "IMG_20240317_142233.jpg",
    "libcrypto.so.3",
    "2023-annual-report-final-v2.pdf",
    "node_modules",
    "Makefile.am",
    "index.html",
    "été à la plage.jpg",
    "Procès-verbal du 3 février.odt",
    "Noël chez Hélène.mov",
    "reçu n°12.pdf",
    "Œuvres complètes.epub",
    "modèle.docx",
    "Отчёт за март.xlsx",
    "фото.jpg",
    "Договор №17.doc",
    "музыка и кино",
    "Письмо.txt",
    "写真.jpg",
    "会議の議事録.txt",
    "見積書_最終.xls",
    "こんにちは.md",
    "東京タワー.png",
];

/// The long texts: what they are, and a piece of each to be repeated.
pub(crate) const TEXTS: [(&str, &str); 5] = [
    (
        "ASCII",
        "The quick brown fox jumps over the lazy dog, and again. ",
    ),
    (
        "Latin",
        "Dès Noël où un zéphyr haï me vêt de glaçons würmiens, je dîne d'exquis rôtis. ",
    ),
    (
        "Cyrillic",
        "Съешь ещё этих мягких французских булок, да выпей же чаю. ",
    ),
    ("CJK", "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏"),
    ("emoji", "😀🎉🚀🌍🍕🎸🐙🏔🧭🦀"),
];

/// The text, repeated up to [`LONG`] octets.
pub(crate) fn long(text: &str) -> String {
    text.repeat(LONG / text.len())
}

/// The text in that form, where it can be: `utf-8-bmp` and UCS-2 have no emoji.
pub(crate) fn in_form(text: &str, encoding: Encoding) -> Option<Vec<u8>> {
    let code_points: Vec<u32> = text.chars().map(u32::from).collect();
    encoding.encode(&code_points).ok()
}

/// The forms that names on disk can be in by the options of a mount.
pub(crate) const OF_MOUNTS: [Encoding; 4] = [
    Encoding::Utf8,
    Encoding::Utf8Rfc2279,
    Encoding::FssUtf,
    Encoding::Utf8Bmp,
];
