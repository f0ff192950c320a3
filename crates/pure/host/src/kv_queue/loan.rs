// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Owned buffers, lent to the device for the time of a command.

use saker_link::{LIST_ENTRIES, PAGE_BYTES, Slot, Window};
use saker_nvme::prp;

use super::{KvQueue, Returned, SubmitError};

/// PRP1 begins at a dword (Base, section "Physical Region Page Entry and List").
const DWORD: usize = 4;

/// A window that holds an owned buffer.
#[derive(Debug)]
pub(super) struct Loan {
    window: Window,
    /// Where the data begins in the buffer: a dword as the device sees it.
    start: usize,
}

#[cfg(test)]
impl Loan {
    /// A window without a buffer.
    pub(super) const fn empty(window: Window) -> Self {
        Self { window, start: 0 }
    }
}

impl KvQueue {
    /// Lends `buffer` for the command of `slot`; returns the address of the data. The data stays at the beginning of the
    /// buffer where that is a dword address, else it is moved within a longer one.
    pub(super) fn lend(&mut self, slot: &Slot, buffer: Vec<u8>) -> Result<u64, Returned> {
        let Some(mut window) = self.windows.pop().or_else(|| self.space.window()) else {
            return Err(Returned { error: SubmitError::Windows, buffer });
        };
        match map_aligned(&mut window, buffer) {
            Ok((iova, start)) => {
                debug_assert!(self.loans[usize::from(slot.index())].is_none(), "a command lends one buffer");
                self.loans[usize::from(slot.index())] = Some(Loan { window, start });
                Ok(iova)
            }
            Err(returned) => {
                self.windows.push(window);
                Err(returned)
            }
        }
    }

    /// The buffer of slot `index`, and where its data begins.
    pub(super) fn end_loan(&mut self, index: usize) -> (Vec<u8>, usize) {
        let Some(mut loan) = self.loans[index].take() else {
            return (Vec::new(), 0);
        };
        let buffer = loan.window.unmap_owned().unwrap_or_default();
        self.windows.push(loan.window);
        (buffer, loan.start)
    }

    /// The buffer of slot `index` with its `bytes` bytes at the beginning again.
    #[cold]
    pub(super) fn cancel_loan(&mut self, index: usize, bytes: usize) -> Vec<u8> {
        let (buffer, start) = self.end_loan(index);
        moved_back(buffer, start, bytes)
    }

    /// PRP entries for `bytes` bytes at `iova`; the list, if one is needed, is in the slot's page.
    pub(super) fn prps(&mut self, slot: &mut Slot, iova: u64, bytes: u32) -> Result<(u64, u64), SubmitError> {
        let list = slot.list_iova();
        let mut entries = 0;
        let prps = prp::build(iova, bytes, PAGE_BYTES as u32, list, |at, page| {
            slot.write_list_entry(((at - list) / 8) as usize, page);
            entries += 1;
        });
        assert!(entries <= LIST_ENTRIES as u64, "a window's buffer needs one list page at most");
        self.stats.prp_list_bytes += entries * 8;
        prps.map_err(|_| SubmitError::Alignment)
    }
}

fn map_aligned(window: &mut Window, buffer: Vec<u8>) -> Result<(u64, usize), Returned> {
    match window.map_owned(buffer) {
        Ok(iova) if iova.is_multiple_of(DWORD as u64) => Ok((iova, 0)),
        Ok(_) => map_moved(window),
        Err((error, buffer)) => Err(Returned { error: error.into(), buffer }),
    }
}

/// The buffer that is mapped begins between dwords: moves its data up to one.
#[cold]
fn map_moved(window: &mut Window) -> Result<(u64, usize), Returned> {
    let mut buffer = window.unmap_owned().unwrap_or_default();
    let bytes = buffer.len();
    buffer.resize(bytes + DWORD - 1, 0);
    // Growing may have moved the buffer: ask where the device would see it now.
    let start =
        window.with_mapped_read(&buffer, |iova| (iova.next_multiple_of(DWORD as u64) - iova) as usize);
    let start = start.unwrap_or_default();
    buffer.copy_within(..bytes, start);
    match window.map_owned(buffer) {
        Ok(iova) => Ok((iova + start as u64, start)),
        Err((error, buffer)) => {
            Err(Returned { error: error.into(), buffer: moved_back(buffer, start, bytes) })
        }
    }
}

fn moved_back(mut buffer: Vec<u8>, start: usize, bytes: usize) -> Vec<u8> {
    buffer.copy_within(start..start + bytes, 0);
    buffer.truncate(bytes);
    buffer
}
