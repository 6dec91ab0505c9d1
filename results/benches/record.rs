//! What recording costs the caller of a lock: seven events and five readings of the clock per operation.

use criterion::{Criterion, criterion_group, criterion_main};
use nix::time::{ClockId, clock_gettime};
use results::event::{Event, EventKind, OpId, StepOutcome};
use results::history::{Header, Origin};
use results::history_writer::HistoryWriter;
use std::hint::black_box;
use std::path::Path;

/// A new writer after so many events keeps the file below a gigabyte.
const EVENTS_MAX: u64 = 20_000_000;

fn now() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("CLOCK_MONOTONIC always exists");
    time.tv_sec().unsigned_abs() * 1_000_000_000 + time.tv_nsec().unsigned_abs()
}

fn writer(directory: &Path) -> HistoryWriter {
    let origin =
        Origin { run: "bench", cell: "bench", trial: 1, agent: 0, instance: 0, strategy: "none" };
    let path = directory.join("bench.lbh");
    if path.exists() {
        std::fs::remove_file(&path).expect("our own file can be removed");
    }
    let header = Header::of_this_process(&origin).expect("/proc tells the boot");
    HistoryWriter::create(&path, &header).expect("the temporary directory takes a history")
}

/// Records one operation as a session does.
fn record(writer: &mut HistoryWriter, op: OpId) {
    let outcome = StepOutcome::Ok;
    let mut push = |at, kind, arg, seq| {
        writer.push(Event { at, op, key: 1, kind, outcome, flags: 0, arg, seq });
    };
    let taken = now();
    push(taken, EventKind::Start, taken, taken);
    push(taken, EventKind::AcquireCall, 0, 0);
    let granted = now();
    push(granted, EventKind::AcquireReturn, taken, granted + 1_000_000_000);
    push(now(), EventKind::Write, 1, 7);
    push(now(), EventKind::ReleaseCall, 0, 0);
    let ended = now();
    push(ended, EventKind::ReleaseReturn, 0, 0);
    push(ended, EventKind::Finish, 0, 0);
}

fn one_operation(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let mut writer = writer(directory.path());
    let mut sequence = 0;
    criterion.bench_function("record one operation", |bencher| {
        bencher.iter(|| {
            if writer.recorded() > EVENTS_MAX {
                writer = self::writer(directory.path());
            }
            sequence += 1;
            record(black_box(&mut writer), OpId::new(1, sequence));
        });
    });
    assert_eq!(writer.stopped(), None);
}

criterion_group!(benches, one_operation);
criterion_main!(benches);
