// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Iterators in the device: a range of keys as it was when the iterator was opened, read in batches of whole pairs by DMA
//! (IterKVSSD; the calls are those of RocksDB's iterators).
//!
//! Open has its range at DPTR, Next a buffer for pairs, which come as a group's payload of form store. An iterator stands
//! between two pairs: Next reads those behind it, or, backwards, those before it in falling order, and goes past them.

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::opcode;
use crate::NSID_ALL;
use crate::key::Key;
use crate::sqe::{PointerRule, Sqe};
use crate::status::Status;

/// The range of an iterator as Open brings it, 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct IteratorRange {
    /// Length of `from`; 0: from the first key on.
    pub from_bytes: u8,
    /// Length of `to`; 0: up to the last key.
    pub to_bytes: u8,
    /// Length of `prefix`; 0: any.
    pub prefix_bytes: u8,
    /// Reserved.
    pub reserved_3: [u8; 13],
    /// The least key.
    pub from: [u8; Key::MAX_LEN],
    /// The first key behind the range.
    pub to: [u8; Key::MAX_LEN],
    /// What every key of the range begins with.
    pub prefix: [u8; Key::MAX_LEN],
}

layout!(
    IteratorRange, 64, from_bytes @ 0, to_bytes @ 1, prefix_bytes @ 2, reserved_3 @ 3, from @ 16, to @ 32,
    prefix @ 48,
);

impl IteratorRange {
    /// Bytes of a range.
    pub const BYTES: u32 = size_of::<Self>() as u32;

    /// The range of the keys from `from` on, before `to`, that begin with `prefix`; empty ones do not limit it. `None` if
    /// one is longer than a key.
    #[must_use]
    pub fn new(from: &[u8], to: &[u8], prefix: &[u8]) -> Option<Self> {
        Some(Self {
            from_bytes: from.len() as u8,
            to_bytes: to.len() as u8,
            prefix_bytes: prefix.len() as u8,
            reserved_3: [0; 13],
            from: padded(from)?,
            to: padded(to)?,
            prefix: padded(prefix)?,
        })
    }

    /// What every key begins with, and the keys that it lies between.
    ///
    /// # Errors
    /// 86h for a length above 16; 02h for reserved bytes that are not 0.
    pub fn parts(&self) -> Result<RangeParts<'_>, Status> {
        if self.reserved_3 != [0; 13] {
            return Err(Status::INVALID_FIELD);
        }
        Ok(RangeParts {
            from: part(&self.from, self.from_bytes)?,
            to: part(&self.to, self.to_bytes)?,
            prefix: part(&self.prefix, self.prefix_bytes)?,
        })
    }
}

/// The used bytes of a [`IteratorRange`]; empty ones do not limit it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeParts<'a> {
    /// The least key.
    pub from: &'a [u8],
    /// The first key behind the range.
    pub to: &'a [u8],
    /// What every key begins with.
    pub prefix: &'a [u8],
}

fn part(bytes: &[u8; Key::MAX_LEN], n: u8) -> Result<&[u8], Status> {
    bytes.get(..usize::from(n)).ok_or(Status::INVALID_KEY_SIZE)
}

fn padded(key: &[u8]) -> Option<[u8; Key::MAX_LEN]> {
    let mut padded = [0; Key::MAX_LEN];
    padded.get_mut(..key.len())?.copy_from_slice(key);
    Some(padded)
}

/// A decoded iterator command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IteratorCommand {
    /// Iterator Open (D9h). DW0 of the completion is the iterator's number.
    Open {
        /// CDW11 bit 0: values are left out.
        keys_only: bool,
        /// CDW11 bit 1 and CDW12: the iterator whose moment is shared; else it is this command's.
        beside: Option<u32>,
    },
    /// Iterator Next (DAh). DW0 is the bytes of the payload, DW1 [`NextAnswer`].
    Next {
        /// CDW12: the iterator.
        iterator: u32,
        /// CDW10: bytes of the buffer.
        buffer_bytes: u32,
        /// CDW13: pairs at most; 0: as many as fit.
        pairs_max: u32,
        /// CDW11 bit 8: the pairs before the place, in falling order.
        backwards: bool,
        /// Key fields and CDW11 bits 7:0: first go to this key, so that it is the next pair if it is one, whichever way.
        seek: Option<Key>,
    },
    /// Iterator Next (DAh) with bit 10 of CDW11: a piece of what Next returns of one pair. DW0 is its bytes, DW1 [`NextAnswer`] with the
    /// bytes of the whole; it stays where it is but behind the last piece.
    Piece {
        /// CDW12: the iterator.
        iterator: u32,
        /// CDW10: bytes of the buffer.
        buffer_bytes: u32,
        /// CDW13: where the piece begins.
        offset: u32,
        /// As of Next.
        backwards: bool,
        /// As of Next.
        seek: Option<Key>,
    },
    /// Iterator Close (E4h).
    Close {
        /// CDW12: the iterator.
        iterator: u32,
    },
}

/// DW1 of Iterator Next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextAnswer(pub u32);

bitfields!(NextAnswer(u32) {
    /// Bytes of a buffer that the next pair fits for certain, if the buffer was too small for any pair; else 0.
    bytes_needed / with_bytes_needed: 0, 31 => u32;
} flags {
    /// Nothing is left in that direction.
    ended / with_ended: 31;
});

/// Whether the opcode is one of these commands.
#[inline]
#[must_use]
pub const fn is_iterator(code: u8) -> bool {
    matches!(code, opcode::ITERATOR_OPEN | opcode::ITERATOR_NEXT | opcode::ITERATOR_CLOSE)
}

const KEYS_ONLY: u32 = 1 << 0;
const BESIDE: u32 = 1 << 1;
const BACKWARDS: u32 = 1 << 8;
const PIECE: u32 = 1 << 10;

impl IteratorCommand {
    /// Decodes an entry.
    ///
    /// # Errors
    /// 01h for another opcode; 02h for what is reserved, a range that has not 64 bytes, a key of more than 16 bytes,
    /// broadcast, fused commands, and SGLs.
    pub fn decode(sqe: &Sqe) -> Result<Self, Status> {
        Self::decode_with(sqe, PointerRule::Prp)
    }

    /// The same, with the data pointers that `rule` admits.
    ///
    /// # Errors
    /// As [`IteratorCommand::decode`].
    pub fn decode_with(sqe: &Sqe, rule: PointerRule) -> Result<Self, Status> {
        if !is_iterator(sqe.opcode) {
            return Err(Status::INVALID_OPCODE);
        }
        sqe.check_flags(rule)?;
        if sqe.nsid.get() == NSID_ALL {
            return Err(Status::INVALID_FIELD);
        }
        let (cdw10, cdw11, iterator) = (sqe.cdw10.get(), sqe.cdw11.get(), sqe.cdw12.get());
        let known = match sqe.opcode {
            opcode::ITERATOR_OPEN => KEYS_ONLY | BESIDE,
            opcode::ITERATOR_NEXT => PIECE | BACKWARDS | 0xFF,
            _ => 0,
        };
        if cdw11 & !known != 0 {
            return Err(Status::INVALID_FIELD);
        }
        match sqe.opcode {
            opcode::ITERATOR_OPEN if cdw10 != IteratorRange::BYTES => Err(Status::INVALID_FIELD),
            opcode::ITERATOR_OPEN => Ok(Self::Open {
                keys_only: cdw11 & KEYS_ONLY != 0,
                beside: (cdw11 & BESIDE != 0).then_some(iterator),
            }),
            opcode::ITERATOR_NEXT => Self::decode_next(sqe),
            _ => Ok(Self::Close { iterator }),
        }
    }

    fn decode_next(sqe: &Sqe) -> Result<Self, Status> {
        let (cdw11, iterator, cdw13) = (sqe.cdw11.get(), sqe.cdw12.get(), sqe.cdw13.get());
        let (buffer_bytes, backwards) = (sqe.cdw10.get(), cdw11 & BACKWARDS != 0);
        let seek = match cdw11 & 0xFF {
            0 => None,
            length => Some(sqe.key_of_length(length).map_err(|_| Status::INVALID_FIELD)?),
        };
        Ok(if cdw11 & PIECE != 0 {
            Self::Piece { iterator, buffer_bytes, offset: cdw13, backwards, seek }
        } else {
            Self::Next { iterator, buffer_bytes, pairs_max: cdw13, backwards, seek }
        })
    }

    /// The entry for this command, without CID and data pointer.
    #[must_use]
    pub fn encode(&self, nsid: u32) -> Sqe {
        match *self {
            Self::Open { keys_only, beside } => {
                let mut sqe = Sqe::new(opcode::ITERATOR_OPEN, nsid);
                sqe.cdw10 = U32::new(IteratorRange::BYTES);
                sqe.cdw11 = U32::new(u32::from(keys_only) | u32::from(beside.is_some()) << 1);
                sqe.cdw12 = U32::new(beside.unwrap_or(0));
                sqe
            }
            Self::Next { iterator, buffer_bytes, pairs_max, backwards, seek } => {
                next(nsid, iterator, buffer_bytes, if backwards { BACKWARDS } else { 0 }, (pairs_max, seek))
            }
            Self::Piece { iterator, buffer_bytes, offset, backwards, seek } => {
                let flags = PIECE | if backwards { BACKWARDS } else { 0 };
                next(nsid, iterator, buffer_bytes, flags, (offset, seek))
            }
            Self::Close { iterator } => {
                let mut sqe = Sqe::new(opcode::ITERATOR_CLOSE, nsid);
                sqe.cdw12 = U32::new(iterator);
                sqe
            }
        }
    }

    /// Bytes of data that DPTR names.
    #[must_use]
    pub const fn data_bytes(&self) -> u32 {
        match self {
            Self::Open { .. } => IteratorRange::BYTES,
            Self::Next { buffer_bytes, .. } | Self::Piece { buffer_bytes, .. } => *buffer_bytes,
            Self::Close { .. } => 0,
        }
    }
}

fn next(nsid: u32, iterator: u32, buffer_bytes: u32, flags: u32, (cdw13, seek): (u32, Option<Key>)) -> Sqe {
    let mut sqe = Sqe::new(opcode::ITERATOR_NEXT, nsid);
    if let Some(key) = seek {
        sqe = sqe.with_key(&key);
    }
    sqe.cdw10 = U32::new(buffer_bytes);
    sqe.cdw11 = U32::new(sqe.cdw11.get() & 0xFF | flags);
    sqe.cdw12 = U32::new(iterator);
    sqe.cdw13 = U32::new(cdw13);
    sqe
}
