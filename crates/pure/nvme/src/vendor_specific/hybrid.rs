// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whole pages by PRPs, the rest in the fields of commands (BandSlim, ICPP'24, section 3.2).
//!
//! The tail goes ahead of the command with the pages, so that the last command has everything: nothing is half landed
//! while the device waits, and the pages are only needed while that command is in flight.

use zerocopy::little_endian::U32;

use super::fragment::{TRANSFER_BYTES, fragment, parts_sum};
use super::opcode;
use crate::KvCommand;
use crate::key::Key;
use crate::kv::StoreOptions;
use crate::sqe::{PointerRule, Sqe};
use crate::status::Status;

/// Whole pages of a hybrid store.
pub const HYBRID_PAGE_BYTES: u32 = 4096;

/// Tail commands ahead of a hybrid store of `bytes` bytes; 0 if the value has no tail.
#[inline]
#[must_use]
pub const fn tail_commands(bytes: u32) -> u32 {
    (bytes % HYBRID_PAGE_BYTES).div_ceil(TRANSFER_BYTES as u32)
}

/// Bytes behind the pages of the hybrid store that follows, at most 56; `sequence` counts from 0.
#[inline]
#[must_use]
pub fn tail(nsid: u32, sequence: u32, bytes: &[u8]) -> Sqe {
    fragment(opcode::TAIL, nsid, sequence, bytes)
}

/// A decoded hybrid store. Its data pointer names the whole pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HybridStore {
    /// The key.
    pub key: Key,
    /// Bytes of the whole value: more than a page, not a multiple of it.
    pub value_bytes: u32,
    /// [`parts_sum`] of its tail.
    pub tail_sum: u32,
    /// Conditions.
    pub options: StoreOptions,
}

impl HybridStore {
    /// Decodes an entry: laid out as Store, with the checksum of its tail in CDW12.
    ///
    /// # Errors
    /// As for Store; 02h for a value without a whole page or without a tail.
    #[inline]
    pub fn decode(sqe: &Sqe) -> Result<Self, Status> {
        Self::decode_with(sqe, PointerRule::Prp)
    }

    /// The same, with the data pointers that `rule` admits.
    ///
    /// # Errors
    /// As [`HybridStore::decode`].
    #[inline]
    pub fn decode_with(sqe: &Sqe, rule: PointerRule) -> Result<Self, Status> {
        let mut plain = *sqe;
        plain.opcode = crate::kv::opcode::STORE;
        let KvCommand::Store { key, value_bytes, options } = KvCommand::decode_with(&plain, rule)? else {
            return Err(Status::INVALID_OPCODE);
        };
        if value_bytes < HYBRID_PAGE_BYTES || value_bytes.is_multiple_of(HYBRID_PAGE_BYTES) {
            return Err(Status::INVALID_FIELD);
        }
        Ok(Self { key, value_bytes, tail_sum: sqe.cdw12.get(), options })
    }

    /// Bytes of the whole pages.
    #[inline]
    #[must_use]
    pub const fn page_bytes(&self) -> u32 {
        self.value_bytes - self.value_bytes % HYBRID_PAGE_BYTES
    }
}

/// Store of `value_bytes` bytes whose last partial page, `rest`, went ahead in [`tail`]s. The caller sets the PRPs.
#[inline]
#[must_use]
pub fn store_hybrid(nsid: u32, key: &Key, value_bytes: u32, rest: &[u8], options: StoreOptions) -> Sqe {
    let mut sqe = crate::kv::store(nsid, key, value_bytes, options);
    sqe.opcode = opcode::STORE_HYBRID;
    sqe.cdw12 = U32::new(parts_sum(rest));
    sqe
}
