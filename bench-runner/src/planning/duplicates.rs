//! Finds values of an axis that are the same as an earlier one in everything.

use crate::complaint::{Complaint, Place};
use crate::planning::pairs::Pair;
use crate::scenario::Scenario;

/// Complaints about values that would make the same cells twice.
pub fn duplicates(scenario: &Scenario, pairs: &[Vec<Option<Pair>>]) -> Vec<Complaint> {
    let mut found = Vec::new();
    let row = |s: usize| {
        pairs.get(s).map(|row| row.iter().map(Option::as_ref).map(essence).collect::<Vec<_>>())
    };
    let column =
        |w: usize| pairs.iter().map(|row| essence(row.get(w)?.as_ref())).collect::<Vec<_>>();
    let strategies: Vec<_> = scenario
        .strategies
        .iter()
        .enumerate()
        .map(|(s, wanted)| (wanted.place, (wanted.name, row(s))))
        .collect();
    let workloads: Vec<_> = scenario
        .workloads
        .iter()
        .enumerate()
        .map(|(w, wanted)| (wanted.place, (wanted.name, column(w))))
        .collect();
    let known = |(_, (_, pairs)): &(Place, (&str, Option<Vec<Option<_>>>))| {
        pairs.as_ref().is_some_and(|pairs| pairs.iter().all(Option::is_some))
    };
    if strategies.iter().all(known) {
        repeated(scenario, "strategy", &strategies, &mut found);
        repeated(scenario, "workload", &workloads, &mut found);
    }
    let loads: Vec<_> = scenario.loads.iter().map(|load| (load.place, load.value)).collect();
    repeated(scenario, "load", &loads, &mut found);
    let callers: Vec<_> = scenario.callers.iter().map(|it| (it.place, it.value)).collect();
    repeated(scenario, "caller", &callers, &mut found);
    let guards: Vec<_> = scenario.guards.iter().map(|it| (it.place, it.value)).collect();
    repeated(scenario, "guard", &guards, &mut found);
    let faults: Vec<_> = scenario.faults.iter().map(|it| (it.place, it.value)).collect();
    repeated(scenario, "fault", &faults, &mut found);
    found
}

fn essence(
    pair: Option<&Pair>,
) -> Option<(serde_json::Value, serde_json::Value, crate::plan::Lock)> {
    pair.map(Pair::essence)
}

fn repeated<T: PartialEq>(
    scenario: &Scenario,
    axis: &str,
    values: &[(Place, T)],
    found: &mut Vec<Complaint>,
) {
    for (index, (place, value)) in values.iter().enumerate() {
        let Some((first, _)) = values[..index].iter().find(|(_, earlier)| earlier == value) else {
            continue;
        };
        let (line, column) = scenario.source.line_and_column(first.start);
        found.push(
            Complaint::at(
                *place,
                format!("duplicate cells: this {axis} is the same as an earlier one"),
            )
            .remedy(format!("it stands at {line}:{column} already, with the same options")),
        );
    }
}
