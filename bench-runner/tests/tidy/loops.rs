//! No two modules of a crate import each other, directly or around a loop.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{CRATES, code, expect_none, sources};

/// Who imports whom, by module path (`planning::cells`).
type Graph = BTreeMap<String, BTreeSet<String>>;

/// The module path of a file below `src`; empty for the crate root.
fn module_of(path_in_src: &str) -> String {
    let stem = path_in_src.strip_suffix(".rs").unwrap_or(path_in_src);
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    if stem == "lib" || stem == "main" { String::new() } else { stem.replace('/', "::") }
}

/// Every path that `use` trees and expressions of `code` begin with `crate`, `super` or `self`,
/// or with the name of a child module.
fn paths(code: &str, children: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("use ") {
        let starts_word =
            rest[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_');
        let Some(length) = rest[at..].find(';').filter(|_| starts_word) else {
            rest = &rest[at + 4..];
            continue;
        };
        flatten("", &rest[at + 4..at + length], &mut found);
        rest = &rest[at + length..];
    }
    found.retain(|path| {
        let first = path.split("::").next().unwrap_or_default();
        ["crate", "super", "self"].contains(&first) || children.contains(&first)
    });
    for start in ["crate::", "super::"] {
        found.extend(code.match_indices(start).map(|(at, _)| {
            let part = |c: char| !c.is_alphanumeric() && c != '_' && c != ':';
            code[at..].split(part).next().unwrap_or_default().to_owned()
        }));
    }
    found
}

/// Spreads `a::{b, c::{d, e}}` into single paths.
fn flatten(prefix: &str, tree: &str, found: &mut Vec<String>) {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let path = tree.split(" as ").next().unwrap_or_default().trim();
        if !path.is_empty() {
            found.push(format!("{prefix}{path}").replace([' ', '\n'], ""));
        }
        return;
    };
    let prefix = format!("{prefix}{}", &tree[..open]);
    let inner = tree[open + 1..].strip_suffix('}').unwrap_or(&tree[open + 1..]);
    let (mut depth, mut start) = (0_i32, 0);
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                flatten(&prefix, &inner[start..at], found);
                start = at + 1;
            }
            _ => {}
        }
    }
    flatten(&prefix, &inner[start..], found);
}

/// The module that `path`, written in `module`, leads to.
fn target(module: &str, path: &str, modules: &BTreeSet<String>) -> Option<String> {
    let mut at: Vec<&str> = module.split("::").filter(|part| !part.is_empty()).collect();
    let mut parts = path.split("::").peekable();
    match parts.peek().copied() {
        Some("crate") => {
            at.clear();
            parts.next();
        }
        Some("self") => {
            parts.next();
        }
        _ => {}
    }
    while parts.next_if_eq(&"super").is_some() {
        at.pop();
    }
    for part in parts {
        at.push(part);
        if !modules.contains(&at.join("::")) {
            at.pop();
            break;
        }
    }
    let target = at.join("::");
    (target != module && !target.is_empty()).then_some(target)
}

/// The graph of a crate from the paths below `src` and the texts of its files.
fn graph(files: &[(&str, &str)]) -> Graph {
    let modules: BTreeSet<String> = files.iter().map(|(path, _)| module_of(path)).collect();
    let mut graph = Graph::new();
    for (path, text) in files {
        let module = module_of(path);
        if module.is_empty() {
            continue;
        }
        let inner = format!("{module}::");
        let child =
            |other: &'_ String| other.strip_prefix(&inner).is_some_and(|c| !c.contains("::"));
        let children: Vec<&str> =
            modules.iter().filter(|m| child(m)).map(|m| &m[inner.len()..]).collect();
        let targets = paths(&code(text), &children);
        let targets = targets.iter().filter_map(|path| target(&module, path, &modules));
        graph.entry(module.clone()).or_default().extend(targets);
    }
    graph
}

/// One loop, as the modules on it; the first stands at its end again.
fn find_loop(graph: &Graph) -> Option<Vec<String>> {
    let mut done = BTreeSet::new();
    graph.keys().find_map(|module| walk(graph, module, &mut Vec::new(), &mut done))
}

fn walk(
    graph: &Graph,
    module: &String,
    trail: &mut Vec<String>,
    done: &mut BTreeSet<String>,
) -> Option<Vec<String>> {
    if let Some(start) = trail.iter().position(|earlier| earlier == module) {
        let mut found = trail[start..].to_vec();
        found.push(module.clone());
        return Some(found);
    }
    if done.contains(module) {
        return None;
    }
    trail.push(module.clone());
    let found = graph.get(module)?.iter().find_map(|next| walk(graph, next, trail, done));
    trail.pop();
    done.insert(module.clone());
    found
}

#[test]
fn modules_do_not_import_each_other_in_a_loop() {
    let mut all = Vec::new();
    for package in CRATES {
        let files = sources(package);
        let source = format!("{package}/src/");
        let files: Vec<(&str, &str)> =
            files.iter().map(|file| (&file.path[source.len()..], file.text.as_str())).collect();
        if let Some(found) = find_loop(&graph(&files)) {
            all.push(format!(
                "{package}/src: modules import each other in a loop: {}: move what both need into a module below both",
                found.join(" -> ")
            ));
        }
    }
    expect_none(&all);
}

#[test]
fn direct_loop_is_found() {
    let files = [("a.rs", "use crate::b::B;"), ("b.rs", "use std::fmt;\nuse crate::{a::A, c};")];
    assert_eq!(find_loop(&graph(&files)).expect("a loop"), ["a", "b", "a"]);
}

#[test]
fn loop_through_parent_and_child_is_found() {
    let files = [
        ("planning.rs", "mod cells;\nuse cells::{cell,\n  point};"),
        ("planning/cells.rs", "fn f() { super::show() }"),
    ];
    let found = find_loop(&graph(&files)).expect("a loop");
    assert_eq!(found, ["planning", "planning::cells", "planning"]);
}

#[test]
fn tests_comments_and_straight_paths_make_no_loop() {
    let files = [
        ("lib.rs", "pub mod a;\nuse a::A;"),
        (
            "a.rs",
            "//! See crate::b.\nuse crate::c::{self, C};\n#[cfg(test)]\nmod tests {\nuse crate::b;\n}",
        ),
        ("b.rs", "use crate::a::A;\nuse crate::catalog::one::ENTRY;"),
        ("c.rs", "pub struct C;"),
        ("catalog/mod.rs", "mod one;\nstatic ALL: &[&E] = &[&one::ENTRY];"),
        ("catalog/one.rs", "use crate::c::C;"),
    ];
    assert_eq!(find_loop(&graph(&files)), None);
}
