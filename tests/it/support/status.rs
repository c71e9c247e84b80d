//! What a mount says of itself, by `utf8fs status`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::mount::binary;

/// Runs `utf8fs status` with these arguments.
pub(crate) fn run(arguments: &[&OsStr]) -> Output {
    let mut command = Command::new(binary());
    command.arg("status").args(arguments).output().unwrap()
}

/// The status of the mount on `point`, as JSON. It may be impaired.
pub(crate) fn of(point: &Path) -> Value {
    let output = run(&["--format".as_ref(), "json".as_ref(), point.as_ref()]);
    assert!(output.stderr.is_empty(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// How many requests of each kind there were; only of those that there were.
pub(crate) fn requests(point: &Path) -> BTreeMap<String, u64> {
    let status = of(point);
    let operations = status["operations"].as_object().unwrap();
    operations
        .iter()
        .map(|(name, counted)| (name.clone(), counted["requests"].as_u64().unwrap()))
        .filter(|(_, count)| *count > 0)
        .collect()
}
