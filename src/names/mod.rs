//! Backing names and visible names: how one becomes the other, and how either is shown to people.
//!
//! [`NameMap`] maps a name to its visible name. [`Index`] assigns visible names within one directory, where siblings
//! may want the same one (laws N1 to N7). [`Siblings`] finds those that differ in case or form alone.

mod charset_map;
mod escape;
mod holder;
mod index;
mod map;
mod patterns;
mod private_use;
pub mod quoted;
pub mod rules;
pub mod shell;
mod shorten;
mod siblings;

use std::sync::Arc;

use crate::policy::{Offence, Rule, is_component};
pub use charset_map::{
    CharsetMap, CharsetRule, CharsetSource, DirectoryPattern, charset, not_on_offer,
};
pub use escape::{Escapes, percent_decoded};
pub use holder::Holder;
pub use index::{Index, Moves};
pub use map::{Legacy, NameMap, OnViolation};
pub use patterns::{PatternError, Patterns};
pub use private_use::PrivateUse;
pub use quoted::Quoted;
pub use shell::ShellWord;
pub use siblings::Siblings;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<[u8]>);

        impl $name {
            /// Takes `bytes` as a name.
            ///
            /// # Errors
            /// They are no component of a path: empty, `.`, `..`, or with a `/` or NUL among them (law C5).
            pub fn parse(bytes: &[u8]) -> Result<Self, Offence> {
                if is_component(bytes) {
                    Ok(Self(bytes.into()))
                } else {
                    Err(Offence::new(Rule::NotAComponent, 0, bytes.len()))
                }
            }

            /// The bytes of the name.
            pub fn as_bytes(&self) -> &[u8] {
                &self.0
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), Quoted(&self.0))
            }
        }

        impl std::borrow::Borrow<[u8]> for $name {
            fn borrow(&self) -> &[u8] {
                &self.0
            }
        }
    };
}

name! {
    /// A component of a path as it lies in the backing directory: bytes.
    BackingName
}

name! {
    /// A component of a path as programs see and give it through the mount: bytes, conforming or not.
    VisibleName
}

impl VisibleName {
    /// The backing name of the same bytes, which a conforming name has (law N1).
    pub fn as_backing(&self) -> BackingName {
        BackingName(self.0.clone())
    }
}

impl BackingName {
    /// The visible name of the same bytes.
    pub fn as_visible(&self) -> VisibleName {
        VisibleName(self.0.clone())
    }
}
