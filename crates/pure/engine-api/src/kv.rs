// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What every key-value engine speaks: where values come from and go to, conditions, errors, counters.

use crate::capabilities::Unsupported;
use saker_segment_store::CellError;
use thiserror::Error;

/// Longest key of an engine, in bytes. Longer ones go through the host's digest scheme.
pub const KEY_BYTES_MAX: usize = 16;

/// When a store may take place (KV command set: Store, option bits 8 and 9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// Always.
    #[default]
    Always,
    /// Only over an existing pair.
    MustExist,
    /// Only if there is no such pair.
    MustNotExist,
}

/// Why an operation was refused or failed. The engine's state is as if it had not been asked.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum KvError {
    /// The store is full.
    #[error("capacity exceeded")]
    CapacityExceeded,
    /// There is no such pair.
    #[error("key does not exist")]
    NotFound,
    /// There is such a pair already.
    #[error("key exists")]
    Exists,
    /// The key is empty or too long.
    #[error("invalid key size")]
    KeySize,
    /// The value is larger than the store takes.
    #[error("invalid value size")]
    ValueSize,
    /// The pair is there and cannot be read.
    #[error("unrecovered error: {0}")]
    Unrecovered(#[from] CellError),
    /// The pair is there and does not match its checksum.
    #[error("unrecovered error: the record does not match its checksum")]
    Corrupt,
    /// The value's bytes could not be fetched.
    #[error("data transfer error")]
    Transfer,
    /// The engine cannot do that.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

/// The value's bytes could not be fetched from, or delivered to, the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceError;

/// Where a value comes from. Its bytes are read exactly once, into their landing place.
pub trait Source {
    /// Length of the value in bytes.
    fn bytes(&self) -> u32;
    /// How many of them a core copies; an engine moves the others.
    #[inline]
    fn bytes_by_core(&self) -> u32 {
        self.bytes()
    }
    /// How many of them are in the device already, because they came in commands; DMA brings the others.
    #[inline]
    fn bytes_held(&self) -> u32 {
        self.bytes()
    }
    /// Fills `out` with the bytes from `offset` on.
    fn read(&mut self, offset: u32, out: &mut [u8]) -> Result<(), SourceError>;
}

impl Source for &[u8] {
    #[inline]
    fn bytes(&self) -> u32 {
        self.len() as u32
    }
    #[inline]
    fn read(&mut self, offset: u32, out: &mut [u8]) -> Result<(), SourceError> {
        copy_short(out, &self[offset as usize..offset as usize + out.len()]);
        Ok(())
    }
}

/// Copies bytes; 8 to 32 of them by two copies of a fixed size, which may overlap and need no call. Panics if the lengths differ.
#[inline]
pub fn copy_short(to: &mut [u8], from: &[u8]) {
    match from.len() {
        8..16 => copy_ends::<8>(to, from),
        16..=32 => copy_ends::<16>(to, from),
        _ => to.copy_from_slice(from),
    }
}

#[inline]
fn copy_ends<const N: usize>(to: &mut [u8], from: &[u8]) {
    assert_eq!(to.len(), from.len(), "a copy fills its place");
    if let (Some(first), Some(last)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) {
        let end = to.len() - N;
        to[..N].copy_from_slice(first);
        to[end..].copy_from_slice(last);
    }
}

/// Where a value goes.
pub trait Sink {
    /// Bytes of the value that are wanted at most.
    fn room(&self) -> u32;
    /// Whether a core copies them; else an engine moves them.
    #[inline]
    fn is_copied_by_core(&self) -> bool {
        true
    }
    /// Takes the bytes at `offset`.
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), SourceError>;
}

impl Sink for Vec<u8> {
    fn room(&self) -> u32 {
        u32::MAX
    }
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), SourceError> {
        if offset as usize == self.len() {
            self.extend_from_slice(bytes);
            return Ok(());
        }
        let end = offset as usize + bytes.len();
        self.resize(self.len().max(end), 0);
        self[offset as usize..end].copy_from_slice(bytes);
        Ok(())
    }
}

/// Modelled controller memory, by structure, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Index entries, unused slots included.
    pub index_bytes: u64,
    /// Directory and leaf headers of the index.
    pub directory_bytes: u64,
    /// Segment table.
    pub segment_bytes: u64,
}

impl Memory {
    /// All of it.
    #[inline]
    pub fn total(&self) -> u64 {
        self.index_bytes + self.directory_bytes + self.segment_bytes
    }
}

/// Counters of an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Pairs; of an engine that does not look for what it replaces, at most so many.
    pub pairs: u64,
    /// Bytes of keys and values of all pairs, each pair rounded up to a multiple of 8.
    pub pair_bytes: u64,
    /// Bytes of keys and values written by stores and deletes.
    pub user_bytes_written: u64,
    /// Records that garbage collection copied.
    pub gc_records_copied: u64,
    /// Bytes that garbage collection copied.
    pub gc_bytes_copied: u64,
    /// Segments that garbage collection released.
    pub gc_segments: u64,
    /// Checkpoints completed.
    pub checkpoints: u64,
    /// Bytes of checkpoints written.
    pub checkpoint_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_copies_are_copies() {
        let from: Vec<u8> = (1..=40).collect();
        for n in 0..=from.len() {
            let mut to = [0; 41];
            copy_short(&mut to[..n], &from[..n]);
            assert_eq!(to[..n], from[..n]);
            assert!(to[n..].iter().all(|b| *b == 0), "{n}: nothing behind it");
        }
    }
}
