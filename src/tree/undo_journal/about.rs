//! The first frame of a journal: which migration it is of.

use super::byte_codec::{Reader, Writer};
use crate::backing::Time;
use crate::tree::change::InodeId;

/// The tree and the options of a migration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The absolute path of the root of the tree.
    pub root: Vec<u8>,
    /// The options, for people: such as `--from koi8-r`.
    pub options: String,
}

/// The content of the first frame.
#[derive(Debug, Clone)]
pub(super) struct About {
    pub(super) header: Header,
    /// Tells it from all other journals.
    pub(super) id: [u8; 16],
    /// When it was made, in seconds since 1970.
    pub(super) created: i64,
    pub(super) root: InodeId,
    pub(super) mtime: Time,
}

impl About {
    /// Returns the id in hex digits.
    pub(super) fn id_text(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.id))
    }

    pub(super) fn write(&self) -> Option<Vec<u8>> {
        let mut out = Writer::default();
        out.0.extend(self.id);
        out.0.extend(self.created.to_le_bytes());
        out.id(&self.root);
        out.time(self.mtime);
        out.octets(&self.header.root)?;
        out.octets(self.header.options.as_bytes())?;
        Some(out.0)
    }

    pub(super) fn read(octets: &[u8]) -> Option<Self> {
        let mut octets = Reader(octets);
        let (id, created) = (octets.array()?, octets.i64()?);
        let (root, mtime) = (octets.id()?, octets.time()?);
        let header = Header {
            root: octets.octets()?.to_vec(),
            options: String::from_utf8(octets.octets()?.to_vec()).ok()?,
        };
        octets.end()?;
        Some(Self {
            header,
            id,
            created,
            root,
            mtime,
        })
    }
}
