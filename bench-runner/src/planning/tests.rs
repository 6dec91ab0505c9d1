use std::collections::HashSet;
use std::time::Instant;

use proptest::prelude::*;

use super::*;

fn plan(text: &str) -> Result<Plan, String> {
    let scenario = Scenario::parse("s.yaml", text, &|_: &str| None);
    Plan::from_scenario(&scenario).map_err(|complaints| scenario.source.render(&complaints))
}

const MINIMAL: &str = "name: x\nstrategies: [redis-lua]\nworkloads: [seckill]\n";

#[test]
fn a_minimal_scenario_has_every_default_in_its_effective_form() {
    let plan = plan(MINIMAL).expect("it is a scenario");
    assert_eq!(plan.cells.len(), 1);
    assert_eq!(plan.cells[0].head.id, "redis-lua.seckill.closed.naive.none.none");
    let guilty: Vec<bool> = plan.controls.iter().map(|control| control.guilty).collect();
    assert_eq!(guilty, [true, false, false]);
    assert_eq!(plan.gates, [DEFAULT_GATE]);
    for (path, value) in [
        ("/seed", Value::from(1)),
        ("/lock/lease", "2s".into()),
        ("/lock/patience", "500ms".into()),
        ("/clients/agents", 2.into()),
        ("/load/0/closed/think", "0s".into()),
        ("/callers/0", "naive".into()),
        ("/keep", "all".into()),
        ("/controls", true.into()),
        ("/backends/redis/managed/persistence", "none".into()),
        ("/lockbench", env!("CARGO_PKG_VERSION").into()),
    ] {
        assert_eq!(plan.effective.pointer(path), Some(&value), "{path} of {:#}", plan.effective);
    }
}

#[test]
fn blocks_override_the_lock_and_the_strategy_wins() {
    let plan = plan(
        "name: x\nlock: { lease: 3s, patience: 1s }\nstrategies:\n  - redis-lua\n  - redis-lua: { lease: 15ms, allow-short-lease: true }\nworkloads:\n  - seckill: { work: 20ms, lease: 30ms, patience: 2x lease }\n",
    )
    .expect("it is a scenario");
    let millis: Vec<_> = plan
        .cells
        .iter()
        .map(|cell| (cell.lock.lease.as_millis(), cell.lock.patience.as_millis()))
        .collect();
    assert_eq!(millis, [(30, 60), (15, 30)]);
    assert_eq!(plan.cells[0].head.id, "redis-lua.seckill.closed.naive.none.none");
    assert_eq!(
        plan.cells[1].head.id,
        "redis-lua+lease-15ms+allow-short-lease-true.seckill.closed.naive.none.none"
    );
    assert_eq!(plan.cells[1].strategy.options, Value::Null);
    assert_eq!(plan.warnings.len(), 1, "{:?}", plan.warnings);
    assert!(plan.warnings[0].contains("15ms is shorter than the work of 20ms"));
}

#[test]
fn points_that_make_no_sense_are_kept_with_their_reason() {
    let plan = plan(
        "name: x\nstrategies: [no-lock, redis-lua]\nworkloads: [seckill]\nguards: [none, cas, atomic]\n",
    )
    .expect("it is a scenario");
    let reasons: Vec<_> = plan.cells.iter().map(|cell| cell.head.reason.as_deref()).collect();
    assert_eq!(
        reasons,
        [
            Some("this is what control-none runs"),
            None,
            None,
            None,
            None,
            Some("an atomic step needs no lock around it"),
        ]
    );
}

#[test]
fn with_a_guard_the_damage_decides() {
    use results::verdict::ViolationKind::{LostUpdate, MutualExclusion, Oversell};
    let plan =
        plan("name: x\nstrategies: [redis-lua]\nworkloads: [seckill]\nguards: [none, cas]\n")
            .expect("it is a scenario");
    assert!(plan.cells[0].counted.contains(&MutualExclusion));
    assert!(plan.cells[0].counted.contains(&Oversell));
    assert!(!plan.cells[1].counted.contains(&MutualExclusion));
    assert!(plan.cells[1].counted.contains(&Oversell));
    assert!(plan.cells[1].counted.contains(&LostUpdate));
    assert_eq!(plan.controls[0].cell.counted, [MutualExclusion, Oversell, LostUpdate]);
}

#[test]
fn a_value_that_fits_no_cell_is_a_complaint() {
    for (extra, words) in [
        ("guards: [none, fence]", "guard `fence` fits no cell: this lock has no fencing tokens"),
        ("guards: [none, atomic]", "guard `atomic` fits no cell"),
        ("callers: [naive, lost-signal]", "caller `lost-signal` fits no cell"),
        ("lock: { lease: { renewed: 2s } }", "its client does not renew leases"),
    ] {
        let text = plan(&format!("{MINIMAL}{extra}\n")).expect_err(extra);
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn thousands_of_mistakes_are_found_in_time() {
    let same = "a: 1\n".repeat(9_000);
    let many = format!("guards: [{}]\n", "none, ".repeat(15_000));
    let unknown: Vec<String> = (0..9_000).map(|key| format!("key{key}: 1")).collect();
    let unknown = unknown.join("\n");
    for text in [same, many, unknown] {
        let begun = Instant::now();
        let scenario = Scenario::parse("s.yaml", &text, &|_: &str| None);
        let complaints = Plan::from_scenario(&scenario).expect_err("it is none");
        assert!(scenario.source.render(&complaints).len() > 100);
        assert!(begun.elapsed().as_millis() < 3000, "{:?}", begun.elapsed());
    }
}

fn axis(name: &str, values: &[String]) -> String {
    format!("{name}:\n  - {}\n", values.join("\n  - "))
}

prop_compose! {
    fn scenario()(
        leases in proptest::collection::btree_set(50_u32..5000, 1..4),
        stocks in proptest::collection::btree_set(1_u32..5000, 1..4),
        rates in proptest::collection::btree_set(1_u32..5000, 1..4),
        deadline in any::<bool>(),
        cas in any::<bool>(),
    ) -> (String, usize) {
        let strategies: Vec<String> =
            leases.iter().map(|lease| format!("redis-lua: {{ lease: {lease}ms }}")).collect();
        let workloads: Vec<String> =
            stocks.iter().map(|stock| format!("seckill: {{ stock: {stock} }}")).collect();
        let loads: Vec<String> =
            rates.iter().map(|rate| format!("constant: {{ rate: {rate}/s }}")).collect();
        let callers = if deadline { "[naive, deadline]" } else { "[naive]" };
        let guards = if cas { "[none, cas]" } else { "[none]" };
        let text = format!(
            "name: x\ncallers: {callers}\nguards: {guards}\n{}{}{}",
            axis("strategies", &strategies),
            axis("workloads", &workloads),
            axis("load", &loads),
        );
        let cells = leases.len() * stocks.len() * rates.len();
        (text, cells * (1 + usize::from(deadline)) * (1 + usize::from(cas)))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_axes_multiply_and_ids_are_unique_and_safe_as_paths((text, cells) in scenario()) {
        let plan = plan(&text).map_err(TestCaseError::fail)?;
        prop_assert_eq!(plan.cells.len(), cells);
        let ids: HashSet<&str> = plan.cells.iter().map(|cell| cell.head.id.as_str()).collect();
        prop_assert_eq!(ids.len(), cells);
        for id in ids {
            prop_assert!(id.len() <= 150 && id.starts_with(|char: char| char.is_ascii_lowercase()));
            prop_assert!(id.chars().all(|char| char.is_ascii_lowercase()
                || char.is_ascii_digit() || "-+.".contains(char)), "{}", id);
            prop_assert!(!id.contains(".."));
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic_or_hang(text in any::<String>()) {
        let begun = Instant::now();
        prop_assert!(plan(&text).is_err());
        prop_assert!(begun.elapsed().as_millis() < 1000);
    }

    #[test]
    fn no_mutilated_scenario_makes_the_reader_panic(
        at in any::<prop::sample::Index>(),
        length in 0_usize..40,
        patch in "[-\\[\\]{}:,&*!|>'\"#%@` \t\na-z0-9]{0,12}",
    ) {
        let whole = include_str!("../../../scenarios/first.yaml");
        let chars: Vec<char> = whole.chars().collect();
        let at = at.index(chars.len());
        let end = (at + length).min(chars.len());
        let text: String =
            chars[..at].iter().copied().chain(patch.chars()).chain(chars[end..].iter().copied()).collect();
        // Either answer is right; what matters is that there is one.
        let _answer = plan(&text);
    }
}
