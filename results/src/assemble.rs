//! Puts the operations of a trial together again from its histories.

use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};

use crate::checker::{Aftermath, History, Wait};
use crate::event::{Event, EventKind, OpId, StepOutcome};
use crate::history::{Header, HistoryError};
use crate::history_reader::HistoryReader;
use crate::hold::Hold;
use crate::merge::Merge;
use crate::open_operation::OpenOperation;
use crate::operation::Operation;
use crate::sort::by_key_and_start;
use crate::trial::{AgentFacts, TrialFacts};

/// Reads every history named in `facts` once and puts the operations together.
///
/// `each` sees every operation when it is finished, or when the history of its worker goes on without it or ends.
/// An operation is granted at most one lock: later grants of the same operation are ignored.
///
/// The history counts as whole only if every file has its end mark, every agent's own count of finished operations
/// is confirmed, and the facts call nothing partial. A file without its end mark, but without damage, is excused if
/// an obituary proves its agent dead: everything that the agent recorded was read.
///
/// # Errors
///
/// [`HistoryError`] if a file is missing (unless its agent was lost), is no history, or was recorded on another clock.
pub fn assemble(
    directory: &Path,
    facts: &TrialFacts,
    aftermath: Aftermath,
    each: &mut dyn FnMut(&Operation),
) -> Result<History, HistoryError> {
    let mut assembly = Assembly::new(aftermath, each);
    if let Some(partial) = &facts.partial {
        assembly.troubles.push(partial.clone());
    }
    let mut clock = Clock::default();
    for agent in &facts.agents {
        assembly.agent(directory, agent, &mut clock)?;
    }
    Ok(assembly.history(facts.workers))
}

/// The events of all histories named in `facts`, in order of time.
///
/// # Errors
///
/// As [`assemble`].
pub fn events(
    directory: &Path,
    facts: &TrialFacts,
) -> Result<impl Iterator<Item = Event> + use<>, HistoryError> {
    let mut clock = Clock::default();
    let mut readers = Vec::new();
    for agent in &facts.agents {
        for name in &agent.histories {
            if let Some(reader) = open(directory, name, agent, &mut clock)? {
                readers.push(reader);
            }
        }
    }
    Ok(Merge::new(readers))
}

/// The clock that all files of a trial must share.
#[derive(Default)]
struct Clock(Option<(PathBuf, Header)>);

impl Clock {
    fn admit(&mut self, reader: &HistoryReader) -> Result<(), HistoryError> {
        let (path, header) =
            self.0.get_or_insert_with(|| (reader.path().to_owned(), reader.header().clone()));
        if header.shares_clock_with(reader.header()) {
            return Ok(());
        }
        Err(HistoryError::ClocksDiffer { first: path.clone(), second: reader.path().to_owned() })
    }
}

/// Opens one history of `agent`; `None` if it is missing and the agent was lost.
fn open(
    directory: &Path,
    name: &str,
    agent: &AgentFacts,
    clock: &mut Clock,
) -> Result<Option<HistoryReader>, HistoryError> {
    let mut components = Path::new(name).components();
    if !components.all(|component| matches!(component, Component::Normal(_))) {
        return Err(HistoryError::Outside { name: name.to_owned() });
    }
    match HistoryReader::open(&directory.join(name)) {
        Ok(reader) => clock.admit(&reader).map(|()| Some(reader)),
        Err(HistoryError::File { source, .. })
            if agent.lost.is_some() && source.kind() == std::io::ErrorKind::NotFound =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

struct Assembly<'a> {
    each: &'a mut dyn FnMut(&Operation),
    aftermath: Aftermath,
    /// Per key with pools, which pool takes its acknowledged takings.
    first_pool: HashMap<u32, usize>,
    holds: Vec<Hold>,
    waits: Vec<Wait>,
    /// Why the history is not whole.
    troubles: Vec<String>,
    /// Agents whose files merely stop, and what that means unless they are proved dead.
    unfinished: Vec<(u32, String)>,
    /// Agents proved dead.
    obituaries: BTreeSet<u64>,
    /// Finished operations of the agent being read.
    finished: u64,
    workers: Workers,
}

/// The operations that are open in the file being read, at most one per worker.
#[derive(Default)]
struct Workers {
    /// By worker, its place in `open` plus one; 0 if it has none.
    place: Vec<u32>,
    open: Vec<OpenOperation>,
}

impl Workers {
    /// Where the operation of `worker` is; a new worker begins with `op`.
    #[inline]
    fn of(&mut self, event: &Event) -> &mut OpenOperation {
        let worker = event.op.worker() as usize;
        if worker >= self.place.len() {
            self.place.resize(worker + 1, 0);
        }
        if self.place[worker] == 0 {
            self.open.push(OpenOperation::new(event));
            self.place[worker] = u32::try_from(self.open.len()).expect("workers have 24 bits");
        }
        &mut self.open[self.place[worker] as usize - 1]
    }
}

impl<'a> Assembly<'a> {
    fn new(mut aftermath: Aftermath, each: &'a mut dyn FnMut(&Operation)) -> Self {
        let mut first_pool = HashMap::new();
        for (place, pool) in aftermath.pools.iter_mut().flatten().enumerate() {
            pool.acknowledged.clear();
            first_pool.entry(pool.key).or_insert(place);
        }
        Self {
            each,
            aftermath,
            first_pool,
            holds: Vec::new(),
            waits: Vec::new(),
            troubles: Vec::new(),
            unfinished: Vec::new(),
            obituaries: BTreeSet::new(),
            finished: 0,
            workers: Workers::default(),
        }
    }

    fn agent(
        &mut self,
        directory: &Path,
        agent: &AgentFacts,
        clock: &mut Clock,
    ) -> Result<(), HistoryError> {
        self.finished = 0;
        if let Some(lost) = agent.lost.as_ref().filter(|_| agent.histories.is_empty()) {
            self.troubles.push(format!("agent {} was lost without a history: {lost}", agent.agent));
        }
        for name in &agent.histories {
            match open(directory, name, agent, clock)? {
                Some(reader) => self.file(name, agent.agent, reader),
                None => self.troubles.push(format!("{name} is missing")),
            }
        }
        match agent.finished {
            Some(said) if said != self.finished => self.troubles.push(format!(
                "agent {} says that it finished {said} operations, its histories hold {}",
                agent.agent, self.finished
            )),
            _ => {}
        }
        Ok(())
    }

    fn file(&mut self, name: &str, agent: u32, mut reader: HistoryReader) {
        let mut workers = std::mem::take(&mut self.workers);
        for event in &mut reader {
            self.event(&mut workers, &event);
        }
        for open in &mut workers.open {
            self.close(open);
        }
        workers.open.clear();
        workers.place.fill(0);
        self.workers = workers;
        match reader.truncated() {
            Some(what) if reader.unfinished() => {
                self.unfinished.push((agent, format!("{name}: {what}")));
            }
            Some(what) => self.troubles.push(format!("{name}: {what}")),
            None => {}
        }
    }

    #[inline]
    fn event(&mut self, workers: &mut Workers, event: &Event) {
        match event.kind {
            EventKind::FaultBegin | EventKind::FaultEnd => return,
            EventKind::Obituary => {
                self.obituaries.insert(event.arg);
                return;
            }
            _ => {}
        }
        let open = workers.of(event);
        if event.op != open.op() {
            if event.op < open.op() {
                // A late word about an operation that is over, such as the answer to a renewal.
                return;
            }
            self.close(open);
            *open = OpenOperation::new(event);
        }
        if open.is_closed() {
            return;
        }
        if open.record(event) {
            // The place is taken now, so that the holds of a file are in order of their start.
            open.place = Some(self.holds.len());
            self.holds.push(Hold::placeholder(event.op, event.key, event.at));
        }
        if event.kind == EventKind::Finish {
            self.finished += 1;
            self.close(open);
        }
    }

    fn close(&mut self, open: &mut OpenOperation) {
        if open.is_closed() {
            return;
        }
        let operation = open.close();
        match (open.place, open.hold(&operation)) {
            (Some(place), Some(hold)) => self.holds[place] = hold,
            _ if operation.acquire_call != 0 => self.waits.push(Wait {
                op: operation.op,
                key: operation.key,
                from: operation.acquire_call,
                to: open.waited_until().max(operation.acquire_call),
                perhaps: operation.acquired == StepOutcome::Info,
            }),
            _ => {}
        }
        if open.acknowledged() {
            self.acknowledge(operation.key, operation.op);
        }
        (self.each)(&operation);
    }

    fn acknowledge(&mut self, key: u32, op: OpId) {
        let pools = self.aftermath.pools.as_mut();
        if let (Some(&place), Some(pools)) = (self.first_pool.get(&key), pools) {
            pools[place].acknowledged.push(op);
        }
    }

    fn history(mut self, workers: u32) -> History {
        by_key_and_start(&mut self.holds);
        self.waits.sort_by_key(|wait| (wait.key, wait.from, wait.op));
        let dead = self.obituaries;
        let unexcused =
            self.unfinished.into_iter().filter(|(agent, _)| !dead.contains(&u64::from(*agent)));
        self.troubles.extend(unexcused.map(|(_, what)| what));
        let more = self.troubles.len().saturating_sub(1);
        let truncated = self.troubles.into_iter().next().map(|first| match more {
            0 => first,
            more => format!("{first} (and {more} more)"),
        });
        History {
            holds: self.holds,
            waits: self.waits,
            aftermath: self.aftermath,
            truncated,
            workers,
        }
    }
}
