// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Key-value engines over a [`saker_segment_store::SegmentStore`]. They run in the device (over flash) and at the host
//! (over a block namespace) alike, and never name a queue or an opcode.
//!
//! One engine is one folder, and none imports another. [`ordered`] is what [`lsm`] and [`tree`] share; [`mix`] is the bijection of
//! keys that [`hash_store`] and [`hash_ftl`] share. What engines and drivers agree on is [`saker_engine_api`], the log of records
//! below all but the hash FTLs is [`saker_value_log`].
#![forbid(unsafe_code)]

mod config;
pub mod factory;
pub mod hash_ftl;
pub mod hash_store;
pub mod lsm;
pub mod mix;
pub mod ordered;
#[cfg(test)]
mod planted;
mod prefetch;
pub mod registry;
pub mod tree;

pub use config::EngineConfig;
pub use factory::Factory;
pub use hash_store::{HashStore, HashStoreConfig};
pub use lsm::{LevelBytes, LsmConfig, LsmStats, LsmStore, Traffic};
pub use registry::{AnyEngine, AnyRecovery, EngineKind, Registration};
pub use saker_engine_api::{
    Answers, Ask, Background, Capabilities, Capability, Condition, Context, Crew, Engine, GroupError,
    GroupFlags, GroupOp, GroupSource, Groups, Hints, Inspect, Job, JobId, JobKind, KvError, List, Member,
    Memory, NotDone, Outside, OutsideRecovery, PairVersion, Pairs, Progress, Put, Recover, SCAN_PAIRS_MAX,
    Scan, Scanned, Scans, Setting, Settings, Single, Singly, Sink, Snapshot, Source, SourceError, StoreStats,
    Task, Token, Typed, Unsupported, Value, Version, WriteCondition, WriteStallCause, crew, kv, settings,
    transact, transaction, write_gate,
};
pub use saker_value_log::group::{GROUP_BYTES_MAX, KeyCost};
pub use saker_value_log::packing::{PRICED_BYTES, Packing};
pub use tree::{TreeConfig, TreeStats, TreeStore};
