//! Patterns of names and paths, on bytes.

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};
use thiserror::Error;

use super::Quoted;

/// A pattern that is none, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{} is not a pattern: {reason}", Quoted(pattern.as_bytes()))]
pub struct PatternError {
    /// The pattern.
    pub pattern: String,
    /// The reason why it is refused.
    pub reason: String,
}

/// Globs: those with a `/` are of paths from a root, whether they start with `/` or not; those without are of names.
///
/// `?` stands for one byte and `*` for any number of them, but for `/`; `**` as a component stands for any number of
/// components.
#[derive(Debug, Clone, Default)]
pub struct Patterns {
    /// Matched against names, in whatever directory.
    names: GlobSet,
    /// Matched against paths from the root.
    paths: GlobSet,
    /// The patterns as they were given.
    pub given: Vec<String>,
}

impl Patterns {
    /// Takes patterns.
    ///
    /// # Errors
    /// A pattern that is none, or can match nothing.
    pub fn new(patterns: &[String]) -> Result<Self, PatternError> {
        let (mut names, mut paths) = (GlobSet::builder(), GlobSet::builder());
        for pattern in patterns {
            let fault = |reason: String| PatternError {
                pattern: pattern.clone(),
                reason,
            };
            let set = if pattern.contains('/') {
                &mut paths
            } else {
                &mut names
            };
            add(set, pattern).map_err(fault)?;
        }
        let build = |set: GlobSetBuilder| {
            set.build().map_err(|error| PatternError {
                pattern: error.glob().unwrap_or_default().to_owned(),
                reason: error.kind().to_string(),
            })
        };
        Ok(Self {
            names: build(names)?,
            paths: build(paths)?,
            given: patterns.to_vec(),
        })
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.paths.is_empty()
    }

    /// Does one of them match the name, or its path from the root, which starts with `/`? It is asked for only if need be.
    pub fn has(&self, name: &[u8], path: impl FnOnce() -> Vec<u8>) -> bool {
        let matches =
            |set: &GlobSet, bytes: &[u8]| set.is_match_candidate(&Candidate::from_bytes(bytes));
        matches(&self.names, name) || !self.paths.is_empty() && matches(&self.paths, &path())
    }
}

fn add(set: &mut GlobSetBuilder, pattern: &str) -> Result<(), String> {
    if pattern.is_empty() {
        return Err("it is empty".to_owned());
    }
    if pattern.ends_with('/') {
        return Err(format!(
            "names do not end in /; {pattern}** is what lies in a directory"
        ));
    }
    // The matcher takes them for classes of bytes.
    let in_class = pattern.split('[').skip(1);
    if in_class
        .filter_map(|rest| rest.split(']').next())
        .any(|class| !class.is_ascii())
    {
        return Err("brackets take ASCII characters only; {ä,ö} takes any".to_owned());
    }
    let rooted = match pattern {
        path if path.contains('/') && !path.starts_with('/') => format!("/{path}"),
        other => other.to_owned(),
    };
    let glob = GlobBuilder::new(&rooted)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map_err(|error| error.kind().to_string())?;
    set.add(glob);
    Ok(())
}
