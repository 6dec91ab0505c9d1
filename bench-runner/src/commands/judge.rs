//! `lockbench judge`: a saved run judged again, without any server.

use anyhow::Context;
use results::run_file;

use crate::arguments::RunPath;
use crate::exit::Exit;
use crate::judging::{self, RUN_FILE};
use crate::rejudging::rejudge;
use crate::saved_run::SavedRun;
use crate::usage::Misuse;

/// Replaces run.json and the results of the trials, and prints the matrix.
pub fn run(args: &RunPath) -> anyhow::Result<Exit> {
    let saved = SavedRun::open(&args.run)?;
    let path = saved.path().join(RUN_FILE);
    let before = run_file::load(&path).map_err(|error| Misuse(error.to_string()))?;
    let run = rejudge(&saved, before)?;
    run_file::save(&path, &run).with_context(|| format!("could not save {}", path.display()))?;
    judging::print(&run, saved.path())?;
    Ok(judging::exit(&run))
}
