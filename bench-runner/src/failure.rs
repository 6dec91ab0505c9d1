//! Why a command could not do its job, and how it ends because of it.

use std::fmt;
use std::io;

use crate::exit::Exit;

/// An error together with the exit code that it means.
#[derive(Debug)]
pub struct Failure {
    /// How the command ends.
    pub exit: Exit,
    /// What went wrong, in words for the user, without secrets.
    pub error: anyhow::Error,
}

impl Failure {
    /// The user asked for something that cannot be: nothing was sent to any server.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Usage, error: error.into() }
    }

    /// The servers or the machine do not allow measuring.
    pub fn environment(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Environment, error: error.into() }
    }

    /// Whether a disk ran full somewhere below.
    pub fn is_disk_full(&self) -> bool {
        is_disk_full(&self.error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.error)
    }
}

impl From<anyhow::Error> for Failure {
    /// A full disk means a run in part; anything else that nobody foresaw means that measuring was not possible.
    fn from(error: anyhow::Error) -> Self {
        let exit = if is_disk_full(&error) { Exit::Partial } else { Exit::Environment };
        Self { exit, error }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        anyhow::Error::from(error).into()
    }
}

fn is_disk_full(error: &anyhow::Error) -> bool {
    error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).any(|cause| {
        matches!(cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_full_disk_below_a_context_is_a_run_in_part() {
        let full: Result<(), _> = Err(io::Error::from(io::ErrorKind::StorageFull));
        let failure = Failure::from(full.context("could not write run.json").unwrap_err());
        assert_eq!(failure.exit, Exit::Partial);
        assert!(failure.is_disk_full());
    }

    #[test]
    fn anything_unforeseen_means_that_measuring_was_not_possible() {
        let failure = Failure::from(anyhow::anyhow!("the moon is down"));
        assert_eq!(failure.exit, Exit::Environment);
        assert_eq!(failure.to_string(), "the moon is down");
    }
}
