//! Backing names and paths of backing names in documents.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::Name;
use crate::names::{BackingName, Quoted};

/// The names that lead from the root of a tree to a directory in it, as they are before anything is done. Empty for the root.
pub type TreePath = Arc<[BackingName]>;

/// Returns a path below the root of a tree, its names joined by `/`.
pub fn join_path<'n>(names: impl IntoIterator<Item = &'n BackingName>) -> Vec<u8> {
    let names: Vec<&[u8]> = names.into_iter().map(BackingName::as_bytes).collect();
    names.join(&b'/')
}

/// Reads a name of a document.
///
/// # Errors
/// Says why it is none.
pub fn parse_backing_name(name: &[u8]) -> Result<BackingName, String> {
    BackingName::parse(name).map_err(|_offence| {
        let what = "is no name: it is empty, . or .., or has a / or NUL in it";
        format!("{} {what}", Quoted(name))
    })
}

/// Reads a path below the root of a tree, the names of which are joined by `/`.
///
/// # Errors
/// Says why it is none. Nothing that is read can lead out of the tree.
pub fn parse_tree_path(path: &[u8]) -> Result<TreePath, String> {
    if path.is_empty() {
        return Ok(TreePath::default());
    }
    let names = path.split(|&byte| byte == b'/');
    let names: Result<TreePath, _> = names.map(BackingName::parse).collect();
    names.map_err(|_offence| {
        let what = "is no path from the root of the tree: it is absolute, or has an empty name, . or .. in it";
        format!("{} {what}", Quoted(path))
    })
}

impl Serialize for BackingName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Name::from(self.as_bytes()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for BackingName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Name::deserialize(deserializer)?;
        parse_backing_name(name.as_bytes()).map_err(de::Error::custom)
    }
}

/// A [`TreePath`] as one name, joined by `/`. Nothing that is read can lead out of the tree.
pub(super) mod tree_path {
    use super::{
        Deserialize, Deserializer, Name, Serialize, Serializer, TreePath, de, join_path,
        parse_tree_path,
    };

    pub(in crate::records) fn serialize<S: Serializer>(
        path: &TreePath,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        Name::from(join_path(&**path)).serialize(serializer)
    }

    pub(in crate::records) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<TreePath, D::Error> {
        let path = Name::deserialize(deserializer)?;
        parse_tree_path(path.as_bytes()).map_err(de::Error::custom)
    }
}
