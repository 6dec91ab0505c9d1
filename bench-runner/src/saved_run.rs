//! The folder of a run that was saved, for the commands that work offline.

use std::path::{Path, PathBuf};

use results::trial::TrialFacts;
use serde_json::Value;

use crate::complaint::nearest;
use crate::run_directory::read_json;
use crate::usage::Misuse;

/// A saved run.
#[derive(Debug)]
pub struct SavedRun {
    path: PathBuf,
    plan: Value,
}

/// One trial of a saved run.
#[derive(Debug)]
pub struct SavedTrial {
    /// Its folder.
    pub folder: PathBuf,
    /// What is known about it.
    pub facts: TrialFacts,
}

impl SavedRun {
    /// Opens the run in `path`.
    ///
    /// # Errors
    ///
    /// [`Misuse`] if there is none.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let plan = read_json(&path.join("plan.json")).map_err(|error| {
            Misuse(format!("{} is not the folder of a run: {error:#}", path.display()))
        })?;
        Ok(Self { path: path.to_owned(), plan })
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its plan.
    pub const fn plan(&self) -> &Value {
        &self.plan
    }

    /// Ids of its cells and controls, in the order of the plan.
    pub fn cells(&self) -> Vec<&str> {
        let ids = |list: &str, pointer: &'static str| {
            let list = self.plan.get(list).and_then(Value::as_array);
            list.into_iter()
                .flatten()
                .filter_map(move |value| value.pointer(pointer).and_then(Value::as_str))
        };
        ids("cells", "/head/id").chain(ids("controls", "/cell/head/id")).collect()
    }

    /// Trial `trial` of the cell `cell`.
    ///
    /// # Errors
    ///
    /// [`Misuse`] if the run has no such cell, or did not come to this trial.
    pub fn trial(&self, cell: &str, trial: u32) -> anyhow::Result<SavedTrial> {
        let cells = self.cells();
        // Only ids of the plan become paths.
        if !cells.contains(&cell) {
            let hint = nearest(cell, &cells).map_or_else(
                || format!("it has {}", cells.join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            return Err(Misuse(format!("the run has no cell `{cell}`; {hint}")).into());
        }
        let folder = self.path.join("cells").join(cell).join(trial.to_string());
        let facts = read_json(&folder.join("trial.json")).map_err(|error| {
            Misuse(format!("there is no trial {trial} of `{cell}` in this run: {error:#}"))
        })?;
        Ok(SavedTrial { folder, facts })
    }

    /// The trials of `cell` that were saved, in their order.
    ///
    /// # Errors
    ///
    /// [`Misuse`] if the run has no such cell, or a trial cannot be read.
    pub fn trials_of(&self, cell: &str) -> anyhow::Result<Vec<SavedTrial>> {
        let folder = self.path.join("cells").join(cell);
        (1..)
            .take_while(|number: &u32| folder.join(number.to_string()).is_dir())
            .filter(|number| folder.join(number.to_string()).join("trial.json").exists())
            .map(|number| self.trial(cell, number))
            .collect()
    }
}
