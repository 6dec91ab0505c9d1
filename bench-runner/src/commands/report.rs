//! `lockbench report`.

use crate::arguments::ReportArgs;
use crate::exit::Exit;

/// Not built yet.
pub fn run(args: &ReportArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("`lockbench report {}` is not built yet", args.run.display())
}
