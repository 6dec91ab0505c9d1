//! The facts of a trial, as tests need them.

use std::collections::BTreeMap;

use results::trial::{AgentFacts, TrialFacts};

/// A trial of one agent with the given histories.
pub(crate) fn of(histories: &[&str], workers: u32) -> TrialFacts {
    TrialFacts {
        format: 1,
        run: "golden".to_owned(),
        cell: "golden".to_owned(),
        trial: 1,
        window_start: 0,
        window_end: u64::MAX,
        workers,
        keys: 1,
        open_load: false,
        scheduled: None,
        slo_response_ns: None,
        checks: Vec::new(),
        counted: Vec::new(),
        agents: vec![agent(0, histories)],
        servers: BTreeMap::new(),
        partial: None,
    }
}

/// An agent that ended as it should.
pub(crate) fn agent(agent: u32, histories: &[&str]) -> AgentFacts {
    AgentFacts {
        agent,
        histories: histories.iter().map(|&name| name.to_owned()).collect(),
        lost: None,
        cpu_us: None,
        finished: None,
        errors: BTreeMap::new(),
        scripts_reloaded: 0,
    }
}
