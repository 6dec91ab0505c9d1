//! What sets the native Redis locks apart, each shown on a real server.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

mod support;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use strategies::clock::Moment;
use strategies::lock::{Certainty, Extension, LockClient, LockError, Release};
use strategies::probe::{Point, Probe, Silent};
use support::{DEADLINE, RedisServer, World, entry, granted, is_denied, request, until};
use tokio::sync::Notify;

const LADDER: [&str; 4] = ["redis-setnx-expire", "redis-set-nx", "redis-owner-check", "redis-lua"];

/// Stops at one point until it is told to go on, and counts what else it hears.
#[derive(Default)]
struct Ear {
    stop_at: Cell<Option<Point>>,
    reached: Notify,
    go_on: Notify,
    points: RefCell<Vec<Point>>,
    reloads: Cell<u32>,
    waits: RefCell<Vec<Duration>>,
}

impl Ear {
    fn stopping_at(point: Point) -> Rc<Self> {
        let ear = Self::default();
        ear.stop_at.set(Some(point));
        Rc::new(ear)
    }
}

#[async_trait(?Send)]
impl Probe for Ear {
    async fn point(&self, point: Point) {
        self.points.borrow_mut().push(point);
        if self.stop_at.get() == Some(point) {
            self.reached.notify_one();
            self.go_on.notified().await;
        }
    }

    fn pool_wait(&self, waited: Duration) {
        self.waits.borrow_mut().push(waited);
    }

    fn script_reloaded(&self) {
        self.reloads.set(self.reloads.get() + 1);
    }
}

fn pttl(server: &RedisServer, key: &str) -> i64 {
    server.ask(&["PTTL", key])
}

/// A lease of 30 ms that has ended, and the lease of its successor.
async fn expired_and_succeeded(
    world: &World,
    holder: &mut dyn LockClient,
    successor: &mut dyn LockClient,
) -> (strategies::lock::Lease, strategies::lock::Lease) {
    let expired = granted(holder.acquire(&request("k", 0, 30)).await);
    until("the first lease has ended", || !world.server.exists("k")).await;
    let current = granted(successor.acquire(&request("k", 0, 60_000)).await);
    (expired, current)
}

#[tokio::test]
async fn a_lease_ends_by_itself_and_its_waiter_gets_the_lock() {
    let world = World::new();
    for name in LADDER {
        let mut holder = world.client(entry(name)).await;
        let mut waiter = world.client(entry(name)).await;
        let expired = granted(holder.acquire(&request("k", 0, 60)).await);
        let next = granted(waiter.acquire(&request("k", 10_000, 60_000)).await);
        assert!(next.request_sent > expired.request_sent, "{name}");
        assert_eq!(waiter.release(next).await.unwrap(), Release::Removed, "{name}");
        assert_eq!(holder.release(expired).await.unwrap(), Release::NotHeld, "{name}");
    }
}

#[tokio::test]
async fn the_server_never_forgets_a_lease_before_its_holder_does() {
    let world = World::new();
    // Fractions of a millisecond are rounded up; whole seconds and others take different commands in one of them.
    for (name, lease) in LADDER.iter().flat_map(|name| {
        [Duration::from_micros(50_700), Duration::from_secs(3), Duration::from_millis(1500)]
            .map(|lease| (*name, lease))
    }) {
        let mut client = world.client(entry(name)).await;
        let mut asked = request("k", 0, 0);
        asked.lease = strategies::lock::LeasePolicy::Fixed(lease);
        let lease = granted(client.acquire(&asked).await);
        let before = Moment::now();
        let left = pttl(&world.server, "k");
        assert!(left > 0, "{name}: {left}");
        // PTTL itself rounds by up to a millisecond, and was taken somewhat after `before`.
        let ends = Moment::now() + Duration::from_millis(left.unsigned_abs() + 1);
        assert!(ends >= lease.valid_until, "{name}: the key ends before the lease");
        assert!(lease.valid_until.since(before) <= Duration::from_secs(3), "{name}");
        client.release(lease).await.unwrap();
    }
}

#[tokio::test]
async fn owners_are_unique_and_stand_in_the_key() {
    let world = World::new();
    for name in LADDER {
        let mut client = world.client(entry(name)).await;
        let first = granted(client.acquire(&request("k", 0, 60_000)).await);
        let value: String = world.server.ask(&["GET", "k"]);
        assert_eq!(value, &*first.owner, "{name}");
        assert!(value.contains(":7:"), "{name}: {value} does not name its worker");
        let owner = Rc::clone(&first.owner);
        client.release(first).await.unwrap();
        let second = granted(client.acquire(&request("k", 0, 60_000)).await);
        assert_ne!(owner, second.owner, "{name}");
        client.release(second).await.unwrap();
    }
}

#[tokio::test]
async fn setnx_then_crash_leaves_a_key_for_ever() {
    let world = World::new();
    let ear = Ear::stopping_at(Point::AfterSetnx);
    let mut crashing =
        world.client_with(entry("redis-setnx-expire"), &Value::Null, ear.clone()).await;
    let asked = request("k", 0, 30);
    let acquire = crashing.acquire(&asked);
    tokio::select! {
        answer = acquire => panic!("went past the point: {answer:?}"),
        () = ear.reached.notified() => {}
    }
    // The future is gone, as after a crash.
    assert_eq!(pttl(&world.server, "k"), -1);
    let mut other = world.client(entry("redis-setnx-expire")).await;
    assert!(is_denied(&other.acquire(&request("k", 100, 30)).await));
    assert_eq!(pttl(&world.server, "k"), -1);
}

#[tokio::test]
async fn a_lost_expire_leaves_the_outcome_of_setnx_unknown() {
    let world = World::new();
    let ear = Ear::stopping_at(Point::AfterSetnx);
    let mut client =
        world.client_with(entry("redis-setnx-expire"), &Value::Null, ear.clone()).await;
    let asked = request("k", 0, 1000);
    let (answer, ()) = tokio::join!(client.acquire(&asked), async {
        ear.reached.notified().await;
        // A key of another kind would do as well: what counts is that the server refuses.
        world.server.ask::<()>(&["ACL", "SETUSER", "default", "-expire"]);
        ear.go_on.notify_one();
    });
    let error = answer.unwrap_err();
    assert!(error.to_string().contains("NOPERM"), "{error}");
    assert_eq!(error.certainty(), Certainty::Unknown, "the key stands: {error}");
    assert_eq!(pttl(&world.server, "k"), -1);
}

#[tokio::test]
async fn a_plain_del_removes_the_lock_of_the_successor() {
    for name in ["redis-setnx-expire", "redis-set-nx"] {
        let world = World::new();
        let mut holder = world.client(entry(name)).await;
        let mut successor = world.client(entry(name)).await;
        let (expired, current) = expired_and_succeeded(&world, &mut *holder, &mut *successor).await;
        assert_eq!(holder.release(expired).await.unwrap(), Release::Removed, "{name}");
        let mut third = world.client(entry(name)).await;
        let beside = granted(third.acquire(&request("k", 0, 60_000)).await);
        assert!(current.valid_until > Moment::now(), "{name}: two hold it by right");
        drop((current, beside));
    }
}

#[tokio::test]
async fn a_pause_between_get_and_del_removes_the_lock_of_the_successor() {
    let world = World::new();
    let name = "redis-owner-check";
    let ear = Ear::stopping_at(Point::BetweenGetAndDel);
    let mut holder = world.client_with(entry(name), &Value::Null, ear.clone()).await;
    let mut successor = world.client(entry(name)).await;
    let lease = granted(holder.acquire(&request("k", 0, 1500)).await);
    let (released, current) = tokio::join!(holder.release(lease), async {
        ear.reached.notified().await;
        let current = granted(successor.acquire(&request("k", 10_000, 60_000)).await);
        ear.go_on.notify_one();
        current
    });
    assert_eq!(released.unwrap(), Release::Removed);
    assert!(!world.server.exists("k"), "the successor's lock is gone");
    assert!(current.valid_until > Moment::now());
    drop(current);
}

#[tokio::test]
async fn a_check_of_the_owner_spares_the_successor() {
    for name in ["redis-owner-check", "redis-lua"] {
        let world = World::new();
        let mut holder = world.client(entry(name)).await;
        let mut successor = world.client(entry(name)).await;
        let (expired, current) = expired_and_succeeded(&world, &mut *holder, &mut *successor).await;
        assert_eq!(holder.release(expired).await.unwrap(), Release::NotHeld, "{name}");
        assert_eq!(successor.release(current).await.unwrap(), Release::Removed, "{name}");
    }
}

#[tokio::test]
async fn lua_extends_what_is_ours_and_nothing_else() {
    let world = World::new();
    let mut holder = world.client(entry("redis-lua")).await;
    let mut successor = world.client(entry("redis-lua")).await;
    let mut lease = granted(holder.acquire(&request("k", 0, 10_000)).await);
    let minute = Duration::from_mins(1);
    let before = lease.valid_until;
    assert_eq!(holder.extend(&mut lease, minute).await.unwrap(), Extension::Extended);
    assert!(lease.valid_until > before + Duration::from_secs(45));
    assert!(pttl(&world.server, "k") > 50_000);
    holder.release(lease).await.unwrap();

    let (mut expired, current) = expired_and_succeeded(&world, &mut *holder, &mut *successor).await;
    let before = expired.valid_until;
    assert_eq!(holder.extend(&mut expired, minute * 10).await.unwrap(), Extension::Gone);
    assert_eq!(expired.valid_until, before);
    assert!(pttl(&world.server, "k") <= 60_000, "a stranger's lease was extended");
    drop((expired, current));
}

#[tokio::test]
async fn set_xx_extends_a_stranger_but_not_nothing() {
    let world = World::new();
    let mut holder = world.client(entry("redis-set-nx")).await;
    let mut successor = world.client(entry("redis-set-nx")).await;
    let (mut expired, current) = expired_and_succeeded(&world, &mut *holder, &mut *successor).await;
    let minute = Duration::from_mins(1);
    assert_eq!(holder.extend(&mut expired, minute).await.unwrap(), Extension::Extended);
    assert_eq!(world.server.ask::<String>(&["GET", "k"]), &*expired.owner);
    successor.release(current).await.unwrap();
    assert_eq!(holder.extend(&mut expired, minute).await.unwrap(), Extension::Gone);
    assert!(!world.server.exists("k"), "extending what is gone must not create it");
}

#[tokio::test]
async fn the_others_cannot_extend() {
    let world = World::new();
    for name in ["redis-setnx-expire", "redis-owner-check"] {
        let mut client = world.client(entry(name)).await;
        let mut lease = granted(client.acquire(&request("k", 0, 60_000)).await);
        let error = client.extend(&mut lease, Duration::from_secs(1)).await.unwrap_err();
        assert!(matches!(error, LockError::Unsupported(words) if words.contains(name)), "{error}");
        client.release(lease).await.unwrap();
    }
}

/// The round trips that each page documents, as the server counted them.
#[tokio::test]
async fn commands_on_the_wire_are_the_documented_ones() {
    let world = World::new();
    let expected = [
        ("redis-setnx-expire", "expire=1 setnx=1", "del=1", "setnx=1"),
        ("redis-set-nx", "set=1", "del=1", "set=1"),
        ("redis-owner-check", "set=1", "del=1 get=1", "set=1"),
        // What a script does inside is counted as well, but is no round trip.
        ("redis-lua", "set=1", "del=1 evalsha=1 get=1", "set=1"),
        ("control-witness", "set=1", "del=1 evalsha=1 get=1", "set=1"),
    ];
    for (name, acquire, release, denied) in expected {
        let mut client = world.client(entry(name)).await;
        let mut other = world.client(entry(name)).await;
        world.server.forget_calls();
        let lease = granted(client.acquire(&request("k", 0, 60_000)).await);
        assert_eq!(world.server.calls(), acquire, "{name}: acquire");
        world.server.forget_calls();
        assert!(is_denied(&other.acquire(&request("k", 0, 60_000)).await));
        assert_eq!(world.server.calls(), denied, "{name}: a try in vain");
        world.server.forget_calls();
        client.release(lease).await.unwrap();
        assert_eq!(world.server.calls(), release, "{name}: release");
    }
    let mut client = world.client(entry("redis-setnx-expire")).await;
    world.server.forget_calls();
    drop(granted(client.acquire(&request("fraction", 0, 1500)).await));
    assert_eq!(world.server.calls(), "pexpire=1 setnx=1");
}

#[tokio::test]
async fn extending_takes_one_round_trip() {
    let world = World::new();
    for (name, calls) in [("redis-set-nx", "set=1"), ("redis-lua", "evalsha=1 get=1 pexpire=1")] {
        let mut client = world.client(entry(name)).await;
        let mut lease = granted(client.acquire(&request("k", 0, 60_000)).await);
        world.server.forget_calls();
        client.extend(&mut lease, Duration::from_mins(1)).await.unwrap();
        assert_eq!(world.server.calls(), calls, "{name}");
        client.release(lease).await.unwrap();
    }
}

#[tokio::test]
async fn a_forgotten_script_costs_one_more_round_trip_once() {
    let world = World::new();
    let ear = Rc::new(Ear::default());
    let mut client = world.client_with(entry("redis-lua"), &Value::Null, ear.clone()).await;
    for (round, calls) in
        ["del=1 eval=1 evalsha=1 get=1", "del=1 evalsha=1 get=1"].iter().enumerate()
    {
        let lease = granted(client.acquire(&request("k", 0, 60_000)).await);
        if round == 0 {
            world.server.ask::<()>(&["SCRIPT", "FLUSH"]);
        }
        world.server.forget_calls();
        assert_eq!(client.release(lease).await.unwrap(), Release::Removed);
        assert_eq!(&world.server.calls(), calls, "round {round}");
        assert_eq!(ear.reloads.get(), 1, "round {round}");
    }
}

#[tokio::test]
async fn a_server_without_the_command_is_refused_before_the_trial() {
    let world = World::new();
    for (option, command) in [("delex", "DELEX"), ("delifeq", "DELIFEQ")] {
        let known: Vec<redis::Value> = world.server.ask(&["COMMAND", "INFO", command]);
        let options = json!({ "delete": option });
        let mut instance = world.instance(entry("redis-lua"), &options, Rc::new(Silent)).await;
        let opened = instance.client(1).await;
        if known[0] == redis::Value::Nil {
            let error = opened.err().expect("the server does not have it");
            assert!(error.to_string().contains("use `delete: script`"), "{error}");
            continue;
        }
        let mut client = opened.unwrap();
        let lease = granted(client.acquire(&request("k", 0, 60_000)).await);
        assert_eq!(client.release(lease).await.unwrap(), Release::Removed, "{option}");
    }
}

#[tokio::test]
async fn an_instance_opens_as_many_connections_as_its_option_says() {
    let world = World::new();
    let options =
        [(json!("per-worker"), 6), (json!({ "shared": 2 }), 2), (json!({ "pool": 3 }), 3)];
    for (connections, expected) in options {
        let block = json!({ "connections": connections });
        let mut instance = world.instance(entry("redis-lua"), &block, Rc::new(Silent)).await;
        let mut clients = Vec::new();
        for worker in 0..6 {
            clients.push(instance.client(worker).await.unwrap());
        }
        let keys: Vec<_> = (0..6).map(|key| request(&format!("k{key}"), 0, 60_000)).collect();
        for (client, asked) in clients.iter_mut().zip(&keys) {
            let lease = granted(client.acquire(asked).await);
            client.release(lease).await.unwrap();
        }
        assert_eq!(world.server.connections(), expected, "{connections}");
        drop(clients);
        instance.close().await.unwrap();
        until("the connections are closed", || world.server.connections() == 0).await;
    }
}

#[tokio::test]
async fn workers_of_a_pool_wait_for_a_connection_and_tell() {
    let world = World::new();
    let ear = Ear::stopping_at(Point::AfterSetnx);
    let options = json!({ "connections": { "pool": 1 } });
    let probe: Rc<dyn Probe> = ear.clone();
    let mut instance = world.instance(entry("redis-setnx-expire"), &options, probe).await;
    let mut first = instance.client(1).await.unwrap();
    let mut second = instance.client(2).await.unwrap();
    let (asked, other) = (request("a", 0, 60_000), request("b", 0, 60_000));
    let waited = Duration::from_millis(20);
    let (first_answer, second_answer, ()) =
        tokio::join!(first.acquire(&asked), second.acquire(&other), async {
            // The first holds the only connection while it stands at the point.
            ear.reached.notified().await;
            tokio::time::sleep(waited).await;
            assert!(!world.server.exists("b"), "the second had a connection of its own");
            ear.stop_at.set(None);
            ear.go_on.notify_one();
        });
    drop(granted(first_answer));
    drop(granted(second_answer));
    let waits = ear.waits.borrow();
    assert_eq!(waits.len(), 1, "only the second had to wait: {waits:?}");
    assert!(waits[0] >= waited && waits[0] < DEADLINE, "{waits:?}");
}

#[tokio::test]
async fn a_sleeping_waiter_holds_no_connection() {
    let world = World::new();
    let ear = Rc::new(Ear::default());
    let options = json!({ "connections": { "pool": 1 }, "retry": { "fixed": "60s" } });
    let mut instance = world.instance(entry("redis-lua"), &options, ear.clone()).await;
    let mut holder = instance.client(1).await.unwrap();
    let mut waiter = instance.client(2).await.unwrap();
    let lease = granted(holder.acquire(&request("k", 0, 60_000)).await);
    let asked = request("k", 120_000, 60_000);
    let waiting = waiter.acquire(&asked);
    tokio::select! {
        answer = waiting => panic!("it should sleep: {answer:?}"),
        released = async {
            tokio::task::yield_now().await;
            holder.release(lease).await
        } => assert_eq!(released.unwrap(), Release::Removed),
    }
}
