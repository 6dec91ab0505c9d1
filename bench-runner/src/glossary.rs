//! Every name that can stand in a scenario or on the command line, with its page.

use results::gate::METRICS;
use serde_json::Value;
use strategies::catalog::STRATEGIES;
use strategies::strategy::{self, Role};
use workloads::caller::Caller;
use workloads::catalog::WORKLOADS;
use workloads::guard::Guard;

use crate::arguments::Kind;
use crate::text::push;

/// One name.
#[derive(Debug, Clone)]
pub struct Word {
    /// What kind of thing it names.
    pub kind: Kind,
    /// The name.
    pub name: String,
    /// One line.
    pub summary: String,
    /// Facts in short lines, such as what a strategy claims.
    pub facts: Vec<String>,
    /// Prose (Markdown).
    pub text: String,
    /// Its options.
    pub options: Vec<OptionLine>,
}

/// One option of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionLine {
    /// Dotted path inside the block.
    pub path: String,
    /// What it takes.
    pub form: String,
    /// What it is if left out.
    pub default: String,
    /// What it means.
    pub meaning: String,
}

impl Word {
    /// Its page as text.
    pub fn page(&self) -> String {
        let mut page = format!("{} ({})\n{}\n", self.name, singular(self.kind), self.summary);
        for fact in &self.facts {
            push(&mut page, format_args!("  {fact}\n"));
        }
        if !self.text.trim().is_empty() {
            push(&mut page, format_args!("\n{}\n", self.text.trim()));
        }
        // Some pages describe their options themselves.
        if !self.options.is_empty() && !self.text.contains("| option |") {
            page.push_str("\noptions\n");
            let width = self.options.iter().map(|it| it.path.len()).max().unwrap_or_default();
            for option in &self.options {
                let default = if option.default.is_empty() {
                    String::new()
                } else {
                    format!(" [{}]", option.default)
                };
                push(
                    &mut page,
                    format_args!(
                        "  {:width$}  {}{default}  {}\n",
                        option.path, option.form, option.meaning
                    ),
                );
            }
        }
        page
    }
}

const fn singular(kind: Kind) -> &'static str {
    match kind {
        Kind::Strategies => "strategy",
        Kind::Workloads => "workload",
        Kind::Loads => "load",
        Kind::Callers => "caller",
        Kind::Guards => "guard",
        Kind::Faults => "fault",
        Kind::Gates => "gate metric",
        Kind::Reports => "report format",
    }
}

/// Every word, in the order of lists.
pub fn all() -> Vec<Word> {
    Kind::ALL.into_iter().flat_map(of).collect()
}

/// The words that go by `name`; one name may stand for things of several kinds.
pub fn find(name: &str) -> Vec<Word> {
    all().into_iter().filter(|word| word.name == name).collect()
}

/// The words of one kind.
pub fn of(kind: Kind) -> Vec<Word> {
    match kind {
        Kind::Strategies => STRATEGIES.iter().map(|entry| of_strategy(entry)).collect(),
        Kind::Workloads => WORKLOADS
            .iter()
            .map(|entry| Word {
                kind,
                name: entry.name.to_owned(),
                summary: entry.summary.to_owned(),
                facts: Vec::new(),
                text: entry.page.to_owned(),
                options: options(&(entry.schema)()),
            })
            .collect(),
        Kind::Loads => pairs(kind, &LOADS),
        Kind::Callers => Caller::ALL.iter().map(|caller| of_caller(*caller)).collect(),
        Kind::Guards => Guard::ALL.iter().map(|guard| of_guard(*guard)).collect(),
        Kind::Faults => pairs(kind, &[("none", "nothing is broken")]),
        Kind::Gates => {
            let metrics: Vec<_> =
                METRICS.iter().map(|metric| (metric.name, metric.summary)).collect();
            pairs(kind, &metrics)
        }
        Kind::Reports => pairs(kind, &REPORTS),
    }
}

const LOADS: [(&str, &str); 2] = [
    (
        "closed",
        "each worker begins its next operation when the last has ended and `think` has passed",
    ),
    (
        "constant",
        "a schedule of so many operations per second, whatever the answers; arrivals uniform or poisson",
    ),
];

const REPORTS: [(&str, &str); 4] = [
    ("text", "the matrix for a terminal"),
    ("markdown", "the matrix for a merge request"),
    ("csv", "one line per cell"),
    ("json", "run.json, the contract for machines"),
];

fn pairs(kind: Kind, pairs: &[(&str, &str)]) -> Vec<Word> {
    pairs
        .iter()
        .map(|(name, summary)| Word {
            kind,
            name: (*name).to_owned(),
            summary: (*summary).to_owned(),
            facts: Vec::new(),
            text: String::new(),
            options: Vec::new(),
        })
        .collect()
}

fn of_caller(caller: Caller) -> Word {
    let summary = match caller {
        Caller::Naive => "never looks again",
        Caller::Deadline => "looks before each write whether its lease is still good",
        Caller::LostSignal => {
            "looks before each write whether its lease is still good and whether the client says it was lost"
        }
    };
    pairs(Kind::Callers, &[(caller.name(), summary)]).remove(0)
}

fn of_guard(guard: Guard) -> Word {
    let summary = match guard {
        Guard::None => "the register takes every write",
        Guard::Fence => "each access carries the fencing token, and older tokens are refused",
        Guard::Cas => "a write names the value it read, and is refused if that has changed",
        Guard::Atomic => "the whole decision is one atomic step; for no-lock only",
    };
    pairs(Kind::Guards, &[(guard.name(), summary)]).remove(0)
}

fn of_strategy(entry: &strategy::Entry) -> Word {
    let role = match entry.role {
        Role::Lock => "a lock that people choose",
        Role::NoLock => "the business case without any lock; needs the guard cas or atomic",
        Role::Control { guilty: true } => "a control: must be convicted",
        Role::Control { guilty: false } => "a control: must be cleared",
    };
    let needs: Vec<&str> = entry.needs.iter().map(|need| need.name()).collect();
    let needs = if needs.is_empty() { "no server".to_owned() } else { needs.join(", ") };
    let mut facts = vec![format!("role: {role}"), format!("needs: {needs}")];
    facts.push(format!("claims: {}", claims(entry)));
    if entry.one_process {
        facts.push("works among callers of one process only".into());
    }
    Word {
        kind: Kind::Strategies,
        name: entry.name.to_owned(),
        summary: entry.summary.to_owned(),
        facts,
        text: entry.page.to_owned(),
        options: options(&(entry.schema)()),
    }
}

fn claims(entry: &strategy::Entry) -> String {
    let claims = entry.claims;
    let named = [
        (claims.mutual_exclusion, "mutual exclusion"),
        (claims.no_leak, "no leak"),
        (claims.fifo, "first in, first out"),
        (claims.no_starvation, "no starvation"),
        (claims.wake_up, "wake-up"),
        (claims.tokens, "fencing tokens"),
    ];
    let claimed: Vec<&str> =
        named.into_iter().filter(|(claimed, _)| *claimed).map(|(_, name)| name).collect();
    if claimed.is_empty() { "nothing".to_owned() } else { claimed.join(", ") }
}

/// The options that a JSON Schema describes, nested blocks as dotted paths.
pub fn options(schema: &Value) -> Vec<OptionLine> {
    let mut lines = Vec::new();
    collect(schema, schema, "", &mut lines, 0);
    lines
}

fn collect(root: &Value, schema: &Value, path: &str, lines: &mut Vec<OptionLine>, depth: usize) {
    let schema = resolve(root, schema);
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let inner = resolve(root, property);
        let text = |key: &str| {
            property.get(key).or_else(|| inner.get(key)).cloned().unwrap_or(Value::Null)
        };
        lines.push(OptionLine {
            path: path.clone(),
            form: form(root, inner),
            default: match text("default") {
                Value::Null => String::new(),
                Value::String(default) => default,
                other => other.to_string(),
            },
            meaning: text("description").as_str().unwrap_or_default().replace('\n', " "),
        });
        if depth < 4 {
            collect(root, inner, &path, lines, depth + 1);
        }
    }
}

fn resolve<'v>(root: &'v Value, schema: &'v Value) -> &'v Value {
    let reference = schema.get("$ref").and_then(Value::as_str);
    let target = reference.and_then(|reference| root.pointer(reference.strip_prefix('#')?));
    target.unwrap_or(schema)
}

fn form(root: &Value, schema: &Value) -> String {
    let schema = resolve(root, schema);
    for key in ["oneOf", "anyOf"] {
        if let Some(forms) = schema.get(key).and_then(Value::as_array) {
            let mut forms: Vec<String> = forms.iter().map(|one| form(root, one)).collect();
            forms.dedup();
            return forms.join(" | ");
        }
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return words.join(" | ");
    }
    if let Some(word) = schema.get("const").and_then(Value::as_str) {
        return word.to_owned();
    }
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | ")
        }
        _ => "any".to_owned(),
    };
    match kind.as_str() {
        "string" if schema.get("pattern").is_some() => "duration".to_owned(),
        "object" => {
            let keys = schema.get("properties").and_then(Value::as_object);
            keys.map_or_else(
                || "block".to_owned(),
                |keys| format!("{{ {} }}", keys.keys().cloned().collect::<Vec<_>>().join(", ")),
            )
        }
        _ => kind,
    }
}
