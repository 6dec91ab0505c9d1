use super::*;

fn tree(text: &str) -> (Result<Node, Complaint>, Vec<Complaint>) {
    let mut complaints = Vec::new();
    let node = read(text, &mut complaints);
    (node, complaints)
}

fn pairs(node: &Node) -> &[Pair] {
    match &node.shape {
        Shape::Map(pairs) => pairs,
        shape => panic!("not a map: {shape:?}"),
    }
}

#[test]
fn keys_and_values_know_their_places_and_stay_text() {
    let text = "a: 010\nb: \"yes\"\nc: { d: [1e3, x y] }\n";
    let (node, complaints) = tree(text);
    let node = node.expect("it is YAML");
    assert_eq!(complaints, []);
    let pairs = pairs(&node);
    let show = |place: Place| &text[place.start..place.end];
    assert_eq!(show(pairs[0].place), "a");
    assert_eq!(show(pairs[0].value.place), "010");
    assert_eq!(pairs[0].value.shape, Shape::Scalar(Scalar { text: "010".into(), plain: true }));
    assert_eq!(pairs[1].value.shape, Shape::Scalar(Scalar { text: "yes".into(), plain: false }));
    assert_eq!(show(pairs[2].value.place), "{ d: [1e3, x y] }");
}

#[test]
fn duplicate_keys_name_both_lines() {
    let (node, complaints) = tree("a: 1\nb: 2\na: 3\n");
    assert_eq!(pairs(&node.expect("it is YAML")).len(), 2);
    assert_eq!(complaints.len(), 1);
    assert_eq!(complaints[0].place, Some(Place { start: 10, end: 11 }));
    assert!(complaints[0].remedy.as_ref().is_some_and(|remedy| remedy.contains("line 1")));
}

#[test]
fn merges_and_aliases_are_followed() {
    let (node, _) = tree("base: &b { x: 1, y: 2 }\nmine: { <<: *b, y: 3 }\n");
    let node = node.expect("it is YAML");
    let mine = pairs(&pairs(&node)[1].value);
    let keys: Vec<&str> = mine.iter().map(|pair| pair.key.as_str()).collect();
    assert_eq!(keys, ["y", "x"]);
}

#[test]
fn bombs_depths_and_lengths_are_refused_at_once() {
    let levels: Vec<String> = (1..12)
        .map(|level| format!("a{level}: &a{level} [{}]", format!("*a{}, ", level - 1).repeat(10)))
        .collect();
    let bomb = format!("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n{}\n", levels.join("\n"));
    let deep = "[".repeat(10_000);
    let blocks: Vec<String> =
        (0..10_000).map(|level| format!("{}a:", " ".repeat(level % 400))).collect();
    let blocks = blocks.join("\n");
    let long = "a: 1\n".repeat(300_000);
    for text in [bomb, deep, "- ".repeat(10_000), "{a: ".repeat(10_000), blocks, long] {
        let begun = std::time::Instant::now();
        assert!(tree(&text).0.is_err());
        assert!(begun.elapsed().as_millis() < 1000);
    }
}

#[test]
fn nothing_tabs_tags_and_second_documents_are_refused_with_words() {
    for (text, words) in [
        ("", "no scenario"),
        ("# only\n# comments\n", "no scenario"),
        ("a:\n\t- b\n", "YAML"),
        ("a: !!binary x", "tag"),
        ("a: !x [1]", "tag"),
        ("a: 1\n---\nb: 2\n", "second document"),
        ("%YAML 1.1\n---\na: 1", "YAML"),
        ("a: [1, 2", "YAML"),
        ("a: *nowhere", "YAML"),
        ("[a]: 1", "key"),
    ] {
        let (node, mut complaints) = tree(text);
        complaints.extend(node.err());
        assert_eq!(complaints.len(), 1, "{text:?}");
        assert!(complaints[0].message.contains(words), "{text:?}: {complaints:?}");
        assert!(complaints[0].message.len() > 10, "{text:?}: {complaints:?}");
    }
}

#[test]
fn line_ends_of_windows_are_read() {
    let (node, complaints) = tree("a: 1\r\nb:\r\n  - c\r\n");
    assert_eq!(pairs(&node.expect("it is YAML")).len(), 2);
    assert_eq!(complaints, []);
}
