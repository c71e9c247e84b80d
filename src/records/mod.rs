//! The documents that cross a border, each defined once: its writer and all its readers share the type.
//!
//! This is the only layer that derives serialization. A field that is added here is written and read everywhere.

mod json;
mod name;

pub use json::{json_line, push_json};
pub use name::Name;
