//! A private Redis, and one instance with workers on it.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use results::event::{Event, Outcome};
use serde_json::Value;
use strategies::clock::Moment;
use strategies::lock::{LeasePolicy, LockInstance};
use strategies::strategy::{Endpoints, InstanceSetup, RedisAddress};
use tokio::task::{JoinSet, LocalSet};
use workloads::caller::Caller;
use workloads::guard::Guard;
use workloads::keys::KeyPicker;
use workloads::listener::Listener;
use workloads::op::Op;
use workloads::perform::{Cancel, perform};
use workloads::recorder::{Recorder, Sink, Tally};
use workloads::register::{Register, RegisterSetup};
use workloads::session::{Session, Surroundings, Terms};
use workloads::stop::Stop;
use workloads::timer::Timer;
use workloads::workload::Workload;

/// A redis-server of our own, killed on drop.
pub(crate) struct Redis {
    child: Child,
    folder: tempfile::TempDir,
    port: u16,
}

impl Redis {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let port = free_port();
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(["--appendonly", "no", "--dir"])
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is missing: apt-get install redis-server");
        let redis = Self { child, folder, port };
        let deadline = Moment::now() + Duration::from_secs(10);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Moment::now() < deadline, "redis-server does not answer on port {port}");
            std::thread::yield_now();
        }
        redis
    }

    pub(crate) fn address(&self) -> RedisAddress {
        RedisAddress::new(format!("redis://127.0.0.1:{}/", self.port))
    }

    fn endpoints(&self) -> Endpoints {
        Endpoints {
            redis: Some(self.address()),
            witness: Some(self.address()),
            folder: Some(self.folder.path().to_owned()),
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

/// What a test wants to see run.
pub(crate) struct Trial<'a> {
    pub(crate) strategy: &'a str,
    pub(crate) workload: &'a str,
    pub(crate) options: Value,
    pub(crate) guard: Guard,
    pub(crate) caller: Caller,
    pub(crate) workers: u32,
    pub(crate) length: Duration,
}

impl Default for Trial<'_> {
    fn default() -> Self {
        Self {
            strategy: "control-in-process",
            workload: "seckill",
            options: Value::Null,
            guard: Guard::None,
            caller: Caller::Naive,
            workers: 8,
            length: Duration::from_secs(1),
        }
    }
}

/// What came of it.
pub(crate) struct Outcomes {
    pub(crate) tally: Tally,
    pub(crate) events: Vec<Event>,
    pub(crate) workload: Box<dyn Workload>,
    pub(crate) setup: RegisterSetup,
}

impl Outcomes {
    pub(crate) fn of(&self, outcome: Outcome) -> u64 {
        self.tally.outcomes[outcome as usize]
    }
}

/// Keeps events where the test can still reach them after the recorder has ended.
#[derive(Clone, Default)]
struct Shared(Rc<std::cell::RefCell<Vec<Event>>>);

impl Sink for Shared {
    fn push(&mut self, event: Event) {
        self.0.borrow_mut().push(event);
    }

    fn finish(self: Box<Self>) -> Option<String> {
        None
    }
}

/// Runs `trial` on `redis`, every worker in a closed loop.
pub(crate) fn run(redis: &Redis, trial: &Trial<'_>) -> Outcomes {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    LocalSet::new().block_on(&runtime, Box::pin(carry(redis, trial)))
}

async fn carry(redis: &Redis, trial: &Trial<'_>) -> Outcomes {
    let entry = workloads::catalog::find(trial.workload).expect("the workload exists");
    let workload = (entry.build)(&trial.options).expect("good options");
    let setup = RegisterSetup { witness: redis.address(), prefix: "t:reg".into() };
    workload.prepare(&setup).await.expect("the register is laid out");
    let shared = Shared::default();
    let recorder = Rc::new(Recorder::new(Box::new(shared.clone())));
    let probe = Rc::new(Listener::new(Rc::clone(&recorder)));
    let around = Surroundings {
        terms: Rc::new(Terms {
            caller: trial.caller,
            guard: trial.guard,
            patience: Duration::from_millis(500),
            lease: LeasePolicy::Fixed(Duration::from_secs(2)),
            locks: (0..workload.keys(trial.workers))
                .map(|k| format!("t:lock:{k}").into())
                .collect(),
        }),
        recorder: Rc::clone(&recorder),
        register: Some(Register::connect(&setup).await.expect("the witness answers")),
        probe: Rc::clone(&probe) as _,
        timer: Timer::new().expect("a timer"),
    };
    let strategy = strategies::catalog::find(trial.strategy).expect("the strategy exists");
    let strategy = (strategy.build)(&Value::Null).expect("default options");
    let instance = InstanceSetup {
        endpoints: redis.endpoints(),
        identity: "test".into(),
        workers: trial.workers,
        seed: 1,
    };
    let mut lock = strategy.open(&instance, probe).await.expect("the lock opens");
    work(trial, &*workload, &mut *lock, &around).await;
    lock.close().await.expect("the lock closes");
    recorder.finish();
    let events = shared.0.take();
    Outcomes { tally: recorder.tally(), events, workload, setup }
}

async fn work(
    trial: &Trial<'_>,
    workload: &dyn Workload,
    lock: &mut dyn LockInstance,
    around: &Surroundings,
) {
    let mut ticking = JoinSet::new();
    ticking.spawn_local(Rc::clone(&around.timer).drive());
    let keys = KeyPicker::new(workload.pick(), workload.keys(trial.workers), 1);
    let cancel = Stop::new(trial.workers);
    let begin = Moment::now();
    let mut loops = Vec::new();
    for slot in 0..trial.workers {
        let client = lock.client(slot).await.expect("a client");
        let mut session = Session::new(client, around.clone());
        let (keys, cancel) = (&keys, &cancel);
        loops.push(Box::pin(async move {
            for sequence in 0.. {
                if cancel.raised() {
                    return;
                }
                let now = Moment::now().0;
                let id = results::event::OpId::new(slot, sequence);
                let key = keys.pick(id.0, slot);
                let op = Op { id, key, intended: now, released: now, taken: now };
                perform(workload, &op, &mut session, Cancel { stop: cancel, slot }).await;
                tokio::task::yield_now().await;
            }
        }));
    }
    let timer = async {
        around.timer.sleep_until(begin + trial.length).await;
        cancel.raise();
    };
    tokio::join!(all(loops), timer);
}

/// Waits for all of them.
async fn all(mut loops: Vec<std::pin::Pin<Box<impl Future<Output = ()>>>>) {
    std::future::poll_fn(|cx| {
        loops.retain_mut(|one| one.as_mut().poll(cx).is_pending());
        if loops.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}
