// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages of invalid mappings: writing them when a buffer is full, and copying those that still speak of a superblock when
//! their own is collected, which the paper leaves out.

use super::super::HashFtl;
use super::super::reserve::FOR_MAPPINGS;
use super::super::validity::invalid::OOB_BYTES;
use super::super::validity::parse::read_page;
use super::{Progress, stalled};
use saker_engine_api::KvError;
use saker_log::page_of;
use saker_segment_store::{Page, PageAddr, PageHeader, SegmentId, SegmentStore, Stall, Step, Stream};

/// Pages a quantum looks at.
const WINDOW_PAGES: usize = 16;

impl HashFtl {
    /// Writes a full buffer. On a stall nothing happened.
    pub(in crate::hash_ftl) fn write_mappings<M: SegmentStore>(&mut self, m: &mut M) -> Result<(), Stall> {
        let Some(segment) = self.validity.invalid().and_then(|i| i.next_full()) else { return Ok(()) };
        let page_bytes = self.log.geometry().page_bytes;
        self.log.room(m, Stream::Invalid, page_bytes, FOR_MAPPINGS)?;
        let mut page = std::mem::take(&mut self.scratch);
        page.resize(page_bytes as usize, 0);
        let epoch = m.epoch(segment);
        let filled = self.validity.invalid().map(|invalid| invalid.fill_page(segment, epoch, &mut page));
        let at = self.append_mappings(&page, &filled.unwrap_or_default(), m);
        if let Some(invalid) = self.validity.invalid_mut() {
            invalid.wrote(segment, at);
        }
        self.scratch = page;
        self.ftl_stats.invalid_bytes_written += u64::from(page_bytes);
        Ok(())
    }

    fn append_mappings<M: SegmentStore>(&mut self, page: &[u8], oob: &[u8], m: &mut M) -> PageAddr {
        let page_bytes = self.log.geometry().page_bytes;
        let writer = self.log.begin(m, Stream::Invalid, page_bytes);
        let at = PageAddr(writer.log_addr().0 / u64::from(page_bytes));
        self.log.put(m, &writer, 0, page);
        self.log.put_oob(m, &writer, 0, oob);
        self.log.commit(m, writer);
        self.log.add_live(self.log.geometry().segment_of(at), u64::from(page_bytes));
        at
    }

    /// Copies the pages that still count.
    pub(super) fn collect_mappings<M: SegmentStore>(&mut self, m: &mut M) -> Step<Result<Progress, KvError>> {
        let window = self.window(WINDOW_PAGES, Self::is_not_to_repair);
        if window.is_empty() {
            return Step::Done(Ok(Progress::End));
        }
        if window.iter().any(|page| matches!(page_of(&self.log, m, *page), Page::Absent)) {
            return Step::Need(window);
        }
        for (n, page) in window.iter().enumerate() {
            if let Some(of) = self.counts_for(*page, m)
                && let Err(stall) = self.move_mappings(*page, of, m)
            {
                return stalled(n > 0, stall, Ok(Progress::Some));
            }
            self.pass_page(*page);
        }
        Step::Done(Ok(Progress::Some))
    }

    /// The superblock of which a page speaks, if it is on that one's list.
    fn counts_for<M: SegmentStore>(&self, page: PageAddr, m: &M) -> Option<SegmentId> {
        let Page::Resident { data, oob } = page_of(&self.log, m, page) else { return None };
        let (of, _, _) = read_page(data, PageHeader::owner_oob(oob))?;
        let known = of.0 < self.log.geometry().segments;
        (known && self.validity.invalid()?.pages(of).contains(&page)).then_some(of)
    }

    fn move_mappings<M: SegmentStore>(
        &mut self,
        from: PageAddr,
        of: SegmentId,
        m: &mut M,
    ) -> Result<(), Stall> {
        let page_bytes = self.log.geometry().page_bytes;
        self.log.room(m, Stream::Invalid, page_bytes, self.page_copies_leave())?;
        let Page::Resident { data, oob } = page_of(&self.log, m, from) else { return Ok(()) };
        let own = PageHeader::owner_oob(oob);
        let (page, oob) = (data.to_vec(), own.get(..OOB_BYTES).unwrap_or(own).to_vec());
        let to = self.append_mappings(&page, &oob, m);
        self.log.sub_live(self.log.geometry().segment_of(from), u64::from(page_bytes));
        if let Some(invalid) = self.validity.invalid_mut() {
            invalid.moved(of, from, to);
        }
        self.ftl_stats.invalid_pages_moved += 1;
        Ok(())
    }
}
