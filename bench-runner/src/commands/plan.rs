//! `lockbench plan`: what a scenario would run, without running it.

use bytesize::ByteSize;
use comfy_table::{ContentArrangement, Table, presets};
use std::fmt::Write as _;
use std::time::Duration;

use crate::arguments::{PlanArgs, PlanFormat};
use crate::exit::Exit;
use crate::plan::{Persistence, Plan, RedisBackend};
use crate::scenario::values::show;
use crate::terminal::print;
use crate::usage::plan_of;

/// Prints the plan of a scenario.
pub fn run(args: &PlanArgs) -> anyhow::Result<Exit> {
    let plan = plan_of(&args.scenario)?;
    let text = match args.format {
        PlanFormat::Text => text(&plan),
        PlanFormat::Json => format!("{}\n", serde_json::to_string_pretty(&plan)?),
    };
    print(&text)?;
    Ok(Exit::Pass)
}

fn text(plan: &Plan) -> String {
    let run = plan.cells.iter().filter(|cell| cell.head.applicable).count();
    let mut text = format!(
        "{}\n\n{run} cells of {} make sense, {} trials each; {} controls\nabout {}; at most {} of histories\n",
        crate::complaint::printable(&plan.name),
        plan.cells.len(),
        plan.trials,
        plan.controls.len(),
        show(Duration::from_secs(plan.duration().as_secs().max(1))),
        ByteSize(plan.history_bytes()).display().iec(),
    );
    let mut line = |words: String| {
        text.push_str(&words);
        text.push('\n');
    };
    if let Some(redis) = &plan.backends.redis {
        line(format!("redis: {}", backend(redis)));
    }
    line(format!("witness: {}", backend(&plan.backends.witness)));
    for gate in &plan.gates {
        line(format!("gate: {gate}"));
    }
    for warning in &plan.warnings {
        line(format!("warning: {warning}"));
    }
    text.push('\n');
    for line in table(plan).to_string().lines() {
        writeln!(text, "{}", line.trim()).expect("a string takes every write");
    }
    text
}

fn table(plan: &Plan) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["cell", "lease", "patience", "callers", "runs"]);
    for cell in &plan.cells {
        let lease = if cell.lock.renewed { "renewed " } else { "" };
        let runs = cell
            .head
            .reason
            .as_ref()
            .map_or_else(|| plan.trials.to_string(), |reason| format!("- {reason}"));
        table.add_row([
            cell.head.id.clone(),
            format!("{lease}{}", show(cell.lock.lease)),
            show(cell.lock.patience),
            cell.clients.total().to_string(),
            runs,
        ]);
    }
    for control in &plan.controls {
        let must = if control.guilty { "convicted" } else { "cleared" };
        table.add_row([
            control.cell.head.id.clone(),
            show(control.cell.lock.lease),
            show(control.cell.lock.patience),
            control.cell.clients.total().to_string(),
            format!("1, must be {must}"),
        ]);
    }
    table
}

fn backend(backend: &RedisBackend) -> String {
    match backend {
        RedisBackend::Managed { persistence } => {
            let persistence = match persistence {
                Persistence::None => "none",
                Persistence::AofEverysec => "aof-everysec",
                Persistence::AofAlways => "aof-always",
            };
            format!("managed, persistence {persistence}")
        }
        RedisBackend::Address { address, disposable, ceiling } => {
            let disposable = if *disposable { ", disposable" } else { "" };
            let ceiling = ceiling.map_or_else(String::new, |ceiling| {
                format!(
                    ", at most {}/s and {} connections",
                    ceiling.operations, ceiling.connections
                )
            });
            format!("{address}{disposable}{ceiling}")
        }
    }
}
