//! What happens around a lock, and what must stay true.
//!
//! A [`Workload`](workload::Workload) says what one operation does: take the lock, work at the register, give the
//! lock back. It does all that through a [`Session`](session::Session), the only place where calls of a lock become
//! events of a history; no workload records anything itself, and no strategy is known here by name.
//!
//! | module | holds |
//! |---|---|
//! | [`workload`], [`catalog`] | what a workload is, and all of them |
//! | [`op`], [`perform`] | one operation, and how it is carried out |
//! | [`session`], [`listener`] | one caller; what the strategy says meanwhile |
//! | [`register`] | what the lock protects |
//! | [`caller`], [`guard`] | how careful the code and the register are |
//! | [`recorder`] | where events go |
//! | [`keys`] | which key an arrival asks for |
//! | [`stop`], [`timer`] | ending and sleeping |
//!
//! ```
//! let entry = workloads::catalog::find("seckill").expect("it is in the catalogue");
//! let sale = (entry.build)(&serde_json::json!({ "items": 4, "stock": 50, "work": "2ms" })).expect("good options");
//! assert_eq!(sale.keys(64), 4);
//! ```
//!
//! It does not decide when operations are due, does not start servers and does not judge.

pub mod caller;
pub mod catalog;
pub mod guard;
pub mod keys;
pub mod listener;
pub mod op;
pub mod perform;
mod range;
pub mod recorder;
pub mod register;
pub mod session;
pub mod stop;
pub mod timer;
pub mod workload;
