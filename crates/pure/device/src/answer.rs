// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What commands of all kinds share: the host's memory as they reach it, how they end, and the status for it.

use saker_engine::{Condition, KvError};
use saker_link::DmaSpace;
use saker_nvme::Status;
use saker_nvme::kv::StoreOptions;
use saker_profile::TimedOp;
use saker_segment_store::{CellError, Reads, Stall, Tag};
use saker_sim::Digest;

/// What a latency table looks at: the operation and its sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Not in tables: it takes no time.
    Nothing,
    /// One operation: bytes of its key, and of its value or buffer.
    Single(TimedOp, u32, u32),
    /// A group: operations, and bytes of its payload.
    Group(TimedOp, u32, u32),
}

/// The host's memory, and who moves its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Reach<'a> {
    /// The memory.
    pub space: &'a DmaSpace,
    /// Whether an engine moves data, without a core.
    pub dma_engine: bool,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its status.
    pub status: Status,
    /// Completion dword 0.
    pub dw0: u32,
    /// Completion dword 1.
    pub dw1: u32,
    /// Bytes that go to the host's buffer.
    pub bytes_out: u32,
    /// It completes when everything up to this tag has completed and a sync has followed.
    pub flush: Option<Tag>,
}

impl Reply {
    pub(crate) const fn status(status: Status) -> Self {
        Self { status, dw0: 0, dw1: 0, bytes_out: 0, flush: None }
    }
}

/// What became of an execution.
#[derive(Debug)]
pub enum Outcome {
    /// The engine is done with it.
    Done(Reply),
    /// Bring these pages.
    Need(Reads),
    /// Background work or outstanding I/O must progress, or a delayed write wait for its turn.
    Blocked(Stall),
}

/// A key, for whoever only has to tell keys apart.
pub fn key_hash(key: &[u8]) -> u64 {
    let mut digest = Digest::default();
    digest.bytes(key);
    digest.value()
}

/// The one table from engine errors to KV status (KV command set 1.0d, Fig. 4).
pub fn kv_status(e: KvError) -> Status {
    match e {
        KvError::CapacityExceeded => Status::CAPACITY_EXCEEDED,
        KvError::NotFound => Status::KEY_DOES_NOT_EXIST,
        KvError::Exists => Status::KEY_EXISTS,
        KvError::KeySize => Status::INVALID_KEY_SIZE,
        KvError::ValueSize => Status::INVALID_VALUE_SIZE,
        // The device is not full, its host is: that passes, and what is stored stays readable.
        KvError::Unrecovered(CellError::HostFull) => Status::NAMESPACE_NOT_READY,
        KvError::Unrecovered(CellError::HostIo) => Status::WRITE_FAULT.with_do_not_retry(false),
        KvError::Unrecovered(_) | KvError::Corrupt => Status::UNRECOVERED_ERROR,
        KvError::Transfer => Status::DATA_TRANSFER_ERROR,
        KvError::Unsupported(_) => Status::INVALID_OPCODE,
    }
}

/// What a Store asks of the pair that is there.
#[inline]
pub(crate) fn condition(options: StoreOptions) -> Condition {
    if options.contains(StoreOptions::MUST_EXIST) {
        Condition::MustExist
    } else if options.contains(StoreOptions::MUST_NOT_EXIST) {
        Condition::MustNotExist
    } else {
        Condition::Always
    }
}
