//! Histories are read back whole, cut, damaged, from a killed writer and from a full disk.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proptest::prelude::*;
use results::event::{Event, EventKind, OpId, StepOutcome};
use results::history::{BLOCK_BYTES, BLOCK_RECORDS, HEADER_BYTES, Header, HistoryError, Origin};
use results::history_reader::HistoryReader;
use results::history_writer::HistoryWriter;

/// Set in the child process that writes a history for its parent: the path.
const WRITE_TO: &str = "LOCKBENCH_TEST_WRITE_TO";
/// How many events the child records before it says so.
const PUSHED: u64 = 2_500;

fn header() -> Header {
    let origin =
        Origin { run: "r", cell: "c", trial: 1, agent: 0, instance: 0, strategy: "redis-lua" };
    Header::of_this_process(&origin).unwrap()
}

fn event(number: u64) -> Event {
    Event {
        at: 1_000 + number,
        op: OpId::new(3, number),
        key: 7,
        kind: EventKind::from_code(u8::try_from(number % 20).unwrap() + 1).unwrap(),
        outcome: StepOutcome::from_code(u8::try_from(number % 3).unwrap()).unwrap(),
        flags: 5,
        arg: number * 3,
        seq: u64::MAX - number,
    }
}

/// A finished history of `events` events.
fn written(path: &Path, events: u64) {
    let mut writer = HistoryWriter::create(path, &header()).unwrap();
    (0..events).for_each(|number| writer.push(event(number)));
    assert_eq!(writer.finish().unwrap(), events);
}

/// The events of a history and why it is not whole.
fn read(path: &Path) -> (Vec<Event>, Option<String>) {
    let mut reader = HistoryReader::open(path).unwrap();
    let events = reader.by_ref().collect();
    assert!(reader.next().is_none(), "an iterator that ended goes on");
    (events, reader.truncated())
}

fn assert_begins_with_what_was_written(events: &[Event]) {
    for (number, found) in events.iter().enumerate() {
        assert_eq!(*found, event(number as u64));
    }
}

#[test]
fn what_was_written_is_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let block = BLOCK_RECORDS as u64;
    for events in [0, 1, 2, block - 1, block, block + 1, 3 * block, 70 * block + 5] {
        let path = directory.path().join(format!("{events}.lbh"));
        written(&path, events);
        let (found, truncated) = read(&path);
        assert_eq!(found.len() as u64, events);
        assert_begins_with_what_was_written(&found);
        assert_eq!(truncated, None, "{events} events");
    }
}

#[test]
fn the_header_is_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("h.lbh");
    written(&path, 1);
    let reader = HistoryReader::open(&path).unwrap();
    assert_eq!(*reader.header(), header());
    assert_eq!(reader.header().pid, std::process::id());
    assert!(!reader.header().boot_id.is_empty());
}

#[test]
fn json_lines_are_the_same_history() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("h.jsonl");
    let mut text = serde_json::to_string(&header()).unwrap() + "\n";
    for number in 0..100 {
        text += &(serde_json::to_string(&event(number)).unwrap() + "\n");
    }
    std::fs::write(&path, format!("{text}{{\"end\": 100}}\n")).unwrap();
    let (found, truncated) = read(&path);
    assert_begins_with_what_was_written(&found);
    assert_eq!((found.len(), truncated), (100, None));

    std::fs::write(&path, format!("{text}{{\"end\": 101}}\n")).unwrap();
    assert_eq!(
        read(&path).1.as_deref(),
        Some("truncated at line 102: 100 events, but its end says 101")
    );
    std::fs::write(&path, &text).unwrap();
    assert!(read(&path).1.unwrap().contains("never finished"));
    std::fs::write(&path, format!("{text}nonsense\n{{\"end\": 100}}\n")).unwrap();
    let (found, truncated) = read(&path);
    assert_eq!(found.len(), 100);
    assert!(truncated.unwrap().starts_with("truncated at line 102: "));
}

#[test]
fn an_endless_line_is_refused_and_not_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("h.jsonl");
    std::fs::write(&path, vec![b'['; 10_000_000]).unwrap();
    let error = HistoryReader::open(&path).unwrap_err();
    assert!(matches!(error, HistoryError::Malformed { .. }), "{error}");
}

#[test]
fn a_file_that_is_no_history_is_named_with_its_offset() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("h.lbh");
    std::fs::write(&path, b"hello").unwrap();
    let error = HistoryReader::open(&path).unwrap_err().to_string();
    assert!(error.contains("h.lbh") && error.contains("byte 0"), "{error}");
}

#[test]
fn a_larger_file_than_any_history_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("h.lbh");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len((1 << 40) + 1).unwrap();
    assert!(matches!(HistoryReader::open(&path), Err(HistoryError::Malformed { .. })));
}

#[test]
fn an_existing_history_is_not_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("h.lbh");
    written(&path, 3);
    assert!(matches!(
        HistoryWriter::create(&path, &header()),
        Err(HistoryError::File { action: "create", .. })
    ));
    assert_eq!(read(&path).0.len(), 3);
}

#[test]
fn a_damaged_block_ends_the_history_before_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("h.lbh");
    written(&path, 5 * BLOCK_RECORDS as u64);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[HEADER_BYTES + 2 * BLOCK_BYTES + 1_000] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let (found, truncated) = read(&path);
    assert_eq!(found.len(), 2 * BLOCK_RECORDS);
    assert_eq!(truncated.as_deref(), Some("truncated at block 3: checksum differs"));
}

#[test]
fn every_prefix_of_a_history_is_readable() {
    let directory = tempfile::tempdir().unwrap();
    let (whole, part) = (directory.path().join("h.lbh"), directory.path().join("p.lbh"));
    written(&whole, 2 * BLOCK_RECORDS as u64 + 10);
    let bytes = std::fs::read(&whole).unwrap();
    let mut before = 0;
    for length in (HEADER_BYTES..bytes.len()).step_by(997).chain([bytes.len() - 1]) {
        std::fs::write(&part, &bytes[..length]).unwrap();
        let (found, truncated) = read(&part);
        assert_begins_with_what_was_written(&found);
        assert!(found.len() >= before && truncated.is_some(), "{length} bytes");
        before = found.len();
    }
    std::fs::write(&part, &bytes[..HEADER_BYTES - 1]).unwrap();
    assert!(HistoryReader::open(&part).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bytes_never_panic_and_never_invent_an_event(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1_u8..), 1..8)
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("h.lbh");
        written(&path, BLOCK_RECORDS as u64 + 20);
        let mut bytes = std::fs::read(&path).unwrap();
        for (at, mask) in &flips {
            let at = at.index(bytes.len());
            bytes[at] ^= mask;
        }
        std::fs::write(&path, bytes).unwrap();
        if let Ok(mut reader) = HistoryReader::open(&path) {
            let found: Vec<Event> = reader.by_ref().collect();
            assert_begins_with_what_was_written(&found);
        }
    }

    #[test]
    fn garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..5_000), lines: bool) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(if lines { "h.jsonl" } else { "h.lbh" });
        written(&directory.path().join("whole.lbh"), 0);
        let mut file = std::fs::read(directory.path().join("whole.lbh")).unwrap();
        file.truncate(HEADER_BYTES);
        if lines {
            file = serde_json::to_vec(&header()).unwrap();
            file.push(b'\n');
        }
        file.extend(bytes);
        std::fs::write(&path, file).unwrap();
        let mut reader = HistoryReader::open(&path).unwrap();
        let found = reader.by_ref().count();
        prop_assert!(found * 10 <= 5_000);
        prop_assert!(reader.truncated().is_some());
    }
}

/// Not a test by itself: the process that the tests below start, as told by its environment.
#[test]
fn write_until_killed() {
    let Some(path) = std::env::var_os(WRITE_TO) else { return };
    let mut writer = HistoryWriter::create(&PathBuf::from(path), &header()).unwrap();
    for number in 0.. {
        writer.push(event(number));
        if number + 1 == PUSHED || writer.stopped().is_some() {
            let stopped = writer.stopped().unwrap_or("no");
            println!("\npushed {}; stopped: {stopped}", writer.recorded());
            std::io::stdout().flush().unwrap();
        }
        if writer.stopped().is_some() {
            writer.finish().unwrap_err();
            return;
        }
    }
}

/// The command that runs [`write_until_killed`] in a process of its own, after the shell commands in `first`.
fn child(path: &Path, first: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", &format!("{first} exec \"$0\" --exact write_until_killed --nocapture")])
        .arg(std::env::current_exe().unwrap())
        .env(WRITE_TO, path)
        .stdout(Stdio::piped());
    command
}

#[test]
fn what_a_killed_process_recorded_is_readable() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("h.lbh");
    let mut child = child(&path, "").spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut told = lines.map(Result::unwrap).filter(|line| line.starts_with("pushed"));
    assert_eq!(told.next().as_deref(), Some("pushed 2500; stopped: no"));
    child.kill().unwrap();
    child.wait().unwrap();
    let (found, truncated) = read(&path);
    assert!(found.len() as u64 >= PUSHED, "{} events", found.len());
    assert_begins_with_what_was_written(&found);
    assert!(truncated.unwrap().contains("its writer never finished"));
}

#[test]
fn without_space_the_writer_stops_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("h.lbh");
    // 10 MiB in units of 512 bytes: two windows of the writer fit, the third does not.
    let output = child(&path, "trap '' XFSZ; ulimit -f 20480;").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8(output.stdout).unwrap();
    let told = told.lines().rfind(|line| line.starts_with("pushed")).unwrap();
    assert!(told.contains("stopped: could not allocate space"), "{told}");
    let (found, truncated) = read(&path);
    assert_eq!(found.len(), 128 * BLOCK_RECORDS);
    assert!(told.starts_with(&format!("pushed {};", found.len())), "{told}");
    assert_begins_with_what_was_written(&found);
    assert!(truncated.unwrap().contains("its writer never finished"));
}
