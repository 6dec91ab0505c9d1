//! Which crate may depend on what, and what a library must not do.

use crate::tree::{CRATES, code, expect_none, lines_with_word, read, sources};

/// Crates of asynchronous or network code; a name that begins with one of them and a dash counts too.
const ASYNC_OR_NETWORK: [&str; 20] = [
    "async-io",
    "async-std",
    "async-trait",
    "etcd-client",
    "futures",
    "h2",
    "hyper",
    "mio",
    "nats",
    "quinn",
    "redis",
    "reqwest",
    "rustls",
    "smol",
    "socket2",
    "tokio",
    "tonic",
    "tower",
    "ureq",
    "zookeeper",
];

/// What a crate must not depend on among our own.
const FORBIDDEN_ARROWS: [(&str, &[&str]); 3] = [
    ("results", &["strategies", "workloads", "bench-runner"]),
    ("strategies", &["results", "workloads", "bench-runner"]),
    ("workloads", &["bench-runner"]),
];

/// The names below `[dependencies]` of a manifest, platform-specific ones included, development and build ones not.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_matches(['[', ']']);
            let parts: Vec<&str> = section.split('.').collect();
            inside = parts.last() == Some(&"dependencies");
            if let [.., "dependencies", name] = parts[..] {
                names.push(name.to_owned());
            }
        } else if inside && !line.starts_with('#') {
            let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
            names.extend((!name.is_empty()).then(|| name.trim_matches('"').to_owned()));
        }
    }
    names
}

fn is_async_or_network(name: &str) -> bool {
    ASYNC_OR_NETWORK.iter().any(|known| {
        name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    })
}

#[test]
fn arrows_point_as_drawn() {
    let mut all = Vec::new();
    for (package, forbidden) in FORBIDDEN_ARROWS {
        let names = dependencies(&read(&format!("{package}/Cargo.toml")));
        all.extend(names.iter().filter(|name| forbidden.contains(&name.as_str())).map(|name| {
            format!(
                "{package}/Cargo.toml: depends on `{name}` against the drawing in ARCHITECTURE.md: move what is shared down, or the code up"
            )
        }));
    }
    expect_none(&all);
}

#[test]
fn results_has_no_async_and_no_network() {
    let mut all: Vec<String> = dependencies(&read("results/Cargo.toml"))
        .iter()
        .filter(|name| is_async_or_network(name))
        .map(|name| format!("results/Cargo.toml: depends on `{name}`: a judge needs no network and no runtime; do that in bench-runner"))
        .collect();
    for file in sources("results") {
        let code = code(&file.text);
        for word in ["async", "await", "std::net"] {
            all.extend(lines_with_word(&code, word).into_iter().map(|line| {
                format!(
                    "{}:{line}: `{word}`: results judges saved files only; do that in bench-runner",
                    file.path
                )
            }));
        }
    }
    expect_none(&all);
}

#[test]
fn libraries_print_nothing() {
    let mut all = Vec::new();
    for package in ["results", "strategies", "workloads"] {
        for file in sources(package) {
            let code = code(&file.text);
            for word in ["println!", "eprintln!", "print!", "eprint!"] {
                all.extend(lines_with_word(&code, word).into_iter().map(|line| {
                    format!(
                        "{}:{line}: `{word}` in a library: return a value, bench-runner prints it",
                        file.path
                    )
                }));
            }
        }
    }
    expect_none(&all);
}

#[test]
fn only_main_ends_the_process() {
    let mut all = Vec::new();
    for file in CRATES.iter().flat_map(|package| sources(package)) {
        if file.path == "bench-runner/src/main.rs" {
            continue;
        }
        all.extend(lines_with_word(&code(&file.text), "process::exit").into_iter().map(|line| {
            format!(
                "{}:{line}: `process::exit`: return an `Exit`; only main.rs ends the process",
                file.path
            )
        }));
    }
    expect_none(&all);
}

#[test]
fn yaml_is_read_in_one_module() {
    let mut readers: Vec<String> = CRATES
        .iter()
        .flat_map(|package| sources(package))
        .filter(|file| !lines_with_word(&code(&file.text), "serde_saphyr").is_empty())
        .map(|file| file.path)
        .collect();
    if readers.len() > 1 {
        let first = readers.remove(0);
        for reader in &mut readers {
            *reader = format!(
                "{reader}: uses serde_saphyr, and so does {first}: read YAML in one module only and pass its values on"
            );
        }
        expect_none(&readers);
    }
}

#[test]
fn manifests_are_read_by_section() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\nserde.workspace = true\n# no\ntokio-util = \"1\"\n\
        [dependencies.redis]\nversion = \"1\"\n[dev-dependencies]\nproptest = \"1\"\n\
        [target.'cfg(unix)'.dependencies]\nnix = \"1\"\n";
    let names = dependencies(manifest);
    assert_eq!(names, ["serde", "tokio-util", "redis", "nix"]);
    let suspects: Vec<_> = names.iter().filter(|name| is_async_or_network(name)).collect();
    assert_eq!(suspects, ["tokio-util", "redis"]);
}
