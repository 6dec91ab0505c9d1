//! What happens around a lock, and what must stay true.
pub mod caller;
pub mod guard;
