//! The policy file: what holds on a mount, in a file that can be replaced while it is mounted (docs/policy.md).

mod assemble;
mod command;
mod cover;
mod decide;
mod document;
mod fault;
mod grounds;
mod outlook;
mod reader;
mod reload;
mod source;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub(super) use command::run;
pub(super) use decide::{Decided, Said, absolute};
pub(super) use grounds::{Grounds, MountsInside};
pub(super) use reload::{Reloader, told};

use super::CliError;
use assemble::{Text, assemble};
use source::{Gathered, gather};

/// A policy file, and the options that override it.
#[derive(Debug, Clone)]
pub struct PolicySource {
    /// Its path, absolute. It is looked up anew each time.
    pub path: PathBuf,
    /// What was said on the command line.
    pub(super) said: Said,
    /// That, and what the file said when it was mounted.
    pub(super) merged: Said,
    /// Where none of its files may lie, whenever it is read.
    pub(super) grounds: Grounds,
}

impl PolicySource {
    /// Reads the policy in this process.
    pub(super) fn read(&self) -> Text {
        assemble(gather(&self.path, &self.grounds))
    }

    /// Reads all files of it, for a daemon that cannot.
    #[must_use]
    pub(super) fn gathered(&self) -> Vec<u8> {
        gather(&self.path, &self.grounds).to_json()
    }

    /// Reads the policy where it can be read: by the keeper if there is one.
    ///
    /// # Errors
    /// The keeper is gone.
    fn read_anew(&self) -> std::io::Result<Text> {
        let Some(octets) = crate::backing::keeper::read_policy() else {
            return Ok(self.read());
        };
        let gathered = Gathered::from_json(&octets?)
            .ok_or_else(|| std::io::Error::other("the keeper makes no sense"))?;
        Ok(assemble(gathered))
    }
}

/// Logs what may not be meant in a policy.
pub(super) fn warn(text: &Text) {
    for line in text.faults.lines(&text.files) {
        if line.contains(": warning: ") {
            log::warn!("policy: {line}");
        }
    }
}

/// That a policy cannot be put in force: the first fault is the message, and where the others are told the hint.
fn refused(text: &Text) -> CliError {
    let lines = text.faults.lines(&text.files);
    let is_error = |line: &&String| line.contains(": error: ");
    let errors: Vec<&String> = lines.iter().filter(is_error).collect();
    let first = errors.first().map_or("the policy is wrong", |line| line);
    let first = first.replacen(": error: ", ": ", 1);
    CliError::usage(first).hint(match errors.len() {
        0 | 1 => "'utf8fs policy check FILE' checks a file".to_owned(),
        all => format!(
            "there are {} more; 'utf8fs policy check FILE' lists them",
            all - 1
        ),
    })
}
