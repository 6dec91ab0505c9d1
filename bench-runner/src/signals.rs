//! Ctrl-C and SIGTERM: once to stop and save, twice to stop at once.

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::exit::Exit;

/// What the user has asked for so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Go on.
    GoOn,
    /// Stop, save, judge, and end like this.
    Stop(Exit),
    /// End like this at once.
    Abort(Exit),
}

/// Listens to signals; clones hear the same.
#[derive(Debug, Clone)]
pub struct Signals {
    wish: watch::Receiver<Wish>,
}

impl Signals {
    /// Begins to listen, in a task of `tasks`.
    pub fn listen(tasks: &mut JoinSet<()>) -> Result<Self> {
        let interrupt = signal(SignalKind::interrupt()).context("cannot listen to SIGINT")?;
        let terminate = signal(SignalKind::terminate()).context("cannot listen to SIGTERM")?;
        let (sender, wish) = watch::channel(Wish::GoOn);
        tasks.spawn(forward(interrupt, terminate, sender));
        Ok(Self { wish })
    }

    /// How to end, if somebody asked for it.
    pub fn exit(&self) -> Option<Exit> {
        match *self.wish.borrow() {
            Wish::GoOn => None,
            Wish::Stop(exit) | Wish::Abort(exit) => Some(exit),
        }
    }

    /// Returns when somebody has asked to stop.
    pub async fn stop(&mut self) -> Exit {
        loop {
            if let Some(exit) = self.exit() {
                return exit;
            }
            self.next().await;
        }
    }

    /// Returns when somebody has asked twice.
    pub async fn abort(&mut self) -> Exit {
        loop {
            if let Wish::Abort(exit) = *self.wish.borrow() {
                return exit;
            }
            self.next().await;
        }
    }

    async fn next(&mut self) {
        if self.wish.changed().await.is_err() {
            // Nobody listens to signals any more: no wish will ever come.
            std::future::pending::<()>().await;
        }
    }
}

async fn forward(mut interrupt: Signal, mut terminate: Signal, wish: watch::Sender<Wish>) {
    loop {
        let exit = tokio::select! {
            Some(()) = interrupt.recv() => Exit::Interrupted,
            Some(()) = terminate.recv() => Exit::Terminated,
            else => return,
        };
        wish.send_modify(|wish| {
            *wish = match *wish {
                Wish::GoOn => Wish::Stop(exit),
                Wish::Stop(first) | Wish::Abort(first) => Wish::Abort(first),
            };
        });
    }
}
