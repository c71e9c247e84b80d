//! Backing names and paths of backing names in documents.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::Name;
use crate::names::BackingName;

/// The names that lead from the root of a tree to a directory in it, as they are before anything is done. Empty for the root.
pub type TreePath = Arc<[BackingName]>;

/// Returns a path below the root of a tree, its names joined by `/`.
pub fn join_path<'n>(names: impl IntoIterator<Item = &'n BackingName>) -> Vec<u8> {
    let names: Vec<&[u8]> = names.into_iter().map(BackingName::as_bytes).collect();
    names.join(&b'/')
}

impl Serialize for BackingName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Name::from(self.as_bytes()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for BackingName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Name::deserialize(deserializer)?;
        Self::parse(name.as_bytes()).map_err(|_offence| {
            let what = "is no name: it is empty, . or .., or has a / or NUL in it";
            de::Error::custom(format_args!("{name} {what}"))
        })
    }
}

/// A [`TreePath`] as one name, joined by `/`. Nothing that is read can lead out of the tree.
pub(super) mod tree_path {
    use super::{
        BackingName, Deserialize, Deserializer, Name, Serialize, Serializer, TreePath, de,
        join_path,
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
        if path.as_bytes().is_empty() {
            return Ok(TreePath::default());
        }
        let names = path.as_bytes().split(|&byte| byte == b'/');
        let names: Result<TreePath, _> = names.map(BackingName::parse).collect();
        names.map_err(|_offence| {
            let what = "is no path from the root of the tree: it is absolute, or has an empty name, . or .. in it";
            de::Error::custom(format_args!("{path} {what}"))
        })
    }
}
