//! From the trials of a cell to its entry in `run.json`.

use std::collections::BTreeMap;

use crate::cell::CellHead;
use crate::event::Outcome;
use crate::figures::add_counts;
use crate::judgement::Judgement;
use crate::latency::{LatencyKind, LatencySet, Tag};
use crate::run::{
    CellResult, Cost, Fairness, FindingSummary, HandOvers, LatencyByOutcome, PerOutcome, Sale,
    Saturation, SerialCeiling, Spread, TimeSplit,
};
use crate::saturation;
use crate::trial::SlowCommand;
use crate::trial_result::TrialFigures;
use crate::verdict::{Finding, Verdict, ViolationKind};

/// Breaches that are put into words per kind and cell.
const EXAMPLES_MAX: usize = 3;
/// Slow commands that are kept per server and cell.
const SLOW_MAX: usize = 10;
/// With 95 % confidence, nothing in `n` independent trials means a rate below 3 / n.
const RULE_OF_THREE: f64 = 3.0;

/// The entry of a cell: counts are added, histograms merged, rates shown with their spread.
///
/// `counted` are the kinds that decide its verdict, `cores` how many cores the agents may use, if that is known.
/// Without trials, or for a cell that makes no sense, nothing is measured and everything is `None`.
pub fn cell_result(
    head: &CellHead,
    counted: &[ViolationKind],
    cores: Option<f64>,
    trials: &[Judgement],
) -> CellResult {
    let mut cell = CellResult::empty(head.clone(), counted.to_vec());
    if !head.applicable || trials.is_empty() {
        return cell;
    }
    cell.trials = u32::try_from(trials.len()).unwrap_or(u32::MAX);
    judge(&mut cell, trials);
    let figures: Vec<&TrialFigures> = trials.iter().map(|trial| &trial.result.figures).collect();
    measure(&mut cell, &figures);
    let mut latencies = LatencySet::default();
    for trial in trials {
        latencies.merge(&trial.latencies);
    }
    show_latencies(&mut cell, &latencies);
    cell.saturated = Some(saturated(&figures, cores));
    annotate(&mut cell, trials, cores);
    cell
}

fn judge(cell: &mut CellResult, trials: &[Judgement]) {
    for kind in ViolationKind::ALL {
        let findings: Vec<Option<&Finding>> = trials
            .iter()
            .map(|trial| trial.result.findings.iter().find(|finding| finding.kind == kind))
            .collect();
        cell.violations.insert(kind, summary(&findings));
    }
    let verdicts: Vec<Verdict> =
        cell.counted.iter().filter_map(|kind| Some(cell.finding(*kind)?.verdict)).collect();
    // A kind that counts and was not looked for leaves the cell undecided.
    let undecided = verdicts.is_empty() || verdicts.len() < cell.counted.len();
    let worst = verdicts.into_iter().max().unwrap_or(Verdict::Unknown);
    cell.verdict = Some(if undecided { worst.max(Verdict::Unknown) } else { worst });
    let damage: Vec<u64> = ViolationKind::ALL
        .into_iter()
        .filter(|kind| kind.is_damage())
        .filter_map(|kind| Some(cell.finding(kind)?.count))
        .collect();
    cell.damage = (!damage.is_empty()).then(|| saturating_sum(damage.into_iter()));
}

/// The findings of one kind, one per trial, as one; `None` if no trial looked for it.
fn summary(findings: &[Option<&Finding>]) -> Option<FindingSummary> {
    let found: Vec<&Finding> = findings.iter().flatten().copied().collect();
    let sum = |field: fn(&Finding) -> u64| saturating_sum(found.iter().map(|f| field(f)));
    let mut verdict = found.iter().map(|finding| finding.verdict).max()?;
    let mut reason = found
        .iter()
        .filter(|finding| finding.verdict == Verdict::Unknown)
        .find_map(|finding| finding.reason.clone());
    if found.len() < findings.len() {
        verdict = verdict.max(Verdict::Unknown);
        reason = reason.or_else(|| Some("not every trial was looked at".to_owned()));
    }
    let (count, exposures) = (sum(|f| f.count), sum(|f| f.exposures));
    let bounded = verdict == Verdict::Valid && count == 0 && exposures > 0;
    Some(FindingSummary {
        count,
        within_lease: sum(|f| f.within_lease),
        past_lease: sum(|f| f.past_lease),
        exposures,
        upper_bound: bounded.then(|| (RULE_OF_THREE / exposures as f64).min(1.0)),
        verdict,
        reason: if verdict == Verdict::Unknown { reason } else { None },
        examples: found
            .iter()
            .flat_map(|finding| &finding.violations)
            .take(EXAMPLES_MAX)
            .map(|violation| violation.what.clone())
            .collect(),
    })
}

fn measure(cell: &mut CellResult, figures: &[&TrialFigures]) {
    let seconds: f64 = figures.iter().map(|f| f.window_ns as f64 / 1e9).sum();
    let sum = |field: fn(&TrialFigures) -> u64| saturating_sum(figures.iter().map(|f| field(f)));
    let offered = sum(|f| f.offered);
    cell.outcomes = Some(PerOutcome::build(|outcome| {
        saturating_sum(figures.iter().map(|f| *f.outcomes.get(outcome)))
    }));
    cell.throughput = spread(figures.iter().map(|f| f.throughput).collect());
    cell.offered = (seconds > 0.0).then(|| offered as f64 / seconds);
    cell.goodput =
        total(figures, |f| f.good).filter(|_| offered > 0).map(|good| good as f64 / offered as f64);
    cell.hand_overs = Some(HandOvers {
        to_waiter: sum(|f| f.hand_overs.to_waiter),
        barged: sum(|f| f.hand_overs.barged),
        idle: sum(|f| f.hand_overs.idle),
        overlapped: sum(|f| f.hand_overs.overlapped),
    });
    cell.fairness = Some(Fairness {
        jain: figures.iter().filter_map(|f| f.jain).min_by(f64::total_cmp),
        overtakes: Some(sum(|f| f.overtakes)),
        longest_wait_us: figures
            .iter()
            .filter_map(|f| f.longest_wait_ns)
            .max()
            .map(|wait| wait as f64 / 1e3),
    });
    cell.cost = Some(cost(figures, sum(|f| f.grants)));
    cell.time_split = time_split(figures);
    cell.ceiling = ceiling(figures);
    cell.sale = sale(figures);
    cell.series = figures.iter().map(|f| f.series.clone()).collect();
    for figures in figures {
        add_counts(&mut cell.errors, &figures.errors);
    }
    cell.slowlog = slowlog(figures);
}

fn show_latencies(cell: &mut CellResult, latencies: &LatencySet) {
    let by_outcome = |kind| -> Option<LatencyByOutcome> {
        let points = |outcome| latencies.percentiles(Tag::new(kind, outcome));
        let any = Outcome::ALL.into_iter().any(|outcome| points(outcome).is_some());
        any.then(|| PerOutcome::build(points))
    };
    cell.response_us = by_outcome(LatencyKind::Response);
    cell.wait_us = by_outcome(LatencyKind::Wait);
    cell.hold_us = by_outcome(LatencyKind::Hold);
    cell.release_us = by_outcome(LatencyKind::Release);
    cell.pacer_lag_us = latencies.percentiles(Tag::whole(LatencyKind::PacerLag));
    cell.queue_us = latencies.percentiles(Tag::whole(LatencyKind::Queue));
    cell.hand_over_us = latencies.percentiles(Tag::whole(LatencyKind::HandOver));
}

fn cost(figures: &[&TrialFigures], grants: u64) -> Cost {
    let per_grant = |field: fn(&TrialFigures) -> Option<u64>| {
        total(figures, field).filter(|_| grants > 0).map(|sum| sum as f64 / grants as f64)
    };
    Cost {
        commands_per_grant: per_grant(|f| f.commands),
        bytes_per_grant: per_grant(|f| f.bytes),
        agent_cpu_us_per_grant: per_grant(|f| f.agent_cpu_us),
        server_cpu_us_per_grant: per_grant(|f| f.server_cpu_us),
    }
}

fn time_split(figures: &[&TrialFigures]) -> Option<TimeSplit> {
    let mean = |part: fn(&TimeSplit) -> f64| {
        mean(figures.iter().filter_map(|f| f.time_split.as_ref().map(part)))
    };
    Some(TimeSplit {
        work: mean(|split| split.work)?,
        hand_over: mean(|split| split.hand_over)?,
        idle: mean(|split| split.idle)?,
    })
}

fn ceiling(figures: &[&TrialFigures]) -> Option<SerialCeiling> {
    let per_second = mean(figures.iter().filter_map(|f| Some(f.ceiling?.0)))?;
    let achieved = mean(figures.iter().filter_map(|f| Some(f.ceiling?.1)))?;
    Some(SerialCeiling { per_second, achieved, efficiency: achieved / per_second })
}

fn sale(figures: &[&TrialFigures]) -> Option<Sale> {
    let sales: Vec<&Sale> = figures.iter().filter_map(|f| f.sale.as_ref()).collect();
    let sum = |field: fn(&Sale) -> u64| saturating_sum(sales.iter().map(|sale| field(sale)));
    (!sales.is_empty()).then(|| Sale {
        sold: sum(|sale| sale.sold),
        rounds: sum(|sale| sale.rounds),
        orders_per_second: median(sales.iter().filter_map(|sale| sale.orders_per_second).collect()),
        sell_out_us: median(sales.iter().filter_map(|sale| sale.sell_out_us).collect()),
        undersold: sum(|sale| sale.undersold),
        duplicates: sum(|sale| sale.duplicates),
    })
}

fn saturated(figures: &[&TrialFigures], cores: Option<f64>) -> Saturation {
    let by_machine =
        |f: &TrialFigures| saturation::machine(f.agent_cpu_us, f.window_ns, cores).is_some();
    let witness: Vec<bool> = figures.iter().filter_map(|f| f.witness_saturated).collect();
    Saturation {
        generator: Some(figures.iter().any(|f| !f.generator_saturated.is_empty() || by_machine(f))),
        witness: (!witness.is_empty()).then(|| witness.contains(&true)),
    }
}

fn annotate(cell: &mut CellResult, trials: &[Judgement], cores: Option<f64>) {
    for Judgement { result, .. } in trials {
        let figures = &result.figures;
        let trial = result.trial;
        if let Some(partial) = &result.partial {
            cell.notes.push(format!("trial {trial} is partial: {partial}"));
        }
        if let Some(imbalance) = &result.imbalance {
            cell.notes.push(format!("trial {trial} is a bug of lockbench: {imbalance}"));
        }
        let machine = saturation::machine(figures.agent_cpu_us, figures.window_ns, cores);
        for reason in figures.generator_saturated.iter().chain(&machine) {
            cell.notes.push(format!("trial {trial}: generator saturated: {reason}"));
        }
        if figures.scripts_reloaded > 0 {
            let count = figures.scripts_reloaded;
            cell.notes.push(format!("trial {trial}: scripts were loaded again {count} times"));
        }
    }
}

fn slowlog(figures: &[&TrialFigures]) -> BTreeMap<String, Vec<SlowCommand>> {
    let mut slow: BTreeMap<String, Vec<SlowCommand>> = BTreeMap::new();
    for (server, commands) in figures.iter().flat_map(|f| &f.slowlog) {
        slow.entry(server.clone()).or_default().extend(commands.iter().cloned());
    }
    for commands in slow.values_mut() {
        commands.sort_by_key(|command| std::cmp::Reverse(command.micros));
        commands.truncate(SLOW_MAX);
    }
    slow
}

/// The sum over all trials; `None` if one of them does not know.
fn total(figures: &[&TrialFigures], field: fn(&TrialFigures) -> Option<u64>) -> Option<u64> {
    figures.iter().map(|f| field(f)).reduce(|sum, more| Some(sum?.saturating_add(more?))).flatten()
}

fn saturating_sum(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::saturating_add)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len().checked_sub(1)? / 2;
    Some(values[middle].midpoint(values[values.len() / 2]))
}

fn spread(per_trial: Vec<f64>) -> Option<Spread> {
    let min = per_trial.iter().copied().min_by(f64::total_cmp)?;
    let max = per_trial.iter().copied().max_by(f64::total_cmp)?;
    Some(Spread { median: median(per_trial.clone())?, min, max, per_trial })
}

#[cfg(test)]
mod tests;
