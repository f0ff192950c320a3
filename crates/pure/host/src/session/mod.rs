// SPDX-License-Identifier: Apache-2.0 OR MIT
//! SAKER's host layer (SYSTOR'25, section 3.3): sessions that gather writes in containers, and an index that makes them
//! visible to everybody at once.
//!
//! | file | holds |
//! |---|---|
//! | `container` | writes of different keys, packed as the payload of one group |
//! | `index` | where the newest write of a key is, striped; parked writes |
//! | `lane` | a container that fills, a queue pair, and what is on its way over it |
//! | `hub` | all lanes and the index: every step, none of which waits |
//! | `flusher` | one Flush for everything that completed before it |
//! | `calls` | answers that somebody waits for |
//! | `wire` | what a queue pair has to offer |
//! | `blocking` | a session whose calls wait |
//!
//! What holds, whoever calls what from which thread:
//!
//! * After a write is buffered, every reader sees it or a newer one. The device ends with the newest.
//! * At most one write of a key is in a container or a command. A second one in the same open container replaces it;
//!   otherwise the newest is parked with the key's entry, and who retires the earlier write moves it on. So containers
//!   never wait for each other.
//! * A write that the device refuses is reported by key at the next sync of everybody whose write it was or replaced;
//!   readers then see what is stored.
//! * No step waits. A thread that has to wait can send any container and take the completions of any lane.

mod blocking;
mod calls;
mod container;
mod flusher;
mod hub;
mod index;
mod lane;
mod options;
mod shared;
mod ticket;
mod wire;

pub use blocking::{Session, SyncError};
pub use calls::{CallId, Reply};
pub use container::Write;
pub use hub::{Cover, Hub, Pump, Refusal, Sync};
pub use lane::LaneStats;
pub use options::Options;
pub use ticket::Ticket;
pub use wire::{Answer, Command, Wire};
