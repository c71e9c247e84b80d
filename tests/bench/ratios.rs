//! The time of each form as a multiple of the standard library's on the same text, held against what is promised.
//!
//! Both are measured in turn, so that what else the machine does hits both; of each the median counts. Exit status 1 if a
//! promise is broken: names within 1.1, long texts within 1.0 (and the noise of this), decoding within 4. Decoding goes by
//! the octets that are read: ASCII in UTF-16 is twice as long as in UTF-8. Texts that are decoded stay in the first cache
//! with their code points; of long ones, memory sets the pace.

#![expect(clippy::print_stdout, reason = "a table is what it is for")]

mod texts;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use texts::{NAMES, OF_MOUNTS, TEXTS, in_form, long};
use utf8fs::codec::{Encoding, utf8};

/// How much of a ratio is noise.
const NOISE: f64 = 0.05;
const ROUNDS: usize = 301;

/// As much of a text as stays in a processor's first cache together with its code points.
fn cached(text: &str) -> String {
    const OCTETS: usize = 4 << 10;
    text.repeat(OCTETS / text.len())
}

fn time(repeat: usize, work: &mut dyn FnMut() -> bool) -> Duration {
    let start = Instant::now();
    for _ in 0..repeat {
        assert!(black_box(work()));
    }
    start.elapsed()
}

/// The median time of `ours` by that of `std`.
fn ratio(repeat: usize, std: &mut dyn FnMut() -> bool, ours: &mut dyn FnMut() -> bool) -> f64 {
    let (mut of_std, mut of_ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        of_std.push(time(repeat, std));
        of_ours.push(time(repeat, ours));
    }
    let median = |mut times: Vec<Duration>| {
        times.sort_unstable();
        let median = times
            .get(ROUNDS / 2)
            .expect("invariant: there are as many as rounds");
        median.as_secs_f64()
    };
    median(of_ours) / median(of_std)
}

fn main() -> ExitCode {
    let mut is_kept = true;
    let mut row = |what: &str, cells: &[Option<f64>], promised: &[f64]| {
        print!("| {what} |");
        for (cell, promised) in cells.iter().zip(promised) {
            match cell {
                Some(ratio) if *ratio > promised + NOISE => {
                    print!(" **{ratio:.2}** |");
                    is_kept = false;
                }
                Some(ratio) => print!(" {ratio:.2} |"),
                None => print!(" |"),
            }
        }
        println!();
    };

    println!(
        "| validate | codec::utf8 | {} |",
        OF_MOUNTS.map(Encoding::label).join(" | ")
    );
    println!("|---|---|---|---|---|---|");
    let names = NAMES.map(|name| name.as_bytes().to_vec()).to_vec();
    let sets = [("names of 8 to 40 octets", names, 50, 1.1)];
    let texts = TEXTS.map(|(name, text)| (name, vec![long(text).into_bytes()], 2, 1.0));
    for (name, set, repeat, promised) in sets.into_iter().chain(texts) {
        let mut std = || {
            set.iter()
                .all(|bytes| core::str::from_utf8(black_box(bytes)).is_ok())
        };
        let mut cells = vec![Some(ratio(repeat, &mut std, &mut || {
            set.iter()
                .all(|bytes| utf8::validate(black_box(bytes)).is_ok())
        }))];
        for encoding in OF_MOUNTS {
            let is_there = set.iter().all(|bytes| encoding.validate(bytes).is_ok());
            cells.push(is_there.then(|| {
                ratio(repeat, &mut std, &mut || {
                    set.iter()
                        .all(|bytes| encoding.validate(black_box(bytes)).is_ok())
                })
            }));
        }
        row(name, &cells, &[promised; 5]);
    }

    let by_std = TEXTS.map(|(_, text)| {
        let text = cached(text);
        let mut code_points: Vec<u32> = Vec::new();
        let mut decode = || {
            code_points.clear();
            let text = core::str::from_utf8(black_box(text.as_bytes()));
            text.map(|text| code_points.extend(text.chars().map(u32::from)))
                .is_ok()
        };
        let mut std = || core::str::from_utf8(black_box(text.as_bytes())).is_ok();
        ratio(16, &mut std, &mut decode)
    });
    println!("\n| decode | {} |", TEXTS.map(|(name, _)| name).join(" | "));
    println!("|---|---|---|---|---|---|");
    row(
        "from_utf8 and chars",
        &by_std.map(Some),
        &[f64::INFINITY; 5],
    );
    for &encoding in Encoding::ALL {
        let cells = TEXTS.map(|(_, text)| {
            let text = cached(text);
            let bytes = in_form(&text, encoding)?;
            let mut code_points = Vec::new();
            let mut decode = || {
                code_points.clear();
                encoding
                    .decode_into(black_box(&bytes), true, &mut code_points)
                    .is_ok()
            };
            let mut std = || core::str::from_utf8(black_box(text.as_bytes())).is_ok();
            let longer = bytes.len() as f64 / text.len() as f64;
            Some(ratio(16, &mut std, &mut decode) / longer.max(1.0))
        });
        row(encoding.label(), &cells, &[4.0; 5]);
    }
    if is_kept {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
