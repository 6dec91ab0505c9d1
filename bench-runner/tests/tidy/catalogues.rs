//! The catalogues: names, files and pages agree, and the two sides do not know each other.

use strategies::catalog::STRATEGIES;
use workloads::catalog::WORKLOADS;

use crate::tree::{code, expect_none, files, lines_with_word, sources};

/// What lists and documents say about an entry.
struct Listed {
    name: &'static str,
    summary: &'static str,
    page: &'static str,
}

fn strategy_entries() -> Vec<Listed> {
    let listed = |e: &&strategies::strategy::Entry| (e.name, e.summary, e.page);
    STRATEGIES.iter().map(listed).map(Listed::from).collect()
}

fn workload_entries() -> Vec<Listed> {
    let listed = |e: &&workloads::workload::Entry| (e.name, e.summary, e.page);
    WORKLOADS.iter().map(listed).map(Listed::from).collect()
}

impl From<(&'static str, &'static str, &'static str)> for Listed {
    fn from((name, summary, page): (&'static str, &'static str, &'static str)) -> Self {
        Self { name, summary, page }
    }
}

fn is_kebab(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
        && !name.contains("--")
        && name.chars().all(plain)
}

/// What is wrong with `entries`, given the files of their folder that define one (snake case, without `.rs`).
fn complaints(folder: &str, entries: &[Listed], defining: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        let Listed { name, summary, page } = entry;
        let file = name.replace('-', "_");
        if !is_kebab(name) {
            all.push(format!(
                "{folder}/mod.rs: `{name}` is not kebab-case: use a-z, 0-9 and single dashes"
            ));
        }
        if entries[..number].iter().any(|earlier| earlier.name == *name) {
            all.push(format!("{folder}/mod.rs: `{name}` is listed twice: remove one line"));
        }
        if !defining.contains(&file) {
            all.push(format!(
                "{folder}/{file}.rs: `{name}` must be defined here: rename the file or the entry"
            ));
        }
        if summary.trim().is_empty() || summary.contains('\n') {
            all.push(format!("{folder}/{file}.rs: write one line of `summary` for `{name}`"));
        }
        if page.trim().is_empty() {
            all.push(format!("{folder}/{file}.rs: write the `page` of `{name}`"));
        }
    }
    for file in defining {
        if !entries.iter().any(|entry| entry.name.replace('-', "_") == *file) {
            all.push(format!(
                "{folder}/{file}.rs: its ENTRY is not in the catalogue under this name: add `mod {file};` and `&{file}::ENTRY,` to {folder}/mod.rs"
            ));
        }
    }
    all
}

/// The files in `folder` that define an `ENTRY`, without `.rs`.
fn defining(folder: &str) -> Vec<String> {
    let stem = |path: &str| {
        let inner = path.strip_prefix(folder)?.strip_prefix('/')?;
        let stem = inner.strip_suffix("/mod.rs").or_else(|| inner.strip_suffix(".rs"))?;
        (!stem.contains('/') && stem != "mod").then(|| stem.to_owned())
    };
    let defines = |text: &str| text.contains("static ENTRY:") || text.contains("const ENTRY:");
    files().iter().filter(|f| defines(&f.text)).filter_map(|f| stem(&f.path)).collect()
}

#[test]
fn strategies_are_what_their_files_say() {
    let folder = "strategies/src/catalog";
    expect_none(&complaints(folder, &strategy_entries(), &defining(folder)));
}

#[test]
fn workloads_are_what_their_files_say() {
    let folder = "workloads/src/catalog";
    expect_none(&complaints(folder, &workload_entries(), &defining(folder)));
}

#[test]
fn strategies_and_workloads_do_not_know_each_other() {
    let mut all = names_in("workloads", "strategy", &strategy_entries());
    all.extend(names_in("strategies", "workload", &workload_entries()));
    expect_none(&all);
}

fn names_in(package: &str, kind: &str, entries: &[Listed]) -> Vec<String> {
    let mut all = Vec::new();
    for file in sources(package) {
        let code = code(&file.text);
        for name in entries.iter().flat_map(|e| [e.name.to_owned(), e.name.replace('-', "_")]) {
            all.extend(lines_with_word(&code, &name).into_iter().map(|line| {
                format!(
                    "{}:{line}: names the {kind} `{name}`: {package} must work for every {kind}; ask its claims or options instead",
                    file.path
                )
            }));
        }
    }
    all
}

#[test]
fn wrong_entries_are_named() {
    let entry = |name| Listed { name, summary: "one line", page: "a page" };
    let files = ["redis_lua".to_owned(), "forgotten".to_owned()];
    let found =
        complaints("folder", &[entry("redis-lua"), entry("Bad-"), entry("redis-lua")], &files);
    assert_eq!(found.len(), 4, "{found:#?}");
    for (found, expected) in
        found.iter().zip(["not kebab", "must be defined", "twice", "forgotten"])
    {
        assert!(found.contains(expected), "{found} does not say {expected}");
    }
}

#[test]
fn right_entries_pass() {
    let entries = [Listed { name: "no-lock", summary: "one line", page: "a page" }];
    assert_eq!(complaints("folder", &entries, &["no_lock".to_owned()]), Vec::<String>::new());
}
