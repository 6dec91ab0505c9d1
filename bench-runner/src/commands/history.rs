//! `lockbench history`: the events of a trial as JSON lines.

use std::io::{BufWriter, ErrorKind, Write};

use results::assemble::events;
use results::event::Event;

use crate::arguments::HistoryArgs;
use crate::exit::Exit;
use crate::saved_run::SavedRun;

/// Prints the events of one trial, in order of time.
pub fn run(args: &HistoryArgs) -> anyhow::Result<Exit> {
    let run = SavedRun::open(&args.run)?;
    let trial = run.trial(&args.cell, args.trial)?;
    let events = events(&trial.folder, &trial.facts)?;
    let wanted = events.filter(|event| args.key.is_none_or(|key| event.key == key));
    match write(BufWriter::new(std::io::stdout().lock()), wanted) {
        // The reader has seen enough (`| head`).
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Exit::Pass),
        written => Ok(written.map(|()| Exit::Pass)?),
    }
}

fn write(mut output: impl Write, events: impl Iterator<Item = Event>) -> std::io::Result<()> {
    for event in events {
        serde_json::to_writer(&mut output, &event)?;
        output.write_all(b"\n")?;
    }
    output.flush()
}
