//! The files of the workspace, and how complaints about them are put.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates of the workspace, from the leaves to the roof.
pub(crate) const CRATES: [&str; 4] = ["results", "strategies", "workloads", "bench-runner"];

/// Folders that hold nothing of ours.
const FOREIGN: [&str; 5] = ["target", ".git", "runs", "node_modules", "vendor"];

/// A text file of the workspace.
pub(crate) struct File {
    /// Relative to the workspace, with slashes.
    pub(crate) path: String,
    /// All of it.
    pub(crate) text: String,
}

impl File {
    /// Whether it is Rust that exists only for tests: `tests.rs`, or anything below a folder `tests`.
    pub(crate) fn is_test(&self) -> bool {
        self.path.split('/').any(|part| part == "tests" || part == "tests.rs")
    }

    /// Whether its name ends in `.` and one of `extensions`.
    pub(crate) fn has_extension(&self, extensions: &[&str]) -> bool {
        let extension = Path::new(&self.path).extension().and_then(|e| e.to_str());
        extension.is_some_and(|extension| extensions.contains(&extension))
    }
}

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().expect("every crate lies in the workspace").to_owned()
}

/// Every text file of the workspace, sorted by path.
pub(crate) fn files() -> Vec<File> {
    let root = root();
    let mut found = Vec::new();
    collect(&root, &root, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(
        found.iter().any(|file| file.path == "Cargo.toml"),
        "no Cargo.toml below {}",
        root.display()
    );
    found
}

/// The Rust files below the `src` of `package`, without those that are tests.
pub(crate) fn sources(package: &str) -> Vec<File> {
    let source = format!("{package}/src/");
    let mut files = files();
    files.retain(|f| f.path.starts_with(&source) && f.has_extension(&["rs"]) && !f.is_test());
    files
}

/// The text of the file at `path`; fails the test where it is missing.
pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}; the workspace must have this file"))
}

/// Fails the test with all complaints at once.
pub(crate) fn expect_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n\n{}\n", complaints.join("\n"));
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<File>) {
    let entries = fs::read_dir(folder).expect("a folder of the workspace can be listed");
    for entry in entries {
        let path = entry.expect("a folder of the workspace can be listed").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_symlink() || FOREIGN.contains(&name) {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, found);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let inner = path.strip_prefix(root).expect("the walk began at the root");
            found.push(File { path: inner.display().to_string(), text });
        }
    }
}

/// `text` without its test module at the end (`#[cfg(test)] mod tests { .. }`).
pub(crate) fn without_tests(text: &str) -> &str {
    let mut at = 0;
    while let Some(next) = text[at..].find("#[cfg(test)]") {
        let start = at + next;
        let after = text[start + "#[cfg(test)]".len()..].trim_start();
        let line = after.lines().next().unwrap_or_default();
        if line.starts_with("mod ") && line.ends_with('{') {
            return &text[..start];
        }
        at = start + 1;
    }
    text
}

/// The code of `text`: no test module, no comments. Keeps the number of lines.
pub(crate) fn code(text: &str) -> String {
    let strip = |line: &str| {
        let trimmed = line.trim_start();
        if trimmed.starts_with("//") {
            return String::new();
        }
        // A comment behind code; the space keeps URLs in strings.
        line.find(" // ").map_or_else(|| line.to_owned(), |at| line[..at].to_owned())
    };
    without_tests(text).lines().map(strip).collect::<Vec<_>>().join("\n")
}

/// Numbers, from 1, of the lines of `text` in which `word` stands as a word of its own.
pub(crate) fn lines_with_word(text: &str, word: &str) -> Vec<usize> {
    let holds = |line: &str| {
        line.match_indices(word).any(|(at, _)| {
            let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            let before = line[..at].chars().next_back();
            let after = line[at + word.len()..].chars().next();
            !before.is_some_and(part) && !after.is_some_and(part)
        })
    };
    (1..).zip(text.lines()).filter(|(_, line)| holds(line)).map(|(number, _)| number).collect()
}

#[test]
fn test_module_at_the_end_is_not_code() {
    let text = "use a;\n#[cfg(test)]\nmod tests;\nfn f() {}\n#[cfg(test)]\nmod tests {\n}\n";
    assert_eq!(without_tests(text), "use a;\n#[cfg(test)]\nmod tests;\nfn f() {}\n");
}

#[test]
fn comments_are_not_code() {
    let text = "/// crate::a\nlet x = 1; // crate::b\nlet url = \"redis://h\";\n";
    assert_eq!(code(text), "\nlet x = 1;\nlet url = \"redis://h\";");
}

#[test]
fn words_have_borders() {
    let text = "a seckill-like\n`seckill`\nsecking seckill_x\nseckill";
    assert_eq!(lines_with_word(text, "seckill"), [2, 4]);
}
