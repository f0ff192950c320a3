// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Collecting records: pages in which nothing is needed are not read; of the others the records that are needed are copied
//! and their sections changed (Original, section III; Plus, section IV-A).

use super::super::HashFtl;
use super::super::record::{HEAD_BYTES, Head, Kind, record_crc};
use super::super::stats::Cause;
use super::super::validity::parse::read_page;
use super::super::walk::Walked;
use super::{Progress, stalled};
use saker_engine_api::KvError;
use saker_log::page_of;
use saker_log::recover::scan_page;
use saker_segment_store::{Page, PageAddr, PageHeader, Reads, SegmentStore, Step, Stream, ready};
use saker_sim::{Meter, Unit};

/// Pages a quantum looks at.
const WINDOW_PAGES: usize = 8;

impl HashFtl {
    pub(super) fn collect_data<M: SegmentStore, W: Meter>(
        &mut self,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Progress, KvError>> {
        if let Err(e) = ready!(self.read_mappings(m)) {
            return Step::Done(Err(e));
        }
        let is_repair = self.collection.as_ref().is_some_and(|c| c.repair.is_some());
        let window = self.window(WINDOW_PAGES, |this, page| !is_repair && this.validity.is_dead(page));
        let Some(last) = window.last().copied() else { return Step::Done(Ok(Progress::End)) };
        let needed = match ready!(self.needed_in(&window, is_repair, m)) {
            Ok(needed) => needed,
            Err(e) => return Step::Done(Err(e)),
        };
        ready!(self.sections_here(&window, &needed, m));
        let evicted = self.ftl_stats.evictions_foreground;
        for (n, r) in needed.iter().enumerate() {
            match self.attempt(|this| this.move_record(r, m, w)) {
                Step::Done(Ok(())) => {}
                Step::Done(Err(e)) => return Step::Done(Err(e)),
                Step::Need(reads) => return Step::Need(with_window(reads, &window, &needed, self)),
                Step::Blocked(stall) => {
                    // Sections of earlier windows may have gone to make room for this record's.
                    let did = n > 0 || self.ftl_stats.evictions_foreground > evicted;
                    return stalled(did, stall, Ok(Progress::Some));
                }
            }
        }
        self.count_window(&window, last);
        self.pass_page(last);
        Step::Done(Ok(Progress::Some))
    }

    fn count_window(&mut self, window: &[PageAddr], last: PageAddr) {
        let from = self.collection.as_ref().map_or(0, |c| c.next_page);
        let passed = self.log.geometry().index_of(last) + 1 - from;
        self.ftl_stats.gc_pages_read += window.len() as u64;
        self.ftl_stats.gc_pages_skipped += u64::from(passed) - window.len() as u64;
    }

    /// Reads what is known to be invalid of the segment, once for each collection.
    fn read_mappings<M: SegmentStore>(&mut self, m: &M) -> Step<Result<(), KvError>> {
        let Some(segment) = self.collection.as_ref().map(|c| c.segment) else { return Step::Done(Ok(())) };
        let Some(invalid) = self.validity.invalid() else { return Step::Done(Ok(())) };
        if invalid.is_collecting(segment) {
            return Step::Done(Ok(()));
        }
        let pages = invalid.pages(segment).to_vec();
        if pages.iter().any(|page| matches!(page_of(&self.log, m, *page), Page::Absent)) {
            return Step::Need(pages);
        }
        let mut listed = Vec::new();
        for page in &pages {
            let sound = ready!(scan_page(&self.log, m, *page)).is_ok_and(|p| p.is_some());
            let Page::Resident { data, oob } = page_of(&self.log, m, *page) else {
                return Step::Done(Err(KvError::Corrupt));
            };
            match read_page(data, PageHeader::owner_oob(oob)) {
                Some((of, _, mappings)) if sound && of == segment => listed.extend(mappings.map(|(_, g)| g)),
                _ => return Step::Done(Err(KvError::Corrupt)),
            }
        }
        self.ftl_stats.invalid_bytes_read += pages.len() as u64 * u64::from(self.log.geometry().page_bytes);
        if let Some(invalid) = self.validity.invalid_mut() {
            invalid.collect(segment, listed.into_iter());
        }
        Step::Done(Ok(()))
    }

    /// The records of the window that are needed; of a repair, those on pages that failed, and all of groups: without one of its pages a
    /// group does not count.
    fn needed_in<M: SegmentStore>(
        &self,
        window: &[PageAddr],
        is_repair: bool,
        m: &M,
    ) -> Step<Result<Vec<Walked>, KvError>> {
        if window.iter().any(|page| matches!(page_of(&self.log, m, *page), Page::Absent)) {
            return Step::Need(window.to_vec());
        }
        let (mut needed, mut looked) = (Vec::new(), Reads::new());
        let wanted = |r: &Walked| {
            self.validity.is_valid(r.grain) && (!is_repair || r.head.in_group || self.is_on_failed_page(r))
        };
        for page in window {
            match self.records_in(*page, wanted, &mut looked, m) {
                Step::Done(Ok(records)) => needed.extend(records),
                Step::Done(Err(_)) => return Step::Done(Err(KvError::Corrupt)),
                Step::Need(reads) => {
                    looked.extend(reads);
                    return Step::Need(with_window(looked, window, &[], self));
                }
                Step::Blocked(stall) => return Step::Blocked(stall),
            }
        }
        Step::Done(Ok(needed))
    }

    fn is_on_failed_page(&self, r: &Walked) -> bool {
        let geometry = self.log.geometry();
        let mut pages = self.range_of(r).pages(&self.log);
        pages.any(|page| {
            self.log.segment(geometry.segment_of(page)).failed_pages().contains(&geometry.index_of(page))
        })
    }

    /// Asks for the sections of all records of the window at once. Those in memory are kept there meanwhile; of the others all
    /// pages are named as long as one is missing, or each call would send away what the one before has brought.
    fn sections_here<M: SegmentStore>(&mut self, window: &[PageAddr], needed: &[Walked], m: &M) -> Step<()> {
        let mut reads = Reads::new();
        for r in needed {
            let id = self.table.split(r.slot).0;
            let place = self.table.places[self.undivided(id).unwrap_or(id) as usize];
            match place.cached.checked_sub(1) {
                Some(at) => self.table.cache.touch(at, self.operation),
                None => reads.extend(place.page()),
            }
        }
        let is_missing = reads.iter().any(|page| matches!(page_of(&self.log, m, *page), Page::Absent));
        if is_missing { Step::Need(with_window(reads, window, needed, self)) } else { Step::Done(()) }
    }

    /// Copies a record. On a stall nothing happened.
    fn move_record<M: SegmentStore, W: Meter>(
        &mut self,
        r: &Walked,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        let at = match ready!(self.load(self.table.split(r.slot).0, Cause::Gc, m, w)) {
            Ok(at) => at,
            Err(e) => return Step::Done(Err(e)),
        };
        let bytes = r.grains * self.config.grain_bytes;
        let reserve = self.record_copies_leave();
        if let Err(stall) = self.log.room(m, Stream::Gc, bytes, reserve) {
            return Step::Blocked(stall);
        }
        let entry = self.entry(at, r.slot, w);
        let tombstones = &self.table.cache.get(at).tombstones;
        let tombstone = tombstones.iter().position(|t| t.grain == r.grain);
        let is_pair = r.head.kind == Kind::Pair;
        // What is valid is what the table says, unless somebody forged records or sections: they are trusted no further then.
        let agree = if is_pair { entry.grain() == Some(r.grain) } else { tombstone.is_some() };
        if !agree {
            return Step::Done(Err(KvError::Corrupt));
        }
        let to = self.copy_record(r, bytes, m);
        self.count_live(to, r.grains);
        if is_pair {
            self.set_entry(r.slot, entry.moved_to(to), Cause::Gc);
        } else if let Some(n) = tombstone {
            self.table.cache.get_mut(at).tombstones[n].grain = to;
        }
        self.count_dead(r.slot, r.grain, r.grains);
        self.stats.gc_records_copied += 1;
        self.stats.gc_bytes_copied += u64::from(bytes);
        w.work(Unit::CopyByte, u64::from(bytes));
        w.work(Unit::Move, 1);
        Step::Done(Ok(()))
    }

    /// The copy's grain.
    fn copy_record<M: SegmentStore>(&mut self, r: &Walked, bytes: u32, m: &mut M) -> u64 {
        let mut record = std::mem::take(&mut self.scratch);
        record.resize(bytes as usize, 0);
        let copied = self.range_of(r).copy_to(&self.log, m, 0, &mut record);
        assert_eq!(copied, bytes as usize, "the whole record was seen");
        if r.head.in_group {
            leave_group(r.head, &mut record);
        }
        let writer = self.log.begin(m, Stream::Gc, bytes);
        let grain = writer.log_addr().0 / u64::from(self.config.grain_bytes);
        self.log.put(m, &writer, 0, &record);
        self.mark(&writer, (0, r.slot), &r.head, m);
        self.log.commit(m, writer);
        self.scratch = record;
        grain
    }
}

/// A copy counts by itself.
fn leave_group(head: Head, record: &mut [u8]) {
    record[..HEAD_BYTES as usize].copy_from_slice(&Head { in_group: false, ..head }.encode());
    let crc = record_crc(&record[4..head.bytes() as usize]);
    record[..4].copy_from_slice(&crc.to_le_bytes());
}

/// What else the next call looks at: the window, and the ends of its records.
fn with_window(mut reads: Reads, window: &[PageAddr], needed: &[Walked], store: &HashFtl) -> Reads {
    reads.extend(window);
    reads.extend(needed.iter().flat_map(|r| store.range_of(r).pages(&store.log)));
    reads.sort_unstable();
    reads.dedup();
    reads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash_ftl::HashFtlConfig;
    use crate::hash_ftl::bench::{Bench, G, OWNER};
    use crate::hash_ftl::gc::victim::Victim;
    use saker_log::SegmentState;
    use saker_segment_store::SegmentId;
    use saker_sim::{Class, Free};

    const PAIRS: u64 = 900;

    fn filled() -> (Bench, SegmentId) {
        let plus = HashFtlConfig::plus(OWNER, &G, G.segments, true);
        let mut bench = Bench::new(HashFtlConfig { slots: 4800, cache_bytes: 1 << 20, ..plus });
        (0..PAIRS).for_each(|key| bench.put(key, &[1; 40]));
        let is_full = |id: &SegmentId| {
            let segment = bench.store.log.segment(*id);
            segment.state == SegmentState::Closed && segment.stream() == Stream::User
        };
        let full = (0..G.segments).map(SegmentId).find(is_full).expect("a full segment of records");
        (bench, full)
    }

    /// What becomes of a segment that is collected.
    fn collect(bench: &mut Bench, segment: SegmentId) -> SegmentState {
        bench.store.begin_collection(Victim { segment, sections: None });
        while bench.store.collection.is_some() {
            let view = &mut bench.flash.view(OWNER, Class::Background);
            let step = bench.store.collect(view, &mut Free);
            assert!(matches!(step, Step::Done(_)), "{step:?}");
            bench.settle();
        }
        bench.store.log.segment(segment).state
    }

    #[test]
    fn a_segment_whose_records_and_sections_agree_is_given_back() {
        let (mut bench, segment) = filled();
        assert!(!matches!(collect(&mut bench, segment), SegmentState::Closed | SegmentState::Damaged));
    }

    /// Whoever forges a section can name any grain for a pair: what is there is not copied over what is right.
    #[test]
    fn a_segment_whose_records_and_sections_disagree_is_damaged() {
        let (mut bench, segment) = filled();
        let page = G.page(segment, 3);
        let view = bench.flash.view(OWNER, Class::Background);
        let Step::Done(Ok(found)) = bench.store.records_in(page, |_| true, &mut Reads::new(), &view) else {
            panic!("records in page {}", page.0);
        };
        let r = found[0];
        let (store, view) = (&mut bench.store, &mut bench.flash.view(OWNER, Class::Background));
        let Step::Done(Ok(at)) = store.load(store.table.split(r.slot).0, Cause::Gc, view, &mut Free) else {
            panic!("its section is in memory");
        };
        let entry = store.entry(at, r.slot, &mut Free);
        assert_eq!(entry.grain(), Some(r.grain));
        store.set_entry(r.slot, entry.moved_to(r.grain + 1), Cause::User);
        assert_eq!(collect(&mut bench, segment), SegmentState::Damaged);
    }
}
