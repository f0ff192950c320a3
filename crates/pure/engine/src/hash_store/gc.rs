// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Garbage collection: the log proposes a segment, the store moves what is live out of it.

use super::HashStore;
use super::reserve::{FOR_COLLECTIONS, FOR_REPAIRS, FREE_SEGMENTS_LOW, FREE_SEGMENTS_PRESSED};
use saker_engine_api::Background;
use saker_log::{Bytes, SegmentState};
use saker_segment_store::planted::{self, Fault};
use saker_segment_store::{Completion, Io, SegmentId, SegmentStore, Stall, Step, Stream, Tag};
use saker_sim::{Meter, Unit};
use saker_value_log::RecordAddr;
use saker_value_log::record::{HEADER_BYTES, Kind, record_bytes, record_crc};
use saker_value_log::walk::{Next, Walked, Walker};

/// Records a quantum handles.
const QUANTUM_RECORDS: u32 = 64;

/// A collection on its way.
#[derive(Clone, Copy, Debug)]
pub struct GcCursor {
    walker: Walker,
    /// Only what is on pages that failed is moved: so many there were at the start.
    repair: Option<usize>,
    /// Something in it cannot be read.
    is_broken: bool,
}

impl GcCursor {
    /// The segment that it collects.
    pub(super) fn segment(&self) -> SegmentId {
        self.walker.segment
    }

    #[cfg(test)]
    pub(super) fn of(segment: SegmentId) -> Self {
        Self { walker: Walker::new(segment, 1), repair: None, is_broken: false }
    }
}

impl HashStore {
    /// One bounded piece of background work: collection, then checkpoint. `finished`: everything up to this
    /// tag has completed.
    pub(super) fn quantum<M: SegmentStore, W: Meter>(
        &mut self,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Step<Background> {
        self.enter_pending();
        self.log.pump(finished, m);
        if self.gc.is_some_and(|gc| gc.repair.is_none()) && self.log.must_evacuate() {
            // Nothing is erased before failed pages are repaired.
            self.gc = None;
        }
        if self.gc.is_none() {
            self.start_collection(m);
        }
        if !self.is_pressed(m)
            && let Some(step) = self.bring_wanted(m, w)
        {
            return step;
        }
        // Collection and checkpoint take turns; under pressure collection goes first.
        self.checkpoint.turn = !self.checkpoint.turn;
        if self.gc.is_some() && (self.checkpoint.turn || self.is_pressed(m)) {
            return self.collect(m, w);
        }
        if self.checkpoint_quantum(finished, m, w) == Background::Worked {
            return Step::Done(Background::Worked);
        }
        if self.gc.is_some() {
            return self.collect(m, w);
        }
        let waiting = self.log.releasing() > 0 || self.log.has_failures() || self.checkpoint.is_running();
        Step::Done(if waiting { Background::Waiting } else { Background::Idle })
    }

    /// Whether background work is due. Cheap: asked after every command.
    #[inline]
    pub(super) fn has_debt<M: SegmentStore>(&self, m: &M) -> bool {
        self.gc.is_some()
            || self.prefetch.is_wanted()
            || self.checkpoint.is_running()
            || self.log.releasing() > 0
            || self.log.has_failures()
            || m.free_segments() <= self.free_low(m)
            || self.checkpoint_due()
    }

    /// Whether writes are close to waiting for background work.
    pub fn is_pressed<M: SegmentStore>(&self, m: &M) -> bool {
        m.free_segments() <= FREE_SEGMENTS_PRESSED
    }

    fn free_low<M: SegmentStore>(&self, m: &M) -> u32 {
        FREE_SEGMENTS_LOW + m.quota_segments() / 50 + self.checkpoint_segments_wanted()
    }

    fn start_collection<M: SegmentStore>(&mut self, m: &mut M) {
        let short = m.free_segments() + self.log.releasing() as u32 <= self.free_low(m);
        if !short && !self.log.must_evacuate() {
            return;
        }
        let Some(victim) = self.log.victim_that_loses(|s| self.lost_by(s)) else { return };
        if !self.log.segment(victim).evacuate && self.log.gain(victim) < self.least_gain(victim) {
            return;
        }
        let segment = self.log.segment(victim);
        let repair = segment.evacuate.then(|| segment.failed_pages().len());
        let walker = Walker::new(victim, segment.next_page);
        self.gc = Some(GcCursor { walker, repair, is_broken: false });
    }

    /// A collection must free more than it can lose, or collections would never come to an end.
    fn least_gain(&self, victim: SegmentId) -> u64 {
        self.lost_by(self.log.segment(victim)) + 1
    }

    fn collect<M: SegmentStore, W: Meter>(&mut self, m: &mut M, w: &mut W) -> Step<Background> {
        for done in 0..QUANTUM_RECORDS {
            let Some(mut gc) = self.gc else { break };
            let id = gc.walker.segment;
            // A dead segment needs no walk.
            if self.log.segment(id).live_bytes == 0 {
                match gc.repair {
                    Some(pages) => self.end_of_repair(&gc, pages, m),
                    None => self.finish_collection(id, m),
                }
                return Step::Done(Background::Worked);
            }
            let next = match self.records().walk(&mut gc.walker, m) {
                Step::Done(Ok(next)) => next,
                Step::Done(Err(_)) if gc.repair.is_some() => {
                    // What else is on failed pages is copied all the same.
                    gc.walker.skip_page();
                    gc.is_broken = true;
                    self.gc = Some(gc);
                    continue;
                }
                Step::Done(Err(_)) => {
                    self.log.set_damaged(id);
                    self.gc = None;
                    return Step::Done(Background::Worked);
                }
                Step::Need(_) | Step::Blocked(_) if done > 0 => return Step::Done(Background::Worked),
                Step::Need(reads) => {
                    // Pages it has moved over will not be here next time.
                    self.gc = Some(gc);
                    return Step::Need(reads);
                }
                Step::Blocked(stall) => return Step::Blocked(stall),
            };
            w.work(Unit::Decode, 1);
            match next {
                Next::End => {
                    match gc.repair {
                        Some(pages) => self.end_of_repair(&gc, pages, m),
                        None => self.end_of_segment(id, m),
                    }
                    return Step::Done(Background::Worked);
                }
                Next::Unfinished => {}
                Next::Broken(_) => gc.is_broken = true,
                Next::Record(record) if gc.repair.is_some() && !self.is_on_failed_page(&record) => {}
                Next::Record(record) => {
                    if let Err(stall) = self.move_record(&record, m, w) {
                        return if done > 0 { Step::Done(Background::Worked) } else { Step::Blocked(stall) };
                    }
                }
            }
            self.gc = Some(gc);
        }
        Step::Done(Background::Worked)
    }

    fn is_on_failed_page(&self, r: &Walked) -> bool {
        let geometry = self.log.geometry();
        let failed = self.log.segment(geometry.segment_of(r.page.addr)).failed_pages();
        let mut pages = Bytes::new(r.log_addr, r.bytes).pages(&self.log);
        pages.any(|page| failed.contains(&geometry.index_of(page)))
    }

    /// What `pages` failed pages held was moved. If more have failed since, or something cannot be read, it begins again.
    fn end_of_repair<M: SegmentStore>(&mut self, gc: &GcCursor, pages: usize, m: &mut M) {
        self.gc = None;
        let id = gc.segment();
        if self.log.segment(id).failed_pages().len() != pages {
            return;
        }
        // Where nothing lives any more nothing is missing.
        match gc.is_broken && self.log.segment(id).live_bytes > 0 {
            true => self.log.break_off_repair(id),
            false => self.log.end_repair(id, m),
        }
    }

    /// Every readable record was moved. Live bytes that are left cannot be read: the segment is kept.
    fn end_of_segment<M: SegmentStore>(&mut self, id: SegmentId, m: &mut M) {
        self.log.drop_until_checkpoint(id);
        if self.log.segment(id).live_bytes == 0 {
            self.finish_collection(id, m);
        } else {
            self.log.set_damaged(id);
            self.gc = None;
        }
    }

    fn finish_collection<M: SegmentStore>(&mut self, id: SegmentId, m: &mut M) {
        self.gc = None;
        self.stats.gc_segments += 1;
        self.log.release(id, m);
    }

    /// Copies a record if it is needed. On a stall nothing happened.
    fn move_record<M: SegmentStore, W: Meter>(
        &mut self,
        r: &Walked,
        m: &mut M,
        w: &mut W,
    ) -> Result<(), Stall> {
        let key = &r.key[..usize::from(r.header.key_bytes)];
        let bytes = record_bytes(key.len() as u32, r.header.value_bytes);
        let Some(place) = self.index.place(key) else { return Ok(()) };
        let from = r.addr;
        w.work(Unit::Probe, 2);
        let is_tombstone = r.header.kind == Kind::Tombstone;
        let needed =
            if is_tombstone { self.tombstone_is_needed(r) } else { self.index.get(place) == Some(from) };
        if !needed {
            return Ok(());
        }
        let repairs = self.gc.is_some_and(|gc| gc.repair.is_some());
        let reserve = if repairs { FOR_REPAIRS } else { FOR_COLLECTIONS };
        let reserve = reserve.with_segments(self.log.kept_for_repairs(repairs));
        self.log.room(m, Stream::Gc, bytes, reserve)?;
        let to = self.copy_record(r, bytes, m);
        let old = self.log_segment(from);
        if is_tombstone {
            // It counts where it was as well until that segment is through: a walk can begin again, and a segment that
            // looks dead is not walked.
            self.log.add_until_checkpoint(self.log_segment(to), u64::from(bytes));
        } else {
            self.index.insert(place, to);
            self.log.add_live(self.log_segment(to), u64::from(bytes));
            self.log.sub_live(old, u64::from(from.record_bytes()));
            self.stats.pair_bytes -= u64::from(from.record_bytes() - bytes);
            self.lengthen(to);
            self.lengths.sub(from.record_bytes());
        }
        self.stats.gc_records_copied += 1;
        self.stats.gc_bytes_copied += u64::from(bytes);
        w.work(Unit::CopyByte, u64::from(bytes));
        w.work(Unit::Move, 1);
        Ok(())
    }

    fn log_segment(&self, addr: RecordAddr) -> SegmentId {
        self.segment_of(addr.position())
    }

    fn copy_record<M: SegmentStore>(&mut self, r: &Walked, bytes: u32, m: &mut M) -> RecordAddr {
        let mut record = std::mem::take(&mut self.checkpoint.scratch);
        record.resize(bytes as usize, 0);
        if r.addr.is_member() {
            self.take_out(r, &mut record, m);
        } else {
            let copied = Bytes::new(r.log_addr, bytes).copy_to(&self.log, m, 0, &mut record);
            assert_eq!(copied, bytes as usize, "the walker saw the whole record");
        }
        let writer = self.log.begin(m, Stream::Gc, bytes);
        let log_addr = writer.log_addr();
        self.log.put(m, &writer, 0, &record);
        self.log.commit(m, writer);
        self.checkpoint.scratch = record;
        RecordAddr::new(log_addr.0, bytes, r.header.key_bytes)
    }

    /// A member of a group becomes a record of its own, of the same version.
    fn take_out<M: SegmentStore>(&self, r: &Walked, record: &mut [u8], m: &M) {
        let (start, key_bytes) = (HEADER_BYTES as usize, usize::from(r.header.key_bytes));
        let used = start + key_bytes + r.header.value_bytes as usize;
        record[start..start + key_bytes].copy_from_slice(&r.key[..key_bytes]);
        let value = &mut record[start + key_bytes..used];
        let copied = Bytes::new(r.value, r.header.value_bytes).copy_to(&self.log, m, 0, value);
        assert_eq!(copied, value.len(), "the walker saw the whole member");
        record[used..].fill(0);
        record[..start].copy_from_slice(&r.header.encode());
        let crc = record_crc(&record[4..used]);
        record[..4].copy_from_slice(&crc.to_le_bytes());
    }

    /// A tombstone is needed until a checkpoint that began after it is complete.
    fn tombstone_is_needed(&self, r: &Walked) -> bool {
        r.header.version >= self.checkpoint.durable_version() && !planted::is(Fault::TombstonesDropped)
    }

    /// Takes note of a finished I/O.
    pub(super) fn note_completed<M: SegmentStore>(&mut self, done: &Completion, m: &mut M) {
        if done.result.is_err() {
            self.credit.end();
        }
        let failed = self.log.completed(done, m);
        if done.io == Io::Sync && done.result.is_err() && self.checkpoint.is_running() {
            self.checkpoint_failed(m);
        }
        if let Io::Program { at, .. } = done.io
            && failed
        {
            let id = self.log.geometry().segment_of(at);
            if self.log.segment(id).stream() == Stream::Checkpoint {
                self.checkpoint_failed(m);
            } else if self.log.segment(id).state == SegmentState::Closed && self.gc.is_none() {
                self.start_collection(m);
            }
        }
    }
}
