//! Classes of characters, as far as guessing goes.

/// The script of a letter. Han, kana and hangul are one: words mix them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    Latin,
    Greek,
    Cyrillic,
    Hebrew,
    Arabic,
    Thai,
    EastAsian,
    /// The katakana of one byte in `Shift_JIS`.
    HalfKana,
    Other,
}

/// The script of a letter, `None` for what is no letter. A combining mark has the script of what it stands on.
pub(super) fn of(c: char, before: Option<Script>) -> Option<Script> {
    match c {
        '×' | '÷' | '・' => None,
        'A'..='Z' | 'a'..='z' | 'À'..='\u{2AF}' | '\u{1E00}'..='\u{1EFF}' => Some(Script::Latin),
        // Signs, most of which need no look at a table below.
        '\0'..='\u{BF}' | '\u{2000}'..='\u{206F}' | '\u{2500}'..='\u{25FF}' => None,
        '\u{300}'..='\u{36F}' => Some(before.unwrap_or(Script::Other)),
        '\u{370}'..='\u{3FF}' | '\u{1F00}'..='\u{1FFF}' if c.is_alphabetic() => Some(Script::Greek),
        '\u{400}'..='\u{481}' => Some(Script::Cyrillic),
        '\u{482}'..='\u{52F}' if c.is_alphabetic() => Some(Script::Cyrillic),
        '\u{591}'..='\u{5F4}' => Some(Script::Hebrew),
        '\u{620}'..='\u{65F}' | '\u{66E}'..='\u{6D3}' => Some(Script::Arabic),
        '\u{E01}'..='\u{E3A}' | '\u{E40}'..='\u{E4E}' => Some(Script::Thai),
        '々' | '〇' | '\u{3041}'..='\u{30FE}' | '\u{3400}'..='\u{9FFF}' => {
            Some(Script::EastAsian)
        }
        '\u{AC00}'..='\u{D7A3}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}' => {
            Some(Script::EastAsian)
        }
        '\u{FF66}'..='\u{FF9F}' => Some(Script::HalfKana),
        _ if c.is_alphabetic() => Some(Script::Other),
        _ => None,
    }
}

/// The cost of going from one script to another within a word, in nats.
pub(super) fn switch(from: Script, to: Script) -> f64 {
    let has = |script| from == script || to == script;
    if has(Script::HalfKana) {
        6.0
    } else if has(Script::EastAsian) {
        2.5
    } else if has(Script::Arabic) || has(Script::Thai) {
        4.0
    } else if has(Script::Hebrew) {
        7.0
    } else {
        8.0
    }
}
