// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values behind their command in the submission queue (ByteExpress, seminar slides of April 2025).

use super::fragment::check_plain;
use super::opcode;
use crate::key::Key;
use crate::kv::{StoreOptions, key_of_length};
use crate::sqe::Sqe;
use crate::status::Status;

/// Value bytes of one queue entry.
pub const SLOT_BYTES: usize = Sqe::BYTES;

/// Queue entries that the payload of `bytes` bytes takes.
#[inline]
#[must_use]
pub const fn inline_slots(bytes: u32) -> u32 {
    bytes.div_ceil(SLOT_BYTES as u32)
}

/// A decoded inline store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InlineStore {
    /// The key.
    pub key: Key,
    /// Bytes of the value, which begins in the next entry.
    pub value_bytes: u32,
    /// Conditions.
    pub options: StoreOptions,
}

impl InlineStore {
    /// Decodes an entry: laid out as Store, DPTR unused.
    ///
    /// # Errors
    /// As for Store.
    #[inline]
    pub fn decode(sqe: &Sqe) -> Result<Self, Status> {
        check_plain(sqe)?;
        let cdw11 = sqe.cdw11.get();
        let key = key_of_length(sqe, cdw11 & 0xFF)?;
        let options = StoreOptions::of_bits((cdw11 >> 8) as u8)?;
        Ok(Self { key, value_bytes: sqe.cdw10.get(), options })
    }
}

/// Store of `value_bytes` bytes that follow in [`inline_slots`] entries.
#[inline]
#[must_use]
pub const fn store_inline(nsid: u32, key: &Key, value_bytes: u32, options: StoreOptions) -> Sqe {
    let mut sqe = crate::kv::store(nsid, key, value_bytes, options);
    sqe.opcode = opcode::STORE_INLINE;
    sqe
}
