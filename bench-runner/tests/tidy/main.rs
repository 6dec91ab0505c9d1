//! Keeps the house as `ARCHITECTURE.md` draws it. Every complaint names a file and what to do about it.

mod catalogues;
mod crates;
mod loops;
mod pages;
mod sources;
mod tree;
