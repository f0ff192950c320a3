// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What drivers and engines of pairs agree on: the operations, their outcomes, groups, scans and recovery.
//!
//! | module | what is in it |
//! |---|---|
//! | `engine` | the traits [`Engine`] and [`Recover`]: what every engine does |
//! | `capabilities` | what not every engine does, by name |
//! | `list`, `scan`, `groups`, `hints`, `inspect` | the traits of those capabilities |
//! | `context` | the medium and the meter of a call |
//! | `answer`, `wait`, `job` | what became of a write; waiting for an engine's threads; background work |
//! | [`crew`] | who does which job, for drivers with several cores |
//! | [`kv`] | values on their way in and out, errors, counters |
//! | [`settings`] | what is asked of an engine by name |
//! | `write_condition` | whether background work keeps up with writes |
//! | [`write_gate`] | the driver's half of that: who waits, and for how long |
//! | `singly` | groups for engines without them |
//! | `dynamic` | engines, media, meters and all else as trait objects |
//! | `forward` | the table by which one type is any of several engines |
//!
//! An engine never waits: an operation answers `Done`, `Need(pages)` or `Blocked(stall)`, and the last two
//! leave its state as it was.
#![forbid(unsafe_code)]

mod answer;
mod capabilities;
mod context;
pub mod crew;
mod dynamic;
mod engine;
mod forward;
mod groups;
mod hints;
mod inspect;
mod job;
pub mod kv;
mod list;
mod recover;
mod scan;
pub mod settings;
mod singly;
mod task;
pub mod transaction;
mod wait;
mod write_condition;
pub mod write_gate;

pub use answer::{PairVersion, Put, Token, Version, Versioned};
pub use capabilities::{Capabilities, Capability, Unsupported};
pub use context::Context;
pub use crew::Crew;
pub use dynamic::{DynContext, DynEngine, DynGroupSource, DynRecover, Outside, OutsideRecovery, Refused};
pub use engine::Engine;
#[doc(hidden)]
pub use forward::forwarded;
pub use groups::{Answers, GroupError, GroupFlags, GroupOp, GroupSource, Groups, Member};
pub use hints::Hints;
pub use inspect::Inspect;
pub use job::{Background, Job, JobId, JobKind};
pub use kv::{Condition, KvError, Memory, Sink, Source, SourceError, StoreStats};
pub use list::List;
pub use recover::Recover;
pub use saker_log::recover::Progress;
pub use scan::{Pairs, SCAN_PAIRS_MAX, Scan, Scanned, Scans, Snapshot};
pub use settings::{Setting, Settings, Typed};
pub use singly::{SINGLY_BYTES_MAX, Single, Singly, Value};
pub use task::{Ask, Task};
pub use transaction::{NotDone, transact};
pub use write_condition::{WriteCondition, WriteStallCause};
