// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The host side of an NVMe key-value device.
//!
//! | module | holds |
//! |---|---|
//! | [`driver`] | what a waiting host does: lets the device make progress |
//! | [`connect`] | enabling a controller, its admin queue, Identify, features, I/O queue pairs |
//! | [`kv_queue`] | commands of one queue pair, submitted and polled, never waited for |
//! | [`client`] | blocking and pipelined calls for the device's own keys of 1 to 16 bytes |
//! | [`long_keys`] | keys of 1 to 255 bytes on any device |
//! | [`host_kv`] | HostKV: the device's engine run at the host over a block namespace |
//! | [`cache`] | the read cache of sessions and of HostKV |
//! | [`retention`] | what leaves a store that serves as a cache |
//! | [`session`] | SAKER: writes of many threads gathered in containers, visible at once |
//! | [`transfer`] | how a value gets to the device: methods, and the policies that choose |
//! | [`error`] | everything that can go wrong, and the table from NVMe status to meaning |
//!
//! Nothing here reads a clock, starts a thread or knows the device's code: host and device meet in rings, doorbells and
//! registers (`saker_link`). A command of up to 4 KiB of data allocates nothing.
#![forbid(unsafe_code)]

pub mod cache;
pub mod client;
pub mod connect;
pub mod driver;
pub mod error;
pub mod front;
pub mod host_kv;
pub mod kv_queue;
pub mod long_keys;
pub mod memory;
mod reserved;
pub mod retention;
pub mod session;
pub mod transfer;

pub use cache::{CacheOptions, CachePolicy, CacheStats, ReadCache};
pub use client::{
    BulkBuffer, ClientOptions, Compound, Condition, DeviceIterator, Entry, GroupBuilder, GroupStats,
    KeyRange, KvClient, OpOutcome, PairBatch, QueuedGet, Shown, TransactionAnswer, TransactionEnd,
    TransactionOutcome, TransactionRefused, Values, WriteBatch,
};
pub use connect::{ConnectOptions, Connection, NamedSettings, Port};
pub use error::{HostError, KvError, MemoryError, ProtocolError};
pub use kv_queue::{Done, KvQueue, QueueStats, RawData, SubmitError, Ticket};
pub use long_keys::{
    EnvelopeError, KeyDigest, KvStoreClient, Moment, RangeFound, Require, ScanCursor, ScanOptions, ScanOrder,
    ScanPairs, StoreKeys, TransactionSet, Versioned, Xxh3Digest, bounds,
};
pub use reserved::check_storable;
pub use saker_long_keys::is_marked as is_long_key_mark;
pub use transfer::{Method, Pacing, TransferOptions, TransferPolicy};
/// What the numbers of [`Connection::counters`] are of.
pub mod counters {
    pub use saker_nvme::vendor_specific::{LATENCY_BUCKETS, command_name, status_of};
}

/// Forms and types of groups.
pub mod group {
    pub use saker_nvme::group::{Ask, Form, Op, PairVersion};
}

pub use driver::{Driver, DriverFn, Patience, Spin};
