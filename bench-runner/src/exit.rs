//! How `lockbench` ends: one enum, turned into a status in `main.rs` alone.

use std::process::ExitCode;

/// The exit codes of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Measured, and every gate passes.
    Pass,
    /// Measured, and a gate fails or has no data.
    Gate,
    /// Wrong usage or scenario: nothing was sent to any server.
    Usage,
    /// Could not measure, or a control gave the wrong answer.
    Environment,
    /// Measured in part; what there is was saved.
    Partial,
    /// A bug of ours.
    Internal,
    /// Interrupted (Ctrl-C); what there is was saved.
    Interrupted,
    /// Terminated (SIGTERM); what there is was saved.
    Terminated,
}

impl Exit {
    /// The number for the shell.
    pub const fn code(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Gate => 1,
            Self::Usage => 2,
            Self::Environment => 3,
            Self::Partial => 4,
            Self::Internal => 70,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// Where several hold: 70, then 130/143, 3, 1, 4; 2 never meets another.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if self.rank() >= other.rank() { self } else { other }
    }

    const fn rank(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Partial => 1,
            Self::Gate => 2,
            Self::Environment => 3,
            Self::Usage => 4,
            Self::Terminated => 5,
            Self::Interrupted => 6,
            Self::Internal => 7,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
