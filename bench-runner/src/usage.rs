//! Mistakes of the user that are not complaints about a scenario: exit 2.

use std::path::Path;

use crate::complaint::Complaint;
use crate::plan::Plan;
use crate::scenario::Scenario;
use crate::terminal;

/// A wrong argument, with a remedy in its words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Misuse(pub String);

/// The plan of the scenario in the file `path`; complaints go to standard error.
///
/// # Errors
///
/// [`Misuse`] when the file cannot be read or is no scenario.
pub fn plan_of(path: &Path) -> anyhow::Result<Plan> {
    let environment = |name: &str| std::env::var(name).ok();
    let scenario =
        Scenario::open(path, &environment).map_err(|error| Misuse(format!("{error:#}")))?;
    Plan::from_scenario(&scenario).map_err(|complaints: Vec<Complaint>| {
        terminal::note(&scenario.source.render(&complaints));
        Misuse(format!("{} is not a scenario that can be run", path.display())).into()
    })
}
