//! The line at the end about what was counted.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::record::time;
use crate::fs::audit::Counts;
use crate::names::Quoted;
use crate::names::json::json_name;

impl Counts {
    /// The summary for people, one line that starts with `utf8fs: `.
    pub(super) fn text(&self, at: Timestamp, mount: &[u8], operations: u64) -> String {
        format!(
            "utf8fs: {} summary of mount {}: {operations} operations, {} offences ({} ill-formed, {} too-long, \
             {} forbidden, {} not-normalized, {} unmappable, {} not-unique, {} not-a-component; {} refused, {} normalized, {} reported), \
             {} records written, {} left out by the rate limit, {} dropped",
            time(at),
            Quoted(mount),
            self.offences(),
            self.ill_formed,
            self.too_long,
            self.forbidden,
            self.not_normalized,
            self.unmappable,
            self.not_unique,
            self.not_a_component,
            self.refused,
            self.normalized,
            self.reported,
            self.written,
            self.left_out,
            self.dropped,
        )
    }

    /// The summary for programs.
    pub(super) fn json(&self, at: Timestamp, mount: &[u8], operations: u64) -> Value {
        json!({
            "time": time(at),
            "event": "summary",
            "mount": json_name(mount),
            "operations": operations,
            "offences": {
                "ill-formed": self.ill_formed,
                "too-long": self.too_long,
                "forbidden": self.forbidden,
                "not-normalized": self.not_normalized,
                "unmappable": self.unmappable,
                "not-unique": self.not_unique,
                "not-a-component": self.not_a_component,
            },
            "refused": self.refused,
            "normalized": self.normalized,
            "reported": self.reported,
            "written": self.written,
            "left_out": self.left_out,
            "dropped": self.dropped,
        })
    }
}
