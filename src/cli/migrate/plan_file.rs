//! The plan that is read, from a file or from standard input.

use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom, stdin};
use std::path::{Path, PathBuf};

use crate::cli::{CommandError, Doing, cannot_be};
use crate::names::Quoted;
use crate::tree::plan::plan_reader::{self, PlanError};

/// A plan that is read more than once.
pub(super) struct PlanFile {
    path: PathBuf,
    /// The copy of what came by standard input.
    copy: Option<File>,
}

/// A fault of a plan, and its line if it is about one.
pub(super) struct PlanRefusal {
    /// The line, counted from 1.
    pub(super) line: Option<usize>,
    /// The error for people.
    pub(super) error: CommandError,
}

impl From<PlanRefusal> for CommandError {
    fn from(refusal: PlanRefusal) -> Self {
        refusal.error
    }
}

impl PlanFile {
    /// Takes the plan at a path; `-` is standard input, which is read to its end.
    ///
    /// # Errors
    /// Standard input cannot be read, or copied.
    pub(super) fn open(path: &Path) -> Result<Self, CommandError> {
        let copy = if path.as_os_str() == "-" {
            let mut copy = tempfile::tempfile().doing("make a copy of the plan")?;
            io::copy(&mut stdin().lock(), &mut copy).doing("read the plan")?;
            Some(copy)
        } else {
            None
        };
        Ok(Self {
            path: path.to_owned(),
            copy,
        })
    }

    /// Returns a reader of the plan from its start. Two may be in use at a time.
    ///
    /// # Errors
    /// The plan cannot be opened.
    pub(super) fn reader(&self) -> Result<plan_reader::Reader<BufReader<File>>, PlanRefusal> {
        let opened = match &self.copy {
            Some(copy) => reopened(copy),
            None => File::open(&self.path),
        };
        let file = opened.map_err(|error| self.refusal(error.into()))?;
        Ok(plan_reader::Reader::new(BufReader::new(file)))
    }

    /// Reads the plan to its end.
    ///
    /// # Errors
    /// It is refused.
    pub(super) fn check(&self) -> Result<(), PlanRefusal> {
        let mut reader = self.reader()?;
        while reader
            .tree()
            .map_err(|error| self.refusal(error))?
            .is_some()
        {}
        Ok(())
    }

    /// Explains a fault of the plan.
    pub(super) fn refusal(&self, error: PlanError) -> PlanRefusal {
        let name = match self.copy {
            Some(_) => "the plan on standard input".to_owned(),
            None => format!("the plan {}", Quoted::of(&self.path)),
        };
        match error {
            PlanError::Line { line, what } => PlanRefusal {
                line: Some(line),
                error: CommandError::usage(format!(
                    "{name} is refused, nothing was done: line {line}: {what}"
                )),
            },
            PlanError::Io(error) => PlanRefusal {
                line: None,
                error: CommandError::usage(cannot_be("read", &name, &error))
                    .hint("to write one, give --from CHARSET or --from auto as well"),
            },
        }
    }
}

/// Opens a file anew that has no name, at its start.
fn reopened(file: &File) -> io::Result<File> {
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file));
    let mut opened = File::open(path)?;
    opened.seek(SeekFrom::Start(0))?;
    Ok(opened)
}
