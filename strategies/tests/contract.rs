//! What every entry of the catalogue must keep, against real servers.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use strategies::catalog::STRATEGIES;
use strategies::lock::{Acquisition, Certainty, LeasePolicy, Mode, Release};
use strategies::probe::Silent;
use strategies::strategy::{Endpoints, Entry, Role};
use support::{World, block_on, granted, is_denied, open, request};

fn locks() -> impl Iterator<Item = &'static Entry> {
    STRATEGIES.iter().copied().filter(|entry| entry.claims.mutual_exclusion)
}

#[test]
fn every_entry_is_named_like_its_file_and_has_a_page() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/catalog");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "mod.rs")
        .map(|name| name.strip_suffix(".rs").unwrap().replace('_', "-"))
        .collect();
    let names: BTreeSet<String> = STRATEGIES.iter().map(|entry| entry.name.to_owned()).collect();
    assert_eq!(names, files);
    assert_eq!(names.len(), STRATEGIES.len(), "a name is used twice");
    for entry in STRATEGIES {
        assert!(!entry.summary.is_empty() && !entry.summary.contains('\n'), "{}", entry.name);
        for part in ["**On the wire.**", "**Does not promise.**"] {
            assert!(entry.page.contains(part), "{}: no {part}", entry.name);
        }
        let controls = matches!(entry.role, Role::Control { .. });
        assert_eq!(controls, entry.name.starts_with("control-"), "{}", entry.name);
    }
}

#[test]
fn options_are_complete_and_build_the_same_again() {
    for entry in STRATEGIES {
        let options = (entry.build)(&Value::Null).unwrap().options();
        assert!(options.is_object(), "{}: {options}", entry.name);
        assert_eq!((entry.build)(&options).unwrap().options(), options, "{}", entry.name);
        let schema = (entry.schema)();
        let known = schema.get("properties").and_then(Value::as_object);
        let known: BTreeSet<_> = known.into_iter().flatten().map(|(name, _)| name).collect();
        let filled: BTreeSet<_> = options.as_object().unwrap().keys().collect();
        assert_eq!(known, filled, "{}: the schema and the options differ", entry.name);
        assert_eq!(schema.get("additionalProperties"), Some(&Value::Bool(false)), "{}", entry.name);
    }
}

#[test]
fn bad_options_are_refused_with_their_path() {
    for entry in STRATEGIES {
        let refused = |block: Value| (entry.build)(&block).err().unwrap();
        let unknown = refused(json!({ "colour": "red" }));
        assert!(unknown.message.contains("unknown field `colour`"), "{}: {unknown}", entry.name);
        refused(json!("fast"));
        let options = (entry.build)(&Value::Null).unwrap().options();
        if options.get("retry").is_some() {
            assert_eq!(refused(json!({ "retry": { "fixed": "0ms" } })).path, "retry.fixed");
            assert_eq!(refused(json!({ "retry": { "fixed": 5 } })).path, "retry.fixed");
        }
        if options.get("connections").is_some() {
            let none = refused(json!({ "connections": { "shared": 0 } }));
            assert_eq!(none.path, "connections.shared", "{none}");
            assert_eq!(refused(json!({ "response-timeout": "0s" })).path, "response-timeout");
        }
    }
}

#[test]
fn a_missing_endpoint_is_an_error_that_did_nothing() {
    for entry in STRATEGIES.iter().filter(|entry| !entry.needs.is_empty()) {
        let nowhere = Endpoints::default();
        let opened = block_on(open(entry, &Value::Null, nowhere, "i", Rc::new(Silent)));
        let error = opened.err().expect("there is nothing to open");
        assert_eq!(error.certainty(), Certainty::NotApplied, "{}: {error}", entry.name);
    }
}

#[tokio::test]
async fn a_free_lock_is_granted_and_given_back_without_a_trace() {
    let world = World::new();
    for entry in STRATEGIES {
        let mut client = world.client(entry).await;
        let lease = granted(client.acquire(&request("free", 0, 60_000)).await);
        assert_eq!(&*lease.key, "free");
        assert!(lease.valid_until > lease.request_sent && !lease.lost(), "{}", entry.name);
        let objects = (entry.build)(&Value::Null).unwrap().objects("free");
        assert!(objects.iter().all(|object| world.server.exists(object)), "{}", entry.name);
        let released = client.release(lease).await.unwrap();
        let expected =
            if entry.claims.mutual_exclusion { Release::Removed } else { Release::Unverified };
        assert_eq!(released, expected, "{}", entry.name);
        assert_eq!(world.server.ask::<u32>(&["DBSIZE"]), 0, "{} left something", entry.name);
    }
}

#[tokio::test]
async fn a_taken_lock_is_denied_and_other_keys_are_free() {
    let world = World::new();
    for entry in STRATEGIES {
        let (mut holder, mut other) = (world.client(entry).await, world.client(entry).await);
        let lease = granted(holder.acquire(&request("taken", 0, 60_000)).await);
        let answer = other.acquire(&request("taken", 0, 60_000)).await;
        assert_eq!(is_denied(&answer), entry.claims.mutual_exclusion, "{}", entry.name);
        let elsewhere = granted(other.acquire(&request("elsewhere", 0, 60_000)).await);
        other.release(elsewhere).await.unwrap();
        holder.release(lease).await.unwrap();
        assert_eq!(world.server.ask::<u32>(&["DBSIZE"]), 0, "{} left something", entry.name);
    }
}

#[tokio::test]
async fn a_waiter_gets_the_lock_when_it_is_given_back() {
    let world = World::new();
    for entry in locks() {
        let (mut holder, mut waiter) = (world.client(entry).await, world.client(entry).await);
        let lease = granted(holder.acquire(&request("waited-for", 0, 60_000)).await);
        let asked = request("waited-for", 60_000, 60_000);
        let mut waiting = waiter.acquire(&asked);
        let early = tokio::time::timeout(Duration::from_millis(30), &mut waiting).await;
        assert!(early.is_err(), "{}: granted while taken", entry.name);
        holder.release(lease).await.unwrap();
        let lease = granted(waiting.await);
        assert_eq!(waiter.release(lease).await.unwrap(), Release::Removed, "{}", entry.name);
    }
}

#[tokio::test]
async fn patience_bounds_the_wait() {
    let world = World::new();
    for entry in locks() {
        let (mut holder, mut waiter) = (world.client(entry).await, world.client(entry).await);
        let lease = granted(holder.acquire(&request("patience", 0, 60_000)).await);
        let began = Instant::now();
        assert!(is_denied(&waiter.acquire(&request("patience", 60, 60_000)).await));
        let lasted = began.elapsed();
        // At least all but the last pause; at most patience, a round trip, and a busy machine.
        assert!(lasted >= Duration::from_millis(50), "{}: {lasted:?}", entry.name);
        assert!(lasted < Duration::from_secs(5), "{}: {lasted:?}", entry.name);
        holder.release(lease).await.unwrap();
        assert_eq!(world.server.ask::<u32>(&["DBSIZE"]), 0, "{} left something", entry.name);
    }
}

#[tokio::test]
async fn a_renewed_lease_is_granted_or_refused_as_the_entry_says() {
    let world = World::new();
    for entry in STRATEGIES {
        let mut client = world.client(entry).await;
        let mut wanted = request("renewed", 0, 60_000);
        wanted.lease = LeasePolicy::Renewed(Duration::from_mins(1));
        match client.acquire(&wanted).await {
            Ok(Acquisition::Granted(lease)) => {
                assert!(entry.renews, "{}", entry.name);
                client.release(lease).await.unwrap();
            }
            Ok(Acquisition::Denied) => panic!("{}: denied a free lock", entry.name),
            Err(error) => {
                assert!(!entry.renews, "{}: {error}", entry.name);
                assert_eq!(error.certainty(), Certainty::NotApplied);
            }
        }
        assert_eq!(world.server.ask::<u32>(&["DBSIZE"]), 0, "{} left something", entry.name);
    }
}

#[tokio::test]
async fn readers_and_permits_are_refused() {
    let world = World::new();
    for entry in locks() {
        let mut client = world.client(entry).await;
        for mode in [Mode::Shared, Mode::Permit] {
            let mut wanted = request("mode", 0, 60_000);
            wanted.mode = mode;
            let error = client.acquire(&wanted).await.unwrap_err();
            assert_eq!(error.certainty(), Certainty::NotApplied, "{}", entry.name);
        }
    }
}

#[tokio::test]
async fn a_control_with_endless_leases_says_whether_it_still_holds() {
    use strategies::clock::Moment;
    use strategies::lock::Extension;

    let world = World::new();
    for name in ["control-in-process", "control-flock", "control-witness"] {
        let entry = support::entry(name);
        let mut client = world.client(entry).await;
        let mut lease = granted(client.acquire(&request("endless", 0, 50)).await);
        assert_eq!(lease.valid_until, Moment::NEVER);
        let second = Duration::from_secs(1);
        assert_eq!(client.extend(&mut lease, second).await.unwrap(), Extension::Extended, "{name}");
        assert_eq!(lease.valid_until, Moment::NEVER, "{name}");
        client.release(lease).await.unwrap();
    }
}

#[tokio::test]
async fn a_control_frees_what_a_caller_that_went_away_held() {
    let world = World::new();
    for name in ["control-in-process", "control-flock"] {
        let entry = support::entry(name);
        let mut gone = world.client(entry).await;
        drop(granted(gone.acquire(&request("went-away", 0, 60_000)).await));
        let mut next = world.client(entry).await;
        assert!(is_denied(&next.acquire(&request("went-away", 0, 60_000)).await), "{name}");
        drop(gone);
        let lease = granted(next.acquire(&request("went-away", 0, 60_000)).await);
        next.release(lease).await.unwrap();
    }
}

#[tokio::test]
async fn control_flock_excludes_other_processes() {
    let world = World::new();
    let mut client = world.client(support::entry("control-flock")).await;
    let lease = granted(client.acquire(&request("b/../x:{1}", 0, 60_000)).await);
    let file = std::fs::read_dir(world.folder.path()).unwrap().next().unwrap().unwrap().path();
    let other_process = || {
        std::process::Command::new("flock")
            .arg("--nonblock")
            .arg(&file)
            .arg("true")
            .status()
            .expect("flock not found: apt-get install util-linux")
    };
    assert_eq!(other_process().code(), Some(1));
    client.release(lease).await.unwrap();
    assert!(other_process().success());
}

/// Three threads with one instance each, four workers per instance, all on one key. Returns the overlaps seen.
fn overlaps(entry: &'static Entry, endpoints: &Endpoints) -> u32 {
    let (inside, overlaps) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    std::thread::scope(|scope| {
        for instance in 0..3_u32 {
            let (inside, overlaps) = (Arc::clone(&inside), Arc::clone(&overlaps));
            scope.spawn(move || {
                let work = crowd(entry, endpoints, instance, &inside, &overlaps);
                block_on(tokio::task::LocalSet::new().run_until(work));
            });
        }
    });
    overlaps.load(Ordering::SeqCst)
}

async fn crowd(
    entry: &'static Entry,
    endpoints: &Endpoints,
    number: u32,
    inside: &Arc<AtomicU32>,
    overlaps: &Arc<AtomicU32>,
) {
    let identity = format!("crowd{number}");
    let probe = Rc::new(Silent);
    let opened = open(entry, &Value::Null, endpoints.clone(), &identity, probe).await;
    let mut instance = opened.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for worker in 0..4 {
        let mut client = instance.client(number * 4 + worker).await.unwrap();
        let (inside, overlaps) = (Arc::clone(inside), Arc::clone(overlaps));
        tasks.spawn_local(async move {
            for _ in 0..15 {
                let lease = granted(client.acquire(&request("crowd", 60_000, 60_000)).await);
                if inside.fetch_add(1, Ordering::SeqCst) != 0 {
                    overlaps.fetch_add(1, Ordering::SeqCst);
                }
                tokio::time::sleep(Duration::from_micros(100)).await;
                inside.fetch_sub(1, Ordering::SeqCst);
                client.release(lease).await.unwrap();
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    instance.close().await.unwrap();
}

#[test]
fn a_crowd_overlaps_exactly_where_there_is_no_lock() {
    let world = World::new();
    for entry in STRATEGIES {
        let seen = overlaps(entry, &world.endpoints());
        assert_eq!(seen == 0, entry.claims.mutual_exclusion, "{}: {seen}", entry.name);
        assert_eq!(world.server.ask::<u32>(&["DBSIZE"]), 0, "{} left something", entry.name);
    }
}
