//! The scenario: the YAML as its author wrote it, read with every default beside it.

pub mod asked;
pub mod axes;
pub mod backends;
pub mod fields;
pub mod options;
pub mod values;

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use strategies::catalog::STRATEGIES;
use workloads::caller::Caller;
use workloads::catalog::WORKLOADS;
use workloads::guard::Guard;

use crate::complaint::{Complaint, Place, Source};
use crate::plan::{Clients, Keep};
use crate::yaml::{self, Node, Shape};
use asked::{Lease, Overrides, read_lock};
use axes::{LoadAt, Wanted, WantedLoad};
use backends::{Environment, WantedBackends, read_backends};
use fields::{Fields, Placed};
use values::{Bounds, Length, choice, count, duration, flag, scalar};

/// A scenario, as far as it could be read; what could not is among its complaints.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The text it was read from.
    pub source: Source,
    /// What is wrong with it so far.
    pub complaints: Vec<Complaint>,
    /// Its name.
    pub name: Option<Placed<String>>,
    /// Seed of every random choice; 1 if left out.
    pub seed: u64,
    /// Axis.
    pub strategies: Vec<Wanted>,
    /// Axis.
    pub workloads: Vec<Wanted>,
    /// Axis; `closed` if left out.
    pub loads: Vec<LoadAt>,
    /// Axis; `naive` if left out.
    pub callers: Vec<Placed<Caller>>,
    /// Axis; `none` if left out.
    pub guards: Vec<Placed<Guard>>,
    /// Axis; `none` if left out.
    pub faults: Vec<Placed<&'static str>>,
    /// Who asks; 2 instances of 8 workers if left out.
    pub clients: Clients,
    /// How the lock is asked for; a fixed lease of 2 s and a patience of 500 ms if left out.
    pub lock: Overrides,
    /// Time before the measured window; 1 s if left out.
    pub warmup: Duration,
    /// The measured window; 5 s if left out.
    pub measure: Duration,
    /// Repetitions of each cell; 3 if left out.
    pub trials: u32,
    /// Whether the controls run; they do if left out.
    pub controls: bool,
    /// Service level.
    pub slo_response: Option<Duration>,
    /// Prefix of every key; `lockbench` if left out.
    pub prefix: String,
    /// What remains of histories; all if left out.
    pub keep: Keep,
    /// Where the servers are; managed if left out.
    pub backends: WantedBackends,
    /// The rules; `None` if left out.
    pub gates: Option<Vec<Placed<String>>>,
}

/// The lease if nothing is said.
pub const DEFAULT_LEASE: Lease =
    Lease { length: Length::Fixed(Duration::from_secs(2)), renewed: false };
/// The patience if nothing is said.
pub const DEFAULT_PATIENCE: Length = Length::Fixed(Duration::from_millis(500));
/// The gate if nothing is said.
pub const DEFAULT_GATE: &str = "violations == 0 where fault == none";

impl Scenario {
    /// Reads the scenario in the file `path`. A file that is no scenario is one with complaints.
    ///
    /// # Errors
    ///
    /// The file cannot be read at all.
    pub fn open(path: &Path, environment: Environment<'_>) -> anyhow::Result<Self> {
        let file = path.display().to_string();
        let mut bytes = Vec::new();
        let handle = std::fs::File::open(path)
            .with_context(|| format!("could not open the scenario {file}"))?;
        // One byte more than is allowed tells a long file from a longest one, and /dev/zero from both.
        let limit = yaml::MAX_BYTES as u64 + 1;
        handle
            .take(limit)
            .read_to_end(&mut bytes)
            .with_context(|| format!("could not read the scenario {file}"))?;
        Ok(match String::from_utf8(bytes) {
            Ok(text) => Self::parse(&file, &text, environment),
            Err(error) => {
                let start = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                let place = Place { start, end: start + 1 };
                let complaint = if text.len() > yaml::MAX_BYTES {
                    yaml::read(&text, &mut Vec::new()).err()
                } else {
                    None
                };
                let complaint = complaint.unwrap_or_else(|| {
                    Complaint::at(place, "this is not UTF-8 text")
                        .remedy("save the file as UTF-8; is it the right file?")
                });
                Self { complaints: vec![complaint], ..Self::empty(&file, &text) }
            }
        })
    }

    /// Reads the scenario in `text`; `file` is its name in complaints.
    pub fn parse(file: &str, text: &str, environment: Environment<'_>) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut scenario = Self::empty(file, text);
        let mut complaints = Vec::new();
        match yaml::read(text, &mut complaints) {
            Ok(root) if root.is_empty() => complaints.push(
                Complaint::of_file("the file holds no scenario")
                    .remedy("`lockbench init` writes one to begin with"),
            ),
            Ok(root) => scenario.fill(&root, environment, &mut complaints),
            Err(complaint) => complaints.push(complaint),
        }
        scenario.complaints = complaints;
        scenario
    }

    fn empty(file: &str, text: &str) -> Self {
        let nowhere = Place::default();
        Self {
            source: Source { file: file.to_owned(), text: text.to_owned() },
            complaints: Vec::new(),
            name: None,
            seed: 1,
            strategies: Vec::new(),
            workloads: Vec::new(),
            loads: vec![LoadAt {
                value: WantedLoad::Closed { think: Length::Fixed(Duration::ZERO) },
                place: nowhere,
                written: None,
            }],
            callers: vec![Placed { value: Caller::Naive, place: nowhere }],
            guards: vec![Placed { value: Guard::None, place: nowhere }],
            faults: vec![Placed { value: "none", place: nowhere }],
            clients: Clients { agents: 2, instances: 2, workers: 8 },
            lock: Overrides::default(),
            warmup: Duration::from_secs(1),
            measure: Duration::from_secs(5),
            trials: 3,
            controls: true,
            slo_response: None,
            prefix: "lockbench".into(),
            keep: Keep::All,
            backends: WantedBackends::default(),
            gates: None,
        }
    }

    fn fill(&mut self, root: &Node, environment: Environment<'_>, complaints: &mut Vec<Complaint>) {
        let Some(mut fields) = Fields::open(root, "the scenario", complaints) else { return };
        self.name = fields.take("name").and_then(|node| {
            let text = &scalar("name", "a text", node, complaints)?.text;
            Some(Placed { value: text.clone(), place: node.place })
        });
        if let Some(seed) =
            fields.take("seed").and_then(|node| count("seed", (0, u64::MAX), node, complaints))
        {
            self.seed = seed;
        }
        for key in ["name", "strategies", "workloads"] {
            if fields.take(key).is_none() {
                complaints.push(
                    Complaint::of_file(format!("the scenario has no `{key}`"))
                        .remedy("a scenario has at least name, strategies and workloads"),
                );
            }
        }
        self.fill_axes(&mut fields, complaints);
        if let Some(clients) = fields.take("clients").and_then(|node| clients(node, complaints)) {
            self.clients = clients;
        }
        if let Some(node) = fields.take("lock") {
            self.lock = read_lock(node, complaints);
        }
        self.fill_run(&mut fields, complaints);
        if let Some(node) = fields.take("backends") {
            self.backends = read_backends(node, environment, complaints);
        }
        self.gates = fields.take("gates").map(|node| gates(node, complaints));
        for later in ["network", "variants", "sweep"] {
            fields.not_built(later, complaints);
        }
        fields.finish(complaints);
    }

    fn fill_axes(&mut self, fields: &mut Fields<'_>, complaints: &mut Vec<Complaint>) {
        if let Some(node) = fields.take("strategies") {
            let known: Vec<&str> = STRATEGIES.iter().map(|entry| entry.name).collect();
            self.strategies = axes::wanted("strategy", &known, node, complaints);
        }
        if let Some(node) = fields.take("workloads") {
            let known: Vec<&str> = WORKLOADS.iter().map(|entry| entry.name).collect();
            self.workloads = axes::wanted("workload", &known, node, complaints);
        }
        if let Some(node) = fields.take("load") {
            self.loads = axes::loads(node, complaints);
        }
        if let Some(node) = fields.take("callers") {
            self.callers = axes::callers(node, complaints);
        }
        if let Some(node) = fields.take("guards") {
            self.guards = axes::guards(node, complaints);
        }
        if let Some(node) = fields.take("faults") {
            self.faults = axes::faults(node, complaints);
        }
    }

    fn fill_run(&mut self, fields: &mut Fields<'_>, complaints: &mut Vec<Complaint>) {
        let millisecond = Bounds::from(Duration::from_millis(1));
        if let Some(warmup) = fields
            .take("warmup")
            .and_then(|node| duration("warmup", Bounds::from(Duration::ZERO), node, complaints))
        {
            self.warmup = warmup;
        }
        if let Some(measure) = fields.take("measure").and_then(|node| {
            duration("measure", Bounds::from(Duration::from_millis(100)), node, complaints)
        }) {
            self.measure = measure;
        }
        if let Some(trials) =
            fields.take("trials").and_then(|node| count("trials", (1, 1000), node, complaints))
        {
            self.trials = u32::try_from(trials).unwrap_or(1);
        }
        if let Some(controls) =
            fields.take("controls").and_then(|node| flag("controls", node, complaints))
        {
            self.controls = controls;
        }
        if let Some(mut slo) =
            fields.take("slo").and_then(|node| Fields::open(node, "slo", complaints))
        {
            self.slo_response = slo
                .take("response")
                .and_then(|node| duration("response", millisecond, node, complaints));
            slo.finish(complaints);
        }
        if let Some(prefix) = fields.take("prefix").and_then(|node| prefix(node, complaints)) {
            self.prefix = prefix;
        }
        let keeps = [("all", Keep::All), ("violations", Keep::Violations)];
        if let Some(keep) =
            fields.take("keep").and_then(|node| choice("keep", &keeps, node, complaints))
        {
            self.keep = keep;
        }
    }
}

fn clients(node: &Node, complaints: &mut Vec<Complaint>) -> Option<Clients> {
    let mut fields = Fields::open(node, "clients", complaints)?;
    let mut one = |key: &'static str, max: u64, complaints: &mut Vec<Complaint>| {
        let node = fields.take(key)?;
        Some((node, count(key, (1, max), node, complaints)))
    };
    let instances = one("instances", 10_000, complaints);
    let workers = one("workers", 100_000, complaints);
    let agents = one("agents", 256, complaints);
    fields.finish(complaints);
    let instances_count = instances.map_or(Some(2), |(_, count)| count)?;
    let workers_count = workers.map_or(Some(8), |(_, count)| count)?;
    let agents_count = agents.map_or(Some(instances_count.min(8)), |(_, count)| count)?;
    if instances_count * workers_count > 100_000 {
        complaints.push(
            Complaint::at(node.place, format!("{} callers", instances_count * workers_count))
                .remedy("instances times workers must be at most 100000"),
        );
        return None;
    }
    if let Some((node, _)) = agents.filter(|_| agents_count > instances_count) {
        complaints.push(
            Complaint::at(
                node.place,
                format!("{agents_count} agents for {instances_count} instances"),
            )
            .remedy("an agent carries at least one instance; raise instances or lower agents"),
        );
        return None;
    }
    let narrow = |count: u64| u32::try_from(count).ok();
    Some(Clients {
        agents: narrow(agents_count)?,
        instances: narrow(instances_count)?,
        workers: narrow(workers_count)?,
    })
}

fn prefix(node: &Node, complaints: &mut Vec<Complaint>) -> Option<String> {
    let text = &scalar("prefix", "a short word", node, complaints)?.text;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_:.".contains(&byte);
    if text.len() <= 40 && text.bytes().all(plain) {
        return Some(text.clone());
    }
    complaints.push(
        Complaint::at(node.place, "the prefix is not plain")
            .remedy("up to 40 letters, digits and - _ : ."),
    );
    None
}

fn gates(node: &Node, complaints: &mut Vec<Complaint>) -> Vec<Placed<String>> {
    let Shape::List(items) = &node.shape else {
        complaints.push(
            Complaint::at(node.place, format!("gates must be a list, not {}", node.kind()))
                .remedy("write one rule per line, each after a dash; [] for none"),
        );
        return Vec::new();
    };
    items
        .iter()
        .filter_map(|item| {
            let rule = scalar("a gate", "one rule", item, complaints)?;
            Some(Placed { value: rule.text.clone(), place: item.place })
        })
        .collect()
}
