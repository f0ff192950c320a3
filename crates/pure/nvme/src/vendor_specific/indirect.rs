// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys of 17 to 255 bytes by pointer and length (HotStorage'19, section 2.2: a key that does not fit the entry is named by
//! the place and length of it, and fetched by the device).
//!
//! Store and Retrieve Indirect name their value at DPTR as Store and Retrieve do. The key's address is where the first
//! eight bytes of a key would be, its length where a key's length is.

use zerocopy::little_endian::U32;

use super::opcode;
use crate::NSID_ALL;
use crate::kv::StoreOptions;
use crate::sqe::{PointerRule, Sqe};
use crate::status::Status;

/// Shortest key that is named indirectly, in bytes: shorter ones are in the entry.
pub const INDIRECT_KEY_BYTES_MIN: u8 = 17;

/// What is to be done with the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndirectOp {
    /// Store Indirect (CDh).
    Store {
        /// CDW10: bytes of the value at DPTR.
        value_bytes: u32,
        /// CDW11 bits 15:8: conditions.
        options: StoreOptions,
    },
    /// Retrieve Indirect (CEh).
    Retrieve {
        /// CDW10: bytes of the buffer at DPTR.
        buffer_bytes: u32,
    },
    /// Delete Indirect (DCh).
    Delete,
    /// Exist Indirect (E0h).
    Exist,
}

/// A decoded command with a key elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndirectCommand {
    /// What is asked for.
    pub op: IndirectOp,
    /// CDW2-3: where the key is in host memory; any byte.
    pub key_address: u64,
    /// CDW11 bits 7:0: its length, 17 to 255.
    pub key_bytes: u8,
}

/// Whether the opcode is one of these commands.
#[inline]
#[must_use]
pub const fn is_indirect(code: u8) -> bool {
    use opcode::{DELETE_INDIRECT, EXIST_INDIRECT, RETRIEVE_INDIRECT, STORE_INDIRECT};
    matches!(code, STORE_INDIRECT | RETRIEVE_INDIRECT | DELETE_INDIRECT | EXIST_INDIRECT)
}

impl IndirectCommand {
    /// Decodes an entry.
    ///
    /// # Errors
    /// 01h for another opcode; 86h for a length below 17: such keys are in the entry; 02h for what is reserved (CDW14-15,
    /// and CDW11 bits 31:16), conflicting options, broadcast, fused commands, and SGLs.
    pub fn decode(sqe: &Sqe) -> Result<Self, Status> {
        Self::decode_with(sqe, PointerRule::Prp)
    }

    /// The same, with the data pointers that `rule` admits.
    ///
    /// # Errors
    /// As [`IndirectCommand::decode`].
    pub fn decode_with(sqe: &Sqe, rule: PointerRule) -> Result<Self, Status> {
        if !is_indirect(sqe.opcode) {
            return Err(Status::INVALID_OPCODE);
        }
        sqe.check_flags(rule)?;
        let (cdw10, cdw11) = (sqe.cdw10.get(), sqe.cdw11.get());
        let reserved = sqe.cdw14.get() | sqe.cdw15.get() | cdw11 >> 16;
        if sqe.nsid.get() == NSID_ALL || reserved != 0 {
            return Err(Status::INVALID_FIELD);
        }
        let key_bytes = cdw11 as u8;
        if key_bytes < INDIRECT_KEY_BYTES_MIN {
            return Err(Status::INVALID_KEY_SIZE);
        }
        let op = match sqe.opcode {
            opcode::STORE_INDIRECT => {
                IndirectOp::Store { value_bytes: cdw10, options: StoreOptions::of_bits((cdw11 >> 8) as u8)? }
            }
            opcode::RETRIEVE_INDIRECT => IndirectOp::Retrieve { buffer_bytes: cdw10 },
            opcode::DELETE_INDIRECT => IndirectOp::Delete,
            _ => IndirectOp::Exist,
        };
        let key_address = u64::from(sqe.cdw2.get()) | u64::from(sqe.cdw3.get()) << 32;
        Ok(Self { op, key_address, key_bytes })
    }

    /// The entry for this command, without CID and data pointer.
    #[must_use]
    pub const fn encode(&self, nsid: u32) -> Sqe {
        let (code, cdw10, options) = match self.op {
            IndirectOp::Store { value_bytes, options } => {
                (opcode::STORE_INDIRECT, value_bytes, options.bits())
            }
            IndirectOp::Retrieve { buffer_bytes } => (opcode::RETRIEVE_INDIRECT, buffer_bytes, 0),
            IndirectOp::Delete => (opcode::DELETE_INDIRECT, 0, 0),
            IndirectOp::Exist => (opcode::EXIST_INDIRECT, 0, 0),
        };
        let mut sqe = Sqe::new(code, nsid);
        sqe.cdw2 = U32::new(self.key_address as u32);
        sqe.cdw3 = U32::new((self.key_address >> 32) as u32);
        sqe.cdw10 = U32::new(cdw10);
        sqe.cdw11 = U32::new(self.key_bytes as u32 | (options as u32) << 8);
        sqe
    }

    /// Bytes of data that DPTR names.
    #[must_use]
    pub const fn data_bytes(&self) -> u32 {
        match self.op {
            IndirectOp::Store { value_bytes, .. } => value_bytes,
            IndirectOp::Retrieve { buffer_bytes } => buffer_bytes,
            IndirectOp::Delete | IndirectOp::Exist => 0,
        }
    }
}
