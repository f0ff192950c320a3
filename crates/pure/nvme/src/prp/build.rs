// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The host's side: PRP entries for a buffer that is contiguous in device address space.

use super::{DWORD, QWORD, is_last_slot, offset};

/// Why a buffer cannot be described by PRP entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BuildError {
    /// The buffer is not dword aligned.
    #[error("the buffer is not dword aligned")]
    Buffer,
    /// The transfer needs a list, and the memory for it is not qword aligned.
    #[error("the list memory is not qword aligned")]
    List,
    /// The buffer or the list passes the end of the address space.
    #[error("the address range overflows")]
    Range,
}

/// Data pages after the first that `len` bytes at `iova` touch.
const fn later_pages(iova: u64, len: u32, page_bytes: u32) -> u64 {
    let first = (page_bytes - (iova & (page_bytes as u64 - 1)) as u32) as u64;
    (len as u64).saturating_sub(first).div_ceil(page_bytes as u64)
}

/// List entries, pointers between list pages included, that [`build`] writes for this buffer when its list memory
/// begins at `list_iova`. They are consecutive: 8 bytes each. Zero when PRP1 and PRP2 suffice.
#[must_use]
pub const fn list_entries_needed(iova: u64, len: u32, page_bytes: u32, list_iova: u64) -> u64 {
    let pages = later_pages(iova, len, page_bytes);
    let slots_first = (page_bytes as u64 - (list_iova & (page_bytes as u64 - 1))) / QWORD;
    let slots = page_bytes as u64 / QWORD;
    if pages <= 1 {
        0
    } else if pages <= slots_first {
        pages
    } else {
        // Each list page but the last gives one slot to the chain; the last page may be filled with data.
        let after_first = pages - (slots_first - 1);
        let chained = if after_first <= slots { 0 } else { (after_first - slots).div_ceil(slots - 1) };
        pages + 1 + chained
    }
}

/// PRP1 and PRP2 for `len` bytes at `iova`, writing the list, if one is needed, to memory from `list_iova` on.
///
/// `write_entry` gets the address of an entry and its value, in ascending order of address, exactly
/// [`list_entries_needed`] times. The list memory is contiguous and lies anywhere on a qword; it chains into the pages
/// that follow. `page_bytes` is 2^(12 + CC.MPS).
///
/// # Errors
/// [`BuildError`], before anything was written.
#[inline]
pub fn build(
    iova: u64,
    len: u32,
    page_bytes: u32,
    list_iova: u64,
    write_entry: impl FnMut(u64, u64),
) -> Result<(u64, u64), BuildError> {
    debug_assert!(page_bytes.is_power_of_two() && page_bytes >= 4096);
    if !iova.is_multiple_of(DWORD) {
        return Err(BuildError::Buffer);
    }
    iova.checked_add(u64::from(len)).ok_or(BuildError::Range)?;
    let second = iova - u64::from(offset(iova, page_bytes)) + u64::from(page_bytes);
    match later_pages(iova, len, page_bytes) {
        0 => Ok((iova, 0)),
        1 => Ok((iova, second)),
        pages => {
            check_list(list_iova, list_entries_needed(iova, len, page_bytes, list_iova))?;
            write_list(second, pages, page_bytes, list_iova, write_entry);
            Ok((iova, list_iova))
        }
    }
}

fn check_list(list_iova: u64, entries: u64) -> Result<(), BuildError> {
    if !list_iova.is_multiple_of(QWORD) {
        return Err(BuildError::List);
    }
    list_iova.checked_add(entries * QWORD).map(|_| ()).ok_or(BuildError::Range)
}

fn write_list(
    mut page: u64,
    pages: u64,
    page_bytes: u32,
    mut slot: u64,
    mut write_entry: impl FnMut(u64, u64),
) {
    let mut left = pages;
    while left > 0 {
        if is_last_slot(slot, page_bytes) && left > 1 {
            // The next list page follows this one directly.
            write_entry(slot, slot + QWORD);
        } else {
            write_entry(slot, page);
            // Only the step past the last page can leave the address space, and nobody uses its result.
            page = page.wrapping_add(u64::from(page_bytes));
            left -= 1;
        }
        slot = slot.wrapping_add(QWORD);
    }
}
