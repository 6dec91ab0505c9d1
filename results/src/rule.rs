//! The grammar of gates: `METRIC OP VALUE [where FIELD == VALUE {and FIELD == VALUE}]`.

use std::fmt;

use crate::cell::CellHead;
use crate::metric::{Metric, Unit};

/// The longest rule that is read, in bytes.
const LENGTH_MAX: usize = 1_000;

/// What a gate says, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// What is compared.
    pub metric: Metric,
    /// How.
    pub comparison: Comparison,
    /// With what, in the unit of the metric (durations in microseconds, shares of 1).
    pub value: f64,
    /// The cells that it is about must have all of these.
    pub conditions: Vec<Condition>,
    /// The fewest exposures that make a count mean anything: a cell with fewer has no data.
    pub exposures_min: Option<u64>,
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `==`
    Equal,
    /// `>=`
    AtLeast,
    /// `>`
    Above,
}

impl Comparison {
    const ALL: [Self; 5] = [Self::AtMost, Self::AtLeast, Self::Equal, Self::Below, Self::Above];

    /// As it is written.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Below => "<",
            Self::AtMost => "<=",
            Self::Equal => "==",
            Self::AtLeast => ">=",
            Self::Above => ">",
        }
    }

    /// Whether `measured` keeps the rule.
    pub fn holds(self, measured: f64, allowed: f64) -> bool {
        match self {
            Self::Below => measured < allowed,
            Self::AtMost => measured <= allowed,
            // Counts are compared exactly; both sides come from whole numbers or from the same text.
            Self::Equal => measured.total_cmp(&allowed).is_eq() || measured - allowed == 0.0,
            Self::AtLeast => measured >= allowed,
            Self::Above => measured > allowed,
        }
    }
}

/// A field of the matrix that a condition looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Name of the strategy.
    Strategy,
    /// Name of the workload.
    Workload,
    /// Name of the load.
    Load,
    /// Name of the caller.
    Caller,
    /// Name of the guard.
    Guard,
    /// Name of the fault.
    Fault,
}

impl Field {
    const ALL: [Self; 6] =
        [Self::Strategy, Self::Workload, Self::Load, Self::Caller, Self::Guard, Self::Fault];

    const fn name(self) -> &'static str {
        match self {
            Self::Strategy => "strategy",
            Self::Workload => "workload",
            Self::Load => "load",
            Self::Caller => "caller",
            Self::Guard => "guard",
            Self::Fault => "fault",
        }
    }

    fn of(self, head: &CellHead) -> &str {
        match self {
            Self::Strategy => &head.strategy,
            Self::Workload => &head.workload,
            Self::Load => &head.load,
            Self::Caller => &head.caller,
            Self::Guard => &head.guard,
            Self::Fault => &head.fault,
        }
    }
}

/// One `FIELD == VALUE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Which field.
    pub field: Field,
    /// What it has to be.
    pub value: String,
}

impl Condition {
    /// Whether the cell called `head` has it.
    pub fn matches(&self, head: &CellHead) -> bool {
        self.field.of(head) == self.value
    }
}

/// A rule that cannot be read: where, why, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", Remedy(.remedy.as_deref()))]
pub struct GateError {
    /// Byte offset into the rule.
    pub offset: usize,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub remedy: Option<String>,
}

struct Remedy<'a>(Option<&'a str>);

impl fmt::Display for Remedy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

/// Reads a rule.
///
/// # Errors
///
/// [`GateError`] for the first thing that is not understood.
pub fn parse(text: &str) -> Result<Rule, GateError> {
    if text.len() > LENGTH_MAX {
        return Err(error(0, "the rule is too long", Some("at most 1000 bytes".to_owned())));
    }
    let mut reader = Reader { text, at: 0 };
    let metric = reader.metric()?;
    let comparison = reader.comparison()?;
    let value = reader.value(metric.unit())?;
    let mut rule = Rule { metric, comparison, value, conditions: Vec::new(), exposures_min: None };
    let mut joint = "where";
    while let Some((offset, word)) = reader.word() {
        if word != joint {
            let expected = format!("expected `{joint}` or the end of the rule, found `{word}`");
            return Err(error(offset, expected, None));
        }
        reader.condition(&mut rule)?;
        joint = "and";
    }
    Ok(rule)
}

fn error(offset: usize, message: impl Into<String>, remedy: Option<String>) -> GateError {
    GateError { offset, message: message.into(), remedy }
}

/// The rule and how far it was read.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    /// The next run of characters that are neither space nor part of an operator, and where it stands.
    fn word(&mut self) -> Option<(usize, &'a str)> {
        let rest = self.rest();
        let stop = |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '=' | '!');
        let mut length = rest.find(stop).unwrap_or(rest.len());
        if length == 0 {
            length = rest.chars().next()?.len_utf8();
        }
        let offset = self.at;
        self.at += length;
        Some((offset, &rest[..length]))
    }

    fn expect_word(&mut self, what: &str) -> Result<(usize, &'a str), GateError> {
        self.word().ok_or_else(|| error(self.text.len(), format!("{what} is missing"), None))
    }

    fn metric(&mut self) -> Result<Metric, GateError> {
        let (offset, word) = self.expect_word("a metric")?;
        Metric::named(word).ok_or_else(|| {
            let names = Metric::names();
            let guess = nearest(word, names.iter().map(String::as_str))
                .map_or_else(|| "see `lockbench list gates`".to_owned(), did_you_mean);
            error(offset, format!("unknown metric `{word}`"), Some(guess))
        })
    }

    fn comparison(&mut self) -> Result<Comparison, GateError> {
        let rest = self.rest();
        let Some(found) = Comparison::ALL.into_iter().find(|c| rest.starts_with(c.symbol())) else {
            let found = rest.split_whitespace().next().unwrap_or("the end of the rule");
            let message = format!("expected a comparison, found `{found}`");
            let remedy = "write one of <, <=, ==, >=, >".to_owned();
            return Err(error(self.at, message, Some(remedy)));
        };
        self.at += found.symbol().len();
        Ok(found)
    }

    fn value(&mut self, unit: Unit) -> Result<f64, GateError> {
        let (offset, word) = self.expect_word("a value")?;
        let (number, suffix) = split_number(word);
        let number: Option<f64> = number.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0);
        let value = number.and_then(|number| in_unit(number, suffix, unit));
        value.ok_or_else(|| {
            error(offset, format!("`{word}` is not {}", described(unit)), Some(remedy(unit)))
        })
    }

    fn condition(&mut self, rule: &mut Rule) -> Result<(), GateError> {
        let (offset, word) = self.expect_word("a condition")?;
        if word == "exposures" {
            return self.exposures(rule);
        }
        let Some(field) = Field::ALL.into_iter().find(|field| field.name() == word) else {
            let names = Field::ALL.into_iter().map(Field::name).chain(["exposures"]);
            let remedy = nearest(word, names).map_or_else(
                || "one of strategy, workload, load, caller, guard, fault, exposures".to_owned(),
                did_you_mean,
            );
            return Err(error(offset, format!("unknown field `{word}`"), Some(remedy)));
        };
        let at = self.at;
        if self.comparison()? != Comparison::Equal {
            let remedy = format!("write {} == NAME", field.name());
            return Err(error(at, "names can only be compared with ==", Some(remedy)));
        }
        let (_, value) = self.expect_word("a name")?;
        rule.conditions.push(Condition { field, value: value.to_owned() });
        Ok(())
    }

    fn exposures(&mut self, rule: &mut Rule) -> Result<(), GateError> {
        let at = self.at;
        if self.comparison()? != Comparison::AtLeast {
            let remedy = Some("write exposures >= NUMBER".to_owned());
            return Err(error(at, "exposures can only be asked for with >=", remedy));
        }
        let (offset, word) = self.expect_word("a number")?;
        let count = word
            .parse()
            .map_err(|_| error(offset, format!("`{word}` is not a whole number"), None))?;
        rule.exposures_min = Some(rule.exposures_min.map_or(count, |least: u64| least.max(count)));
        Ok(())
    }
}

fn split_number(word: &str) -> (&str, &str) {
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    word.split_at(end)
}

fn in_unit(number: f64, suffix: &str, unit: Unit) -> Option<f64> {
    match (unit, suffix) {
        (Unit::Count, "") => (number.fract() == 0.0).then_some(number),
        (Unit::Rate, "" | "/s") | (Unit::Number, "") | (Unit::Micros, "us" | "µs" | "μs") => {
            Some(number)
        }
        (Unit::Share, "") => (number <= 1.0).then_some(number),
        (Unit::Share, "%") => (number <= 100.0).then_some(number / 100.0),
        (Unit::Micros, "ns") => Some(number / 1e3),
        (Unit::Micros, "ms") => Some(number * 1e3),
        (Unit::Micros, "s") => Some(number * 1e6),
        (Unit::Micros, "m") => Some(number * 60e6),
        _ => None,
    }
}

const fn described(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "a whole number",
        Unit::Rate => "a rate",
        Unit::Share => "a share",
        Unit::Micros => "a duration with a unit",
        Unit::Number => "a number",
    }
}

fn remedy(unit: Unit) -> String {
    let example = match unit {
        Unit::Count => "0",
        Unit::Rate => "800/s",
        Unit::Share => "95% or 0.95",
        Unit::Micros => "80ms, 1.5s or 200us",
        Unit::Number => "2.5",
    };
    format!("write it like {example}")
}

fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let scored = names.map(|name| (strsim::jaro_winkler(word, name), name));
    let (score, name) = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (score > 0.75).then_some(name)
}

fn did_you_mean(name: &str) -> String {
    format!("did you mean `{name}`?")
}
