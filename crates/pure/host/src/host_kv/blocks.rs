// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What HostKV needs of a queue of block commands.

use crate::QueueStats;
use saker_nvme::Status;
use std::any::Any;

/// A block command that has completed.
#[derive(Debug)]
pub struct BlockDone {
    /// The number its submission gave.
    pub ticket: u64,
    /// How it ended.
    pub status: Status,
    /// The data of a read.
    pub data: Option<Vec<u8>>,
}

/// A queue of block commands. Submissions never wait; `Err` gives the buffer back when the queue is full.
pub trait BlockQueue: Any + Send {
    /// Bytes of a block.
    fn block_bytes(&self) -> u32;
    /// Blocks of the namespace.
    fn blocks(&self) -> u64;
    /// Whether the device has a volatile write cache: a power cut can take or undo what has completed since the last Flush, in any
    /// order.
    fn is_volatile(&self) -> bool {
        true
    }
    /// Writes whole blocks.
    fn write(&mut self, first: u64, data: Vec<u8>) -> Result<u64, Vec<u8>>;
    /// Reads `blocks` blocks.
    fn read(&mut self, first: u64, blocks: u32) -> Option<u64>;
    /// Deallocates a range.
    fn deallocate(&mut self, first: u64, blocks: u64) -> Option<u64>;
    /// Flushes.
    fn flush(&mut self) -> Option<u64>;
    /// The next completion.
    fn poll(&mut self) -> Option<BlockDone>;
    /// Commands submitted since the last doorbell.
    fn unrung(&self) -> u32 {
        0
    }
    /// Rings the doorbell if anything was submitted.
    fn ring(&mut self) {}
    /// Counters of the queue.
    fn stats(&self) -> QueueStats {
        QueueStats::default()
    }
}
