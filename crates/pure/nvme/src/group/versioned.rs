// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Retrieve with the version of the pair: what a transaction reads.

use super::VERSION_BYTES;
use crate::vendor_specific::opcode;
use crate::{Key, KvCommand, PointerRule, Sqe, Status};

/// A decoded Retrieve Versioned: laid out as Retrieve, and the data begins with the version of the pair
/// ([`PairVersion`](super::PairVersion)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionedRetrieve {
    /// The key.
    pub key: Key,
    /// CDW10: bytes of the host's buffer, at least those of a version.
    pub buffer_bytes: u32,
}

impl VersionedRetrieve {
    /// Decodes an entry with the opcode.
    ///
    /// # Errors
    /// As for Retrieve; a buffer without room for a version and reserved bits that are not 0 are Invalid Field.
    #[inline]
    pub fn decode(sqe: &Sqe, rule: PointerRule) -> Result<Self, Status> {
        let mut plain = *sqe;
        plain.opcode = crate::kv::opcode::RETRIEVE;
        let KvCommand::Retrieve { key, buffer_bytes, .. } = KvCommand::decode_with(&plain, rule)? else {
            return Err(Status::INVALID_OPCODE);
        };
        let is_sound = sqe.cdw11.get() >> 8 == 0 && buffer_bytes as usize >= VERSION_BYTES;
        if is_sound { Ok(Self { key, buffer_bytes }) } else { Err(Status::INVALID_FIELD) }
    }
}

/// Retrieve of a version and of so much of the value as fits `buffer_bytes` behind it. DW0 of the completion counts both, whatever fits.
#[inline]
#[must_use]
pub const fn retrieve_versioned(nsid: u32, key: &Key, buffer_bytes: u32) -> Sqe {
    let mut sqe = crate::kv::retrieve(nsid, key, buffer_bytes);
    sqe.opcode = opcode::RETRIEVE_VERSIONED;
    sqe
}
