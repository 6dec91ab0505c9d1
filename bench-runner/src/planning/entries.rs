//! Builds entries of the catalogues from option blocks; all bad options of a block are found, each at its place.

use serde_json::Value;
use strategies::strategy::OptionError;

use crate::complaint::{Complaint, Place};
use crate::scenario::axes::Wanted;
use crate::scenario::options::{Yardsticks, find, find_key, remove, to_json};
use crate::yaml::Node;

/// Most bad options of one block that are reported.
const MOST: usize = 30;

/// The option block of `wanted` as JSON and the thing that was built from it; `None` after a complaint.
pub fn build<T>(
    wanted: &Wanted,
    yardsticks: Yardsticks,
    build: fn(&Value) -> Result<T, OptionError>,
    complaints: &mut Vec<Complaint>,
) -> Option<(Value, T)> {
    let before = complaints.len();
    let options = match &wanted.options {
        Some(block) => to_json(block, yardsticks, complaints),
        None => Value::Null,
    };
    // A block that held nothing but keys of the lock is no block for the entry.
    let options = if options.as_object().is_some_and(serde_json::Map::is_empty) {
        Value::Null
    } else {
        options
    };
    let mut rest = options.clone();
    for _ in 0..MOST {
        match build(&rest) {
            Ok(made) if complaints.len() == before => return Some((options, made)),
            Ok(_) => return None,
            Err(error) => {
                let error = located(error, &rest, build);
                let (path, complaint) = explain(wanted, &error);
                complaints.push(complaint);
                if !remove(&mut rest, &path) {
                    return None;
                }
            }
        }
    }
    None
}

/// `error` with a path. One that has none is looked for by leaving out one option after the other.
fn located<T>(
    error: OptionError,
    block: &Value,
    build: fn(&Value) -> Result<T, OptionError>,
) -> OptionError {
    if !error.path.is_empty() || unknown_field(&error).is_some() {
        return error;
    }
    let mut paths = Vec::new();
    leaves(block, "", &mut paths);
    let guilty = paths.into_iter().find(|path| {
        let mut without = block.clone();
        remove(&mut without, path)
            && build(&without).err().is_none_or(|other| other.message != error.message)
    });
    OptionError { path: guilty.unwrap_or_default(), ..error }
}

fn leaves(value: &Value, path: &str, paths: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                leaves(value, &path, paths);
            }
        }
        _ => paths.push(path.to_owned()),
    }
}

/// Serde's words for types in those of people.
fn in_words(message: &str) -> String {
    ["u8", "u16", "u32", "u64", "usize"]
        .iter()
        .fold(message.to_owned(), |message, kind| {
            message.replace(&format!("expected {kind}"), "expected a whole number")
        })
        .replace("expected f64", "expected a number")
        .replace("expected a boolean", "expected true or false")
}

/// Where in the block the error is, and the complaint.
fn explain(wanted: &Wanted, error: &OptionError) -> (String, Complaint) {
    let block = wanted.options.as_ref();
    if let Some((path, field, expected)) = unknown_field(error) {
        let place = block
            .and_then(|block| find_key(block, &path))
            .unwrap_or_else(|| place(block, &path, wanted.place));
        let known: Vec<&str> = expected.iter().map(String::as_str).collect();
        let complaint = Complaint::at(place, format!("unknown key `{field}` in {}", wanted.name))
            .suggest(&field, &known);
        return (path, complaint);
    }
    let place = place(block, &error.path, wanted.place);
    let words = in_words(&error.message);
    let message = if error.path.is_empty() {
        format!("{}: {words}", wanted.name)
    } else {
        format!("{}: {}: {words}", wanted.name, error.path)
    };
    let complaint = Complaint::at(place, message)
        .remedy(format!("`lockbench explain {}` shows its options", wanted.name));
    (error.path.clone(), complaint)
}

fn place(block: Option<&Node>, path: &str, name: Place) -> Place {
    block.map_or(name, |block| if path.is_empty() { name } else { find(block, path) })
}

/// Serde's words for an unknown key, taken apart: path to the key, the key, the known ones.
fn unknown_field(error: &OptionError) -> Option<(String, String, Vec<String>)> {
    let rest = &error.message[error.message.find("unknown field `")? + "unknown field `".len()..];
    let (field, rest) = rest.split_once('`')?;
    let expected = rest.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let ends_in_field = error.path == field
        || error.path.strip_suffix(field).is_some_and(|path| path.ends_with('.'));
    let path = if ends_in_field {
        error.path.clone()
    } else if error.path.is_empty() {
        field.to_owned()
    } else {
        format!("{}.{field}", error.path)
    };
    Some((path, field.to_owned(), expected))
}
