// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Doorbell offsets: submission queue tails and completion queue heads alternate, `4 << CAP.DSTRD` bytes apart.

use super::offset;

/// A doorbell register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doorbell {
    /// SQyTDBL of this queue identifier.
    SqTail(u16),
    /// CQyHDBL of this queue identifier.
    CqHead(u16),
}

impl Doorbell {
    /// The byte offset of the doorbell from BAR0. `stride` is CAP.DSTRD, 0 to 15.
    #[inline]
    #[must_use]
    pub const fn offset(self, stride: u32) -> u64 {
        debug_assert!(stride < 16);
        let index = match self {
            Self::SqTail(qid) => 2 * qid as u64,
            Self::CqHead(qid) => 2 * qid as u64 + 1,
        };
        offset::DOORBELLS + index * (4 << stride)
    }

    /// The doorbell at an offset; `None` if there is none: below the doorbells, between two, or past queue 65535.
    #[inline]
    #[must_use]
    pub const fn at(byte_offset: u64, stride: u32) -> Option<Self> {
        debug_assert!(stride < 16);
        let Some(bytes) = byte_offset.checked_sub(offset::DOORBELLS) else { return None };
        let index = bytes >> (2 + stride);
        if index << (2 + stride) != bytes || index / 2 > u16::MAX as u64 {
            return None;
        }
        let qid = (index / 2) as u16;
        Some(if index.is_multiple_of(2) { Self::SqTail(qid) } else { Self::CqHead(qid) })
    }
}
