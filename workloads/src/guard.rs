//! What the register itself refuses.

/// The last line of defence, at the register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// It takes every write.
    None,
    /// Each access carries the fencing token; older tokens are refused.
    Fence,
    /// A write names the value it read, and is refused if that has changed.
    Cas,
    /// The whole decision is one atomic step at the register.
    Atomic,
}

impl Guard {
    /// Every guard.
    pub const ALL: [Self; 4] = [Self::None, Self::Fence, Self::Cas, Self::Atomic];

    /// The name used in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Fence => "fence",
            Self::Cas => "cas",
            Self::Atomic => "atomic",
        }
    }
}
