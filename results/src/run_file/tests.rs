use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::percentiles::Percentiles;
use crate::sample;

fn sample_value() -> Value {
    serde_json::to_value(sample::run()).unwrap()
}

#[test]
fn a_result_comes_back_as_it_was_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    save(&path, &sample::run()).unwrap();
    assert_eq!(load(&path).unwrap(), sample::run());
}

#[test]
fn every_kind_of_violation_is_a_key() {
    let value = sample_value();
    for cell in value["cells"].as_array().unwrap() {
        let kinds = cell["violations"].as_object().unwrap();
        assert_eq!(kinds.len(), ViolationKind::ALL.len());
        assert_eq!(kinds["fifo-inversion"], Value::Null);
    }
}

#[test]
fn the_contract_has_its_fields() {
    let cell = &sample_value()["cells"][0];
    for field in [
        "id",
        "strategy",
        "workload",
        "load",
        "caller",
        "guard",
        "fault",
        "options",
        "applicable",
        "verdict",
        "violations",
        "damage",
        "trials",
        "outcomes",
        "throughput",
        "goodput",
        "offered",
        "response_us",
        "wait_us",
        "hold_us",
        "release_us",
        "pacer_lag_us",
        "queue_us",
        "hand_over_us",
        "fairness",
        "cost",
        "recovery_us",
        "loss_notice_us",
        "saturated",
    ] {
        assert!(cell.get(field).is_some(), "{field}");
    }
    assert_eq!(cell["response_us"]["granted"]["p50"], json!(1834.0));
    assert_eq!(cell["response_us"]["granted"]["p999"], Value::Null);
    assert_eq!(cell["throughput"]["per_trial"], json!([388.0, 402.5, 410.0]));
}

#[test]
fn the_sample_keeps_the_schema() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&sample_value()).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0]);
    let mut broken = sample_value();
    broken["cells"][0]["verdict"] = json!("perhaps");
    assert!(!validator.is_valid(&broken));
}

#[test]
fn the_schema_in_the_docs_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/run.schema.json");
    let fresh = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    let saved = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        saved == fresh,
        "docs/run.schema.json is stale: run `UPDATE=1 cargo test -p results the_schema_in_the_docs`"
    );
}

#[test]
fn what_is_no_result_is_refused_in_words() {
    let told = |json: &[u8]| parse(json).unwrap_err().to_string();
    assert_eq!(told(b""), "not the result of a run");
    assert_eq!(told(b"[1, 2]"), "not the result of a run");
    assert!(told(br#"{"format": 2}"#).starts_with("the result has format 2, this build reads 1"));
    assert_eq!(told("[".repeat(100_000).as_bytes()), "not the result of a run");
    let deep = format!(r#"{{"format": 1, "scenario": {}"#, r#"{"a":"#.repeat(100_000));
    assert_eq!(told(deep.as_bytes()), "not the result of a run");
}

#[test]
fn impossible_numbers_are_refused() {
    let sample = sample_value();
    for (pointer, value) in [
        ("/cells/0/damage", json!(-1)),
        ("/cells/0/trials", json!(u64::MAX)),
        ("/cells/0/outcomes/granted", json!(1.5)),
        ("/cells/0/goodput", json!("NaN")),
        ("/cells/0/violations/mutual-exclusion/verdict", json!("fine")),
    ] {
        let mut broken = sample.clone();
        *broken.pointer_mut(pointer).unwrap() = value;
        assert!(parse(broken.to_string().as_bytes()).is_err(), "{pointer}");
    }
    let huge = sample.to_string().replace("0.9756", "1e999");
    assert!(parse(huge.as_bytes()).is_err());
}

#[test]
fn an_older_file_without_a_newer_kind_is_read() {
    let mut old = sample_value();
    old["cells"][0]["violations"].as_object_mut().unwrap().remove("split-grant");
    old["cells"][0].as_object_mut().unwrap().remove("series");
    old["cells"][0]["added-later"] = json!(1);
    let run = parse(old.to_string().as_bytes()).unwrap();
    assert_eq!(run.cells[0].violations.get(&ViolationKind::SplitGrant), Some(&None));
}

fn number() -> impl Strategy<Value = Option<f64>> {
    prop::option::of(prop_oneof![
        Just(0.0),
        any::<u64>().prop_map(|n| n as f64),
        0.0..1e9_f64,
        any::<f64>().prop_filter("finite", |n| n.is_finite()),
    ])
}

proptest! {
    #[test]
    fn numbers_survive(count in any::<u64>(), p50 in number(), p99 in number(), good in number()) {
        let mut run = sample::run();
        let latency = run.cells[0].response_us.as_mut().unwrap();
        latency.granted = Some(Percentiles { count, p50, p99, ..Percentiles::default() });
        run.cells[0].goodput = good;
        run.cells[0].damage = Some(count);
        let json = serde_json::to_vec(&run).unwrap();
        prop_assert_eq!(parse(&json).unwrap(), run);
    }

    #[test]
    fn damaged_results_are_read_or_refused(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut json = serde_json::to_vec(&sample::run()).unwrap();
        let at = at.index(json.len());
        json[at] = byte;
        if let Ok(run) = parse(&json) {
            for entry in crate::reporters::REPORTERS {
                entry.reporter.render(&run, &mut Vec::new()).unwrap();
            }
        }
    }
}
