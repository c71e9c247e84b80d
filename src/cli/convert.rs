//! `utf8fs convert`: a filter between encodings.

use std::io::{self, Read};

use super::args::{ConvertArgs, values};
use super::output::{Output, counted, print_lines, print_note};
use super::{CommandError, Doing};
use crate::codec::{Charset, Coding, ConvertError, ConvertFault, Converter, Encoding, Repair};

/// Converts standard input to standard output, or lists the labels.
///
/// # Errors
/// Wrong arguments; input that is malformed or unmappable; standard input or output fails.
pub(super) fn run(args: &ConvertArgs) -> Result<(), CommandError> {
    let (Some(from), Some(to)) = (args.from, args.to) else {
        return print_lines(labels());
    };
    let out = Output::stdout();
    if let Some(repair) = args.lossy
        && repair != Repair::Replace
        && let Coding::Form(encoding) = from
        && !encoding.is_file_system_safe()
    {
        let (repair, label) = (<&str>::from(repair), from.label());
        let message = format!("--lossy {repair} is about single bytes, and {label} has none");
        return Err(CommandError::usage(message).hint("use --lossy replace"));
    }
    let mut converter = Converter::new(from, to, args.lossy);
    let explain = |error: ConvertError| {
        let (what, side) = match error.fault {
            ConvertFault::Malformed(_) => ("malformed", from.label()),
            ConvertFault::Unmappable(_) => ("unmappable", to.label()),
        };
        let mut message = format!("{what} input for {side}: {}", place(&error));
        if let Some((code_point, repair)) = error.no_repair.zip(args.lossy) {
            let (repair, to) = (<&str>::from(repair), to.label());
            message +=
                &format!("; --lossy {repair} makes U+{code_point:04X} of it, which {to} lacks");
        }
        CommandError::failure(message).hint(match error.no_repair {
            Some(0xDC80..=0xDCFF) => {
                "wtf-8, utf-8b, ucs-2 and older forms can hold what --lossy utf-8b makes".to_owned()
            }
            _ if to.encode_into(&[0xFFFD], &mut Vec::new()).is_ok() => {
                "--lossy replace writes U+FFFD instead".to_owned()
            }
            _ => "--lossy replace writes ? instead".to_owned(),
        })
    };
    let done = pump(&mut converter, &out, explain);
    out.finish()?;
    done?;
    let repairs = converter.repairs;
    if let Some(first) = repairs.first {
        let (sequences, place) = (counted(repairs.count, "sequence"), place(&first));
        print_note(&format!("repaired {sequences}, the first at {place}"));
    }
    Ok(())
}

fn place(error: &ConvertError) -> String {
    format!(
        "offset {}, length {}, {}",
        error.offset, error.length, error.fault
    )
}

/// Converts all of standard input, or until nobody reads any more.
fn pump(
    converter: &mut Converter,
    out: &Output,
    explain: impl Fn(ConvertError) -> CommandError,
) -> Result<(), CommandError> {
    let mut input = io::stdin().lock();
    let mut piece = vec![0; 64 * 1024];
    let mut converted = Vec::new();
    while !out.is_over() {
        let read = input.read(&mut piece).doing("read standard input")?;
        let piece = piece.get(..read).unwrap_or_default();
        let done = if piece.is_empty() {
            converter.finish(&mut converted)
        } else {
            converter.convert(piece, &mut converted)
        };
        out.bytes(&converted);
        converted.clear();
        done.map_err(&explain)?;
        if piece.is_empty() {
            break;
        }
    }
    Ok(())
}

/// Returns a line for each label: the label, a tab, and what it stands for or what else it is called.
fn labels() -> impl Iterator<Item = String> {
    let forms = Encoding::ALL.iter().map(|encoding| {
        let help = values::help(*encoding).trim_end_matches(" (default)");
        format!("{}\t{help}", encoding.label())
    });
    forms.chain(Charset::all().map(|charset| {
        let aliases: Vec<&str> = charset.aliases().collect();
        format!("{}\t{}", charset.label(), aliases.join(" "))
    }))
}
