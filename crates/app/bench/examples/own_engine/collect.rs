// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Background work: what is needed of a segment is copied, then the segment is erased. Failed programs are made good first.

use crate::reserve::{FOR_COLLECTIONS, FOR_REPAIRS, FREE_SEGMENTS_LOW};
use crate::store::{Entry, PlainLog};
use saker_engine::Background;
use saker_log::{Bytes, SegmentState};
use saker_segment_store::{SegmentId, SegmentStore, Stall, Step, Stream, Tag};
use saker_sim::{Meter, Unit};
use saker_value_log::RecordAddr;
use saker_value_log::walk::{Next, Walked, Walker};

/// Records of a quantum.
const QUANTUM_RECORDS: u32 = 64;

/// A collection on its way.
#[derive(Clone, Copy, Debug)]
pub struct Collection {
    walker: Walker,
    /// Only what is on failed pages is copied: so many there were at the start.
    repair: Option<usize>,
}

impl Collection {
    /// The segment that it collects.
    pub fn segment(&self) -> SegmentId {
        self.walker.segment
    }
}

impl PlainLog {
    fn is_short<M: SegmentStore>(&self, m: &M) -> bool {
        m.free_segments() + self.log.releasing() as u32 <= FREE_SEGMENTS_LOW + m.quota_segments() / 50
    }

    pub fn has_debt<M: SegmentStore>(&self, m: &M) -> bool {
        let pending = self.log.releasing() > 0 || self.log.has_failures();
        self.collection.is_some() || self.purges || pending || self.is_short(m)
    }

    /// One bounded piece of background work. All I/O up to `finished` has completed.
    pub fn quantum<M: SegmentStore, W: Meter>(
        &mut self,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Step<Background> {
        self.log.pump(finished, m);
        if self.collection.is_some_and(|c| c.repair.is_none()) && self.log.must_evacuate() {
            // Nothing is erased before failed pages are made good.
            self.collection = None;
        }
        if self.collection.is_none() {
            self.collection = self.begin(m);
        }
        if self.collection.is_some() {
            return self.collect(m, w);
        }
        let waits = self.log.releasing() > 0 || self.log.has_failures();
        Step::Done(if waits { Background::Waiting } else { Background::Idle })
    }

    /// Failed pages first, then the segment with the least to copy if segments are short, then what keeps tombstones alive if a
    /// store waits for that.
    fn begin<M: SegmentStore>(&mut self, m: &M) -> Option<Collection> {
        let greedy =
            || self.log.victim_that_loses(|segment| self.lost_by(segment)).filter(|id| self.gains(*id));
        let victim = if self.log.must_evacuate() {
            self.log.victim()
        } else if self.is_short(m) {
            greedy()
        } else if self.purges {
            let settled = self.purgeable().find(|id| self.log.segment(*id).in_flight == 0);
            self.purges = settled.is_some();
            settled
        } else {
            None
        };
        let segment = self.log.segment(victim?);
        let repair = segment.evacuate.then(|| segment.failed_pages().len());
        Some(Collection { walker: Walker::new(victim?, segment.next_page), repair })
    }

    /// A collection must free more than it can lose, or collections would never come to an end.
    fn gains(&self, victim: SegmentId) -> bool {
        self.log.gain(victim) > self.lost_by(self.log.segment(victim))
    }

    fn collect<M: SegmentStore, W: Meter>(&mut self, m: &mut M, w: &mut W) -> Step<Background> {
        for done in 0..QUANTUM_RECORDS {
            let Some(Collection { mut walker, repair }) = self.collection else { break };
            let next = match self.records().walk(&mut walker, m) {
                Step::Done(Ok(next)) => next,
                Step::Done(Err(_)) => {
                    // A page is not as it was written: what it holds is not thrown away.
                    self.log.set_damaged(walker.segment);
                    self.collection = None;
                    break;
                }
                Step::Need(_) | Step::Blocked(_) if done > 0 => break,
                Step::Need(pages) => {
                    // The walker has moved over pages that will not be here next time.
                    self.collection = Some(Collection { walker, repair });
                    return Step::Need(pages);
                }
                Step::Blocked(stall) => return Step::Blocked(stall),
            };
            w.work(Unit::Decode, 1);
            match next {
                Next::End => {
                    self.end(walker.segment, repair, m);
                    break;
                }
                Next::Record(r) if repair.is_none() || self.is_on_failed_page(&r) => {
                    if let Err(stall) = self.copy_if_needed(&r, repair.is_some(), m, w) {
                        return if done > 0 { Step::Done(Background::Worked) } else { Step::Blocked(stall) };
                    }
                }
                Next::Record(_) | Next::Unfinished | Next::Broken(_) => {}
            }
            self.collection = Some(Collection { walker, repair });
        }
        Step::Done(Background::Worked)
    }

    fn is_on_failed_page(&self, r: &Walked) -> bool {
        let geometry = self.log.geometry();
        let failed = self.log.segment(geometry.segment_of(r.page.addr)).failed_pages();
        Bytes::new(r.log_addr, r.bytes).pages(&self.log).any(|page| failed.contains(&geometry.index_of(page)))
    }

    /// All records were looked at. Live bytes that are left cannot be read: the segment is kept.
    fn end<M: SegmentStore>(&mut self, id: SegmentId, repair: Option<usize>, m: &mut M) {
        self.collection = None;
        let segment = self.log.segment(id);
        match repair {
            // If more pages have failed since, it begins again.
            Some(pages) if segment.failed_pages().len() == pages => self.log.end_repair(id, m),
            Some(_) => {}
            None if segment.live_bytes == 0 && segment.state == SegmentState::Closed => {
                self.stats.gc_segments += 1;
                self.log.release(id, m);
            }
            None => self.log.set_damaged(id),
        }
    }

    /// Copies a record that is its key's newest. On a stall nothing has happened.
    fn copy_if_needed<M: SegmentStore, W: Meter>(
        &mut self,
        r: &Walked,
        repairs: bool,
        m: &mut M,
        w: &mut W,
    ) -> Result<(), Stall> {
        let Some(key) = r.key.get(..usize::from(r.header.key_bytes)) else { return Ok(()) };
        w.work(Unit::Probe, 2);
        let Some(old) = self.index.get(key).copied().filter(|entry| entry.addr == r.addr) else {
            return Ok(());
        };
        let reserve = if repairs { FOR_REPAIRS } else { FOR_COLLECTIONS };
        let reserve = reserve.with_segments(self.log.kept_for_repairs(repairs));
        self.log.room(m, Stream::Gc, r.bytes, reserve)?;
        let mut record = std::mem::take(&mut self.scratch);
        record.resize(r.bytes as usize, 0);
        let copied = Bytes::new(r.log_addr, r.bytes).copy_to(&self.log, m, 0, &mut record);
        assert_eq!(copied, record.len(), "the walker saw the whole record");
        let writer = self.log.begin(m, Stream::Gc, r.bytes);
        let addr = RecordAddr::new(writer.log_addr().0, r.bytes, r.header.key_bytes);
        self.log.put(m, &writer, 0, &record);
        self.log.commit(m, writer);
        self.scratch = record;
        self.enter(key, Entry { addr, stale: 0, ..old });
        self.stats.gc_records_copied += 1;
        self.stats.gc_bytes_copied += u64::from(r.bytes);
        w.work(Unit::CopyByte, u64::from(r.bytes));
        Ok(())
    }
}
