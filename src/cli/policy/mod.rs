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
use super::output::harmless;
use assemble::{Text, assemble};
use fault::Severity;
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

    /// Reads the policy where it can be read: by the helper process if there is one.
    ///
    /// # Errors
    /// The helper process is gone.
    fn read_anew(&self) -> std::io::Result<Text> {
        let Some(octets) = crate::os::helper::read_policy() else {
            return Ok(self.read());
        };
        let gathered = Gathered::from_json(&octets?)
            .ok_or_else(|| std::io::Error::other("the helper process makes no sense"))?;
        Ok(assemble(gathered))
    }
}

/// Logs the warnings of a policy.
pub(super) fn warn(text: &Text) {
    for fault in text.faults.of(Severity::Warning) {
        log::warn!("policy: {}", fault.line(&text.files));
    }
}

/// Returns the error of a policy that cannot be put in force: its first fault, and as a hint the number of the others.
fn refused(text: &Text) -> CliError {
    let mut errors = text.faults.of(Severity::Error);
    let first = errors.next().map(|fault| {
        let place = fault::place(&text.files, fault.place);
        format!("{place}: {}", harmless(&fault.message))
    });
    let first = first.unwrap_or_else(|| "the policy is wrong".to_owned());
    CliError::usage(first).hint(match errors.count() {
        0 => "'utf8fs policy check FILE' checks a file".to_owned(),
        more => format!("there are {more} more; 'utf8fs policy check FILE' lists them"),
    })
}
