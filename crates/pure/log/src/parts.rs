// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Several records that land together, and count together.

use crate::{Log, Writer};
use saker_segment_store::{PageAddr, SegmentStore, Stream};

impl Log {
    /// Takes room for records of these lengths, one behind the other. [`Log::room`] must have said yes to all of it. Each page says
    /// where the first of them starts in it, as if they had come alone.
    pub fn begin_all<M: SegmentStore>(&mut self, m: &mut M, stream: Stream, lengths: &[u32]) -> Writer {
        let writer = self.begin(m, stream, lengths.iter().sum());
        if writer.single {
            return writer;
        }
        let page_bytes = self.geometry.page_bytes;
        let first = writer.log_addr.0 / u64::from(page_bytes);
        let (mut end, mut lengths) = (0, lengths.iter());
        for n in 1..self.pages_of(&writer) {
            let page_at = n * page_bytes - writer.first.1;
            while end < page_at
                && let Some(bytes) = lengths.next()
            {
                end += bytes;
            }
            let slot = self
                .slot_of(PageAddr(first + u64::from(n)))
                .expect("the writer's pages are in the page buffer");
            m.page_buffer_mut().set_first_record(slot, (end - page_at).min(page_bytes));
        }
        writer
    }

    fn pages_of(&self, w: &Writer) -> u32 {
        (w.first.1 + w.bytes).div_ceil(self.geometry.page_bytes)
    }

    /// The sequence number of the second page of a record that has just been begun, and of which the others follow; of a page that
    /// is still to come if it has none.
    pub fn second_sequence(&self, w: &Writer) -> u64 {
        self.next_sequence - u64::from(self.pages_of(w) - 1)
    }

    /// Writes the owner's out-of-band bytes at `at` for the page in which byte `offset` of the record is.
    pub fn put_oob_at<M: SegmentStore>(&self, m: &mut M, w: &Writer, offset: u32, at: usize, bytes: &[u8]) {
        let page = (w.log_addr.0 + u64::from(offset)) / u64::from(self.geometry.page_bytes);
        let slot = if w.single { Some(w.first.0) } else { self.slot_of(PageAddr(page)) };
        let slot = slot.expect("the writer's pages are in the page buffer");
        m.page_buffer_mut().owner_oob_mut(slot)[at..at + bytes.len()].copy_from_slice(bytes);
    }
}
