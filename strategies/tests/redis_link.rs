//! What a Redis connection says when something is wrong, and whether it recovers.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

mod support;

use std::rc::Rc;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use strategies::lock::{Certainty, LockError};
use strategies::probe::Silent;
use strategies::redis_link::{RedisLink, Transport};
use strategies::strategy::{Endpoints, RedisAddress};
use support::{DEADLINE, RedisServer, World, entry, granted, open, request};

const PASSWORD: &str = "correct-horse";

fn quick() -> Transport {
    Transport { response_timeout: Duration::from_millis(100), ..Transport::default() }
}

fn ping() -> redis::Cmd {
    redis::cmd("PING")
}

async fn refused_words(url: String, command: &redis::Cmd) -> String {
    let error = match RedisLink::open(&RedisAddress::new(url), Transport::default()).await {
        Ok(link) => link.query::<redis::Value>(command).await.unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(error.class(), "refused", "{error}");
    assert_eq!(error.certainty(), Certainty::NotApplied);
    error.to_string()
}

#[tokio::test]
async fn a_closed_port_is_unreachable() {
    let mut server = RedisServer::start();
    server.stop();
    let error = RedisLink::open(&server.address(), Transport::default()).await.unwrap_err();
    assert_eq!(error.class(), "unreachable", "{error}");
    assert_eq!(error.certainty(), Certainty::NotApplied);
    assert!(error.to_string().contains(&server.port.to_string()), "{error}");
}

#[tokio::test]
async fn what_is_no_url_is_an_error_without_its_secrets() {
    for url in ["", "redis", "http://u:correct-horse@h", "redis://u:correct-horse@:x/9"] {
        let error = RedisLink::open(&RedisAddress::new(url), quick()).await.unwrap_err();
        assert_eq!(error.class(), "unreachable", "{url}: {error}");
        assert!(!format!("{error} {error:?}").contains(PASSWORD), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_stands_still_leaves_the_outcome_unknown() {
    let world = World::new();
    let options = json!({ "response-timeout": "100ms", "connect-timeout": "200ms" });
    let mut client = world.client_with(entry("redis-lua"), &options, Rc::new(Silent)).await;
    world.server.signal(Signal::SIGSTOP);
    let began = Instant::now();
    let error = client.acquire(&request("k", 0, 60_000)).await.unwrap_err();
    assert_eq!(error.class(), "lost", "{error}");
    assert_eq!(error.certainty(), Certainty::Unknown);
    assert!(began.elapsed() >= Duration::from_millis(100) && began.elapsed() < DEADLINE);
    // The connection is gone, and a new one is not answered either: nothing is sent any more.
    let error = client.acquire(&request("k", 0, 60_000)).await.unwrap_err();
    assert_eq!(error.class(), "unreachable", "{error}");
    world.server.signal(Signal::SIGCONT);
    let lease = loop {
        assert!(began.elapsed() < DEADLINE, "it never recovered");
        if let Ok(answer) = client.acquire(&request("other", 0, 60_000)).await {
            break granted(Ok(answer));
        }
    };
    client.release(lease).await.unwrap();
    // The request that timed out was carried out in the end: this is why it had to be unknown.
    support::until("the lost request took the lock", || world.server.exists("k")).await;
}

#[tokio::test]
async fn a_restarted_server_is_found_again_without_a_storm() {
    let mut server = RedisServer::start();
    let link = RedisLink::open(&server.address(), quick()).await.unwrap();
    server.stop();
    let (began, mut errors) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_millis(600) {
        link.query::<String>(&ping()).await.unwrap_err();
        errors += 1;
    }
    assert!((3..=14).contains(&errors), "{errors} attempts in 600 ms");
    server.restart();
    support::until("the server is up", || server.ask::<String>(&["PING"]) == "PONG").await;
    let answer: String = link.query(&ping()).await.unwrap();
    assert_eq!(answer, "PONG");
}

#[tokio::test]
async fn those_who_share_a_broken_connection_make_one_attempt_together() {
    let mut server = RedisServer::start();
    let link = RedisLink::open(&server.address(), quick()).await.unwrap();
    server.stop();
    link.query::<String>(&ping()).await.unwrap_err();
    let command = ping();
    for _ in 0..2 {
        let (a, b, c) = tokio::join!(
            link.query::<String>(&command),
            link.query::<String>(&command),
            link.query::<String>(&command)
        );
        for answer in [a, b, c] {
            assert_eq!(answer.unwrap_err().class(), "unreachable");
        }
    }
    server.restart();
    let (a, b) = tokio::join!(link.query::<String>(&command), link.query::<String>(&command));
    assert_eq!((a.unwrap(), b.unwrap()), ("PONG".to_owned(), "PONG".to_owned()));
}

#[tokio::test]
async fn a_server_killed_under_a_command_leaves_the_outcome_unknown() {
    let mut server = RedisServer::start();
    let link = RedisLink::open(&server.address(), Transport::default()).await.unwrap();
    let mut wait = redis::cmd("BLPOP");
    wait.arg("nothing").arg(0);
    let (answer, ()) = tokio::join!(link.query::<redis::Value>(&wait), async {
        let blocked = || server.ask::<String>(&["INFO", "clients"]).contains("blocked_clients:1");
        support::until("the command is there", blocked).await;
        server.stop();
    });
    let error = answer.unwrap_err();
    assert_eq!(error.class(), "lost", "{error}");
}

#[tokio::test]
async fn logins_are_judged_in_the_words_of_the_server() {
    let server = RedisServer::start();
    server.ask::<()>(&["ACL", "SETUSER", "ada", "on", &format!(">{PASSWORD}"), "~lock:*", "+set"]);
    server.ask::<()>(&["CONFIG", "SET", "requirepass", PASSWORD]);
    let host = format!("127.0.0.1:{}", server.port);
    let mut set = redis::cmd("SET");
    set.arg("elsewhere").arg(1);

    assert!(refused_words(server.url(), &set).await.contains("NOAUTH"));
    let wrong = refused_words(format!("redis://:battery-staple@{host}"), &set).await;
    assert!(wrong.contains("WRONGPASS") && !wrong.contains("battery"), "{wrong}");
    let ada = format!("redis://ada:{PASSWORD}@{host}");
    // She may neither ping nor touch other keys, and may lock all the same.
    assert!(refused_words(ada.clone(), &set).await.contains("NOPERM"));
    let link = RedisLink::open(&RedisAddress::new(ada), Transport::default()).await.unwrap();
    assert!(!format!("{link:?}").contains(PASSWORD), "{link:?}");
    assert!(!link.server().contains("ada"), "{}", link.server());
    link.query::<()>(redis::cmd("SET").arg("lock:1").arg(1)).await.unwrap();
    let admin = RedisAddress::new(format!("redis://:{PASSWORD}@{host}/3"));
    let link = RedisLink::open(&admin, Transport::default()).await.unwrap();
    link.query::<()>(&set).await.unwrap();
    let info: String = link.query(redis::cmd("INFO").arg("keyspace")).await.unwrap();
    assert!(info.contains("db3:keys=1"), "{info}");
    // A server that repeats what it was sent must not make us print it.
    let error = link.query::<()>(redis::cmd("NONSENSE").arg(PASSWORD)).await.unwrap_err();
    assert_eq!(error.class(), "refused");
    assert!(!error.to_string().contains(PASSWORD), "{error}");
}

#[tokio::test]
async fn servers_that_cannot_write_refuse_and_nothing_happens() {
    let world = World::new();
    let cases: [(&[&str], &str); 3] = [
        (&["CONFIG", "SET", "maxmemory", "1"], "OOM"),
        (&["REPLICAOF", "127.0.0.1", "1"], "READONLY"),
        (&["CONFIG", "SET", "replica-serve-stale-data", "no"], "MASTERDOWN"),
    ];
    for (command, word) in cases {
        world.server.ask::<()>(command);
        if word == "READONLY" {
            world.server.ask::<()>(&["CONFIG", "SET", "maxmemory", "0"]);
        }
        let mut set = redis::cmd("SET");
        set.arg("k").arg(1);
        let words = refused_words(world.server.url(), &set).await;
        assert!(words.contains(word), "{words}");
    }
    world.server.ask::<()>(&["REPLICAOF", "NO", "ONE"]);
    assert!(!world.server.exists("k"));
}

#[tokio::test]
async fn a_cluster_node_without_slots_refuses() {
    let server = RedisServer::start_with(&["--cluster-enabled", "yes"]);
    let mut set = redis::cmd("SET");
    set.arg("k").arg(1);
    assert!(refused_words(server.url(), &set).await.contains("CLUSTERDOWN"));
}

#[tokio::test]
async fn a_script_that_never_ends_makes_the_server_busy() {
    let server = RedisServer::start_with(&["--lua-time-limit", "20"]);
    let link = RedisLink::open(&server.address(), quick()).await.unwrap();
    let endless = redis::cmd("EVAL").arg("while true do end").arg(0).clone();
    assert_eq!(link.query::<redis::Value>(&endless).await.unwrap_err().class(), "lost");
    let mut set = redis::cmd("SET");
    set.arg("k").arg(1);
    assert!(refused_words(server.url(), &set).await.contains("BUSY"));
}

#[tokio::test]
async fn a_server_that_is_full_refuses_in_its_words() {
    let server = RedisServer::start_with(&["--maxclients", "1"]);
    let _first = RedisLink::open(&server.address(), Transport::default()).await.unwrap();
    let words = refused_words(server.url(), &ping()).await;
    assert!(words.contains("max number of clients"), "{words}");
}

#[tokio::test]
async fn a_pipeline_that_was_refused_in_part_is_unknown() {
    let server = RedisServer::start();
    let link = RedisLink::open(&server.address(), Transport::default()).await.unwrap();
    let mut pipeline = redis::pipe();
    pipeline.cmd("SET").arg("a").arg("x").cmd("INCR").arg("a");
    let error = link.pipeline::<redis::Value>(&pipeline).await.unwrap_err();
    assert_eq!((error.class(), error.certainty()), ("unexpected", Certainty::Unknown), "{error}");
    assert!(server.exists("a"));
    let mut pipeline = redis::pipe();
    pipeline.cmd("INCR").arg("a").cmd("INCR").arg("a");
    let error = link.pipeline::<redis::Value>(&pipeline).await.unwrap_err();
    assert_eq!(error.class(), "refused", "{error}");
    let answers: (i64, i64) =
        link.pipeline(redis::pipe().cmd("INCR").arg("b").cmd("INCR").arg("b")).await.unwrap();
    assert_eq!(answers, (1, 2));
}

#[tokio::test]
async fn an_answer_of_another_kind_is_unexpected() {
    let world = World::new();
    let mut client = world.client(entry("redis-owner-check")).await;
    let lease = granted(client.acquire(&request("k", 0, 60_000)).await);
    world.server.ask::<()>(&["DEL", "k"]);
    world.server.ask::<()>(&["RPUSH", "k", "1"]);
    let error = client.release(lease).await.unwrap_err();
    assert!(matches!(error, LockError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("WRONGTYPE"), "{error}");
    let link = RedisLink::open(&world.server.address(), quick()).await.unwrap();
    let error = link.query::<i64>(&ping()).await.unwrap_err();
    assert_eq!(error.class(), "unexpected", "{error}");
}

#[tokio::test]
async fn an_instance_on_a_closed_port_says_so() {
    let mut server = RedisServer::start();
    server.stop();
    let endpoints = Endpoints { redis: Some(server.address()), ..Endpoints::default() };
    for connections in [json!("per-worker"), json!({ "shared": 1 }), json!({ "pool": 1 })] {
        let options = json!({ "connections": connections });
        let lua = entry("redis-lua");
        let opened = open(lua, &options, endpoints.clone(), "i", Rc::new(Silent)).await;
        let error = match opened {
            Ok(mut instance) => instance.client(1).await.err().unwrap(),
            Err(error) => error,
        };
        assert_eq!(error.class(), "unreachable", "{error}");
    }
    assert_eq!((entry("redis-lua").build)(&Value::Null).unwrap().objects("k"), ["k"]);
}

#[tokio::test]
async fn certificates_are_verified_unless_told_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let (key, certificate) = (folder.path().join("key.pem"), folder.path().join("cert.pem"));
    let made = std::process::Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .expect("openssl not found: apt-get install openssl");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let (key, certificate) = (key.to_str().unwrap(), certificate.to_str().unwrap());
    let _server = RedisServer::start_with(&[
        "--tls-port",
        &port.to_string(),
        "--tls-auth-clients",
        "no",
        "--tls-cert-file",
        certificate,
        "--tls-key-file",
        key,
        "--tls-ca-cert-file",
        certificate,
    ]);
    let url = format!("rediss://127.0.0.1:{port}");
    let strict = RedisAddress::new(url.clone());
    let error = RedisLink::open(&strict, Transport::default()).await.unwrap_err();
    assert_eq!(error.class(), "unreachable", "{error}");
    assert!(error.to_string().to_lowercase().contains("certificate"), "{error}");
    let lax = RedisAddress::new(url + "#insecure");
    let link = RedisLink::open(&lax, Transport::default()).await.unwrap();
    assert_eq!(link.query::<String>(&ping()).await.unwrap(), "PONG");
}
