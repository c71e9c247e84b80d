//! Writes the manual pages and the shell completions, made from the definition of the arguments.
//!
//! usage: cargo run --example generate -- man|completions DIRECTORY

mod pages;

use std::fs;
use std::io;
use std::path::Path;

use clap::CommandFactory;
use utf8fs::cli::args::Cli;

fn main() -> io::Result<()> {
    let mut args = std::env::args_os().skip(1);
    let (Some(what), Some(place), None) = (args.next(), args.next(), args.next()) else {
        return Err(io::Error::other(
            "usage: generate man|completions DIRECTORY",
        ));
    };
    let place = Path::new(&place);
    fs::create_dir_all(place)?;
    let made = match what.to_str() {
        Some("man") => pages::pages(Cli::command()),
        Some("completions") => pages::completions(),
        _ => return Err(io::Error::other("it is man or completions")),
    };
    made.into_iter()
        .try_for_each(|(name, text)| fs::write(place.join(name), text))
}
