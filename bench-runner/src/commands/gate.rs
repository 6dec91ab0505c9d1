//! `lockbench gate`: the gates of a saved run, evaluated again.

use results::run::{GateOutcome, GateResult};
use results::run_file;
use serde_json::Value;

use crate::arguments::RunPath;
use crate::exit::Exit;
use crate::judging::{RUN_FILE, evaluate};
use crate::saved_run::SavedRun;
use crate::terminal::print;
use crate::text::push;
use crate::usage::Misuse;

/// Prints the outcome of every gate of the run; an untrusted run is exit 3, whatever its gates say.
pub fn run(args: &RunPath) -> anyhow::Result<Exit> {
    let run = SavedRun::open(&args.run)?;
    let result = run_file::load(&run.path().join(RUN_FILE))
        .map_err(|error| Misuse(format!("the run has no result: {error}")))?;
    let rules = run.plan().get("gates").and_then(Value::as_array);
    let mut text = String::new();
    let mut exit = Exit::Pass;
    if result.partial {
        exit = exit.or(Exit::Partial);
    }
    if !result.trusted {
        text.push_str("untrusted: a control gave the wrong answer\n");
        exit = exit.or(Exit::Environment);
    }
    let rules = rules.into_iter().flatten().filter_map(Value::as_str);
    for outcome in evaluate(rules, &result.cells)? {
        if outcome.outcome != GateOutcome::Pass {
            exit = exit.or(Exit::Gate);
        }
        describe(&outcome, &mut text);
    }
    print(&text)?;
    Ok(exit)
}

fn describe(gate: &GateResult, text: &mut String) {
    push(text, format_args!("{:<8} {}\n", word(gate.outcome), gate.rule));
    for detail in &gate.details {
        push(
            text,
            format_args!(
                "  {:<8} {}: {}, allowed {}\n",
                word(detail.outcome),
                detail.cell,
                detail.measured,
                detail.allowed
            ),
        );
    }
}

const fn word(outcome: GateOutcome) -> &'static str {
    match outcome {
        GateOutcome::Pass => "pass",
        GateOutcome::NoData => "no data",
        GateOutcome::Fail => "fail",
    }
}
