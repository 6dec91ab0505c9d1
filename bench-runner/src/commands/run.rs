//! `lockbench run`.

use crate::arguments::RunArgs;
use crate::exit::Exit;
use crate::usage::plan_of;

/// Runs a scenario.
pub fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let plan = plan_of(&args.scenario)?;
    anyhow::bail!("`lockbench run` of {} is not built yet", plan.name)
}
