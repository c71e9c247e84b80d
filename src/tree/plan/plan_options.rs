//! The options of a plan.

use std::borrow::Cow;
use std::sync::Arc;

use crate::codec::Charset;
use crate::codec::guess::CERTAIN;
use crate::names::{CharsetMap, CharsetSource, Escapes, Legacy, NameMap, OnViolation, PrivateUse};
use crate::policy::{ErrnoChoice, Policy};
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

/// The treatment of an entry whose new name another one has, or gets.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum OnCollision {
    /// It keeps its name (default)
    Skip,
    /// It gets the first free one of name-2.ext, name-3.ext, ...
    Suffix,
    /// Of files with the same content one is set aside, where undo finds it; others keep their names
    Same,
}

/// The options of a plan.
#[derive(Debug, Clone)]
pub struct PlanOptions {
    /// The source of the text of ill-formed names, where the charset map says nothing of their directory.
    pub from: CharsetSource,
    /// The sources by directory.
    pub charset_map: Arc<CharsetMap>,
    /// Is UTF-8 that was encoded again to be undone?
    pub fix_double: bool,
    /// The escapes that are to be undone.
    pub unescape: Option<Escapes>,
    /// Are ill-formed names that have no text to get the name that a mount shows, with bytes as `%` and hex digits?
    pub escape: bool,
    /// The private-use characters that are to be mapped back.
    pub private_use: Option<PrivateUse>,
    /// May names that become too long be cut, as a mount shows them?
    pub shorten: bool,
    /// May names get control characters, noncharacters and unassigned code points that they have not?
    pub allow_control: bool,
    /// Least likelihood of a guess, 0.0..=1.0.
    pub least: f64,
    /// The treatment of collisions.
    pub on_collision: OnCollision,
    /// The policy that new names conform to, and the spelling of names that do not.
    pub(super) map: NameMap,
    /// The same, without limits of length.
    pub(super) unlimited: NameMap,
}

impl PlanOptions {
    /// Asks that ill-formed names get their text, and all names what `policy` wants.
    pub fn new(policy: Policy, from: CharsetSource) -> Self {
        let map = NameMap {
            policy,
            legacy: Legacy::Decode,
            from: Vec::new(),
            store_as: None,
            on_violation: OnViolation::Reject,
            errno: ErrnoChoice::default(),
        };
        let mut unlimited = map.clone();
        unlimited.policy.max_bytes = usize::MAX;
        unlimited.policy.max_chars = None;
        unlimited.policy.max_utf16 = None;
        Self {
            from,
            charset_map: Arc::default(),
            fix_double: false,
            unescape: None,
            escape: false,
            private_use: None,
            shorten: false,
            allow_control: false,
            least: CERTAIN,
            on_collision: OnCollision::Skip,
            map,
            unlimited,
        }
    }

    /// Has names stored in this charset, of which UTF-8 is read; ill-formed names are taken for such names, and stay.
    pub fn store_as(&mut self, charset: Charset) {
        self.map.from = vec![charset];
        self.map.store_as = Some(charset);
    }

    /// Returns the policy that new names conform to.
    pub fn policy(&self) -> &Policy {
        &self.map.policy
    }

    /// Is more to be known of a tree than the listing of one directory at a time?
    pub fn needs_guesses(&self) -> bool {
        let is_auto = |source: &CharsetSource| *source == CharsetSource::Auto;
        let mut rules = self.charset_map.rules.iter();
        self.fix_double || is_auto(&self.from) || rules.any(|rule| is_auto(&rule.source))
    }

    /// Returns the options for the names in the directory that these names lead to: those of its charsets, and no charset map.
    pub fn for_directory<'n>(&self, names: impl IntoIterator<Item = &'n [u8]>) -> Cow<'_, Self> {
        if self.charset_map.rules.is_empty() {
            return Cow::Borrowed(self);
        }
        let source = self.charset_map.source(names);
        Cow::Owned(Self {
            from: source.unwrap_or(&self.from).clone(),
            charset_map: Arc::default(),
            ..self.clone()
        })
    }

    /// Can nothing be amiss with a well-formed name of legal length?
    pub(super) fn are_of_ill_formed_alone(&self) -> bool {
        let policy = &self.map.policy;
        !self.fix_double
            && self.unescape.is_none()
            && self.private_use.is_none()
            && self.map.store_as.is_none()
            && policy.form.is_none()
            && policy.forbid.is_empty()
            && policy.max_chars.is_none()
            && policy.max_utf16.is_none()
    }
}
