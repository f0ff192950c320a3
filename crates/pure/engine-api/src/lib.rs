//! What drivers and engines of pairs agree on: the operations, their outcomes, groups, scans and recovery.
//!
//! | module | what is in it |
//! |---|---|
//! | `engine` | the traits [`Engine`] and [`Recover`] |
//! | [`kv`] | values on their way in and out, errors, counters |
//! | [`kv_group`] | groups: many operations in one call |
//! | `scan` | snapshots and scans |
//! | [`settings`] | what is asked of an engine by name |
//!
//! An engine never waits: an operation answers `Done`, `Need(pages)` or `Blocked(stall)`, and the last two
//! leave its state as it was.
#![forbid(unsafe_code)]

mod engine;
pub mod kv;
pub mod kv_group;
mod scan;
pub mod settings;

pub use engine::{Engine, Recover};
pub use kv::{Background, Condition, KvError, Memory, Sink, Source, SourceError, StoreStats};
pub use kv_group::{Answers, GroupError, GroupOp, GroupSource, Member, Single};
pub use scan::{Pairs, SCAN_PAIRS_MAX, Scan, Scanned, Snapshot};
pub use settings::{Setting, Settings, Typed};
