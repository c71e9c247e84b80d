//! `utf8fs status`: how a mount does.

mod all;
pub(super) mod ask;
mod prometheus;
#[cfg(test)]
mod tests;
mod text;

use ask::Answer;
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::args::StatusArgs;
use super::args::status::StatusFormat;
use super::output::Output;
use super::{CliError, ExitCode};
use crate::fuse::status::FORMAT;
use crate::names::json::json_line;

/// Asks the mount and prints what it says.
///
/// # Errors
/// There is no mount of utf8fs, it does not answer, or whoever asks may not.
pub(super) fn run(args: &StatusArgs) -> Result<ExitCode, CliError> {
    let format = args.format.map_or(StatusFormat::Text, |format| format.0);
    let Some(mountpoint) = &args.mountpoint else {
        return all::run(format);
    };
    if args.ask_only {
        return ask::pass_on(mountpoint);
    }
    let Answer::Status(answer) = ask::aloud(mountpoint)? else {
        return Ok(ExitCode::Failure);
    };
    let status = Status::parse(&answer)?;
    let mut out = Output::stdout();
    let lines = match format {
        StatusFormat::Text => text::lines(&status),
        StatusFormat::Json => vec![json_line(&status.0)],
        StatusFormat::Prometheus => prometheus::lines(&status),
    };
    lines.iter().try_for_each(|line| out.line(line))?;
    out.flush()?;
    Ok(match status.is_well() {
        true => ExitCode::Ok,
        false => ExitCode::Failure,
    })
}

/// What a daemon says of itself.
#[derive(Debug)]
struct Status(Value);

impl Status {
    /// Takes an answer, if it is of the version that is understood here.
    fn parse(answer: &[u8]) -> Result<Self, CliError> {
        let status: Value = serde_json::from_slice(answer).map_err(|error| {
            CliError::failure(format!("the answer of the daemon is no JSON: {error}"))
        })?;
        let format = status.get("format").and_then(Value::as_u64);
        if format == Some(FORMAT) {
            return Ok(Self(status));
        }
        let error = CliError::failure("the daemon speaks another version of this protocol");
        Err(match status.get("version").and_then(Value::as_str) {
            Some(version) => error.hint(format!("use the program that mounted: utf8fs {version}")),
            None => error,
        })
    }

    /// Does everything work?
    fn is_well(&self) -> bool {
        self.impairments().next().is_none()
    }

    /// Returns what does not work as it was asked for.
    fn impairments(&self) -> impl Iterator<Item = &'static str> {
        let is_unheard = self.0.pointer("/watch/alive") == Some(&Value::Bool(false));
        let fault = self.0.pointer("/policy/fault");
        let is_refused = fault.is_some_and(|fault| !fault.is_null());
        let all = [
            (is_unheard, "changes below are followed no more"),
            (
                is_refused,
                "the policy file is refused; the policy before it stays in force",
            ),
        ];
        all.into_iter()
            .filter_map(|(is_so, what)| is_so.then_some(what))
    }

    /// Is a policy file in force?
    fn has_policy(&self) -> bool {
        self.0.get("policy").is_some_and(Value::is_object)
    }

    /// The number at a path of fields (RFC 6901), 0 where there is none.
    fn number(&self, path: &str) -> u64 {
        self.0.pointer(path).and_then(Value::as_u64).unwrap_or(0)
    }

    fn seconds(&self, path: &str) -> f64 {
        self.0.pointer(path).and_then(Value::as_f64).unwrap_or(0.0)
    }

    fn text(&self, path: &str) -> &str {
        let value = self.0.pointer(path).and_then(Value::as_str);
        value.unwrap_or_default()
    }

    /// The octets of a name.
    fn name(&self, path: &str) -> Vec<u8> {
        let octets = self.0.pointer(path).and_then(name);
        octets.unwrap_or_default()
    }

    fn is_true(&self, path: &str) -> bool {
        self.0.pointer(path) == Some(&Value::Bool(true))
    }

    /// The fields of an object, in their order.
    fn fields(&self, path: &str) -> impl Iterator<Item = (&str, &Value)> {
        let fields = self.0.pointer(path).and_then(Value::as_object);
        fields
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.as_str(), value))
    }

    /// Of each kind of request what was counted, in the protocol's order.
    fn operations(&self) -> impl Iterator<Item = Operation<'_>> {
        self.fields("/operations")
            .map(|(name, counted)| Operation { name, counted })
    }

    /// The limits of the ranges of times, in microseconds.
    fn limits(&self) -> Vec<u64> {
        numbers(self.0.get("times_below_microseconds"))
    }
}

/// What was counted of one kind of request.
#[derive(Debug, Clone, Copy)]
struct Operation<'a> {
    name: &'a str,
    counted: &'a Value,
}

impl Operation<'_> {
    fn number(&self, field: &str) -> u64 {
        self.counted.get(field).and_then(Value::as_u64).unwrap_or(0)
    }

    /// How many took how long, by range.
    fn times(&self) -> Vec<u64> {
        numbers(self.counted.get("times"))
    }
}

fn numbers(list: Option<&Value>) -> Vec<u64> {
    let list = list.and_then(Value::as_array);
    let numbers = list.into_iter().flatten().map(Value::as_u64);
    numbers.map(Option::unwrap_or_default).collect()
}

/// The octets of what [`json_name`](crate::names::json::json_name) made; `None` of anything else.
fn name(value: &Value) -> Option<Vec<u8>> {
    match (value.get("text"), value.get("bytes")) {
        (Some(Value::String(text)), None) => Some(text.clone().into_bytes()),
        (None, Some(Value::String(bytes))) => STANDARD.decode(bytes).ok(),
        _ => None,
    }
}
