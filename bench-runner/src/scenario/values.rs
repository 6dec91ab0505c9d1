//! Single values: durations with their unit, counts, rates, words. Nothing is coerced in silence.

use std::time::Duration;

use serde::Serialize;

use crate::complaint::{Complaint, Place};
use crate::yaml::{Node, Scalar, Shape};

/// A duration, or a multiple of one that is known only for a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Length {
    /// So long.
    Fixed(Duration),
    /// So many times the lease.
    Leases(f64),
    /// So many times the work.
    Works(f64),
}

/// What a duration may be.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The shortest.
    pub min: Duration,
    /// The longest.
    pub max: Duration,
}

/// Longest duration anywhere.
pub const DAY: Duration = Duration::from_hours(24);

impl Bounds {
    /// From `min` to a day.
    pub const fn from(min: Duration) -> Self {
        Self { min, max: DAY }
    }

    /// The complaint that `length` is outside, if it is.
    pub fn check(self, what: &str, length: Duration, place: Place) -> Option<Complaint> {
        if length < self.min {
            return Some(
                Complaint::at(place, format!("{what} is {}, too short", show(length)))
                    .remedy(format!("at least {}", show(self.min))),
            );
        }
        (length > self.max).then(|| {
            Complaint::at(place, format!("{what} is {}, too long", show(length)))
                .remedy(format!("at most {}", show(self.max)))
        })
    }
}

/// A duration as people write it: `1m 30s`, `2ms`.
pub fn show(length: Duration) -> String {
    humantime::format_duration(length).to_string()
}

/// A single value, or a complaint.
pub fn scalar<'n>(
    what: &str,
    wanted: &str,
    node: &'n Node,
    complaints: &mut Vec<Complaint>,
) -> Option<&'n Scalar> {
    match &node.shape {
        Shape::Scalar(scalar) if !node.is_empty() => Some(scalar),
        _ => {
            complaints.push(
                Complaint::at(node.place, format!("{what} must be {wanted}, not {}", node.kind()))
                    .remedy("give it a value, or remove the key to have its default"),
            );
            None
        }
    }
}

/// A duration within `bounds`.
pub fn duration(
    what: &str,
    bounds: Bounds,
    node: &Node,
    complaints: &mut Vec<Complaint>,
) -> Option<Duration> {
    if let Length::Fixed(duration) = length(what, bounds, node, complaints)? {
        return Some(duration);
    }
    complaints.push(
        Complaint::at(node.place, format!("{what} cannot be a multiple"))
            .remedy("write a duration with its unit, such as 500ms"),
    );
    None
}

/// A duration within `bounds`, or a multiple of the lease or of the work.
pub fn length(
    what: &str,
    bounds: Bounds,
    node: &Node,
    complaints: &mut Vec<Complaint>,
) -> Option<Length> {
    let text = &scalar(what, "a duration with its unit", node, complaints)?.text;
    match parse_length(text) {
        Ok(Length::Fixed(duration)) => {
            if let Some(complaint) = bounds.check(what, duration, node.place) {
                complaints.push(complaint);
                return None;
            }
            Some(Length::Fixed(duration))
        }
        Ok(multiple) => Some(multiple),
        Err((problem, remedy)) => {
            complaints.push(Complaint::at(node.place, format!("{what}: {problem}")).remedy(remedy));
            None
        }
    }
}

/// Parses `250ms`, `1m 30s`, `1.5x lease`, `2x work`; the error is a problem and its remedy.
pub fn parse_length(text: &str) -> Result<Length, (String, String)> {
    if let Some(multiple) = parse_multiple(text) {
        return multiple;
    }
    let text = text.trim();
    if text.starts_with('-') {
        return Err((format!("`{text}` is negative"), "durations begin at 0s".into()));
    }
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Err((format!("`{text}` has no unit"), format!("write {text}s or {text}ms")));
    }
    let bad = || {
        (
            format!("`{text}` is not a duration"),
            "write a number with its unit: 500us, 2ms, 1.5s, 1m 30s".to_owned(),
        )
    };
    let mut rest = text;
    let mut nanos: f64 = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(bad)?;
        let number: f64 = rest[..digits].parse().map_err(|_| bad())?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        nanos += number * unit(&rest[..letters]).ok_or_else(bad)?;
        rest = rest[letters..].trim_start();
    }
    if text.is_empty() {
        return Err(bad());
    }
    // A century is far beyond every bound, and far below what a `Duration` holds.
    let seconds = (nanos / 1e9).min(3.2e9);
    let whole = Duration::try_from_secs_f64(seconds).map_err(|_| bad())?;
    Ok(Length::Fixed(whole))
}

fn unit(word: &str) -> Option<f64> {
    Some(match word {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" | "sec" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        "d" => 86_400e9,
        _ => return None,
    })
}

fn parse_multiple(text: &str) -> Option<Result<Length, (String, String)>> {
    let (number, of) = text.trim().split_once('x')?;
    let of = of.trim();
    if !matches!(of, "lease" | "work") {
        return None;
    }
    let factor = number.trim().parse::<f64>().ok().filter(|factor| (0.0..=1e6).contains(factor));
    Some(match (factor, of) {
        (Some(factor), "lease") => Ok(Length::Leases(factor)),
        (Some(factor), _) => Ok(Length::Works(factor)),
        (None, _) => Err((
            format!("`{text}` is not a multiple"),
            "write a number up to 1000000, such as 1.5x lease".into(),
        )),
    })
}

/// A whole number within `min..=max`.
pub fn count(
    what: &str,
    (min, max): (u64, u64),
    node: &Node,
    complaints: &mut Vec<Complaint>,
) -> Option<u64> {
    let scalar = scalar(what, "a whole number", node, complaints)?;
    match whole(scalar) {
        Ok(number) if (min..=max).contains(&number) => Some(number),
        Ok(number) => {
            complaints.push(
                Complaint::at(node.place, format!("{what} is {number}"))
                    .remedy(format!("it must be from {min} to {max}")),
            );
            None
        }
        Err(remedy) => {
            complaints.push(
                Complaint::at(
                    node.place,
                    format!("{what}: `{}` is not a whole number", scalar.text),
                )
                .remedy(remedy),
            );
            None
        }
    }
}

fn whole(scalar: &Scalar) -> Result<u64, String> {
    let text = scalar.text.as_str();
    if !scalar.plain {
        return Err("write a number, without quotes".into());
    }
    if text.len() > 1 && text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let plain = text.trim_start_matches('0');
        return Err(format!(
            "a leading zero may mean octal; write {}",
            if plain.is_empty() { "0" } else { plain }
        ));
    }
    if text.starts_with('-') {
        return Err("it must not be negative".into());
    }
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().map_err(|_| "it is far too large".into());
    }
    match text.parse::<f64>() {
        Ok(number) if number.fract() == 0.0 && (0.0..1e15).contains(&number) => {
            Err(format!("write {number:.0}"))
        }
        _ => Err("write digits only, such as 10".into()),
    }
}

/// `true` or `false`, nothing else.
pub fn flag(what: &str, node: &Node, complaints: &mut Vec<Complaint>) -> Option<bool> {
    let scalar = scalar(what, "true or false", node, complaints)?;
    match scalar.text.as_str() {
        "true" if scalar.plain => return Some(true),
        "false" if scalar.plain => return Some(false),
        _ => {}
    }
    let remedy = match scalar.text.to_lowercase().as_str() {
        "yes" | "on" | "y" | "true" | "1" => "write true",
        "no" | "off" | "n" | "false" | "0" => "write false",
        _ => "write true or false",
    };
    complaints.push(
        Complaint::at(node.place, format!("{what}: `{}` is neither true nor false", scalar.text))
            .remedy(remedy),
    );
    None
}

/// Operations per second: `800/s`, `2.5/s`, `60/m`; above 0 and up to ten million per second.
pub fn rate(what: &str, node: &Node, complaints: &mut Vec<Complaint>) -> Option<f64> {
    let text = scalar(what, "a rate with its unit", node, complaints)?.text.trim();
    let mut complain = |problem: String, remedy: String| {
        complaints.push(Complaint::at(node.place, format!("{what}: {problem}")).remedy(remedy));
        None
    };
    let Some((number, unit)) = text.split_once('/') else {
        return complain(format!("`{text}` has no unit"), "write it per second: 800/s".into());
    };
    let seconds = match unit.trim() {
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return complain(format!("`{text}` is not a rate"), "write 800/s or 60/m".into()),
    };
    let digits = number.trim();
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match digits.parse::<f64>() {
        Ok(number) if plain && number > 0.0 && number / seconds <= 1e7 => Some(number / seconds),
        Ok(_) if plain || digits.starts_with('-') => complain(
            format!("`{text}` is out of range"),
            "it must be above 0 and at most 10000000/s".into(),
        ),
        _ => complain(format!("`{text}` is not a rate"), "write 800/s or 60/m".into()),
    }
}

/// One of `choices`, by name.
pub fn choice<T: Copy>(
    what: &str,
    choices: &[(&'static str, T)],
    node: &Node,
    complaints: &mut Vec<Complaint>,
) -> Option<T> {
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    let scalar = scalar(what, &format!("one of {}", names.join(", ")), node, complaints)?;
    if let Some((_, value)) = choices.iter().find(|(name, _)| *name == scalar.text) {
        return Some(*value);
    }
    complaints.push(
        Complaint::at(node.place, format!("unknown {what} `{}`", scalar.text))
            .suggest(&scalar.text, &names),
    );
    None
}

/// A duration as it goes into stored scenarios.
#[derive(Debug, Clone, Copy)]
pub struct Shown(pub Duration);

impl Serialize for Shown {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&show(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_carry_their_unit() {
        let fixed = |text| match parse_length(text) {
            Ok(Length::Fixed(duration)) => Some(duration),
            _ => None,
        };
        assert_eq!(fixed("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(fixed("1m 30s"), Some(Duration::from_secs(90)));
        assert_eq!(fixed("1.5s"), Some(Duration::from_millis(1500)));
        assert_eq!(fixed("15µs"), Some(Duration::from_micros(15)));
        assert_eq!(parse_length("1.5x lease"), Ok(Length::Leases(1.5)));
        assert_eq!(parse_length("2x work"), Ok(Length::Works(2.0)));
        for bad in ["", "5", "-5s", "5 lightyears", "s", "1e3ms", "..s", "x lease", "-1x lease"] {
            assert!(parse_length(bad).is_err(), "{bad:?}");
        }
        assert!(fixed("99999999999999999999999999d").is_some_and(|length| length > DAY));
    }
}
