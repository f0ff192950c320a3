// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A block that is written again and again takes two sectors of the open page in turns, and not one more each time.
//!
//! The sector that a write leaves behind is free for the next one if it is in the open page, no sync has vouched for it, and the last
//! checkpoint's cut is before it. Its entry goes first, then its bytes come, and the new entry makes them count: a process that is
//! killed meanwhile leaves a sector without an entry, and the version that it did not touch.

use super::entry::{ENTRY_BYTES, Entry, EntryKind};
use super::{BlockError, PageMap};
use saker_log::{LogAddr, Writer};
use saker_segment_store::header::crc32c;
use saker_segment_store::{SegmentStore, Stream};
use std::sync::atomic::{Ordering, fence};

impl PageMap {
    /// Where the next sector of a host's block goes.
    fn end(&self) -> Option<u64> {
        let bytes = self.config.block_bytes;
        self.log.end(Stream::User, bytes).map(|at| at.0 / u64::from(bytes))
    }

    /// From now on no sector is written again that is there already: a checkpoint's scan does not look at it.
    pub(super) fn keep_written(&mut self) {
        (self.left, self.first_again) = (None, self.end().unwrap_or(0));
    }

    /// A write has left a sector behind.
    pub(super) fn leave(&mut self, position: u64) {
        let Some(end) = self.end() else { return };
        let is_open = position < end && self.page_of_sector(position) == self.page_of_sector(end);
        let is_behind_cut = position >= self.first_again
            || self.page_of_sector(position) != self.page_of_sector(self.first_again);
        if is_open && is_behind_cut {
            self.left = Some(position);
        }
    }

    /// The sector that can be written again.
    fn take_left<M: SegmentStore>(&mut self, m: &M) -> Option<(u64, Writer)> {
        let position = self.left.take()?;
        let bytes = self.config.block_bytes;
        let end = self.end()?;
        if position >= end || self.page_of_sector(position) != self.page_of_sector(end) {
            return None;
        }
        let at = LogAddr(position * u64::from(bytes));
        self.log.inside(m, Stream::User, at, (at, bytes)).map(|writer| (position, writer))
    }

    /// Writes a block into such a sector. `None`: there is none, and `fill` was not asked.
    pub(super) fn write_again<M: SegmentStore>(
        &mut self,
        lba: u64,
        fill: &mut dyn FnMut(&mut [u8]) -> Result<(), BlockError>,
        m: &mut M,
    ) -> Option<Result<u64, BlockError>> {
        let (position, writer) = self.take_left(m)?;
        let at = (position % self.sectors_per_page()) as usize * ENTRY_BYTES;
        self.log.store_oob_word(m, &writer, at, 0);
        // No byte of the sector changes before its entry is gone.
        fence(Ordering::SeqCst);
        let chunk = self.log.chunk_mut(m, &writer, 0);
        let filled = fill(chunk).map(|()| crc32c(chunk));
        if let Ok(crc) = filled {
            let entry = Entry { lba, kind: EntryKind::Data, version: self.version, crc };
            let [first, second] = entry.words();
            self.log.store_oob_word(m, &writer, at + 8, second);
            self.log.store_oob_word(m, &writer, at, first);
        }
        self.log.leave_inside(writer);
        if let Err(error) = filled {
            self.left = Some(position);
            return Some(Err(error));
        }
        self.version += 1;
        self.log.add_live(self.segment_of(position), u64::from(self.config.block_bytes));
        self.point(lba, Some(position));
        Some(Ok(position))
    }
}
