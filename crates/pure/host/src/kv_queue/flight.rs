// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is known of the command in each slot.

use saker_link::PAGE_BYTES;
use saker_nvme::{Cqe, Status};

/// What is known of a slot's command, or of the next one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub(super) generation: u32,
    /// Bytes of the buffer.
    pub(super) bytes: u32,
    /// Parts of its value that have not completed.
    pub(super) parts_out: u32,
    /// The slot of the last command of the value that this command is a part of.
    pub(super) part_of: Option<u16>,
    /// How the first part that failed ended.
    pub(super) first_error: Option<Status>,
    /// Where the buffer begins in its first page.
    pub(super) offset: u16,
    pub(super) place: DataPlace,
    pub(super) shape: Shape,
}

/// Where a command's data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataPlace {
    /// There is none, or it is in memory of the caller.
    Elsewhere,
    Staging,
    Owned,
    /// In the BAR.
    Bar,
    /// In DW1 of the completion.
    Dword,
    /// In the entries behind the completion.
    Behind,
}

/// What a successful completion leaves in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Nothing for the host.
    ToDevice,
    /// As much of a value of DW0 bytes as fits.
    Value,
    /// A full buffer, as far as one can tell.
    Whole,
    /// DW1 bytes.
    Results,
}

impl Flight {
    pub(super) const NONE: Self = Self {
        generation: 0,
        bytes: 0,
        parts_out: 0,
        part_of: None,
        first_error: None,
        offset: 0,
        place: DataPlace::Elsewhere,
        shape: Shape::ToDevice,
    };

    /// Whether its completion is the answer, and does not only belong to one.
    #[inline]
    pub(super) fn is_alone(&self) -> bool {
        self.part_of.is_none() && self.parts_out == 0
    }

    #[inline]
    pub(super) fn visible_bytes(&self, cqe: &Cqe) -> usize {
        if !cqe.status().is_success() {
            return 0;
        }
        match self.shape {
            Shape::ToDevice => 0,
            Shape::Value => self.bytes.min(cqe.result_dw0()) as usize,
            Shape::Whole => self.bytes as usize,
            Shape::Results => self.bytes.min(cqe.dw1.get()) as usize,
        }
    }
}

/// Bytes of the pages that `bytes` bytes at `offset` of a page touch.
#[inline]
pub(super) const fn pages_bytes(offset: u16, bytes: usize) -> u64 {
    if bytes == 0 { 0 } else { (offset as usize + bytes).next_multiple_of(PAGE_BYTES) as u64 }
}
