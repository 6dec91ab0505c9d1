//! The command line as its users meet it: help, plans, complaints and exit codes.

use std::path::Path;
use std::time::{Duration, Instant};

use assert_cmd::Command;

fn lockbench(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("lockbench").expect("the binary is built");
    command.current_dir(folder).env_clear().timeout(Duration::from_secs(20));
    command
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in a workspace")
}

struct Answer {
    code: i32,
    out: String,
    err: String,
}

fn ask(folder: &Path, arguments: &[&str]) -> Answer {
    let output = lockbench(folder).args(arguments).output().expect("it ran");
    Answer {
        code: output.status.code().expect("it was not killed"),
        out: String::from_utf8(output.stdout).expect("it prints UTF-8"),
        err: String::from_utf8(output.stderr).expect("it prints UTF-8"),
    }
}

/// Plans the bytes of a scenario; fails if that takes a second.
fn plan_bytes(bytes: &[u8]) -> Answer {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("s.yaml"), bytes).expect("the file is written");
    let begun = Instant::now();
    let answer = ask(folder.path(), &["plan", "s.yaml"]);
    assert!(begun.elapsed() < Duration::from_secs(2), "it took {:?}", begun.elapsed());
    answer
}

/// A scenario with `extra` lines behind three good ones; extra line 1 is line 4 of the file.
fn plan_with(extra: &str) -> Answer {
    plan_bytes(
        format!("name: x\nstrategies: [redis-lua]\nworkloads: [seckill]\n{extra}").as_bytes(),
    )
}

#[track_caller]
fn complains(answer: &Answer, place: &str, words: &[&str]) {
    assert_eq!(answer.code, 2, "{}{}", answer.out, answer.err);
    assert_eq!(answer.out, "");
    let colon = if place.ends_with(':') { "" } else { ": " };
    let place = format!("s.yaml{place}{colon}");
    assert!(answer.err.contains(&place), "{place} is not in\n{}", answer.err);
    for word in words {
        assert!(answer.err.contains(word), "{word:?} is not in\n{}", answer.err);
    }
}

#[test]
fn c1_unknown_keys_and_names_have_a_place_and_the_nearest_guess() {
    let answer = plan_bytes(b"name: x\nstrategey: [redis-lua]\nworkloads: [seckill]\n");
    complains(&answer, ":2:1", &["unknown key `strategey`", "did you mean `strategies`?"]);
    let answer = plan_bytes(b"name: x\nstrategies: [redis-lau]\nworkloads: [sekill]\n");
    complains(&answer, ":2:14", &["unknown strategy `redis-lau`", "did you mean `redis-lua`?"]);
    complains(&answer, ":3:13", &["unknown workload `sekill`", "did you mean `seckill`?"]);
    for (extra, place, guess) in [
        ("load: [close]", ":4:8", "closed"),
        ("callers: [navie]", ":4:11", "naive"),
        ("guards: [fense]", ":4:10", "fence"),
        ("faults: [nnoe]", ":4:10", "none"),
        ("backends: { reddis: managed }", ":4:13", "redis"),
        ("keep: al", ":4:7", "all"),
    ] {
        complains(&plan_with(extra), place, &["unknown", &format!("did you mean `{guess}`?")]);
    }
}

#[test]
fn c2_unknown_keys_deep_inside_are_found() {
    complains(
        &plan_with("load:\n  - closed: { thnk: 0ms }\n"),
        ":5:15",
        &["did you mean `think`?"],
    );
    let text = b"name: x\nstrategies: [redis-lua]\nworkloads:\n  - seckill: { itms: 3, stok: 4 }\n";
    let answer = plan_bytes(text);
    complains(&answer, ":4:16", &["unknown key `itms` in seckill", "did you mean `items`?"]);
    complains(&answer, ":4:25", &["unknown key `stok` in seckill", "did you mean `stock`?"]);
}

#[test]
fn c3_duplicate_keys_name_both_lines() {
    complains(&plan_with("seed: 1\nseed: 2\n"), ":5:1", &["duplicate key `seed`", "line 4"]);
}

#[test]
fn c4_wrong_types_are_never_coerced() {
    for (extra, place, words) in [
        ("clients: { workers: \"ten\" }", ":4:21", "without quotes"),
        ("clients: { workers: ten }", ":4:21", "not a whole number"),
        ("clients: { workers: 1e3 }", ":4:21", "write 1000"),
        ("clients: { workers: 010 }", ":4:21", "may mean octal; write 10"),
        ("clients: { workers: 0x10 }", ":4:21", "not a whole number"),
        ("clients: { workers: 2.5 }", ":4:21", "not a whole number"),
        ("controls: yes", ":4:11", "write true"),
        ("controls: \"true\"", ":4:11", "neither true nor false"),
        ("clients: ten", ":4:10", "must be a block of keys"),
        ("callers: naive", ":4:10", "expected a list"),
        ("seed: [1]", ":4:7", "a whole number, not a list"),
        ("warmup:", ":4:", "not nothing"),
    ] {
        complains(&plan_with(extra), place, &[words]);
    }
    let text = b"name: x\nstrategies: [redis-lua]\nworkloads:\n  - seckill: { items: ten }\n";
    complains(&plan_bytes(text), ":4:23", &["seckill: items"]);
    let text = b"name: x\nstrategies: [redis-lua]\nworkloads:\n  - seckill: { items: 010 }\n";
    complains(&plan_bytes(text), ":4:23", &["`010` may mean two things"]);
}

#[test]
fn c5_durations_carry_their_unit() {
    complains(&plan_with("lock: { lease: 5 }"), ":4:16", &["`5` has no unit", "write 5s or 5ms"]);
    complains(&plan_with("load: [constant: { rate: 800 }]"), ":4:26", &["800/s"]);
    let text = b"name: x\nstrategies: [redis-lua]\nworkloads:\n  - seckill: { work: 5 }\n";
    complains(&plan_bytes(text), ":4:22", &["`5` has no unit: write 5s or 5ms"]);
}

#[test]
fn c6_zero_negative_and_overflowing_values_are_refused() {
    for (extra, place, words) in [
        ("measure: 0s", ":4:10", "too short"),
        ("lock: { lease: 0s }", ":4:16", "too short"),
        ("lock: { lease: -5s }", ":4:16", "negative"),
        ("lock: { lease: 9223372036854775808ms }", ":4:16", "too long"),
        ("lock: { patience: 25h }", ":4:19", "too long"),
        ("clients: { workers: 0 }", ":4:21", "from 1 to 100000"),
        ("clients: { instances: -1 }", ":4:23", "negative"),
        ("clients: { workers: 99999999999999999999999 }", ":4:21", "far too large"),
        ("clients: { instances: 1000, workers: 1000 }", ":4:10", "at most 100000"),
        ("trials: 0", ":4:9", "from 1 to 1000"),
        ("trials: 1001", ":4:9", "from 1 to 1000"),
        ("load: [constant: { rate: 0/s }]", ":4:26", "out of range"),
        ("load: [constant: { rate: -1/s }]", ":4:26", "out of range"),
        ("load: [constant: { rate: 99999999/s }]", ":4:26", "out of range"),
    ] {
        complains(&plan_with(extra), place, &[words]);
    }
}

#[test]
fn c7_contradictions_are_complaints_or_named_warnings() {
    let text = b"name: x\nstrategies: [redis-lua]\nworkloads: [seckill: { work: 20ms }]\nlock: { lease: 10ms }";
    complains(
        &plan_bytes(text),
        ":4:16",
        &["a fixed lease of 10ms is shorter than the work of 20ms", "allow-short-lease: true"],
    );
    let answer = plan_with("lock: { lease: 1us }");
    complains(&answer, ":4:16", &["too short"]);
    let extra = "clients: { instances: 2, agents: 3 }";
    complains(&plan_with(extra), ":4:34", &["3 agents for 2 instances"]);
    complains(&plan_with("guards: [none, none]"), ":4:16", &["duplicate cells", "4:10"]);
    let text = b"name: x\nstrategies: [redis-lua, redis-set-nx, redis-lua]\nworkloads: [seckill]\n";
    complains(&plan_bytes(text), ":2:39", &["duplicate cells"]);
    complains(&plan_with("guards: [none, fence]"), ":4:16", &["fits no cell", "no fencing tokens"]);
    complains(&plan_with("callers: []"), ":4:10", &["names no caller"]);
    let answer = plan_with("lock: { patience: 1m }\ncontrols: false");
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(answer.out.contains("warning: a patience of 1m"), "{}", answer.out);
    assert!(answer.out.contains("warning: controls are off"), "{}", answer.out);
}

#[test]
fn c8_files_that_are_no_scenarios_end_at_once() {
    complains(&plan_bytes(b""), "", &["no scenario", "lockbench init"]);
    complains(&plan_bytes(b"# nothing\n\n# here\n"), "", &["no scenario"]);
    complains(&plan_bytes(b"name: x\nlock:\n\tlease: 2s\n"), ":3:", &["tabs"]);
    complains(&plan_bytes(b"name: x\nseed: \xff\xfe\n"), ":2:7", &["not UTF-8"]);
    complains(&plan_bytes("[".repeat(10_000).as_bytes()), ":1:", &["nest"]);
    complains(&plan_bytes(&vec![b'a'; 100 << 20]), "", &["longer than 1024 KiB"]);
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..15 {
        let below = format!("*a{}, ", level - 1).repeat(9);
        bomb += ["a", &level.to_string(), ": &a", &level.to_string(), " [", &below, "]\n"]
            .concat()
            .as_str();
    }
    complains(&plan_bytes(bomb.as_bytes()), ":5:", &["more than 20000 values"]);
    for good in [
        "\u{feff}name: x\nstrategies: [redis-lua]\nworkloads: [seckill]\n".to_owned(),
        "name: x\r\nstrategies: [redis-lua]\r\nworkloads:\r\n  - seckill\r\n".to_owned(),
    ] {
        let answer = plan_bytes(good.as_bytes());
        assert_eq!(answer.code, 0, "{}", answer.err);
    }
    let folder = tempfile::tempdir().expect("a folder");
    for path in ["missing.yaml", ".", "/dev/zero"] {
        let answer = ask(folder.path(), &["plan", path]);
        assert_eq!(answer.code, 2, "{path}: {}", answer.err);
        assert!(answer.err.contains(path), "{path}: {}", answer.err);
    }
}

#[test]
fn c9_a_missing_variable_is_named_and_no_value_is_shown() {
    let extra = "backends: { redis: \"redis://me:${LOCKBENCH_SECRET}@127.0.0.1:${NO_SUCH_PORT}\" }";
    let text = format!("name: x\nstrategies: [redis-lua]\nworkloads: [seckill]\n{extra}\n");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("s.yaml"), text.clone()).expect("the file is written");
    let mut command = lockbench(folder.path());
    let output = command
        .args(["plan", "s.yaml"])
        .env("LOCKBENCH_SECRET", "hush-hush")
        .output()
        .expect("it ran");
    assert_eq!(output.status.code(), Some(2));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(
        err.contains("s.yaml:4:20: the environment variable `NO_SUCH_PORT` is not set"),
        "{err}"
    );
    assert!(!err.contains("hush-hush") && !err.contains("LOCKBENCH_SECRET` is not set"), "{err}");
    for format in ["text", "json"] {
        let output = lockbench(folder.path())
            .args(["plan", "s.yaml", "--format", format])
            .env("LOCKBENCH_SECRET", "hush-hush")
            .env("NO_SUCH_PORT", "7777")
            .output()
            .expect("it ran");
        assert_eq!(output.status.code(), Some(0));
        let out = String::from_utf8_lossy(&output.stdout);
        assert!(out.contains("redis://127.0.0.1:7777"), "{out}");
        assert!(!out.contains("hush-hush"), "{out}");
    }
}

#[test]
fn c10_names_that_look_alike_have_different_slugs() {
    let slug = |name: &str| {
        let text = format!("name: '{name}'\nstrategies: [redis-lua]\nworkloads: [seckill]\n");
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("s.yaml"), text).expect("the file is written");
        let answer = ask(folder.path(), &["plan", "s.yaml", "--format", "json"]);
        assert_eq!(answer.code, 0, "{}", answer.err);
        let plan: serde_json::Value = serde_json::from_str(&answer.out).expect("it is JSON");
        plan["slug"].as_str().expect("a slug is text").to_owned()
    };
    assert_ne!(slug("flash sale"), slug("flash  sale"));
    assert_ne!(slug("Flash"), slug("flash"));
}

#[test]
fn c11_hostile_names_write_nothing() {
    for name in ["../../etc/x", "/etc/x", "a\\0b", "CON", "-rf", &"x".repeat(300)] {
        let text = format!("name: \"{name}\"\nstrategies: [redis-lua]\nworkloads: [seckill]\n");
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("s.yaml"), text).expect("the file is written");
        let answer = ask(folder.path(), &["plan", "s.yaml", "--format", "json"]);
        assert_eq!(answer.code, 0, "{}", answer.err);
        let plan: serde_json::Value = serde_json::from_str(&answer.out).expect("it is JSON");
        let slug = plan["slug"].as_str().expect("a slug is text");
        assert!(slug.len() <= 69 && !slug.contains(['/', '\\', '\0', '.']), "{slug}");
        assert!(slug.starts_with(|char: char| char.is_ascii_alphanumeric()), "{slug}");
        let files = std::fs::read_dir(folder.path()).expect("the folder is there").count();
        assert_eq!(files, 1);
    }
}

#[test]
fn c12_what_is_not_built_yet_is_refused_and_never_ignored() {
    for (extra, place, name) in [
        ("network: { rtt: 600us }", ":4:1", "network"),
        ("variants: { a: {} }", ":4:1", "variants"),
        ("sweep: { measure: [1s, 2s] }", ":4:1", "sweep"),
        ("faults: [none, pause-client: { for: 1s }]", ":4:16", "pause-client"),
        ("load: [ramp: { to: 8/s }]", ":4:8", "ramp"),
        ("backends: { etcd: managed }", ":4:13", "etcd"),
        ("backends: { redis-quorum: { managed: { nodes: 5 } } }", ":4:13", "redis-quorum"),
    ] {
        complains(&plan_with(extra), place, &[&format!("`{name}` is not built yet")]);
    }
    let text = b"name: x\nstrategies: [redis-lua, zookeeper-mutex]\nworkloads: [seckill]\n";
    complains(&plan_bytes(text), ":2:25", &["`zookeeper-mutex` is not built yet"]);
}

#[test]
fn bad_gates_have_a_column() {
    let answer =
        plan_with("gates:\n  - violations == 0\n  - violatoins == 0\n  - throughput ~ 3\n");
    complains(&answer, ":6:5", &["violatoins"]);
    complains(&answer, ":7:16", &["gate: "]);
}

#[test]
fn all_complaints_come_together_sorted_by_place() {
    let answer = plan_bytes(
        b"name: \"\"\n\
          strategies:\n  - redis-lua: { lease: 5, nodelai: true }\n  - redis-lau\n\
          workloads:\n  - seckill: { items: 0, stok: 1 }\n\
          seed: 010\n\
          lock: { lease: 2s, patiense: 3s }\n\
          controls: yes\n\
          network: { rtt: 1ms }\n\
          gates: [violations = 0]\n",
    );
    assert_eq!(answer.code, 2);
    insta::assert_snapshot!(answer.err);
}

#[test]
fn addresses_elsewhere_need_what_their_owner_allows() {
    let answer = plan_with("backends: { redis: redis://redis.example.com:6379 }");
    complains(&answer, ":4:20", &["is not on this host and has no ceiling", "ceiling: {"]);
    let extra = "backends: { redis: { address: redis://redis.example.com, ceiling: { operations: 10/s, connections: 4 } } }";
    complains(&plan_with(extra), ":4:13", &["16 callers are above the ceiling of 4 connections"]);
    complains(&plan_with("backends: { redis: localhost }"), ":4:20", &["redis://"]);
    complains(
        &plan_with("backends: { redis: { disposable: true } }"),
        ":4:20",
        &["either managed"],
    );
}

#[test]
fn init_writes_a_scenario_that_plans_and_overwrites_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(ask(folder.path(), &["init"]).code, 0);
    let answer = ask(folder.path(), &["plan", "scenario.yaml"]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    let again = ask(folder.path(), &["init"]);
    assert_eq!(again.code, 2);
    assert!(again.err.contains("scenario.yaml exists"), "{}", again.err);
}

#[test]
fn the_shipped_scenarios_plan_and_fit_the_schema() {
    let answer = ask(repository(), &["schema"]);
    let schema: serde_json::Value = serde_json::from_str(&answer.out).expect("it is JSON");
    let validator = jsonschema::draft7::new(&schema).expect("it is a schema of draft-07");
    for file in std::fs::read_dir(repository().join("scenarios")).expect("they are there") {
        let path = file.expect("it can be listed").path();
        let answer =
            ask(repository(), &["plan", path.to_str().expect("plain names"), "--format", "json"]);
        assert_eq!(answer.code, 0, "{}: {}", path.display(), answer.err);
        let plan: serde_json::Value = serde_json::from_str(&answer.out).expect("it is JSON");
        let mut effective = plan["effective"].clone();
        let map = effective.as_object_mut().expect("a scenario is an object");
        map.retain(|key, value| key != "lockbench" && key != "backends" && !value.is_null());
        let errors: Vec<String> = validator
            .iter_errors(&effective)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert_eq!(errors, Vec::<String>::new(), "{}", path.display());
    }
    let wrong =
        serde_json::json!({ "name": "x", "strategies": ["redis-lau"], "workloads": ["seckill"] });
    assert!(!validator.is_valid(&wrong));
}

#[test]
fn the_quickstart_measures_for_less_than_two_minutes() {
    let answer = ask(repository(), &["plan", "scenarios/quickstart.yaml"]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    insta::with_settings!({ filters => vec![(r"at most .* of histories", "at most [BYTES] of histories")] }, {
        insta::assert_snapshot!(answer.out);
    });
}

#[test]
fn help_names_every_command_and_shows_examples() {
    let folder = tempfile::tempdir().expect("a folder");
    insta::assert_snapshot!(ask(folder.path(), &["--help"]).out);
    for command in [
        "run",
        "plan",
        "list",
        "explain",
        "init",
        "schema",
        "completions",
        "judge",
        "report",
        "history",
        "gate",
        "doctor",
    ] {
        let answer = ask(folder.path(), &[command, "--help"]);
        assert_eq!(answer.code, 0);
        assert!(answer.out.contains("Example"), "{}", answer.out);
    }
}

#[test]
fn wrong_usage_is_exit_two_and_nothing_on_standard_output() {
    let folder = tempfile::tempdir().expect("a folder");
    for arguments in [
        &[][..],
        &["frobnicate"],
        &["plan"],
        &["plan", "missing.yaml"],
        &["run", "missing.yaml"],
        &["explain", "redis-lau"],
        &["list", "strategeis"],
        &["report", "no-such-run"],
        &["judge", "no-such-run"],
        &["gate", "no-such-run"],
        &["history", "no-such-run", "cell"],
    ] {
        let answer = ask(folder.path(), arguments);
        assert_eq!(answer.code, 2, "{arguments:?}: {}", answer.err);
        assert_eq!(answer.out, "", "{arguments:?}");
        assert!(!answer.err.contains('\u{1b}'), "{arguments:?}: {}", answer.err);
    }
}

#[test]
fn every_name_in_the_lists_has_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let all = ask(folder.path(), &["list"]);
    assert_eq!(all.code, 0);
    for line in all.out.lines().filter(|line| line.starts_with("  ")) {
        let name = line.split_whitespace().next().expect("a line has a name");
        let answer = ask(folder.path(), &["explain", name]);
        assert_eq!(answer.code, 0, "{}", answer.err);
        assert!(answer.out.contains(name));
    }
    let near = ask(folder.path(), &["explain", "redis-lau"]);
    assert!(near.err.contains("did you mean `redis-lua`?"), "{}", near.err);
}

#[test]
fn completions_are_printed_for_every_shell() {
    let folder = tempfile::tempdir().expect("a folder");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let answer = ask(folder.path(), &["completions", shell]);
        assert_eq!(answer.code, 0);
        assert!(answer.out.contains("lockbench"));
    }
}
