//! Values behind their command in the submission queue (ByteExpress, seminar slides of April 2025).

use super::opcode;
use super::piggyback::check_plain;
use crate::KvCommand;
use crate::key::Key;
use crate::kv::StoreOptions;
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
        let mut plain = *sqe;
        plain.opcode = crate::kv::opcode::STORE;
        match KvCommand::decode(&plain)? {
            KvCommand::Store { key, value_bytes, options } => Ok(Self { key, value_bytes, options }),
            _ => Err(Status::INVALID_OPCODE),
        }
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
