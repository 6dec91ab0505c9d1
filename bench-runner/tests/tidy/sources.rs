//! What no source file may be called, contain or grow to.

use crate::tree::{File, expect_none, files, lines_with_word, without_tests};

/// Longest file, tests not counted.
const LINES_MAX: usize = 400;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 6] = ["util", "utils", "helper", "helpers", "common", "misc"];

/// What is written in code that is not finished.
const UNFINISHED: [(&str, &str); 5] = [
    (concat!("FIX", "ME"), "do it, or open an issue and say what is missing in the docs"),
    (concat!("X", "XX"), "do it, or open an issue and say what is missing in the docs"),
    (concat!("to", "do!"), "write the code"),
    (concat!("unimple", "mented!"), "write the code"),
    (concat!("#[ig", "nore"), "a test that cannot run fails and says what to install"),
];

/// Paths that exist on one machine only.
const MACHINE_PATHS: [&str; 3] =
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tm", "p/wt")];

fn too_long(file: &File) -> Option<String> {
    let lines = without_tests(&file.text).lines().count();
    (lines > LINES_MAX).then(|| {
        format!(
            "{}: {lines} lines, at most {LINES_MAX} (tests not counted): split it by nouns",
            file.path
        )
    })
}

fn badly_named(path: &str) -> Option<String> {
    let bad = path.split('/').find(|part| {
        let stem = part.split('.').next().unwrap_or_default();
        EMPTY_NAMES.contains(&stem)
    })?;
    Some(format!("{path}: `{bad}` says nothing: name it after what it defines"))
}

fn unfinished(file: &File) -> Vec<String> {
    let mut all = Vec::new();
    for (mark, remedy) in UNFINISHED {
        // The borders of a word keep `XXXXXX` of mktemp out.
        all.extend(
            lines_with_word(&file.text, mark)
                .into_iter()
                .map(|line| format!("{}:{line}: `{mark}`: {remedy}", file.path)),
        );
    }
    all
}

fn machine_paths(file: &File) -> Vec<String> {
    let begins = |line: &str, path: &str| {
        line.match_indices(path).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            !before.is_some_and(|c| c.is_alphanumeric() || "._-}".contains(c))
        })
    };
    let mut all = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()) {
        all.extend(MACHINE_PATHS.iter().filter(|path| begins(line, path)).map(|path| {
            format!(
                "{}:{number}: `{path}` is a path of one machine: use a relative or temporary one",
                file.path
            )
        }));
    }
    all
}

#[test]
fn files_stay_short() {
    let files = files();
    let sources = files.iter().filter(|file| file.has_extension(&["rs"]) && !file.is_test());
    expect_none(&sources.filter_map(too_long).collect::<Vec<_>>());
}

#[test]
fn file_names_say_what_is_inside() {
    let files = files();
    let sources = files.iter().filter(|file| file.has_extension(&["rs", "sh", "py"]));
    expect_none(&sources.filter_map(|file| badly_named(&file.path)).collect::<Vec<_>>());
}

#[test]
fn nothing_is_left_open() {
    let files = files();
    let sources = files.iter().filter(|f| f.has_extension(&["rs", "sh", "py", "toml", "yaml"]));
    expect_none(&sources.flat_map(unfinished).collect::<Vec<_>>());
}

#[test]
fn no_path_of_one_machine() {
    expect_none(&files().iter().flat_map(machine_paths).collect::<Vec<_>>());
}

fn file(path: &str, text: impl Into<String>) -> File {
    File { path: path.to_owned(), text: text.into() }
}

#[test]
fn length_counts_code_only() {
    let code = "x\n".repeat(400);
    assert_eq!(
        too_long(&file("a.rs", format!("{code}#[cfg(test)]\nmod tests {{\n{code}}}"))),
        None
    );
    assert!(too_long(&file("a.rs", format!("{code}y\n"))).expect("too long").contains("401 lines"));
}

#[test]
fn empty_names_are_found_in_folders_too() {
    assert!(badly_named("results/src/utils/mod.rs").is_some());
    assert!(badly_named("results/src/misc.rs").is_some());
    assert_eq!(badly_named("results/src/commonality.rs"), None);
}

#[test]
fn open_ends_and_machine_paths_are_found_by_line() {
    let text = format!("a\n// {}: later\n#[{}]\n", UNFINISHED[0].0, &UNFINISHED[4].0[2..]);
    let found = unfinished(&file("a.rs", text));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("a.rs:2:") && found[1].starts_with("a.rs:3:"), "{found:?}");
    let text = format!("frame{0}x\n\"{0}main\"\nmktemp /x/XXXXXX", MACHINE_PATHS[0]);
    let found = machine_paths(&file("a.md", text));
    assert!(found.len() == 1 && found[0].starts_with("a.md:2:"), "{found:?}");
}
