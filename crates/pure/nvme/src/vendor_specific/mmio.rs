// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values stored through the BAR, then committed by a command (the byte path of 2B-SSD, ISCA'18, and ByteFS).

use zerocopy::little_endian::U32;

use super::fragment::check_plain;
use super::opcode;
use crate::KvCommand;
use crate::key::Key;
use crate::kv::StoreOptions;
use crate::sqe::Sqe;
use crate::status::Status;

/// A decoded commit of a value in the BAR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MmioStore {
    /// The key.
    pub key: Key,
    /// Bytes of the value.
    pub value_bytes: u32,
    /// Conditions.
    pub options: StoreOptions,
    /// CDW12: where the value begins in the region of the command's queue, in bytes.
    pub offset: u32,
}

impl MmioStore {
    /// Decodes an entry: laid out as Store, DPTR unused, CDW12 the offset.
    ///
    /// # Errors
    /// As for Store; 02h for an offset that is not a multiple of 64.
    #[inline]
    pub fn decode(sqe: &Sqe) -> Result<Self, Status> {
        check_plain(sqe)?;
        let mut plain = *sqe;
        plain.opcode = crate::kv::opcode::STORE;
        let offset = sqe.cdw12.get();
        match KvCommand::decode(&plain)? {
            KvCommand::Store { key, value_bytes, options } if offset.is_multiple_of(64) => {
                Ok(Self { key, value_bytes, options, offset })
            }
            _ => Err(Status::INVALID_FIELD),
        }
    }
}

/// Store of `value_bytes` bytes that are at `offset` of the queue's region of the BAR.
#[inline]
#[must_use]
pub const fn store_mmio(nsid: u32, key: &Key, value_bytes: u32, offset: u32, options: StoreOptions) -> Sqe {
    let mut sqe = crate::kv::store(nsid, key, value_bytes, options);
    sqe.opcode = opcode::STORE_MMIO;
    sqe.cdw12 = U32::new(offset);
    sqe
}
