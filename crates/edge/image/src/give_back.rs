// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What gives the space of erased segments back to the file system, and when ([`super::space`] says which).

use super::oob::{self, Oob};
use super::space::AT_ONCE;
use super::{FileCells, host};
use saker_flash::nand::{Cell, Cells};
use saker_segment_store::SegmentId;
use std::io;
use std::time::{Duration, Instant};

impl FileCells {
    /// Gives the space of an erased segment back. Without holes the out-of-band bytes are zeroed.
    fn free_space(&self, segment: SegmentId) {
        let layout = self.layout();
        let (oob_at, data_at) =
            (layout.oob_of_segment(segment), layout.data_of(layout.geometry.page(segment, 0)));
        // The data first: where there are data without a header, a header was lost.
        host::punch_hole(&self.file, data_at, layout.geometry.segment_bytes());
        if !host::punch_hole(&self.file, oob_at, layout.oob_segment) {
            // If that fails too, headers of the earlier cycle stay, and they do not count.
            let _ = host::write_zeros(&self.file, oob_at, layout.oob_segment);
        }
    }

    /// The epoch has erased the segment. Its space goes back later, and that of segments that were erased long ago now. Damaged
    /// out-of-band bytes, whose cycle nobody can tell, would come back at the next open after a kill: they go at once.
    pub(super) fn note_space(&mut self, segment: SegmentId, epoch: u32) {
        let now = Instant::now();
        for _ in 0..AT_ONCE {
            if !self.give_next_back(now) {
                break;
            }
        }
        if self.has_damaged_oob(segment) {
            self.free_space(segment);
        } else {
            self.space.note(segment, epoch, now);
        }
    }

    /// The space of one segment goes back that was erased long enough ago. Whether there was any.
    fn give_next_back(&mut self, now: Instant) -> bool {
        let table = &self.table;
        let due = self.space.next_due(now, |segment, epoch| table.is_blank(segment, epoch));
        due.inspect(|segment| self.free_space(*segment)).is_some()
    }

    /// Nothing else is to be done: one segment at a time, so that whoever comes waits for one at most. Whether another one is due.
    pub(super) fn give_back_when_idle(&mut self, now: Instant) -> bool {
        self.give_next_back(now) && self.space.is_due(now)
    }

    /// Erased segments keep their space for so long from here on: 30 seconds unless this is called. Not at all is best for a file system that
    /// makes holes at no cost.
    pub fn keep_space_for(&mut self, keep: Duration) {
        self.space.keep = keep;
    }

    /// Only programmed pages are looked at: other bytes may be holes, which need space even to be read.
    fn has_damaged_oob(&self, segment: SegmentId) -> bool {
        let (geometry, epoch) = (self.layout().geometry, self.epoch(segment));
        let mut pages = (0..self.table.written(segment)).map(|index| geometry.page(segment, index));
        pages.any(|at| match self.cell(at) {
            Cell::Programmed { oob, .. } => matches!(oob::read(oob, at, epoch), Oob::Damaged(_)),
            Cell::Erased | Cell::Torn => false,
        })
    }

    /// The space of all erased segments goes back. Whether there were any.
    #[cold]
    pub(super) fn give_all_back(&mut self) -> bool {
        let table = &self.table;
        let all = self.space.take(|segment, epoch| table.is_blank(segment, epoch));
        all.iter().for_each(|segment| self.free_space(*segment));
        !all.is_empty()
    }

    /// A run that was killed has not given back what it had erased: that is found where erased segments have data.
    pub(super) fn find_space(&mut self) -> io::Result<()> {
        let layout = self.header.layout;
        let bytes = layout.geometry.segment_bytes();
        let end = layout.data_at + u64::from(layout.geometry.segments) * bytes;
        let (mut from, now) = (layout.data_at, Instant::now());
        while let Some((start, stop)) = host::next_extent(&self.file, from, end)? {
            let (first, last) = ((start - layout.data_at) / bytes, (stop - 1 - layout.data_at) / bytes);
            for segment in (first..=last).map(|n| SegmentId(n as u32)) {
                if self.table.written(segment) == 0 {
                    self.space.note(segment, self.table.epoch(segment), now);
                }
            }
            from = layout.data_at + (last + 1) * bytes;
        }
        Ok(())
    }
}
