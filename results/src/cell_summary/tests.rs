use super::*;
use crate::sample::head;
use crate::trial_result::{FORMAT, TrialResult};

fn found(kind: ViolationKind, count: u64, exposures: u64, verdict: Verdict) -> Finding {
    Finding {
        kind,
        verdict,
        count,
        within_lease: count,
        past_lease: 0,
        exposures,
        reason: (verdict == Verdict::Unknown).then(|| "no exposure".to_owned()),
        violations: Vec::new(),
    }
}

fn trial(throughput: f64, findings: Vec<Finding>) -> Judgement {
    let mut latencies = LatencySet::default();
    for sample in 1..=100 {
        latencies.record(Tag::new(LatencyKind::Response, Outcome::Granted), sample * 1_000_000);
    }
    let figures = TrialFigures {
        window_ns: 2_000_000_000,
        throughput,
        grants: 100,
        offered: 200,
        good: Some(90),
        outcomes: PerOutcome { granted: 100, denied: 100, ..PerOutcome::default() },
        commands: Some(250),
        agent_cpu_us: Some(1_000_000),
        ..TrialFigures::default()
    };
    let result = TrialResult {
        format: FORMAT,
        run: "run".to_owned(),
        cell: "cell".to_owned(),
        trial: 1,
        partial: None,
        findings,
        figures,
        imbalance: None,
    };
    Judgement { result, latencies }
}

const OVERLAP: ViolationKind = ViolationKind::MutualExclusion;

fn of(trials: &[Judgement]) -> CellResult {
    cell_result(&head("redis-lua", "closed", "none"), &[OVERLAP], Some(2.0), trials)
}

#[test]
fn counts_are_added_and_rates_spread() {
    let valid = || vec![found(OVERLAP, 0, 150, Verdict::Valid)];
    let cell = of(&[trial(50.0, valid()), trial(40.0, valid()), trial(60.0, valid())]);
    assert_eq!(cell.verdict, Some(Verdict::Valid));
    let finding = cell.finding(OVERLAP).unwrap();
    assert_eq!((finding.exposures, finding.upper_bound), (450, Some(3.0 / 450.0)));
    let spread = cell.throughput.unwrap();
    assert_eq!((spread.median, spread.min, spread.max), (50.0, 40.0, 60.0));
    assert_eq!(spread.per_trial, [50.0, 40.0, 60.0]);
    assert_eq!((cell.goodput, cell.offered), (Some(0.45), Some(100.0)));
    assert_eq!(cell.cost.unwrap().commands_per_grant, Some(2.5));
    assert_eq!(cell.cost.unwrap().bytes_per_grant, None);
    let response = cell.response_us.unwrap();
    assert_eq!(response.granted.unwrap().count, 300);
    assert_eq!(response.denied, None);
    assert_eq!(cell.pacer_lag_us, None);
    assert_eq!(cell.damage, None);
}

#[test]
fn violated_beats_unknown_beats_valid() {
    let valid = || trial(1.0, vec![found(OVERLAP, 0, 9, Verdict::Valid)]);
    let unknown = || trial(1.0, vec![found(OVERLAP, 0, 0, Verdict::Unknown)]);
    let violated = || trial(1.0, vec![found(OVERLAP, 2, 9, Verdict::Violated)]);
    let undecided = of(&[valid(), unknown()]);
    assert_eq!(undecided.verdict, Some(Verdict::Unknown));
    assert_eq!(undecided.finding(OVERLAP).unwrap().upper_bound, None);
    assert_eq!(undecided.finding(OVERLAP).unwrap().reason.as_deref(), Some("no exposure"));
    assert_eq!(of(&[valid(), unknown(), violated()]).verdict, Some(Verdict::Violated));
}

#[test]
fn a_kind_that_nobody_looked_for_leaves_the_cell_undecided() {
    assert_eq!(of(&[trial(1.0, Vec::new())]).verdict, Some(Verdict::Unknown));
    let half =
        of(&[trial(1.0, vec![found(OVERLAP, 0, 9, Verdict::Valid)]), trial(1.0, Vec::new())]);
    assert_eq!(half.verdict, Some(Verdict::Unknown));
}

#[test]
fn kinds_that_do_not_count_are_shown_and_damage_is_added() {
    let findings = vec![
        found(OVERLAP, 0, 9, Verdict::Valid),
        found(ViolationKind::Oversell, 3, 9, Verdict::Violated),
        found(ViolationKind::LostUpdate, 4, 9, Verdict::Violated),
    ];
    let cell = of(&[trial(1.0, findings)]);
    assert_eq!(cell.verdict, Some(Verdict::Valid));
    assert_eq!(cell.damage, Some(7));
}

#[test]
fn agents_that_use_the_whole_machine_are_saturated() {
    let one = [trial(1.0, vec![found(OVERLAP, 0, 9, Verdict::Valid)])];
    let on = |cores| {
        let head = head("redis-lua", "closed", "none");
        cell_result(&head, &[OVERLAP], cores, &one).saturated.unwrap().generator
    };
    assert_eq!((on(Some(0.5)), on(Some(4.0)), on(None)), (Some(true), Some(false), Some(false)));
}

#[test]
fn nothing_is_measured_of_a_cell_that_makes_no_sense() {
    let mut head = head("redis-lua", "closed", "fence");
    head.applicable = false;
    let cell = cell_result(&head, &[], None, &[]);
    assert_eq!((cell.verdict, cell.throughput, cell.trials), (None, None, 0));
    assert_eq!(cell.violations.len(), ViolationKind::ALL.len());
}
