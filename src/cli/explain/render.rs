//! An explanation as text and as JSON.

use serde_json::{Map, Value, json};

use super::Explanation;
use super::sequences::{hex, notation, rows};
use crate::codec::Encoding;
use crate::names::{OnViolation, Quoted, VisibleName};
use crate::policy::{NAME_MAX, Offence, Rule, errno};
use crate::records::{Name, json_line};

impl Explanation<'_> {
    /// Returns one JSON object on one line. The keys are part of the interface (law L4). They are `name`, `verdict`,
    /// `visible`, `normalized` and `encoding`. Where that is not `utf-8` there is also `text`. A refused name has
    /// `rule`, `kind`, `offset`, `length`, `code_point` and `errno` too.
    pub(super) fn to_json(&self) -> String {
        let name = |name: &Option<VisibleName>| {
            name.as_ref().map(|name| json!(Name::from(name.as_bytes())))
        };
        let mut object = Map::new();
        let mut put = |key: &str, value: Value| {
            object.insert(key.to_owned(), value);
        };
        let encoding = self.map.policy.encoding;
        put("name", json!(Name::from(self.name)));
        put("encoding", json!(encoding.label()));
        if encoding != Encoding::Utf8 {
            put("text", json!(self.text));
        }
        put("visible", json!(name(&self.visible)));
        put("normalized", json!(name(&self.normalized)));
        put(
            "verdict",
            json!(if self.offence.is_some() {
                "refused"
            } else {
                "conforming"
            }),
        );
        if let Some(offence) = self.offence {
            put("rule", json!(offence.rule.label()));
            put("kind", json!(offence.rule.kind()));
            put("offset", json!(offence.offset));
            put("length", json!(offence.length));
            put("code_point", json!(offence.code_point.map(notation)));
            let is_mountable = Encoding::MOUNTABLE.contains(&encoding);
            put("errno", json!(is_mountable.then(|| self.errno(offence))));
        }
        json_line(&Value::Object(object))
    }

    /// Lines for people.
    pub(super) fn to_lines(&self) -> Vec<String> {
        let mut lines = vec![Quoted(self.name).to_string()];
        lines.extend(self.table());
        let encoding = self.map.policy.encoding;
        if encoding != Encoding::Utf8 {
            let text = self.text.as_ref().map(|text| Quoted(text.as_bytes()));
            let text = text.map_or_else(
                || "none: not all of it is characters".to_owned(),
                |text| text.to_string(),
            );
            lines.push(format!("  encoding    {encoding}"));
            lines.push(format!("  text        {text}"));
        }
        let is_mountable = Encoding::MOUNTABLE.contains(&encoding);
        let Some(offence) = self.offence else {
            let visible = if is_mountable {
                ", visible as it is"
            } else {
                ""
            };
            lines.push(format!("  verdict     conforming{visible}"));
            return lines;
        };
        lines.push(format!("  verdict     {}", self.verdict(offence)));
        lines.push(format!("  rule        {}", offence.rule));
        lines.push(format!("  where       {}", self.place(offence)));
        if !is_mountable {
            return lines;
        }
        lines.push(format!("  visible     {}", self.visible_or_why_not()));
        lines.push(format!(
            "  normalized  {}",
            self.normalized_or_why_not(offence)
        ));
        lines
    }

    fn errno(&self, offence: Offence) -> &'static str {
        errno::symbol(self.map.errno.errno(offence.rule))
    }

    fn table(&self) -> Vec<String> {
        let rows = rows(self.name, &self.map.policy);
        let octets = rows.iter().map(|row| row.octets.len()).max().unwrap_or(0);
        let code_points = rows
            .iter()
            .map(|row| row.code_points.len())
            .max()
            .unwrap_or(0);
        rows.iter()
            .map(|row| {
                format!(
                    "  {:>4}  {:octets$}  {:code_points$}  {}",
                    row.offset, row.octets, row.code_points, row.text
                )
            })
            .collect()
    }

    fn verdict(&self, offence: Offence) -> String {
        if !Encoding::MOUNTABLE.contains(&self.map.policy.encoding) {
            return "does not conform".to_owned();
        }
        let refused = || format!("refused with {}", self.errno(offence));
        let is_storable = offence.rule != Rule::NotAComponent && self.name.len() <= NAME_MAX;
        match (self.map.on_violation, &self.normalized) {
            (OnViolation::Normalize, Some(name)) => {
                format!(
                    "refused; by --on-violation normalize {} is made instead",
                    Quoted(name.as_bytes())
                )
            }
            (OnViolation::Report, _) if is_storable => {
                "refused; by --on-violation report it is made all the same, and logged".to_owned()
            }
            (OnViolation::Reject | OnViolation::Normalize | OnViolation::Report, _) => refused(),
        }
    }

    fn place(&self, offence: Offence) -> String {
        const SHOWN: usize = 16;
        let Offence { offset, length, .. } = offence;
        let mut place = format!("offset {offset}, length {length}");
        let octets = self.name.get(offset..).unwrap_or_default();
        let octets = octets.get(..length.min(SHOWN)).unwrap_or(octets);
        if !octets.is_empty() {
            place.push_str(&format!(": {}", hex(octets)));
        }
        if length > SHOWN {
            place.push_str(" ...");
        }
        if let Some(code_point) = offence.code_point {
            place.push_str(&format!(", {}", notation(code_point)));
        }
        place
    }

    fn visible_or_why_not(&self) -> String {
        match (&self.visible, self.offence.map(|offence| offence.rule)) {
            (Some(name), _) => Quoted(name.as_bytes()).to_string(),
            (None, Some(Rule::NotAComponent)) => {
                "nothing: no entry of a directory can have this name".to_owned()
            }
            (None, _) => "nothing: --legacy hide".to_owned(),
        }
    }

    fn normalized_or_why_not(&self, offence: Offence) -> String {
        let Some(name) = &self.normalized else {
            let takes = || {
                self.map
                    .from
                    .iter()
                    .any(|charset| charset.decode_reversibly(self.name).is_some())
            };
            let why = match offence.rule {
                Rule::NotAComponent => "it is not one component of a path",
                Rule::IllFormed(..) if self.map.from.is_empty() => {
                    "no charset is given with --from"
                }
                Rule::IllFormed(..) if !takes() => "no charset of --from takes it",
                Rule::IllFormed(..) => "what it decodes to does not conform either",
                Rule::Unmappable(_) => "the charset of --store-as lacks it",
                Rule::Forbidden(_)
                | Rule::TooLong { .. }
                | Rule::NotNormalized(_)
                | Rule::NotUnique(_) => "what could be made of it does not conform either",
            };
            return format!("nothing: {why}");
        };
        Quoted(name.as_bytes()).to_string()
    }
}
