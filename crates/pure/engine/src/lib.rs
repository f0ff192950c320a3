//! Key-value engines over a [`saker_medium::Medium`]. They run in the device (over flash) and at the host
//! (over a block namespace) alike, and never name a queue or an opcode.
//!
//! An engine never waits: an operation answers `Done`, `Need(pages)` or `Blocked(stall)`, and the last two
//! leave its state as it was.
#![forbid(unsafe_code)]

mod any;
mod engine;
pub mod hash_ftl;
pub mod hash_store;
pub mod index;
mod kind;
pub mod kv;
pub mod kv_group;
mod lengths;
pub mod lsm;
pub mod ordered;
pub mod packing;
mod scan;
pub mod tree;

pub use any::{AnyEngine, AnyRecovery, EngineConfig};
pub use engine::{Engine, Recover};
pub use hash_store::{HashStore, HashStoreConfig};
pub use kind::EngineKind;
pub use kv::{Background, Condition, KvError, Memory, Sink, Source, SourceError, StoreStats};
pub use kv_group::{Answers, GroupError, GroupOp, GroupSource, Member, Single};
pub use lsm::{LsmConfig, LsmStats, LsmStore, LsmTuning};
pub use packing::Packing;
pub use scan::{Pairs, SCAN_PAIRS_MAX, Scan, Scanned, Snapshot};
pub use tree::{TreeConfig, TreeStats, TreeStore, TreeTuning};
