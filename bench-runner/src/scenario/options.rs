//! Option blocks of strategies and workloads: from the tree to the JSON that an entry is built from.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::complaint::{Complaint, Place};
use crate::scenario::values::{Length, parse_length, show};
use crate::yaml::{Node, Scalar, Shape};

/// What multiples in an option block are multiples of; `None` where that is not known.
#[derive(Debug, Clone, Copy, Default)]
pub struct Yardsticks {
    /// The lease of the cell.
    pub lease: Option<Duration>,
    /// The work of the workload.
    pub work: Option<Duration>,
}

impl Yardsticks {
    /// How long `length` is; the error names what is not known here.
    pub fn resolve(self, length: Length) -> Result<Duration, &'static str> {
        let (factor, base) = match length {
            Length::Fixed(duration) => return Ok(duration),
            Length::Leases(factor) => (factor, self.lease.ok_or("the lease is not known here")?),
            Length::Works(factor) => (factor, self.work.ok_or("the work is not known here")?),
        };
        Duration::try_from_secs_f64((base.as_secs_f64() * factor).min(3.2e9))
            .map_err(|_| "the multiple is out of range")
    }
}

/// The JSON of `node`, with multiples resolved by `yardsticks`. Bad scalars become complaints and are left out.
pub fn to_json(node: &Node, yardsticks: Yardsticks, complaints: &mut Vec<Complaint>) -> Value {
    match &node.shape {
        _ if node.is_empty() => Value::Null,
        Shape::Scalar(scalar) => match word(scalar, yardsticks) {
            Ok(value) => value,
            Err((problem, remedy)) => {
                complaints.push(Complaint::at(node.place, problem).remedy(remedy));
                Value::Null
            }
        },
        Shape::List(items) => {
            items.iter().map(|item| to_json(item, yardsticks, complaints)).collect()
        }
        Shape::Map(pairs) => {
            let mut map = Map::new();
            for pair in pairs {
                let before = complaints.len();
                let value = to_json(&pair.value, yardsticks, complaints);
                // A scalar that was complained about is not complained about a second time.
                if complaints.len() == before || matches!(pair.value.shape, Shape::Map(_)) {
                    map.insert(pair.key.clone(), value);
                }
            }
            Value::Object(map)
        }
    }
}

fn word(scalar: &Scalar, yardsticks: Yardsticks) -> Result<Value, (String, String)> {
    let text = scalar.text.as_str();
    if let Ok(length @ (Length::Leases(_) | Length::Works(_))) = parse_length(text) {
        return yardsticks.resolve(length).map(|length| show(length).into()).map_err(|why| {
            (format!("`{text}`: {why}"), "write a duration with its unit, such as 500ms".into())
        });
    }
    if !scalar.plain {
        return Ok(text.into());
    }
    match text {
        "true" => return Ok(true.into()),
        "false" => return Ok(false.into()),
        _ => {}
    }
    let ambiguous = |remedy: String| Err((format!("`{text}` may mean two things"), remedy));
    match text.to_lowercase().as_str() {
        "yes" | "on" | "true" | "y" => return ambiguous(format!("write true or \"{text}\"")),
        "no" | "off" | "false" | "n" => return ambiguous(format!("write false or \"{text}\"")),
        ".inf" | "+.inf" | "-.inf" | ".nan" => return ambiguous("write a number".into()),
        _ => {}
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.len() > 1
        && digits.starts_with('0')
        && digits.as_bytes().get(1).is_some_and(u8::is_ascii_alphanumeric)
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit() || b"xob_".contains(&byte))
    {
        return ambiguous("write a decimal number without leading zeros".into());
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text
            .parse::<u64>()
            .map(Value::from)
            .map_err(|_| (format!("`{text}` is far too large"), "write a smaller number".into()));
    }
    if let (true, Ok(number)) =
        (digits.bytes().all(|byte| byte.is_ascii_digit()), text.parse::<i64>())
    {
        return Ok(number.into());
    }
    let numeric = digits.bytes().next().is_some_and(|byte| byte.is_ascii_digit() || byte == b'.');
    match text.parse::<f64>() {
        Ok(_) if numeric && text.contains(['e', 'E']) => {
            ambiguous(format!("write the digits out, or \"{text}\""))
        }
        Ok(number) if numeric => Ok(number.into()),
        _ => Ok(text.into()),
    }
}

/// Where in `node` the dotted `path` stands: the value, or the nearest block above it.
pub fn find(node: &Node, path: &str) -> Place {
    let mut node = node;
    let mut place = node.place;
    for step in path.split('.').filter(|step| !step.is_empty()) {
        match &node.shape {
            Shape::Map(pairs) => {
                let Some(pair) = pairs.iter().find(|pair| pair.key == step) else { return place };
                node = &pair.value;
                place = if node.is_empty() { pair.place } else { node.place };
            }
            Shape::List(items) => {
                let Some(item) = step
                    .trim_matches(['[', ']'])
                    .parse::<usize>()
                    .ok()
                    .and_then(|index| items.get(index))
                else {
                    return place;
                };
                node = item;
                place = node.place;
            }
            Shape::Scalar(_) => return place,
        }
    }
    place
}

/// Where the key stands that ends the dotted `path`, if it is a key of a block.
pub fn find_key(node: &Node, path: &str) -> Option<Place> {
    let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
    let mut node = node;
    for step in parent.split('.').filter(|step| !step.is_empty()) {
        let Shape::Map(pairs) = &node.shape else { return None };
        node = &pairs.iter().find(|pair| pair.key == step)?.value;
    }
    let Shape::Map(pairs) = &node.shape else { return None };
    pairs.iter().find(|pair| pair.key == key).map(|pair| pair.place)
}

/// Takes what stands at the dotted `path` out of `value`; whether there was something.
pub fn remove(value: &mut Value, path: &str) -> bool {
    let (step, rest) = path.split_once('.').unwrap_or((path, ""));
    let Value::Object(map) = value else { return false };
    if rest.is_empty() {
        return map.shift_remove(step).is_some();
    }
    match map.get_mut(step) {
        Some(inner @ Value::Object(_)) => remove(inner, rest),
        // Inside a list or a scalar there is nothing to take out but the whole.
        Some(_) => map.shift_remove(step).is_some(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Result<Value, (String, String)> {
        word(&Scalar { text: text.into(), plain: true }, Yardsticks::default())
    }

    #[test]
    fn nothing_is_coerced_in_silence() {
        for text in ["yes", "No", "on", "010", "0x1f", "0o17", "1e3", "TRUE", ".inf"] {
            assert!(plain(text).is_err(), "{text}");
        }
        assert_eq!(plain("10"), Ok(10.into()));
        assert_eq!(plain("-3"), Ok((-3).into()));
        assert_eq!(plain("0.5"), Ok(0.5.into()));
        assert_eq!(plain("0"), Ok(0.into()));
        assert_eq!(plain("true"), Ok(true.into()));
        assert_eq!(plain("10ms"), Ok("10ms".into()));
        assert_eq!(plain("0ms"), Ok("0ms".into()));
    }

    #[test]
    fn multiples_become_durations() {
        let yardsticks = Yardsticks { lease: Some(Duration::from_millis(15)), work: None };
        let scalar = |text: &str| Scalar { text: text.into(), plain: true };
        assert_eq!(word(&scalar("1.5x lease"), yardsticks), Ok("22ms 500us".into()));
        assert!(word(&scalar("2x work"), yardsticks).is_err());
    }
}
