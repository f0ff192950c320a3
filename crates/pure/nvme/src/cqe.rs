// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The completion queue entry (Base, Completion Queue Entry).

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::status::Status;

/// A completion queue entry: 16 bytes, in the layout of the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Cqe {
    /// DW0: command specific result.
    pub dw0: U32,
    /// DW1: high half of a 64-bit result, else zero.
    pub dw1: U32,
    /// SQHD: how far the controller has fetched from the submission queue.
    pub sqhd: U16,
    /// SQID: the submission queue of the command.
    pub sqid: U16,
    /// CID of the command.
    pub cid: U16,
    /// Phase tag in bit 0, status field in bits 15:1.
    pub status_word: U16,
}

layout!(Cqe, 16, dw0 @ 0, dw1 @ 4, sqhd @ 8, sqid @ 10, cid @ 12, status_word @ 14);

impl Cqe {
    /// Bytes of an entry (CC.IOCQES = 4).
    pub const BYTES: usize = 16;

    /// An entry with phase tag 0. `result` is DW0 in its low half and DW1 in its high half.
    #[inline]
    #[must_use]
    pub const fn new(result: u64, sqhd: u16, sqid: u16, cid: u16, status: Status) -> Self {
        Self {
            dw0: U32::new(result as u32),
            dw1: U32::new((result >> 32) as u32),
            sqhd: U16::new(sqhd),
            sqid: U16::new(sqid),
            cid: U16::new(cid),
            status_word: U16::new(status.to_word(false)),
        }
    }

    /// The phase tag: 1 in the first pass through the ring, inverted at each wrap.
    #[inline]
    #[must_use]
    pub const fn phase(&self) -> bool {
        self.status_word.get() & 1 != 0
    }

    /// The entry with its phase tag replaced.
    #[inline]
    #[must_use]
    pub const fn with_phase(mut self, phase: bool) -> Self {
        self.status_word = U16::new((self.status_word.get() & !1) | phase as u16);
        self
    }

    /// The status field.
    #[inline]
    #[must_use]
    pub const fn status(&self) -> Status {
        Status::from_word(self.status_word.get())
    }

    /// DW0 of the result.
    #[inline]
    #[must_use]
    pub const fn result_dw0(&self) -> u32 {
        self.dw0.get()
    }

    /// DW0 and DW1 as one number, DW0 low.
    #[inline]
    #[must_use]
    pub const fn result(&self) -> u64 {
        self.dw0.get() as u64 | (self.dw1.get() as u64) << 32
    }
}
