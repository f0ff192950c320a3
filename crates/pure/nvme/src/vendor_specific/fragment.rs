// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Entries that are nearly all payload: parts of a value that other commands begin or end.

use zerocopy::IntoBytes;

use crate::NSID_ALL;
use crate::sqe::{PointerRule, Sqe};
use crate::status::Status;

/// Value bytes of a transfer or tail command.
pub const TRANSFER_BYTES: usize = 56;

/// CDW2-15.
const FRAGMENT_PART: std::ops::Range<usize> = 8..64;
const _: () = assert!(FRAGMENT_PART.end - FRAGMENT_PART.start == TRANSFER_BYTES);

/// CRC-32C of what the parts of a value carry.
#[must_use]
pub fn parts_sum(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// A transfer or tail command: a number modulo 16 and 56 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Position modulo 16. Transfers count from 1 (the store is 0), tails from 0.
    pub sequence: u8,
    /// The bytes; those beyond the value are meaningless.
    pub payload: [u8; TRANSFER_BYTES],
}

impl Fragment {
    /// Decodes an entry with one of the two opcodes.
    ///
    /// # Errors
    /// 02h for fused commands, a PSDT other than 00b, and broadcast.
    #[inline]
    pub fn decode(sqe: &Sqe) -> Result<Self, Status> {
        check_plain(sqe)?;
        let mut payload = [0; TRANSFER_BYTES];
        copy_out(sqe, FRAGMENT_PART, &mut payload);
        Ok(Self { sequence: sqe.flags >> 2 & 0xF, payload })
    }
}

/// An entry with that opcode, number and at most 56 bytes.
#[inline]
pub(super) fn fragment(opcode: u8, nsid: u32, sequence: u32, bytes: &[u8]) -> Sqe {
    let mut sqe = Sqe::new(opcode, nsid);
    sqe.flags = (sequence as u8 & 0xF) << 2;
    let mut padded = [0; TRANSFER_BYTES];
    copy_start(&mut padded, bytes);
    copy_in(&mut sqe, FRAGMENT_PART, &padded);
    sqe
}

/// The checks of a command without a data pointer.
#[inline]
pub(super) fn check_plain(sqe: &Sqe) -> Result<(), Status> {
    sqe.check_flags(PointerRule::Prp)?;
    if sqe.nsid.get() == NSID_ALL { Err(Status::INVALID_FIELD) } else { Ok(()) }
}

#[inline]
fn copy_out(sqe: &Sqe, part: std::ops::Range<usize>, out: &mut [u8]) {
    if let Some(bytes) = sqe.as_bytes().get(part) {
        out.copy_from_slice(bytes);
    }
}

/// The other way; the lengths are equal.
#[inline]
fn copy_in(sqe: &mut Sqe, part: std::ops::Range<usize>, bytes: &[u8]) {
    if let Some(place) = sqe.as_mut_bytes().get_mut(part) {
        place.copy_from_slice(bytes);
    }
}

/// As much of `bytes` as there is room for.
#[inline]
fn copy_start(room: &mut [u8], bytes: &[u8]) {
    let length = room.len().min(bytes.len());
    if let (Some(to), Some(from)) = (room.get_mut(..length), bytes.get(..length)) {
        to.copy_from_slice(from);
    }
}
