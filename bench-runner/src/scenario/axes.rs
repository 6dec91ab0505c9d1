//! The axes of the matrix: lists of names, some with an option block.

use std::time::Duration;

use workloads::caller::Caller;
use workloads::guard::Guard;

use crate::complaint::{Complaint, Place};
use crate::plan::Arrivals;
use crate::scenario::asked::{Overrides, read_overrides};
use crate::scenario::fields::{Fields, Placed, not_built};
use crate::scenario::values::{Bounds, Length, choice, length, rate, scalar};
use crate::yaml::{Node, Pair, Shape};

/// An entry of a catalogue that the scenario wants, with its options.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// Its name, which the catalogue has.
    pub name: &'static str,
    /// Where the name stands.
    pub place: Place,
    /// Its option block without what belongs to the lock; `None` if it has none.
    pub options: Option<Node>,
    /// What it overrides of the lock.
    pub overrides: Overrides,
    /// The whole block as it stands in the file.
    pub written: Option<Node>,
}

/// When operations are due, as the scenario says it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WantedLoad {
    /// The next when the last has ended.
    Closed {
        /// Time between two operations of a worker.
        think: Length,
    },
    /// By a schedule.
    Constant {
        /// Operations per second.
        rate: f64,
        /// How they are spread.
        arrivals: Arrivals,
    },
}

/// A load and the block it was read from.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadAt {
    /// The load.
    pub value: WantedLoad,
    /// Where its name stands.
    pub place: Place,
    /// Its block as it stands in the file.
    pub written: Option<Node>,
}

const LATER_STRATEGIES: [&str; 10] = [
    "redisson-lock",
    "redisson-fair-lock",
    "redisson-spin-lock",
    "redisson-read-write-lock",
    "redisson-semaphore",
    "redis-fenced",
    "redlock",
    "zookeeper-mutex",
    "etcd-mutex",
    "postgres-advisory",
];
const LATER_WORKLOADS: [&str; 6] =
    ["rate-limit", "cache-rebuild", "transfer", "scheduled-job", "serial-number", "read-write"];
const LATER_LOADS: [&str; 3] = ["poisson", "ramp", "spike"];
const LATER_FAULTS: [&str; 12] = [
    "pause-client",
    "crash-client",
    "cut-client",
    "delay-client",
    "freeze-server",
    "crash-server",
    "restart-server",
    "failover",
    "split-brain",
    "clock-jump",
    "flush",
    "lost-reply",
];

/// One item of an axis: a name, and what stands behind its colon.
struct Item<'n> {
    name: &'n str,
    place: Place,
    block: Option<&'n Node>,
}

/// The strategies or workloads of the list `node`. `what` is the kind of entry, `known` their names.
pub fn wanted(
    what: &'static str,
    known: &[&'static str],
    node: &Node,
    complaints: &mut Vec<Complaint>,
) -> Vec<Wanted> {
    let later: &[&str] = if what == "strategy" { &LATER_STRATEGIES } else { &LATER_WORKLOADS };
    let mut all = Vec::new();
    for item in items(what, node, complaints) {
        let Some(name) = known.iter().find(|name| **name == item.name) else {
            complaints.push(unknown(what, &item, known, later));
            continue;
        };
        let mut overrides = Overrides::default();
        let options = item.block.map(|block| {
            let Shape::Map(pairs) = &block.shape else { return block.clone() };
            let (lock, own): (Vec<Pair>, Vec<Pair>) = pairs
                .iter()
                .cloned()
                .partition(|pair| Overrides::KEYS.contains(&pair.key.as_str()));
            overrides = read_overrides(&lock, complaints);
            Node { shape: Shape::Map(own), place: block.place }
        });
        all.push(Wanted {
            name,
            place: item.place,
            options,
            overrides,
            written: item.block.cloned(),
        });
    }
    all
}

/// The loads of the list `node`.
pub fn loads(node: &Node, complaints: &mut Vec<Complaint>) -> Vec<LoadAt> {
    let mut all = Vec::new();
    for item in items("load", node, complaints) {
        let place = item.place;
        let load = match item.name {
            "closed" => closed(&item, complaints),
            "constant" => constant(&item, complaints),
            _ => {
                complaints.push(unknown("load", &item, &["closed", "constant"], &LATER_LOADS));
                None
            }
        };
        let written = item.block.cloned();
        all.extend(load.map(|value| LoadAt { value, place, written }));
    }
    all
}

fn closed(item: &Item<'_>, complaints: &mut Vec<Complaint>) -> Option<WantedLoad> {
    let mut think = Length::Fixed(Duration::ZERO);
    if let Some(block) = item.block {
        let mut fields = Fields::open(block, "closed", complaints)?;
        if let Some(node) = fields.take("think") {
            think = length("think", Bounds::from(Duration::ZERO), node, complaints)?;
        }
        fields.finish(complaints);
    }
    Some(WantedLoad::Closed { think })
}

fn constant(item: &Item<'_>, complaints: &mut Vec<Complaint>) -> Option<WantedLoad> {
    let Some(block) = item.block else {
        complaints.push(
            Complaint::at(item.place, "constant has no rate")
                .remedy("write constant: { rate: 800/s }"),
        );
        return None;
    };
    let mut fields = Fields::open(block, "constant", complaints)?;
    let asked = fields.take("rate");
    let arrivals = fields.take("arrivals").map_or(Some(Arrivals::Uniform), |node| {
        let choices = [("uniform", Arrivals::Uniform), ("poisson", Arrivals::Poisson)];
        choice("arrivals", &choices, node, complaints)
    });
    fields.finish(complaints);
    let Some(node) = asked else {
        complaints.push(
            Complaint::at(item.place, "constant has no rate")
                .remedy("write constant: { rate: 800/s }"),
        );
        return None;
    };
    Some(WantedLoad::Constant { rate: rate("rate", node, complaints)?, arrivals: arrivals? })
}

/// The callers of the list `node`.
pub fn callers(node: &Node, complaints: &mut Vec<Complaint>) -> Vec<Placed<Caller>> {
    named("caller", Caller::ALL.map(|caller| (caller.name(), caller)).as_slice(), node, complaints)
}

/// The guards of the list `node`.
pub fn guards(node: &Node, complaints: &mut Vec<Complaint>) -> Vec<Placed<Guard>> {
    named("guard", Guard::ALL.map(|guard| (guard.name(), guard)).as_slice(), node, complaints)
}

/// Reads the list of faults `node`, of which this build has `none` only.
pub fn faults(node: &Node, complaints: &mut Vec<Complaint>) -> Vec<Placed<&'static str>> {
    let mut all = Vec::new();
    for item in items("fault", node, complaints) {
        match (item.name, item.block) {
            ("none", None) => all.push(Placed { value: "none", place: item.place }),
            ("none", Some(block)) => {
                complaints.push(Complaint::at(block.place, "none has no options"));
            }
            _ => complaints.push(unknown("fault", &item, &["none"], &LATER_FAULTS)),
        }
    }
    all
}

fn named<T: Copy>(
    what: &'static str,
    choices: &[(&'static str, T)],
    node: &Node,
    complaints: &mut Vec<Complaint>,
) -> Vec<Placed<T>> {
    let mut all = Vec::new();
    for item in items(what, node, complaints) {
        if let Some(block) = item.block {
            complaints.push(Complaint::at(block.place, format!("a {what} has no options")));
            continue;
        }
        let Some((_, value)) = choices.iter().find(|(name, _)| *name == item.name) else {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            complaints.push(unknown(what, &item, &names, &[]));
            continue;
        };
        all.push(Placed { value: *value, place: item.place });
    }
    all
}

fn unknown(what: &str, item: &Item<'_>, known: &[&str], later: &[&str]) -> Complaint {
    if later.contains(&item.name) {
        return not_built(item.place, item.name);
    }
    Complaint::at(item.place, format!("unknown {what} `{}`", item.name)).suggest(item.name, known)
}

/// The items of an axis: `- name` or `- name: {options}`. A single name may stand without a list.
fn items<'n>(what: &str, node: &'n Node, complaints: &mut Vec<Complaint>) -> Vec<Item<'n>> {
    match &node.shape {
        Shape::List(nodes) if nodes.is_empty() => {
            complaints.push(
                Complaint::at(node.place, format!("the list names no {what}"))
                    .remedy("name one, or remove the key to have its default"),
            );
            Vec::new()
        }
        Shape::List(nodes) => {
            nodes.iter().filter_map(|node| item(what, node, complaints)).collect()
        }
        _ => {
            complaints.push(
                Complaint::at(node.place, format!("expected a list, not {}", node.kind()))
                    .remedy(format!("write one {what} per line, each after a dash")),
            );
            Vec::new()
        }
    }
}

fn item<'n>(what: &str, node: &'n Node, complaints: &mut Vec<Complaint>) -> Option<Item<'n>> {
    if let Shape::Map(pairs) = &node.shape {
        if let [pair] = pairs.as_slice() {
            let block = (!pair.value.is_empty()).then_some(&pair.value);
            return Some(Item { name: &pair.key, place: pair.place, block });
        }
        complaints.push(
            Complaint::at(node.place, format!("a {what} is one name, with its options behind it"))
                .remedy("write - name: { option: value }"),
        );
        return None;
    }
    let name = scalar(what, "a name", node, complaints)?;
    Some(Item { name: &name.text, place: node.place, block: None })
}
