//! A name that offends.

use std::sync::Arc;

use jiff::Timestamp;

use super::directories::Directory;
use super::judge::Judgement;
use super::maker::Maker;
use crate::fs::audit::Operation;
use crate::names::BackingName;

/// A name that offends.
#[derive(Debug, Clone)]
pub(super) struct Offender {
    pub(super) directory: Arc<Directory>,
    pub(super) name: BackingName,
    pub(super) maker: Arc<Maker>,
    pub(super) operation: Operation,
    pub(super) time: Timestamp,
    pub(super) judgement: Judgement,
}
