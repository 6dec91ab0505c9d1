//! Small histories, written by hand, each with the verdict that it must get. The first line of each says what it shows.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};

use results::assemble::assemble;
use results::checker::Aftermath;
use results::checkers::all_findings;
use results::trial::Check;
use results::verdict::{Verdict, ViolationKind};
use serde::Deserialize;

mod facts;

/// What a golden history says besides its header.
#[derive(Deserialize)]
struct Golden {
    about: String,
    expect: Vec<Expected>,
    checks: Vec<Check>,
    workers: u32,
    aftermath: Aftermath,
}

#[derive(Deserialize)]
struct Expected {
    kind: ViolationKind,
    verdict: Verdict,
    count: u64,
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories")
}

fn names() -> Vec<String> {
    let entries = std::fs::read_dir(directory()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn golden(name: &str) -> Golden {
    let text = std::fs::read_to_string(directory().join(name)).unwrap();
    serde_json::from_str(text.lines().next().unwrap())
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn golden_histories_get_their_verdicts() {
    let mut wrong = Vec::new();
    for name in names() {
        let golden = golden(&name);
        let facts = facts::of(&[&name], golden.workers);
        let history = assemble(&directory(), &facts, golden.aftermath, &mut |_| {}).unwrap();
        let findings = all_findings(&golden.checks, &history);
        assert_eq!(findings.len(), golden.expect.len(), "{name}");
        for (expected, finding) in golden.expect.iter().zip(&findings) {
            let asked = (expected.kind, expected.verdict, expected.count);
            if asked != (finding.kind, finding.verdict, finding.count) {
                wrong.push(format!("{name} ({}): {finding:?}", golden.about));
            }
            assert_eq!(finding.verdict == Verdict::Unknown, finding.reason.is_some(), "{name}");
            assert_eq!(finding.count == 0, finding.violations.is_empty(), "{name}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_kind_has_a_valid_a_violated_and_an_unknown_history() {
    let expected: Vec<Expected> = names().iter().flat_map(|name| golden(name).expect).collect();
    for kind in expected.iter().map(|expected| expected.kind) {
        for verdict in [Verdict::Valid, Verdict::Violated, Verdict::Unknown] {
            assert!(
                expected.iter().any(|e| e.kind == kind && e.verdict == verdict),
                "no history where {} is {verdict:?}",
                kind.name()
            );
        }
    }
}

#[test]
fn evidence_is_in_order_and_sentences_carry_figures() {
    let name = "two_holders_after_ttl.jsonl";
    let golden = golden(name);
    let history =
        assemble(&directory(), &facts::of(&[name], 2), golden.aftermath, &mut |_| {}).unwrap();
    let finding = &all_findings(&golden.checks, &history)[0];
    let violation = &finding.violations[0];
    assert_eq!((finding.within_lease, finding.past_lease), (0, 1));
    assert_eq!(
        violation.what,
        "operation 0 of worker 1 and operation 0 of worker 2 held key 0 together for 8.000 ms; \
         the lease of the former had ended 1.000 ms before the latter was granted"
    );
    assert!(violation.evidence.is_sorted_by_key(|event| event.at));
    assert!((2..=6).contains(&violation.evidence.len()));
}
