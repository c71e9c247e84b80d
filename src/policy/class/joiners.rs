//! Invisible characters where Unicode has a use for them: joiners, variation selectors and tags (UTS 39, section 3.1.1; UTS 51).

use std::iter::Peekable;

use super::joiner_table::{
    CONJUNCT_LETTERS, CONJUNCT_MARKS, DEPENDENT_VOWELS, HAS_PRESENTATIONS, HAS_VS1, HAS_VS2,
    HAS_VS3, IDEOGRAPHS, JOINS_NEXT, JOINS_PREVIOUS, MONGOLIAN_LETTERS, PICTOGRAPHS,
    REORDERED_MARKS, TRANSPARENT, VIRAMAS,
};

const ZERO_WIDTH_NON_JOINER: char = '\u{200C}';
const ZERO_WIDTH_JOINER: char = '\u{200D}';
const EMOJI_PRESENTATION: char = '\u{FE0F}';
const BLACK_FLAG: char = '\u{1F3F4}';
const CANCEL_TAG: char = '\u{E007F}';

/// The regions whose flags are sequences of tags, each with the end of the sequence: England, Scotland and Wales.
const TAGGED_REGIONS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];

/// The characters before an invisible one, nearest first, and after it. Neither goes beyond a forbidden character, which would be
/// escaped and so be another.
pub(super) struct Neighbours<B: Iterator<Item = char>, A: Iterator<Item = char>> {
    pub(super) before: B,
    pub(super) after: A,
}

impl<B: Iterator<Item = char> + Clone, A: Iterator<Item = char> + Clone> Neighbours<B, A> {
    /// Has `c` a use between these?
    pub(super) fn have_use_for(&self, c: char) -> bool {
        match c {
            ZERO_WIDTH_NON_JOINER => self.break_a_cursive_connection() || self.part_a_conjunct(),
            ZERO_WIDTH_JOINER => {
                self.join_a_conjunct() || self.keep_a_letter_whole() || self.join_emoji()
            }
            '\u{FE00}' => self.follow(HAS_VS1) || self.follow(IDEOGRAPHS),
            '\u{FE01}' => self.follow(HAS_VS2) || self.follow(IDEOGRAPHS),
            '\u{FE02}' => self.follow(HAS_VS3) || self.follow(IDEOGRAPHS),
            '\u{FE0E}' => self.follow(HAS_PRESENTATIONS),
            EMOJI_PRESENTATION => self.follow(HAS_PRESENTATIONS) || self.are_of_a_keycap(),
            '\u{E0100}'..='\u{E01EF}' => self.follow(IDEOGRAPHS),
            '\u{180B}'..='\u{180D}' | '\u{180F}' => self.follow(MONGOLIAN_LETTERS),
            '\u{180E}' => self.separate_a_vowel(),
            '\u{E0020}'..=CANCEL_TAG => self.are_of_a_tagged_flag(c),
            _ => false,
        }
    }

    /// Is the character before one of these?
    fn follow(&self, table: &[(char, char)]) -> bool {
        self.before.clone().next().is_some_and(|c| has(table, c))
    }

    /// Context A1: between letters that would be joined, as in Persian.
    fn break_a_cursive_connection(&self) -> bool {
        let is_opaque = |c: &char| !has(TRANSPARENT, *c);
        let before = self.before.clone().find(is_opaque);
        let after = self.after.clone().find(is_opaque);
        before.is_some_and(|c| has(JOINS_NEXT, c)) && after.is_some_and(|c| has(JOINS_PREVIOUS, c))
    }

    /// Context A2: between a letter with a virama and another letter.
    fn part_a_conjunct(&self) -> bool {
        let next = self.after.clone().find(|&c| !has(REORDERED_MARKS, c));
        self.follow_a_virama() && next.is_some_and(|c| has(CONJUNCT_LETTERS, c))
    }

    /// Context B: behind a letter with a virama, before anything but a vowel that is written as a mark.
    fn join_a_conjunct(&self) -> bool {
        let next = self.after.clone().next();
        self.follow_a_virama() && !next.is_some_and(|c| has(DEPENDENT_VOWELS, c))
    }

    /// Is there a letter before with marks and a virama, and behind that none but marks that are reordered with it?
    fn follow_a_virama(&self) -> bool {
        let mut before = self.before.clone().peekable();
        while before
            .next_if(|&c| has(REORDERED_MARKS, c) && !has(VIRAMAS, c))
            .is_some()
        {}
        let has_virama = before.next_if(|&c| has(VIRAMAS, c)).is_some();
        has_virama && is_behind_a_letter(&mut before)
    }

    /// Between a letter and a virama with another letter: the first keeps its form, in Bengali and Kannada the letter ra before ya,
    /// in Sinhala any (The Unicode Standard, sections 12.2, 12.8 and 13.2).
    fn keep_a_letter_whole(&self) -> bool {
        let mut after = self.after.clone();
        let is_kept = |c| matches!(c, '\u{9B0}' | '\u{9F0}' | '\u{CB0}' | '\u{D9A}'..='\u{DC6}');
        self.before.clone().next().is_some_and(is_kept)
            && after.next().is_some_and(|c| has(VIRAMAS, c))
            && after.next().is_some_and(|c| has(CONJUNCT_LETTERS, c))
    }

    /// `emoji_zwj_sequence` of UTS 51: between emoji, of which the one before may have a skin tone or a presentation.
    fn join_emoji(&self) -> bool {
        let mut before = self.before.clone().peekable();
        let is_presented = before.next_if_eq(&EMOJI_PRESENTATION).is_some();
        if !is_presented {
            before.next_if(|c| matches!(c, '\u{1F3FB}'..='\u{1F3FF}'));
        }
        let is_emoji = |c| has(PICTOGRAPHS, c) && (!is_presented || has(HAS_PRESENTATIONS, c));
        let after = self.after.clone().next();
        before.next().is_some_and(is_emoji) && after.is_some_and(|c| has(PICTOGRAPHS, c))
    }

    /// Of a digit, `#` or `*` in a frame.
    fn are_of_a_keycap(&self) -> bool {
        let is_key = |c| matches!(c, '0'..='9' | '#' | '*');
        self.before.clone().next().is_some_and(is_key)
            && self.after.clone().next() == Some('\u{20E3}')
    }

    /// Between a Mongolian letter, which may have a selector, and the vowel at the end of the word.
    fn separate_a_vowel(&self) -> bool {
        let mut before = self.before.clone().peekable();
        before.next_if(|c| matches!(c, '\u{180B}'..='\u{180D}' | '\u{180F}'));
        before.next().is_some_and(|c| has(MONGOLIAN_LETTERS, c))
            && matches!(self.after.clone().next(), Some('\u{1820}' | '\u{1821}'))
    }

    /// Behind a black flag, of a sequence of tags that is the flag of a region.
    fn are_of_a_tagged_flag(&self, tag: char) -> bool {
        let is_tag = |c: &char| matches!(c, '\u{E0020}'..='\u{E007E}');
        let mut region: Vec<char> = self.before.clone().take_while(is_tag).collect();
        let flag = self.before.clone().nth(region.len());
        region.reverse();
        region.push(tag);
        let mut after = self.after.clone();
        while region.last() != Some(&CANCEL_TAG) {
            match after.next() {
                Some(next) if is_tag(&next) || next == CANCEL_TAG => region.push(next),
                _ => return false,
            }
        }
        region.pop();
        let letters = region
            .iter()
            .filter_map(|&tag| char::from_u32(u32::from(tag) - 0xE0000));
        let letters: String = letters.collect();
        flag == Some(BLACK_FLAG) && TAGGED_REGIONS.contains(&&*letters)
    }
}

fn is_behind_a_letter(before: &mut Peekable<impl Iterator<Item = char>>) -> bool {
    let is_mark = |c: char| has(CONJUNCT_MARKS, c) || has(VIRAMAS, c);
    while before.next_if(|&c| is_mark(c)).is_some() {}
    before.next().is_some_and(|c| has(CONJUNCT_LETTERS, c))
}

/// Is `c` in one of these ranges, which ascend?
fn has(ranges: &[(char, char)], c: char) -> bool {
    let after = ranges.partition_point(|&(first, _)| first <= c);
    let range = after.checked_sub(1).and_then(|index| ranges.get(index));
    range.is_some_and(|&(_, last)| c <= last)
}
