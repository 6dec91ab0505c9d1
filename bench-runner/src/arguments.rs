//! What can be typed after `lockbench`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

/// Speed and safety of distributed locks, from the same operations.
///
/// One scenario file is multiplied out into cells (strategy x workload x load x caller x guard x fault), each is run
/// several times against real servers, and every timed grant is also a checked event.
#[derive(Debug, Parser)]
#[command(name = "lockbench", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Examples:
  lockbench init                       write a first scenario
  lockbench plan scenario.yaml         what it would run, and for how long
  lockbench run scenario.yaml          run it and print the matrix
  lockbench report runs/latest --format markdown

Exit codes: 0 measured and every gate passes; 1 a gate fails or has no data; 2 wrong usage or scenario;
3 could not measure; 4 measured in part; 70 a bug of ours; 130/143 interrupted.")]
pub struct Arguments {
    /// Say nothing but results and errors.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario, print its matrix and keep the run.
    #[command(after_help = "Examples:
  lockbench run scenarios/quickstart.yaml
  lockbench run scenario.yaml --only 'redis-lua.*'
  lockbench run scenario.yaml --resume runs/flash-sale-1")]
    Run(RunArgs),
    /// Validate a scenario and print its cells, minutes, disk and backends; runs nothing.
    #[command(after_help = "Examples:
  lockbench plan scenarios/quickstart.yaml
  lockbench plan scenario.yaml --format json | jq '.cells[].head.id'")]
    Plan(PlanArgs),
    /// List what this build has.
    #[command(after_help = "Examples:
  lockbench list
  lockbench list strategies")]
    List(ListArgs),
    /// Print the page of a strategy, workload, load, caller, guard, fault, gate metric or report.
    #[command(after_help = "Example:
  lockbench explain redis-lua")]
    Explain(ExplainArgs),
    /// Write a first scenario with comments; never overwrites.
    #[command(after_help = "Example:
  lockbench init flash-sale.yaml")]
    Init(InitArgs),
    /// Print the JSON Schema of scenarios, for editors.
    #[command(after_help = "Example:
  lockbench schema > lockbench.schema.json
  # first line of a scenario: # yaml-language-server: $schema=lockbench.schema.json")]
    Schema,
    /// Print the completion script of a shell.
    #[command(after_help = "Example:
  lockbench completions bash > ~/.local/share/bash-completion/completions/lockbench")]
    Completions(CompletionsArgs),
    /// Judge a run again from its saved histories.
    #[command(after_help = "Example:
  lockbench judge runs/latest")]
    Judge(RunPath),
    /// Print the report of a saved run.
    #[command(after_help = "Examples:
  lockbench report runs/latest
  lockbench report runs/latest --format csv > run.csv")]
    Report(ReportArgs),
    /// Print the events of a cell as JSON lines.
    #[command(after_help = "Example:
  lockbench history runs/latest redis-lua.seckill.closed.naive.none.none --trial 2 --key 0")]
    History(HistoryArgs),
    /// Evaluate the gates of a saved run again.
    #[command(after_help = "Example:
  lockbench gate runs/latest")]
    Gate(RunPath),
    /// Say what this machine has and lacks, and how to get it.
    #[command(after_help = "Example:
  lockbench doctor")]
    Doctor,
    /// Carries load; started by `lockbench run`.
    #[command(hide = true)]
    Agent,
    /// Owns managed servers; started by `lockbench run`.
    #[command(hide = true)]
    Supervisor,
}

/// What `run` takes.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// The scenario file.
    pub scenario: PathBuf,
    /// Where runs are kept: `runs` unless said otherwise.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Run only the cells whose id matches this pattern (`*` and `?`).
    #[arg(long, value_name = "GLOB")]
    pub only: Option<String>,
    /// Go on with a run that was interrupted.
    #[arg(long, value_name = "RUN")]
    pub resume: Option<PathBuf>,
    /// Say nothing but results and errors.
    #[arg(skip)]
    pub quiet: bool,
}

/// What `plan` takes.
#[derive(Debug, Clone, Args)]
pub struct PlanArgs {
    /// The scenario file.
    pub scenario: PathBuf,
    /// How to print it.
    #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
    pub format: PlanFormat,
}

/// How a plan is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlanFormat {
    /// A table for people.
    Text,
    /// What a run keeps as plan.json.
    Json,
}

/// What `list` takes.
#[derive(Debug, Clone, Args)]
pub struct ListArgs {
    /// Only this kind.
    #[arg(value_enum)]
    pub kind: Option<Kind>,
}

/// Kinds of things that have a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Lock algorithms, and controls with a known answer.
    Strategies,
    /// What happens around a lock.
    Workloads,
    /// When operations are due.
    Loads,
    /// How careful the code under the lock is.
    Callers,
    /// What the register refuses.
    Guards,
    /// What is broken meanwhile.
    Faults,
    /// What gates can be set on.
    Gates,
    /// Formats of reports.
    Reports,
}

impl Kind {
    /// Every kind, in the order of lists.
    pub const ALL: [Self; 8] = [
        Self::Strategies,
        Self::Workloads,
        Self::Loads,
        Self::Callers,
        Self::Guards,
        Self::Faults,
        Self::Gates,
        Self::Reports,
    ];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strategies => "strategies",
            Self::Workloads => "workloads",
            Self::Loads => "loads",
            Self::Callers => "callers",
            Self::Guards => "guards",
            Self::Faults => "faults",
            Self::Gates => "gates",
            Self::Reports => "reports",
        }
    }
}

/// What `explain` takes.
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    /// A name that `lockbench list` shows.
    pub name: String,
}

/// What `init` takes.
#[derive(Debug, Clone, Args)]
pub struct InitArgs {
    /// Where to write it.
    #[arg(default_value = "scenario.yaml")]
    pub path: PathBuf,
}

/// What `completions` takes.
#[derive(Debug, Clone, Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// The directory of a saved run.
#[derive(Debug, Clone, Args)]
pub struct RunPath {
    /// The directory of the run, such as runs/latest.
    pub run: PathBuf,
}

/// What `report` takes.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// The directory of the run, such as runs/latest.
    pub run: PathBuf,
    /// How to print it: a format that `lockbench list reports` shows.
    #[arg(long, default_value = "text")]
    pub format: String,
}

/// What `history` takes.
#[derive(Debug, Clone, Args)]
pub struct HistoryArgs {
    /// The directory of the run, such as runs/latest.
    pub run: PathBuf,
    /// Id of the cell, as `lockbench plan` prints it.
    pub cell: String,
    /// Which repetition.
    #[arg(long, default_value_t = 1)]
    pub trial: u32,
    /// Only events of this lock key.
    #[arg(long)]
    pub key: Option<u32>,
}
