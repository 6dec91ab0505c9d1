//! The examples of `docs/agent-protocol.md` are what agents and controllers really say to each other.

use bench_runner::assignment::{Assignment, Order, Report};
use results::event::Event;
use results::history::Header;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The JSON examples of the page, in order.
fn examples() -> Vec<Value> {
    let page = include_str!("../../docs/agent-protocol.md");
    let blocks = page.split("```json\n").skip(1);
    let text = blocks.map(|block| block.split("```").next().expect("a block has an end"));
    text.map(|text| serde_json::from_str(text).expect("the examples are JSON")).collect()
}

/// Whether `example` is exactly a `T`, with nothing missing and nothing made up.
fn is_a<T: DeserializeOwned + Serialize>(example: &Value) -> bool {
    let read: Result<T, _> = serde_json::from_value(example.clone());
    read.is_ok_and(|value| serde_json::to_value(value).expect("it came from JSON") == *example)
}

#[test]
fn examples_are_real() {
    let examples = examples();
    let kinds = [
        is_a::<Assignment>,
        is_a::<Order>,
        is_a::<Order>,
        is_a::<Report>,
        is_a::<Report>,
        is_a::<Report>,
        is_a::<Report>,
        is_a::<Header>,
        is_a::<Event>,
    ];
    assert_eq!(examples.len(), kinds.len() + 1, "one example for each, and the end of a history");
    for (example, is_right) in examples.iter().zip(kinds) {
        assert!(is_right(example), "docs/agent-protocol.md: this is not what is said: {example}");
    }
    assert_eq!(examples.last(), Some(&json!({ "end": 1 })));
}

#[test]
fn histories_in_json_lines_read_as_documented() {
    let examples = examples();
    let lines: Vec<String> = examples[7..].iter().map(Value::to_string).collect();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("history-0.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n").expect("the temporary folder is writable");
    let mut reader = results::history_reader::HistoryReader::open(&path).expect("a history");
    assert_eq!(reader.by_ref().count(), 1);
    assert_eq!(reader.truncated(), None);
}
