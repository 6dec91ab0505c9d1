//! The agent as a process, on a real server: what it says, what it leaves on disk, how it ends.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use bench_runner::assignment::{Assignment, Done, Order, Report};
use bench_runner::plan::{Arrivals, Clients, Load, Lock};
use results::event::{EventKind, Outcome};
use results::history_reader::HistoryReader;
use serde_json::{Value, json};
use strategies::clock::Moment;
use tempfile::TempDir;

const SECOND: u64 = 1_000_000_000;

/// A redis-server of our own, killed on drop.
struct Redis {
    child: Child,
    _folder: TempDir,
    url: String,
}

impl Redis {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let port = {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
            listener.local_addr().expect("its address").port()
        };
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(["--appendonly", "no", "--requirepass", "canary", "--dir"])
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is missing: apt-get install redis-server");
        let deadline = Moment::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Moment::now() < deadline, "redis-server does not answer on port {port}");
            std::thread::yield_now();
        }
        Self { child, _folder: folder, url: format!("redis://:canary@127.0.0.1:{port}/") }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `lockbench agent`, killed on drop.
struct Agent {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Agent {
    fn start(assignment: &Assignment) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_lockbench"))
            .arg("agent")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the agent starts");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut agent = Self { child, output };
        agent.tell(&serde_json::to_string(assignment).expect("plain JSON"));
        agent
    }

    fn tell(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("it is piped");
        writeln!(input, "{line}").expect("the agent listens");
    }

    fn order(&mut self, order: Order) {
        self.tell(&serde_json::to_string(&order).expect("plain JSON"));
    }

    fn hear(&mut self) -> Option<Report> {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the agent speaks");
        assert!(!line.contains("canary"), "a secret in {line}");
        (!line.is_empty()).then(|| serde_json::from_str(&line).expect("a report"))
    }

    /// Starts as soon as the agent is ready; when that is.
    fn begin(&mut self) -> Moment {
        assert_eq!(self.hear(), Some(Report::Ready));
        let start = Moment::now() + Duration::from_millis(50);
        self.order(Order::Start(start.0));
        start
    }

    /// Waits for its last word; how often it told its progress before.
    fn done(&mut self) -> (Done, u32) {
        let mut progress = 0;
        loop {
            match self.hear().expect("a last word") {
                Report::Progress(_) => progress += 1,
                Report::Done(done) => return (done, progress),
                other => panic!("{other:?}"),
            }
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn assignment(redis: &Redis, directory: &Path) -> Assignment {
    Assignment {
        format: 1,
        run: "run".into(),
        cell: "cell".into(),
        trial: 1,
        agent: 0,
        clients: Clients { agents: 1, instances: 2, workers: 4 },
        instances: vec![0, 1],
        strategy: "redis-lua".into(),
        strategy_options: Value::Null,
        workload: "seckill".into(),
        workload_options: json!({ "items": 2, "stock": 1_000_000, "work": "200us" }),
        load: Load::Closed { think: Duration::ZERO },
        caller: "deadline".into(),
        guard: "none".into(),
        lock: Lock {
            lease: Duration::from_secs(2),
            renewed: false,
            patience: Duration::from_millis(500),
        },
        redis: Some(redis.url.clone()),
        witness: Some(redis.url.clone()),
        folder: directory.to_owned(),
        lock_prefix: "t:lock".into(),
        register_prefix: "t:reg".into(),
        seed: 42,
        directory: directory.to_owned(),
        warmup_ns: SECOND / 5,
        measure_ns: SECOND,
        drain_ns: SECOND / 2,
    }
}

/// Lays out the register as the controller would.
fn prepare(assignment: &Assignment) {
    let entry = workloads::catalog::find(&assignment.workload).expect("it exists");
    let workload = (entry.build)(&assignment.workload_options).expect("good options");
    let setup = workloads::register::RegisterSetup {
        witness: strategies::strategy::RedisAddress::new(assignment.witness.clone().expect("one")),
        prefix: assignment.register_prefix.clone(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(workload.prepare(&setup)).expect("the witness answers");
}

/// Starts and ends in the histories of `directory`, and how many ended in which way.
fn read(directory: &Path) -> (u64, u64, [u64; 6]) {
    let (mut starts, mut ends, mut outcomes) = (0, 0, [0; 6]);
    for instance in 0..2 {
        let path = directory.join(format!("history-{instance}.lbh"));
        let reader = HistoryReader::open(&path).expect("a readable history");
        for event in reader {
            match event.kind {
                EventKind::Start => starts += 1,
                EventKind::Finish => {
                    ends += 1;
                    outcomes[usize::try_from(event.arg).expect("a code")] += 1;
                }
                _ => {}
            }
        }
    }
    (starts, ends, outcomes)
}

#[test]
fn a_closed_load_is_carried_and_recorded() {
    let (redis, folder) = (Redis::start(), tempfile::tempdir().expect("a folder"));
    let assignment = assignment(&redis, folder.path());
    prepare(&assignment);
    let mut agent = Agent::start(&assignment);
    agent.begin();
    let (done, progress) = agent.done();
    assert!(agent.child.wait().expect("it ends").success());
    assert!(progress >= 2, "progress was told {progress} times");
    assert_eq!(done.histories, ["history-0.lbh", "history-1.lbh"]);
    assert_eq!((done.scheduled, done.recording_stopped.clone()), (None, None));
    assert!(done.errors.is_empty(), "{:?}", done.errors);
    assert!(done.cpu_us > 0, "no CPU time");
    let (starts, ends, outcomes) = read(folder.path());
    assert_eq!(starts, ends);
    assert_eq!(done.outcomes.values().sum::<u64>(), starts);
    assert_eq!(done.outcomes["granted"], outcomes[Outcome::Granted as usize]);
    assert!(done.outcomes["granted"] > 50, "{:?}", done.outcomes);
}

#[test]
fn every_scheduled_operation_is_accounted_for() {
    let (redis, folder) = (Redis::start(), tempfile::tempdir().expect("a folder"));
    let assignment = Assignment {
        strategy: "control-in-process".into(),
        workload: "lock-only".into(),
        workload_options: Value::Null,
        load: Load::Constant { rate: 1000.0, arrivals: Arrivals::Uniform },
        ..assignment(&redis, folder.path())
    };
    let mut agent = Agent::start(&assignment);
    agent.begin();
    let (done, _) = agent.done();
    assert_eq!(done.scheduled, Some(1000), "one second at 1000/s");
    let (starts, ends, _) = read(folder.path());
    assert_eq!((starts, ends), (1200, 1200), "with the warm-up");
    assert_eq!(done.outcomes.values().sum::<u64>(), 1200);
}

#[test]
fn what_cannot_be_served_is_cancelled_and_recorded() {
    let (redis, folder) = (Redis::start(), tempfile::tempdir().expect("a folder"));
    let assignment = Assignment {
        strategy: "control-in-process".into(),
        workload: "lock-only".into(),
        workload_options: json!({ "hold": "100ms" }),
        load: Load::Constant { rate: 1000.0, arrivals: Arrivals::Poisson },
        ..assignment(&redis, folder.path())
    };
    let mut agent = Agent::start(&assignment);
    agent.begin();
    let (done, _) = agent.done();
    let (starts, ends, outcomes) = read(folder.path());
    assert_eq!(starts, ends);
    assert_eq!(done.outcomes.values().sum::<u64>(), starts);
    assert!(starts.abs_diff(1200) < 200, "{starts} of about 1200");
    assert!(outcomes[Outcome::Cancelled as usize] > 500, "{outcomes:?}");
}

#[test]
fn a_killed_agent_leaves_a_readable_history() {
    let (redis, folder) = (Redis::start(), tempfile::tempdir().expect("a folder"));
    let assignment = Assignment { measure_ns: 60 * SECOND, ..assignment(&redis, folder.path()) };
    prepare(&assignment);
    let mut agent = Agent::start(&assignment);
    agent.begin();
    let granted = loop {
        if let Some(Report::Progress(progress)) = agent.hear()
            && progress.granted > 20
        {
            break progress.granted;
        }
    };
    agent.child.kill().expect("it still runs");
    agent.child.wait().expect("it is dead");
    let (starts, ends, _) = read(folder.path());
    assert!(starts >= granted && ends <= starts, "{starts} starts, {ends} ends, {granted} told");
}

#[test]
fn the_end_of_its_input_ends_it_within_two_seconds() {
    let (redis, folder) = (Redis::start(), tempfile::tempdir().expect("a folder"));
    let assignment = Assignment { measure_ns: 60 * SECOND, ..assignment(&redis, folder.path()) };
    prepare(&assignment);
    let mut agent = Agent::start(&assignment);
    agent.begin();
    while !matches!(agent.hear(), Some(Report::Progress(progress)) if progress.granted > 0) {}
    drop(agent.child.stdin.take());
    let asked = Moment::now();
    let (done, _) = agent.done();
    agent.child.wait().expect("it ends");
    assert!(Moment::now().since(asked) < Duration::from_secs(2));
    let (starts, ends, _) = read(folder.path());
    assert_eq!((starts, ends), (ends, done.outcomes.values().sum()));
}

#[test]
fn an_order_to_stop_lets_operations_end() {
    let (redis, folder) = (Redis::start(), tempfile::tempdir().expect("a folder"));
    let assignment = Assignment { measure_ns: 60 * SECOND, ..assignment(&redis, folder.path()) };
    prepare(&assignment);
    let mut agent = Agent::start(&assignment);
    agent.begin();
    while !matches!(agent.hear(), Some(Report::Progress(progress)) if progress.granted > 0) {}
    agent.order(Order::Stop);
    let asked = Moment::now();
    let (done, _) = agent.done();
    assert!(Moment::now().since(asked) < Duration::from_secs(2));
    assert_eq!(done.outcomes["cancelled"], 0, "nothing had to be cancelled");
}

#[test]
fn an_unreachable_server_is_named_without_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let redis = Redis::start();
    let assignment = Assignment {
        redis: Some("redis://:canary@127.0.0.1:1/".into()),
        ..assignment(&redis, folder.path())
    };
    let mut agent = Agent::start(&assignment);
    let Some(Report::Failed(reason)) = agent.hear() else { panic!("it claims to be ready") };
    assert!(reason.contains("could not reach redis://127.0.0.1:1"), "{reason}");
    assert_eq!(agent.child.wait().expect("it ends").code(), Some(3));
}
