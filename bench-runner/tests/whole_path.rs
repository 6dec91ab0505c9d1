//! The whole path on real servers: what a run leaves behind, and what survives when it is cut short.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test program")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use serde_json::Value;
use support::{Bench, Running, alive, eventually, files, json, lockbench, within};

/// Nothing of a run may live longer than this after its end.
const SOON: Duration = Duration::from_secs(2);

fn scenario(trials: u32, measure: &str) -> String {
    format!(
        "name: whole path
strategies: [redis-lua]
workloads:
  - lock-only: {{ keys: 2, hold: 1ms }}
clients: {{ instances: 2, workers: 2 }}
lock: {{ lease: 500ms, patience: 200ms }}
warmup: 0ms
measure: {measure}
trials: {trials}
controls: false
"
    )
}

fn results(run: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        files(run).into_iter().filter(|file| file.ends_with("result.json")).collect();
    all.sort();
    all
}

/// Every JSON file of a run can be read to its end.
fn all_json_is_whole(run: &Path) {
    for file in files(run) {
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("json") => drop(json(&file)),
            Some("part") => panic!("half a file was left: {}", file.display()),
            _ => {}
        }
    }
}

fn nothing_lives(pids: &[u32]) {
    within(SOON, "everything is gone", || !pids.iter().any(|pid| alive(*pid)));
}

fn pids(running: &Running) -> Vec<u32> {
    running.children().into_iter().map(|(pid, _)| pid).collect()
}

/// Waits until so many trials have their result, and the next one has its agents at work.
fn until_trial(bench: &Bench, running: &Running, finished: usize) {
    let runs = bench.folder.path().join("runs");
    eventually("a trial is under way", || {
        results(&runs).len() == finished
            && running.agents().len() == 2
            && files(&runs)
                .iter()
                .filter(|file| file.extension().is_some_and(|ending| ending == "lbh"))
                .any(|file| {
                    let trial = file.parent().unwrap();
                    !trial.join("trial.json").exists() && recorded(file) > 8192
                })
    });
}

/// Bytes of a history that is being written; its file is longer.
fn recorded(history: &Path) -> usize {
    let bytes = fs::read(history).unwrap_or_default();
    bytes.iter().rposition(|byte| *byte != 0).unwrap_or_default()
}

#[test]
fn a_run_measures_judges_saves_and_leaves_nothing_behind() {
    let text = scenario(2, "400ms")
        .replace("controls: false", "controls: true")
        .replace("trials: 2", "trials: 2\nslo: { response: 1s }");
    let bench = Bench::new(&text);
    let running = bench.run(&[]);
    eventually("servers are there", || running.children().len() >= 3);
    let servers = pids(&running);
    let ended = running.ends();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("redis-lua") && ended.stdout.contains("valid"), "{ended:?}");
    assert!(ended.stdout.contains("lockbench report"), "{ended:?}");
    nothing_lives(&servers);
    let run = bench.run_json();
    assert_eq!(run["trusted"], true);
    assert_eq!(run["partial"], false);
    assert_eq!(run["cells"][0]["verdict"], "valid");
    assert_eq!(run["cells"][0]["trials"], 2);
    assert_eq!(run["gates"][0]["outcome"], "pass");
    assert_eq!(run["controls"][0]["control"], "control-none");
    assert_eq!(run["controls"][0]["verdict"], "violated");
    assert_eq!(run["environment"]["servers"]["redis"]["managed"], true);
    assert!(run["cells"][0]["cost"]["server_cpu_us_per_grant"].is_number());
    for (name, pid) in run["environment"]["processes"].as_object().unwrap() {
        let pid = pid.as_u64().unwrap().try_into().unwrap();
        assert!(!alive(pid), "{name} is alive");
    }
    all_json_is_whole(&bench.latest());
}

#[test]
fn a_killed_run_leaves_nothing_running_and_is_resumed() {
    let bench = Bench::new(&scenario(3, "1500ms"));
    let running = bench.run(&[]);
    until_trial(&bench, &running, 1);
    let everything = pids(&running);
    assert!(everything.len() >= 5, "supervisor, two servers, two agents: {everything:?}");
    running.signal(Signal::SIGKILL);
    nothing_lives(&everything);
    drop(running);
    let run = bench.latest();
    all_json_is_whole(&run);
    assert_eq!(bench.run_json()["partial"], true);
    let finished = results(&run);
    let written = fs::metadata(&finished[0]).unwrap().modified().unwrap();

    let ended = bench.run(&["--resume", "runs/latest"]).ends();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(bench.latest(), run);
    assert_eq!(bench.run_json()["partial"], false);
    assert_eq!(bench.run_json()["cells"][0]["trials"], 3);
    assert_eq!(results(&run).len(), 3);
    assert_eq!(fs::metadata(&finished[0]).unwrap().modified().unwrap(), written);

    fs::write(bench.folder.path().join("scenario.yaml"), scenario(3, "700ms")).unwrap();
    let ended = bench.run(&["--resume", "runs/latest"]).ends();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("measure"), "{ended:?}");
}

#[test]
fn a_killed_agent_makes_the_run_partial_and_the_others_go_on() {
    let bench = Bench::new(&scenario(2, "1s"));
    let running = bench.run(&[]);
    until_trial(&bench, &running, 0);
    let agent = running.agents()[0];
    kill(Pid::from_raw(agent.try_into().unwrap()), Signal::SIGKILL).unwrap();
    let ended = running.ends();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let run = bench.run_json();
    assert_eq!(run["partial"], true);
    assert_eq!(run["cells"][0]["trials"], 2, "the second trial was carried out");
    assert_ne!(run["cells"][0]["verdict"], "valid");
    let warnings = run["warnings"].to_string();
    assert!(warnings.contains("was killed by SIGKILL"), "{warnings}");
}

#[test]
fn a_stopped_agent_does_not_hold_up_the_end() {
    let bench = Bench::new(&scenario(1, "1s"));
    let running = bench.run(&[]);
    until_trial(&bench, &running, 0);
    let seen = Instant::now();
    let agent = running.agents()[0];
    kill(Pid::from_raw(agent.try_into().unwrap()), Signal::SIGSTOP).unwrap();
    // A window of one second, then drain and grace, then at most a lease and two seconds for what it left.
    let ended = running.ends_within(Duration::from_secs(10));
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(seen.elapsed() < Duration::from_secs(8), "{:?}", seen.elapsed());
    assert!(!alive(agent));
}

#[test]
fn one_interrupt_saves_and_judges_what_there_is() {
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let bench = Bench::new(&scenario(3, "5s"));
        let running = bench.run(&[]);
        until_trial(&bench, &running, 0);
        let everything = pids(&running);
        let asked = Instant::now();
        running.signal(signal);
        let ended = running.ends_within(Duration::from_secs(10));
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
        nothing_lives(&everything);
        let run = bench.run_json();
        assert_eq!(run["partial"], true);
        assert!(run["cells"][0]["outcomes"]["granted"].as_u64().unwrap() > 0, "{run}");
        all_json_is_whole(&bench.latest());
    }
}

#[test]
fn two_interrupts_end_at_once_with_whole_files() {
    let bench = Bench::new(&scenario(3, "2s"));
    let running = bench.run(&[]);
    until_trial(&bench, &running, 1);
    let everything = pids(&running);
    // An agent that does not answer holds up the first wish, so that the second one has something to cut short.
    let agent = running.agents()[0];
    kill(Pid::from_raw(agent.try_into().unwrap()), Signal::SIGSTOP).unwrap();
    let asked = Instant::now();
    running.signal(Signal::SIGINT);
    // Signals of one kind that come close together are one to a process: ask again, as people do, until it is gone.
    let pid = Pid::from_raw(running.child.id().try_into().unwrap());
    eventually("the run is gone", || {
        // Fails only once there is nobody left to ask.
        let _ = kill(pid, Signal::SIGINT);
        fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
    });
    let ended = running.ends_within(Duration::from_secs(10));
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    nothing_lives(&everything);
    all_json_is_whole(&bench.latest());
    assert_eq!(bench.run_json()["cells"][0]["trials"], 1);
}

#[test]
fn a_server_that_dies_ends_the_run_in_part() {
    let bench = Bench::new(&scenario(3, "1s"));
    let running = bench.run(&[]);
    until_trial(&bench, &running, 1);
    let journal = bench.latest().join("run.json");
    let redis = json(&journal)["environment"]["processes"]["redis"].as_i64().unwrap();
    kill(Pid::from_raw(redis.try_into().unwrap()), Signal::SIGKILL).unwrap();
    let ended = running.ends_within(Duration::from_secs(30));
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stderr.contains("redis does not answer any more"), "{ended:?}");
    assert_eq!(bench.run_json()["partial"], true);
}

#[test]
fn a_full_disk_stops_the_run_and_what_was_finished_is_whole() {
    let bench = Bench::new(&scenario(60, "400ms").replace("hold: 1ms", "hold: 0ms"));
    fs::create_dir(bench.folder.path().join("runs")).unwrap();
    // The small disk exists for this shell alone; what is on it is copied before it goes.
    let script = format!(
        "mount -t tmpfs -o size=24m tmpfs runs && {} \"$@\"; code=$?; cp -a runs kept; exit $code",
        env!("CARGO_BIN_EXE_lockbench")
    );
    let mut command = Command::new("unshare");
    if !geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command.args(["--mount", "sh", "-c", &script, "sh"]);
    let ended = bench.start(&mut command, &["--quiet"]).ends();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let kept = bench.folder.path().join("kept");
    let whole: Vec<PathBuf> = results(&kept);
    assert!(!whole.is_empty(), "some trials fit: {:?}", files(&kept));
    for file in files(&kept).iter().filter(|file| file.extension().is_some_and(|e| e == "json")) {
        let _: Value = json(file);
    }
}

#[test]
fn a_folder_that_cannot_take_runs_is_refused_before_anything_starts() {
    let bench = Bench::new(&scenario(1, "500ms"));
    for out in ["missing", "scenario.yaml", "/proc/1"] {
        let ended = bench.run(&["--out", out]).ends();
        assert_eq!(ended.code, Some(2), "{out}: {ended:?}");
        assert!(ended.stderr.contains(out), "{ended:?}");
    }
}

#[test]
fn a_machine_without_redis_is_told_what_to_install() {
    let bench = Bench::new(&scenario(1, "500ms"));
    let ended = bench.start(lockbench().env("PATH", "/nowhere"), &[]).ends();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("apt-get install redis-server"), "{ended:?}");
    let doctor = lockbench().arg("doctor").env("PATH", "/nowhere").output().unwrap();
    assert_eq!(doctor.status.code(), Some(3));
    assert_eq!(lockbench().arg("doctor").output().unwrap().status.code(), Some(0));
}

#[test]
fn too_many_connections_for_this_machine_are_refused_with_the_number() {
    let text = scenario(1, "500ms").replace("workers: 2", "workers: 3000");
    let bench = Bench::new(&text);
    let script = "ulimit -n 500 && exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_lockbench")]);
    let ended = bench.start(&mut command, &[]).ends();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("500") && ended.stderr.contains("open files"), "{ended:?}");
}
