//! How careful the code under the lock is.

/// What a caller does before each write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// Never looks again.
    Naive,
    /// Looks whether its lease is still good.
    Deadline,
    /// Looks whether its lease is still good and whether the client says that it was lost.
    LostSignal,
}

impl Caller {
    /// Every caller.
    pub const ALL: [Self; 3] = [Self::Naive, Self::Deadline, Self::LostSignal];

    /// The name used in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Deadline => "deadline",
            Self::LostSignal => "lost-signal",
        }
    }
}
