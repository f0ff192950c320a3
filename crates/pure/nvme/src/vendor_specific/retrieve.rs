// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values in the completion queue: the way back without a page.
//!
//! DW0 of the completion is the size of the whole value, as for Retrieve. Retrieve Tiny has a value of up to 4 bytes in
//! DW1. Retrieve Inline has it in the entries behind the completion, 14 bytes each; the last word keeps its phase tag,
//! with a status field of zero. The completion is published after them, so whoever sees it sees them.

use super::fragment::check_plain;
use super::opcode;
use crate::KvCommand;
use crate::key::Key;
use crate::sqe::Sqe;
use crate::status::Status;

/// Largest value that DW1 holds, in bytes.
pub const TINY_BYTES: usize = 4;
/// Value bytes of a completion queue entry.
pub const CQ_SLOT_BYTES: usize = 14;

/// Completion queue entries that `bytes` bytes of payload take.
#[inline]
#[must_use]
pub const fn cq_slots(bytes: u32) -> u32 {
    bytes.div_ceil(CQ_SLOT_BYTES as u32)
}

/// A decoded retrieve into the completion queue, tiny ones too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InlineRetrieve {
    /// The key.
    pub key: Key,
    /// CDW10: most bytes that are wanted; 4 for the tiny form.
    pub bytes_max: u32,
    /// Whether the value goes to DW1.
    pub is_tiny: bool,
}

impl InlineRetrieve {
    /// Decodes an entry with one of the two opcodes: laid out as Retrieve, DPTR unused.
    ///
    /// # Errors
    /// As for Retrieve.
    #[inline]
    pub fn decode(sqe: &Sqe) -> Result<Self, Status> {
        check_plain(sqe)?;
        let mut plain = *sqe;
        plain.opcode = crate::kv::opcode::RETRIEVE;
        let KvCommand::Retrieve { key, buffer_bytes, .. } = KvCommand::decode(&plain)? else {
            return Err(Status::INVALID_OPCODE);
        };
        let is_tiny = sqe.opcode == opcode::RETRIEVE_TINY;
        let bytes_max = if is_tiny { TINY_BYTES as u32 } else { buffer_bytes };
        Ok(Self { key, bytes_max, is_tiny })
    }
}

/// Retrieve of a value of up to 4 bytes; of a longer one only its size is told.
#[inline]
#[must_use]
pub const fn retrieve_tiny(nsid: u32, key: &Key) -> Sqe {
    let mut sqe = crate::kv::retrieve(nsid, key, 0);
    sqe.opcode = opcode::RETRIEVE_TINY;
    sqe
}

/// Retrieve of up to `bytes_max` bytes into the completion queue.
#[inline]
#[must_use]
pub const fn retrieve_inline(nsid: u32, key: &Key, bytes_max: u32) -> Sqe {
    let mut sqe = crate::kv::retrieve(nsid, key, bytes_max);
    sqe.opcode = opcode::RETRIEVE_INLINE;
    sqe
}
