use proptest::prelude::*;

use super::*;
use crate::event::Outcome;
use crate::latency::{Latencies, LatencyKind};

const RESPONSE: Tag = Tag { kind: LatencyKind::Response, outcome: Some(Outcome::Granted) };

fn logged(latencies: &LatencySet) -> Vec<u8> {
    let mut log = Vec::new();
    write(latencies, 5_000_000_000, 7_500_000_000, &mut log).unwrap();
    log
}

#[test]
fn the_log_looks_as_the_tools_of_hdr_histogram_expect() {
    let mut latencies = LatencySet::default();
    latencies.record(RESPONSE, 2_000_000);
    let log = String::from_utf8(logged(&latencies)).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines[0], "#[Histogram log format version 1.3]");
    assert!(lines.iter().any(|line| line.starts_with("#[StartTime: 0.000")), "{log}");
    assert!(lines.iter().any(|line| line.starts_with("#[BaseTime: 0.000")), "{log}");
    assert!(lines.contains(
        &"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\""
    ));
    let interval = lines.last().unwrap();
    assert!(interval.starts_with("Tag=response.granted,5.000,2.500,2.0"), "{interval}");
    assert!(interval.contains(",HISTFAAA"), "{interval}");
}

#[test]
fn what_is_no_log_is_refused() {
    let told = |log: &str| read(log.as_bytes()).unwrap_err().to_string();
    assert_eq!(told("nonsense\n"), "line 1 of the histogram log is none of its kind");
    assert!(told("Tag=speed,1.0,2.0,3.0,HISTFAAA\n").contains("`speed`"));
    assert!(told("Tag=queue,1.0,2.0,3.0,HISTFAAA\n").contains("cannot be decoded"));
    assert!(read(b"").unwrap().is_empty());
}

proptest! {
    #[test]
    fn merged_logs_have_the_percentiles_of_one_histogram(
        trials in prop::collection::vec(prop::collection::vec(0_u64..130_000_000_000, 0..400), 1..5)
    ) {
        let mut whole = Latencies::new();
        let mut merged = LatencySet::default();
        for samples in &trials {
            let mut trial = LatencySet::default();
            for sample in samples {
                whole.record(*sample);
                trial.record(RESPONSE, *sample);
            }
            let exact = trial.percentiles(RESPONSE).unwrap_or_default();
            for (tag, histogram) in read(&logged(&trial)).unwrap() {
                let max = samples.iter().max().copied();
                let samples = Latencies::from_saved(&histogram, exact.clipped, max).unwrap();
                merged.add(tag, &samples);
            }
        }
        let merged = merged.percentiles(RESPONSE).unwrap_or_default();
        prop_assert_eq!(merged, whole.percentiles());
    }

    #[test]
    fn any_bytes_are_read_or_refused(log in prop::collection::vec(any::<u8>(), 0..300)) {
        drop(read(&log));
    }
}
