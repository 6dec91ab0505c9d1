//! The keys of a scenario in words: one table for the JSON Schema and for the reference page.

use serde_json::{Value, json};

/// One key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Dotted path from the top.
    pub path: &'static str,
    /// What it takes.
    pub form: Form,
    /// What it is if left out; empty if it must be there.
    pub default: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Any text.
    Text,
    /// A whole number from the one to the other.
    Count(u64, u64),
    /// A duration with its unit.
    Duration,
    /// A duration, or a multiple of the lease or of the work.
    Length,
    /// `2s`, or `{ renewed: 30s }`.
    Lease,
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of names of this kind, some with options.
    Axis(&'static str),
    /// A URL, or a block that says managed or address.
    Backend,
    /// A list of rules.
    Rules,
    /// A block of keys.
    Block,
}

const fn key(path: &'static str, form: Form, default: &'static str, meaning: &'static str) -> Key {
    Key { path, form, default, meaning }
}

/// Every key, in the order of the reference.
pub static KEYS: &[Key] = &[
    key(
        "name",
        Form::Text,
        "",
        "what the scenario is called; the folder of a run carries it as a slug",
    ),
    key(
        "seed",
        Form::Count(0, u64::MAX),
        "1",
        "seed of every random choice: arrivals, keys, jitter, order of trials",
    ),
    key(
        "strategies",
        Form::Axis("strategies"),
        "",
        "axis: the locks to compare; an option block may also override the keys of `lock`",
    ),
    key(
        "workloads",
        Form::Axis("workloads"),
        "",
        "axis: what happens around the lock; an option block may also override the keys of `lock` (a strategy's word beats a workload's)",
    ),
    key(
        "load",
        Form::Axis("loads"),
        "[closed]",
        "axis: when operations are due: `closed: { think: 0ms }`, `constant: { rate: 800/s, arrivals: uniform | poisson }`",
    ),
    key(
        "callers",
        Form::Axis("callers"),
        "[naive]",
        "axis: how careful the code under the lock is",
    ),
    key("guards", Form::Axis("guards"), "[none]", "axis: what the register itself refuses"),
    key(
        "faults",
        Form::Axis("faults"),
        "[none]",
        "axis: what is broken meanwhile; this build has `none` only",
    ),
    key("clients", Form::Block, "", "who asks for the lock"),
    key(
        "clients.agents",
        Form::Count(1, 256),
        "instances, at most 8",
        "operating-system processes; instances are dealt out to them in turn",
    ),
    key(
        "clients.instances",
        Form::Count(1, 10_000),
        "2",
        "application instances, each with its own connections and client id",
    ),
    key(
        "clients.workers",
        Form::Count(1, 100_000),
        "8",
        "callers per instance; instances times workers is at most 100000",
    ),
    key("lock", Form::Block, "", "how the lock is asked for"),
    key(
        "lock.lease",
        Form::Lease,
        "2s",
        "1ms to 24h: `2s` is fixed, `{ renewed: 30s }` is kept alive by the client; may be a multiple of the work",
    ),
    key(
        "lock.patience",
        Form::Length,
        "500ms",
        "how long a caller waits for the lock; 0s is one try",
    ),
    key(
        "lock.allow-short-lease",
        Form::Flag,
        "false",
        "whether a fixed lease may be shorter than the work, to show what happens then",
    ),
    key("warmup", Form::Duration, "1s", "time before the measured window of each trial"),
    key("measure", Form::Duration, "5s", "the measured window of each trial, 100ms to 24h"),
    key("trials", Form::Count(1, 1000), "3", "repetitions of each cell"),
    key(
        "controls",
        Form::Flag,
        "true",
        "whether locks with a known answer run as well: control-none must be convicted, control-in-process and control-witness cleared",
    ),
    key("slo", Form::Block, "", "the service level"),
    key(
        "slo.response",
        Form::Duration,
        "none",
        "what a response must not exceed to count as goodput; without it goodput is not measured",
    ),
    key(
        "prefix",
        Form::Text,
        "lockbench",
        "of every key on every server; up to 40 letters, digits and - _ : .",
    ),
    key(
        "keep",
        Form::Word(&["all", "violations"]),
        "all",
        "what remains of histories after judging",
    ),
    key(
        "backends",
        Form::Block,
        "",
        "where the servers are; started and stopped by the run if left out",
    ),
    key(
        "backends.redis",
        Form::Backend,
        "managed",
        "the Redis under test: `managed: { persistence: none | aof-everysec | aof-always }`, or an address. A plain string is enough on loopback; elsewhere write `{ address, disposable: false, ceiling: { operations: 20000/s, connections: 200 } }`. `${NAME}` is replaced from the environment, in addresses only",
    ),
    key(
        "backends.witness",
        Form::Backend,
        "managed",
        "the witness, which keeps the register; never the server under test",
    ),
    key(
        "gates",
        Form::Rules,
        "[violations == 0 where fault == none]",
        "rules over results, `METRIC OP VALUE [where FIELD == VALUE {and FIELD == VALUE}]`; [] for none",
    ),
];

/// Keys that are planned: refused as not built yet.
pub static LATER: &[&str] = &["network", "variants", "sweep"];

impl Form {
    /// In words, for the reference page.
    pub fn words(self) -> String {
        match self {
            Self::Text => "text".into(),
            Self::Count(from, u64::MAX) => format!("whole number from {from}"),
            Self::Count(from, to) => format!("whole number, {from} to {to}"),
            Self::Duration => "duration".into(),
            Self::Length => "duration or multiple".into(),
            Self::Lease => "duration or `{ renewed: duration }`".into(),
            Self::Flag => "`true` or `false`".into(),
            Self::Word(words) => {
                words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or ")
            }
            Self::Axis(kind) => format!("list of {kind}"),
            Self::Backend => "`managed`, URL or block".into(),
            Self::Rules => "list of rules".into(),
            Self::Block => "block".into(),
        }
    }

    /// As JSON Schema; axes and blocks are filled in by who knows what is in them.
    pub fn schema(self) -> Value {
        match self {
            Self::Text => json!({ "type": "string" }),
            Self::Count(from, u64::MAX) => json!({ "type": "integer", "minimum": from }),
            Self::Count(from, to) => json!({ "type": "integer", "minimum": from, "maximum": to }),
            Self::Duration => duration(),
            Self::Length => length(),
            Self::Lease => json!({
                "anyOf": [length(), {
                    "type": "object",
                    "properties": { "renewed": length() },
                    "required": ["renewed"],
                    "additionalProperties": false
                }]
            }),
            Self::Flag => json!({ "type": "boolean" }),
            Self::Word(words) => json!({ "enum": words }),
            Self::Axis(_) => json!({ "type": "array", "minItems": 1 }),
            Self::Backend => backend(),
            Self::Rules => json!({ "type": "array", "items": { "type": "string" } }),
            Self::Block => json!({ "type": "object" }),
        }
    }
}

const UNITS: &str =
    "[0-9.]+ ?(ns|us|µs|ms|s|sec|m|min|h|d)( ?[0-9.]+ ?(ns|us|µs|ms|s|sec|m|min|h|d))*";

fn duration() -> Value {
    json!({ "type": "string", "pattern": format!("^{UNITS}$") })
}

fn length() -> Value {
    json!({ "type": "string", "pattern": format!("^{UNITS}$|^[0-9.]+ ?x ?(lease|work)$") })
}

fn rate() -> Value {
    json!({ "type": "string", "pattern": "^[0-9.]+ ?/ ?(s|m|min|h)$" })
}

/// The option blocks of the loads, by name.
pub fn load_blocks() -> Value {
    json!({
        "closed": {
            "type": "object",
            "properties": { "think": length() },
            "additionalProperties": false
        },
        "constant": {
            "type": "object",
            "properties": { "rate": rate(), "arrivals": { "enum": ["uniform", "poisson"] } },
            "required": ["rate"],
            "additionalProperties": false
        }
    })
}

fn backend() -> Value {
    let persistence = json!({ "enum": ["none", "aof-everysec", "aof-always"] });
    json!({
        "anyOf": [
            { "const": "managed" },
            { "type": "string", "pattern": "^(rediss?://|.*\\$\\{)" },
            {
                "type": "object",
                "properties": { "managed": {
                    "type": "object",
                    "properties": { "persistence": persistence },
                    "additionalProperties": false
                } },
                "required": ["managed"],
                "additionalProperties": false
            },
            {
                "type": "object",
                "properties": {
                    "address": { "type": "string" },
                    "disposable": { "type": "boolean" },
                    "ceiling": {
                        "type": "object",
                        "properties": {
                            "operations": rate(),
                            "connections": { "type": "integer", "minimum": 1, "maximum": 100_000 }
                        },
                        "required": ["operations", "connections"],
                        "additionalProperties": false
                    }
                },
                "required": ["address"],
                "additionalProperties": false
            }
        ]
    })
}
