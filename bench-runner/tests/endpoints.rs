//! Servers given by address that cannot be used: exit 3 with the server, the cause and the remedy, and no load.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test program")]

mod support;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use support::{Bench, Ended, Redis, command_line, eventually, files, free_port};

const CANARY: &str = "canary-5f3a9c";

fn scenario(address: &str) -> String {
    format!(
        "name: endpoints
strategies: [redis-lua]
workloads:
  - lock-only: {{ keys: 1, hold: 0ms }}
clients: {{ instances: 1, workers: 2 }}
lock: {{ lease: 500ms, patience: 100ms }}
warmup: 0ms
measure: 300ms
trials: 1
controls: false
backends:
  redis: {{ address: \"{address}\" }}
"
    )
}

/// Runs against `address` and expects to be refused with these words.
fn refused(address: &str, words: &[&str]) -> Ended {
    let bench = Bench::new(&scenario(address));
    let begun = Instant::now();
    let ended = bench.run(&[]).ends();
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert_eq!(ended.code, Some(3), "{address}: {ended:?}");
    for word in words {
        assert!(ended.stderr.contains(word), "`{word}` is missing: {ended:?}");
    }
    assert!(ended.stderr.contains("redis at "), "the server is named: {ended:?}");
    let histories = files(bench.folder.path());
    assert!(!histories.iter().any(|file| file.ends_with("trial.json")), "no load was started");
    ended
}

#[test]
fn a_closed_port_is_refused() {
    let port = free_port();
    refused(&format!("redis://127.0.0.1:{port}"), &["connection refused", &port.to_string()]);
    refused(&format!("redis://[::1]:{port}"), &["[::1]"]);
}

#[test]
fn an_unknown_host_is_refused() {
    let address = "redis://no-such-host.invalid:6379";
    let text = scenario(address).replace(
        &format!("{{ address: \"{address}\" }}"),
        &format!("{{ address: \"{address}\", disposable: false, ceiling: {{ operations: 100/s, connections: 10 }} }}"),
    );
    let text = format!("{text}load:\n  - constant: {{ rate: 50/s }}\n");
    let ended = Bench::new(&text).run(&[]).ends();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("no-such-host.invalid"), "{ended:?}");
}

#[test]
fn a_closed_load_on_somebodys_server_is_refused() {
    let text = scenario("redis://10.255.255.1:6379").replace(
        "6379\" }",
        "6379\", disposable: false, ceiling: { operations: 100/s, connections: 10 } }",
    );
    let ended = Bench::new(&text).run(&[]).ends();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("no upper rate"), "{ended:?}");
}

/// A listener that treats each connection like this, until the test ends.
fn listener(treat: fn(TcpStream)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("redis://127.0.0.1:{}", listener.local_addr().unwrap().port());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || treat(stream));
        }
    });
    address
}

fn swallow(mut stream: TcpStream) {
    let mut bytes = [0; 1024];
    while stream.read(&mut bytes).is_ok_and(|count| count > 0) {}
}

#[test]
fn a_silent_port_is_given_up() {
    refused(&listener(swallow), &["no answer within 5 s"]);
}

#[test]
fn a_server_of_another_kind_is_recognised() {
    let http = listener(|mut stream| {
        let mut bytes = [0; 1024];
        let _ = stream.read(&mut bytes);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    });
    refused(&http, &["does not speak the Redis protocol"]);
    let garbage = listener(|mut stream| {
        let _ = stream.write_all(b"\x15\x03\x01\x00\x02\x02\x46 hello\r\n");
        swallow(stream);
    });
    refused(&garbage, &["does not speak the Redis protocol"]);
    let hangs_up = listener(drop);
    refused(&hangs_up, &["does not speak the Redis protocol"]);
}

#[test]
fn a_server_that_echoes_secrets_does_not_make_us_print_them() {
    let echo = listener(|mut stream| {
        let mut bytes = [0; 1024];
        while let Ok(count @ 1..) = stream.read(&mut bytes) {
            let text = String::from_utf8_lossy(&bytes[..count]).replace("\r\n", " ");
            let _ = stream.write_all(format!("-ERR what is {text}\r\n").as_bytes());
        }
    });
    let address = echo.replace("redis://", &format!("redis://alice:{CANARY}@"));
    let ended = refused(&address, &[]);
    assert!(!ended.stderr.contains(CANARY), "{ended:?}");
}

#[test]
fn a_missing_or_wrong_password_is_told_without_showing_it() {
    let server = Redis::start(&["--requirepass", "right"]);
    refused(&server.url(), &["NOAUTH", "${PASSWORD}"]);
    let ended = refused(&server.url_as(&format!(":{CANARY}")), &["password", "wrong"]);
    assert!(!ended.stderr.contains(CANARY), "{ended:?}");
}

#[test]
fn missing_commands_are_listed() {
    let server = Redis::start(&[]);
    let rules =
        ["ACL", "SETUSER", "bob", "on", ">pw", "~*", "+@all", "-evalsha", "-script", "-set"];
    server.ask::<()>(&rules);
    refused(&server.url_as("bob:pw"), &["SET, EVALSHA, SCRIPT", "NOPERM"]);
    server.ask::<()>(&["ACL", "SETUSER", "carl", "on", ">pw", "~other:*", "+@all"]);
    refused(&server.url_as("carl:pw"), &["keys", "NOPERM", "lockbench:"]);
}

#[test]
fn a_replica_is_refused() {
    let master = Redis::start(&[]);
    let replica = Redis::start(&["--replicaof", &format!("127.0.0.1 {}", master.port)]);
    refused(&replica.url(), &["replica", "READONLY", "master"]);
    // Without INFO its writes tell.
    let rules = ["ACL", "SETUSER", "bob", "on", ">pw", "~*", "+@all", "-info"];
    replica.ask::<()>(&rules);
    refused(&replica.url_as("bob:pw"), &["replica", "READONLY"]);
}

#[test]
fn a_replica_that_lost_its_master_is_refused() {
    let port = free_port();
    let replica = Redis::start(&[
        "--replicaof",
        &format!("127.0.0.1 {port}"),
        "--replica-serve-stale-data",
        "no",
    ]);
    let rules = ["ACL", "SETUSER", "bob", "on", ">pw", "~*", "+@all", "-info", "-set"];
    replica.ask::<()>(&rules);
    refused(&replica.url_as("bob:pw"), &["MASTERDOWN"]);
}

#[test]
fn a_server_that_is_loading_is_refused() {
    let folder = {
        let server = Redis::start(&[]);
        let filling = "for i = 1, 4000 do redis.call('SET', 'k' .. i, string.rep('x', 2000)) end";
        server.ask::<()>(&["EVAL", filling, "0"]);
        server.ask::<()>(&["SAVE"]);
        let kept = tempfile::tempdir().unwrap();
        fs::copy(server.folder.path().join("dump.rdb"), kept.path().join("dump.rdb")).unwrap();
        kept
    };
    let slow = ["--key-load-delay", "5000", "--loading-process-events-interval-bytes", "1024"];
    let server = Redis::start_in(folder, &slow);
    refused(&server.url(), &["LOADING"]);
}

#[test]
fn cluster_mode_is_refused() {
    let server = Redis::start(&["--cluster-enabled", "yes"]);
    refused(&server.url(), &["cluster mode"]);
}

#[test]
fn a_server_that_takes_no_writes_is_refused() {
    let server = Redis::start(&["--maxmemory", "100kb", "--maxmemory-policy", "noeviction"]);
    refused(&server.url(), &["OOM"]);
}

#[test]
fn what_may_hurt_is_recorded_and_foreign_keys_are_left_alone() {
    let server = Redis::start(&["--maxmemory", "200mb", "--maxmemory-policy", "volatile-lru"]);
    server.ask::<()>(&["SET", "precious", "mine"]);
    server.ask::<()>(&["SET", "lockbench:precious", "mine too"]);
    let witness = Redis::start(&[]);
    witness.ask::<()>(&["SET", "lockbench:precious", "mine as well"]);
    let text = format!(
        "{}  witness: {{ address: \"{}\" }}\n",
        scenario(&server.url()).replace(
            "lock-only: { keys: 1, hold: 0ms }",
            "seckill: { items: 2, stock: 20, work: 1ms }"
        ),
        witness.url()
    );
    let bench = Bench::new(&text);
    let ended = bench.run(&[]).ends();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let run = bench.run_json();
    let redis = &run["environment"]["servers"]["redis"];
    assert_eq!(redis["maxmemory_policy"], "volatile-lru");
    assert_eq!(redis["managed"], false);
    assert!(run["warnings"].to_string().contains("forgets locks"), "{run}");
    assert!(run["cells"][0]["cost"]["commands_per_grant"].is_null(), "others use it too");
    let mut keys: Vec<String> = server.ask(&["KEYS", "*"]);
    keys.sort();
    assert_eq!(keys, ["lockbench:precious", "precious"]);
    assert_eq!(witness.ask::<Vec<String>>(&["KEYS", "*"]), ["lockbench:precious"]);
}

#[test]
fn a_password_is_found_nowhere() {
    let server = Redis::start(&["--requirepass", CANARY]);
    let text = scenario(&server.url_as(":${LOCKBENCH_TEST_PASSWORD}"))
        .replace("measure: 300ms", "measure: 1s");
    for (text, environment) in
        [(text, Some(CANARY)), (scenario(&server.url_as(&format!(":{CANARY}"))), None)]
    {
        let bench = Bench::new(&text);
        let mut command = support::lockbench();
        command.envs(environment.map(|secret| ("LOCKBENCH_TEST_PASSWORD", secret)));
        let running = bench.start(&mut command, &[]);
        let mut lines = Vec::new();
        eventually("agents are at work", || {
            lines.extend(running.children().into_iter().flat_map(|(_, words)| words));
            lines.extend(command_line(running.child.id()));
            lines.iter().any(|word| word == "agent")
        });
        let ended = running.ends();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(!lines.concat().contains(CANARY));
        for file in files(bench.folder.path()) {
            if file.parent() == Some(bench.folder.path()) && file.ends_with("scenario.yaml") {
                continue;
            }
            let bytes = fs::read(&file).unwrap();
            let found = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
            assert!(!found, "found in {}", file.display());
        }
    }
}
