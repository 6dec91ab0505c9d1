//! `lockbench run`.

use anyhow::{Context, anyhow};
use tokio::runtime::Builder;
use tokio::task::JoinSet;

use crate::arguments::RunArgs;
use crate::execute::{Order, execute};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::plan::Plan;
use crate::progress::Loudness;
use crate::signals::Signals;
use crate::terminal;
use crate::usage::{Misuse, plan_of};

/// Runs a scenario.
pub fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let plan = only(plan_of(&args.scenario)?, args.only.as_deref())?;
    let scenario = std::fs::read_to_string(&args.scenario)
        .with_context(|| format!("could not read {}", args.scenario.display()))?;
    let order = Order {
        plan: &plan,
        scenario: &without_secrets(&scenario),
        out: args.out.as_deref(),
        resume: args.resume.as_deref(),
        loudness: if args.quiet { Loudness::Quiet } else { Loudness::Normal },
        program: std::env::current_exe().context("cannot find my own program")?,
    };
    match carry_out(order) {
        Ok(exit) => Ok(exit),
        Err(Failure { exit, error }) => {
            terminal::error(&error);
            Ok(exit)
        }
    }
}

/// On this thread alone: agents and servers are tied to its life.
fn carry_out(order: Order<'_>) -> Result<Exit, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(async {
        let mut listeners = JoinSet::new();
        let signals = Signals::listen(&mut listeners)?;
        let mut abort = signals.clone();
        tokio::select! {
            done = Box::pin(execute(order, signals)) => done,
            exit = abort.abort() => Err(Failure { exit, error: anyhow!("stopped at once; what was finished is saved") }),
        }
    });
    // A judge that is still at work has nothing to say any more.
    runtime.shutdown_background();
    done
}

fn only(mut plan: Plan, pattern: Option<&str>) -> anyhow::Result<Plan> {
    let Some(pattern) = pattern else { return Ok(plan) };
    let all: Vec<String> = plan.cells.iter().map(|cell| cell.head.id.clone()).collect();
    plan.cells.retain(|cell| matches(pattern, &cell.head.id));
    if !plan.cells.iter().any(|cell| cell.head.applicable) {
        return Err(Misuse(format!(
            "no cell that can be run matches `{pattern}`; there are {}",
            all.join(", ")
        ))
        .into());
    }
    Ok(plan)
}

/// `*` stands for anything, `?` for one character.
fn matches(pattern: &str, id: &str) -> bool {
    let mut rest = pattern.chars();
    match rest.next() {
        None => id.is_empty(),
        Some('*') => {
            let ends = id.char_indices().map(|(at, _)| at).chain([id.len()]);
            ends.into_iter().any(|at| matches(rest.as_str(), &id[at..]))
        }
        Some(wanted) => {
            let mut letters = id.chars();
            letters.next().is_some_and(|letter| wanted == '?' || wanted == letter)
                && matches(rest.as_str(), letters.as_str())
        }
    }
}

/// The scenario as written, with whatever stands between `://` and `@` taken out. Values of `${...}` were never in it.
fn without_secrets(scenario: &str) -> String {
    let mut clean = String::with_capacity(scenario.len());
    for line in scenario.split_inclusive('\n') {
        let Some(begin) = line.find("://").map(|at| at + 3) else {
            clean.push_str(line);
            continue;
        };
        let host = line[begin..].rfind('@').map_or(begin, |at| begin + at);
        clean.push_str(&line[..begin]);
        if host > begin {
            clean.push_str("***");
        }
        clean.push_str(&line[host..]);
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_ids() {
        assert!(matches("redis-lua.*", "redis-lua.seckill.closed"));
        assert!(matches("*.closed", "redis-lua.seckill.closed"));
        assert!(matches("redis-l?a.*.*", "redis-lua.seckill.closed"));
        assert!(!matches("redis-lua", "redis-lua.seckill"));
        assert!(!matches("?", ""));
    }

    #[test]
    fn what_is_written_down_is_clean() {
        let text = "name: a\naddress: \"redis://u:p@ss@host:1/0\" # mine\nother: redis://h:2\n";
        let clean = without_secrets(text);
        assert!(!clean.contains("p@ss") && !clean.contains("u:p"), "{clean}");
        assert!(clean.contains("redis://***@host:1/0") && clean.contains("redis://h:2"));
    }
}
