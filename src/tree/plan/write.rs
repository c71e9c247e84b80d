//! Lines of a plan, written.

use std::fmt::Write;

use super::header::{END, kind_label};
use super::line::{Candidate, Line};
use super::survey::Planned;
use crate::codec::Charset;
use crate::names::push_json_name;

/// Appends the lines of a directory.
pub fn push_lines(text: &mut String, planned: &Planned<'_>) {
    let mut start = String::from(r#"{"directory":"#);
    push_json_name(&mut start, &planned.place.path());
    push(
        &mut start,
        format_args!(r#","directory_inode":{},"old":"#, planned.inode),
    );
    for line in &planned.lines {
        text.push_str(&start);
        push_line(text, line);
        text.push_str("}\n");
    }
}

/// Appends the last line.
pub fn push_end(text: &mut String) {
    text.push_str(END);
    text.push('\n');
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments)
        .expect("invariant: writing to a String never fails");
}

fn push_name(text: &mut String, key: &str, name: Option<&[u8]>) {
    push(text, format_args!(r#","{key}":"#));
    match name {
        Some(name) => push_json_name(text, name),
        None => text.push_str("null"),
    }
}

/// The keys are part of the interface (law L4).
fn push_line(text: &mut String, line: &Line) {
    push_json_name(text, line.old.as_bytes());
    push_name(text, "new", line.new.as_ref().map(|new| new.as_bytes()));
    push(
        text,
        format_args!(
            r#","kind":"{}","inode":{},"reason":"{}""#,
            kind_label(line.kind),
            line.inode,
            line.reason.label()
        ),
    );
    push_reading(text, line.charset, line.confidence);
    text.push_str(r#","candidates":["#);
    for (index, candidate) in line.candidates.iter().enumerate() {
        text.push_str(if index == 0 { "" } else { "," });
        push_candidate(text, candidate);
    }
    text.push(']');
    if let Some(warning) = line.warning {
        push(text, format_args!(r#","warning":"{}""#, warning.label()));
    }
    if let Some(same_as) = &line.same_as {
        push_name(text, "same_as", Some(same_as.as_bytes()));
    }
    if let Some(target) = &line.target {
        push_name(text, "target", Some(target));
        push_name(text, "new_target", line.new_target.as_deref());
    }
}

fn push_candidate(text: &mut String, candidate: &Candidate) {
    text.push_str(r#"{"name":"#);
    push_json_name(text, candidate.name.as_bytes());
    push_reading(text, candidate.charset, candidate.confidence);
    text.push('}');
}

fn push_reading(text: &mut String, charset: Option<Charset>, confidence: Option<f64>) {
    match charset {
        Some(charset) => push(text, format_args!(r#","charset":"{}""#, charset.label())),
        None => text.push_str(r#","charset":null"#),
    }
    match confidence {
        Some(confidence) => push(text, format_args!(r#","confidence":{confidence:.4}"#)),
        None => text.push_str(r#","confidence":null"#),
    }
}
