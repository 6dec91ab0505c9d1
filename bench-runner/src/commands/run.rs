//! `lockbench run`.

use crate::arguments::RunArgs;
use crate::exit::Exit;

/// Runs a scenario.
pub fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("`lockbench run {}` is not built yet", args.scenario.display())
}
