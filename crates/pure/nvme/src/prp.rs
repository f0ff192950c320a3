// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Physical Region Pages: the data pointer of PSDT 00b (Base, section "Physical Region Page Entry and List").
//!
//! PRP1 may begin at any dword of a page; every other page begins at its start. Two pages fit PRP1 and PRP2; for more,
//! PRP2 points to a list of entries, which may itself begin at any qword of a page and runs to the end of that page.
//! The last slot there points to the next list page if more than one page of data remains, else it is the last data
//! page. The length is the command's, in bytes, and need not be a multiple of anything.

mod build;

pub use build::{BuildError, build, list_entries_needed};

use crate::status::Status;

/// Why a walk ended early. `E` is the error of the two callbacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PrpError<E> {
    /// PRP1 not dword aligned, a list not qword aligned, or an offset where a page must begin.
    #[error("a PRP entry has an invalid offset")]
    Offset,
    /// The memory behind an address could not be used.
    #[error("memory named by a PRP entry: {0}")]
    Memory(E),
}

impl<E> PrpError<E> {
    /// The status to complete the command with: 13h for [`PrpError::Offset`], else what `of_memory` says.
    #[inline]
    pub fn status(self, of_memory: impl FnOnce(E) -> Status) -> Status {
        match self {
            Self::Offset => Status::PRP_OFFSET_INVALID,
            Self::Memory(error) => of_memory(error),
        }
    }
}

const DWORD: u64 = 4;
const QWORD: u64 = 8;

/// Visits, in order, the memory of a transfer of `len` bytes: each page's address and the bytes used of it.
///
/// `page_bytes` is 2^(12 + CC.MPS). `read_list_entry` reads the little-endian u64 at an address of host memory. With
/// `len` 0, neither pointer is looked at. PRP1 and PRP2 are checked before the first visit; an invalid entry of a list
/// shows only after the visits before it, so a caller must be ready to abandon a transfer. Whatever the list says, the
/// walk reads fewer than `2 * (len / page_bytes + 2)` entries: every page of a list but the first yields data before
/// its pointer to the next.
///
/// # Errors
/// [`PrpError::Offset`] for a malformed pointer, [`PrpError::Memory`] with the first error of a callback.
#[inline]
pub fn walk<E>(
    prp1: u64,
    prp2: u64,
    len: u32,
    page_bytes: u32,
    read_list_entry: impl FnMut(u64) -> Result<u64, E>,
    mut visit: impl FnMut(u64, u32) -> Result<(), E>,
) -> Result<(), PrpError<E>> {
    debug_assert!(page_bytes.is_power_of_two() && page_bytes >= 4096);
    if len == 0 {
        return Ok(());
    }
    if !prp1.is_multiple_of(DWORD) {
        return Err(PrpError::Offset);
    }
    let first = page_bytes - offset(prp1, page_bytes);
    if len <= first {
        return visit(prp1, len).map_err(PrpError::Memory);
    }
    let rest = len - first;
    let alignment = if rest <= page_bytes { u64::from(page_bytes) } else { QWORD };
    if !prp2.is_multiple_of(alignment) {
        return Err(PrpError::Offset);
    }
    visit(prp1, first).map_err(PrpError::Memory)?;
    if rest <= page_bytes {
        return visit(prp2, rest).map_err(PrpError::Memory);
    }
    walk_list(prp2, rest, page_bytes, read_list_entry, visit)
}

/// Out of line: with a list, the callbacks cost more than the call.
fn walk_list<E>(
    mut slot: u64,
    mut rest: u32,
    page_bytes: u32,
    mut read_list_entry: impl FnMut(u64) -> Result<u64, E>,
    mut visit: impl FnMut(u64, u32) -> Result<(), E>,
) -> Result<(), PrpError<E>> {
    while rest > 0 {
        let entry = read_list_entry(slot).map_err(PrpError::Memory)?;
        if offset(entry, page_bytes) != 0 {
            return Err(PrpError::Offset);
        }
        if is_last_slot(slot, page_bytes) && rest > page_bytes {
            slot = entry;
            continue;
        }
        let bytes = rest.min(page_bytes);
        visit(entry, bytes).map_err(PrpError::Memory)?;
        rest -= bytes;
        slot = slot.wrapping_add(QWORD);
    }
    Ok(())
}

/// Whether the entry at `slot` is the last of its list page.
#[inline]
fn is_last_slot(slot: u64, page_bytes: u32) -> bool {
    offset(slot.wrapping_add(QWORD), page_bytes) == 0
}

/// Offset of an address within its page. A page size is a power of two, so the mask is one less.
#[inline]
fn offset(address: u64, page_bytes: u32) -> u32 {
    (address & u64::from(page_bytes - 1)) as u32
}
