//! The allow-list (law C4): every charset on offer, its other names, where its tables are, and how common it is.

use std::sync::LazyLock;

use super::multi_byte::Characters;
use super::single_byte::{Source, Table};

/// A row for each charset; the comment at its start says what is in the columns.
const ROWS: &str = include_str!("charsets.txt");

/// A charset on offer.
pub(super) struct CatalogueEntry {
    pub(super) label: &'static str,
    pub(super) tables: Tables,
    /// How often names are in it, against the others.
    pub(super) weight: f64,
    /// Codes of the languages that are written in it, between commas.
    pub(super) languages: &'static str,
    /// Its other names, between spaces.
    pub(super) aliases: &'static str,
}

/// The tables of a charset.
pub(super) enum Tables {
    /// A byte per character.
    SingleByte(Table),
    /// Up to four bytes per character.
    MultiByte(Characters),
}

pub(super) static CATALOGUE: LazyLock<Vec<CatalogueEntry>> = LazyLock::new(|| {
    let rows = ROWS.lines().filter(|row| !row.starts_with('#'));
    let entries = rows.map(|row| entry(row).expect("invariant: a test reads each row"));
    entries.collect()
});

fn entry(row: &'static str) -> Option<CatalogueEntry> {
    let mut columns = row.split('|').map(str::trim);
    let label = columns.next()?;
    Some(CatalogueEntry {
        label,
        tables: tables(label, columns.next()?)?,
        weight: columns.next()?.parse().ok()?,
        languages: columns.next()?,
        aliases: columns.next()?,
    })
}

fn tables(label: &str, word: &str) -> Option<Tables> {
    let source = match (word, word.parse()) {
        ("iso", _) => Source::Iso,
        ("vendor", _) => Source::Vendor,
        ("koi8-u", _) => Source::Koi8U,
        (_, Ok(page)) => Source::Dos(page),
        (_, Err(_)) => {
            let charset = word.parse().ok()?;
            return Some(Tables::MultiByte(Characters::new(charset)));
        }
    };
    Some(Tables::SingleByte(Table::new(source, label)))
}
