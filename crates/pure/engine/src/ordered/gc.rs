// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Collecting the value log: what is live in a segment is written anew, its entries follow through the memtable, and the
//! segment, an extent of the log's address space, is trimmed. What only a snapshot sees stays where it is, and delays that.

mod ahead;

use super::Store;
use super::key::{Entry, Key};
use super::leaves::Near;
use super::living::Replaced;
use super::memtable::Memtable;
use super::refs::referred;
use super::reserve::{COLLECTIONS_LEAVE, REPAIRS_LEAVE};
use super::structure::Structure;
use saker_engine_api::{Background, KvError};
use saker_log::append::Reserve;
use saker_log::{Bytes, Log, Segment, SegmentState};
use saker_segment_store::{Reads, SegmentId, SegmentStore, Step, Stream, ready};
use saker_sim::{Meter, Unit};
use saker_value_log::RecordAddr;
use saker_value_log::record::{HEADER_BYTES, Header, Kind, record_bytes, record_crc};
use saker_value_log::walk::{Next, Walked, Walker};

/// Records a quantum handles at most.
const QUANTUM_RECORDS: u32 = 64;
/// It ends before that when it has copied so much: who waits for a core waits for that.
const QUANTUM_BYTES: u64 = 64 << 10;

/// A collection on its way.
#[derive(Clone, Copy, Debug)]
pub struct GcCursor {
    walker: Walker,
    /// Only what is on pages that failed is moved: so many there were at the start.
    repair: Option<usize>,
    /// A snapshot sees something that was not moved.
    is_pinned: bool,
    /// Something in it cannot be read.
    is_broken: bool,
}

impl GcCursor {
    /// The segment that it collects.
    pub(super) fn segment(&self) -> SegmentId {
        self.walker.segment
    }

    /// Whether it only makes failed programs good.
    pub fn is_repair(&self) -> bool {
        self.repair.is_some()
    }
}

enum Moved {
    Done,
    /// There is no room for it.
    Later,
    /// Only a snapshot wants it.
    Held,
}

/// A record that the walker saw, as it is written anew.
fn record_of<M: SegmentStore>(log: &Log, r: &Walked, bytes: u32, m: &M) -> Vec<u8> {
    let mut record = vec![0; bytes as usize];
    if r.addr.is_member() || r.header.pad_bytes > 0 {
        take_out(log, r, &mut record, m);
    } else {
        let copied = Bytes::new(r.log_addr, bytes).copy_to(log, m, 0, &mut record);
        assert_eq!(copied, bytes as usize, "the walker saw the whole record");
    }
    record
}

/// A member of a group, or a record that had landed, becomes a packed record of its own, of the same version.
fn take_out<M: SegmentStore>(log: &Log, r: &Walked, record: &mut [u8], m: &M) {
    let (start, key_bytes) = (HEADER_BYTES as usize, usize::from(r.header.key_bytes));
    let used = start + key_bytes + r.header.value_bytes as usize;
    record[start..start + key_bytes].copy_from_slice(&r.key[..key_bytes]);
    Bytes::new(r.value, r.header.value_bytes).copy_to(log, m, 0, &mut record[start + key_bytes..used]);
    let header = Header { pad_bytes: 0, ..r.header };
    record[..start].copy_from_slice(&header.encode());
    let crc = record_crc(&record[4..used]);
    record[..4].copy_from_slice(&crc.to_le_bytes());
}

/// Whether a record lies on a page whose program failed.
fn is_on_failed_page(log: &Log, r: &Walked) -> bool {
    let geometry = log.geometry();
    let failed = log.segment(geometry.segment_of(r.page.addr)).failed_pages();
    // A record in a gap is found by the gap's word.
    let bytes = (r.log_addr.0 - r.from.0) as u32 + r.bytes;
    let mut pages = Bytes::new(r.from, bytes).pages(log);
    pages.any(|page| failed.contains(&geometry.index_of(page)))
}

/// Pages that are needed, with those of the record, which the next call looks at as well.
fn with_pages<T>(log: &Log, r: &Walked, step: Step<T>) -> Step<T> {
    let Step::Need(mut reads) = step else { return step };
    let own = Bytes::new(r.log_addr, r.bytes).pages(log).chain([r.page.addr]);
    for page in own {
        if !reads.contains(&page) {
            reads.push(page);
        }
    }
    Step::Need(reads)
}

/// Pages that are needed, with those that were looked at before.
fn also<T>(step: Step<T>, looked: Reads) -> Step<T> {
    let Step::Need(mut reads) = step else { return step };
    reads.extend(looked);
    reads.sort_unstable();
    reads.dedup();
    Step::Need(reads)
}

impl<S: Structure> Store<S> {
    /// Chooses a segment to collect.
    pub(super) fn start_collection<M: SegmentStore>(&mut self, m: &M) {
        let short = self.wants_segments(m);
        let repairs = self.log.has_failures() && self.log.must_evacuate();
        if !short && !repairs {
            return;
        }
        let Some(victim) = self.victim() else { return };
        let segment = self.log.segment(victim);
        if !segment.evacuate && (!self.gains(victim) || S::goes_before(self, victim, m)) {
            return;
        }
        let repair = segment.evacuate.then(|| segment.failed_pages().len());
        let walker = Walker::new(victim, segment.next_page);
        self.gc = Some(GcCursor { walker, repair, is_pinned: false, is_broken: false });
    }

    /// Whether a collection of records would make room.
    pub(super) fn may_gain(&self) -> bool {
        self.victim().is_some_and(|victim| self.gains(victim))
    }

    fn gains(&self, victim: SegmentId) -> bool {
        self.log.gain(victim) >= self.least_gain(victim) && !self.passes(self.log.segment(victim))
    }

    /// Whether most of what lives in a segment only passes through the log: the next manifest frees it without a copy.
    fn passes(&self, segment: &Segment) -> bool {
        let passing: u64 = segment.until_checkpoint.iter().sum();
        self.settings.has_inside() && 2 * passing > segment.live_bytes
    }

    /// A collection must free more than it can lose, or collections would never come to an end.
    fn least_gain(&self, victim: SegmentId) -> u64 {
        let lost = self.lost_by(self.log.segment(victim));
        lost + 1 + S::least_gain(self, lost)
    }

    /// One piece of a collection.
    pub(crate) fn collect<M: SegmentStore, W: Meter>(
        &mut self,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Background, KvError>> {
        let copied = self.kv.gc_bytes_copied;
        for done in 0..QUANTUM_RECORDS {
            if self.kv.gc_bytes_copied - copied >= QUANTUM_BYTES {
                break;
            }
            let Some(mut gc) = self.gc else { break };
            let id = gc.walker.segment;
            // A dead segment needs no walk.
            if self.log.segment(id).live_bytes == 0 {
                self.end_collection(gc, m);
                return Step::Done(Ok(Background::Worked));
            }
            let next = match self.records().walk(&mut gc.walker, m) {
                Step::Done(Ok(next)) => next,
                Step::Done(Err(_)) if gc.is_repair() => {
                    // What else is on failed pages is copied all the same.
                    gc.walker.skip_page();
                    gc.is_broken = true;
                    self.gc = Some(gc);
                    continue;
                }
                Step::Done(Err(_)) => {
                    self.log.set_damaged(id);
                    self.gc = None;
                    return Step::Done(Ok(Background::Worked));
                }
                _ if done > 0 => return Step::Done(Ok(Background::Worked)),
                Step::Need(reads) => {
                    self.gc = Some(gc);
                    return Step::Need(self.with_stretch(&gc, reads, m));
                }
                Step::Blocked(stall) => return Step::Blocked(stall),
            };
            w.work(Unit::Decode, 1);
            match next {
                Next::End => {
                    self.end_collection(gc, m);
                    return Step::Done(Ok(Background::Worked));
                }
                Next::Unfinished => {}
                Next::Broken(_) => gc.is_broken = true,
                Next::Record(r) if gc.repair.is_some() && !is_on_failed_page(&self.log, &r) => {}
                Next::Record(r) => match self.move_record(&r, gc.is_repair(), m, w) {
                    Step::Done(Ok(Moved::Done)) => {}
                    // A cut ends the snapshot as well, so that nothing is lost if it stays on a failed page.
                    Step::Done(Ok(Moved::Held)) if gc.is_repair() => gc.is_pinned = true,
                    Step::Done(Ok(Moved::Held)) => {
                        self.own.hold(id);
                        self.gc = None;
                        return Step::Done(Ok(Background::Worked));
                    }
                    Step::Done(Err(e)) => return Step::Done(Err(e)),
                    _ if done > 0 => return Step::Done(Ok(Background::Worked)),
                    Step::Need(reads) => {
                        // It looks at this record again.
                        let before = self.gc.unwrap_or(gc);
                        return Step::Need(self.with_stretch(&before, reads, m));
                    }
                    _ => return Step::Done(Ok(Background::Waiting)),
                },
            }
            self.gc = Some(gc);
        }
        Step::Done(Ok(Background::Worked))
    }

    /// Segments of records in which nothing is needed; for tests.
    pub fn dead_segments(&self) -> usize {
        self.dead().count()
    }

    /// Gives back up to so many segments of records in which nothing is needed. Whether there was one.
    pub(crate) fn release_dead_records<M: SegmentStore>(&mut self, most: usize, m: &mut M) -> bool {
        let dead: Vec<_> = self.dead().take(most).collect();
        for id in &dead {
            self.kv.gc_segments += 1;
            self.log.release(*id, m);
        }
        !dead.is_empty()
    }

    fn dead(&self) -> impl Iterator<Item = SegmentId> {
        (0..self.log.geometry().segments).map(SegmentId).filter(|id| self.is_dead(*id))
    }

    /// Whether nothing in it is needed, and neither a collection nor a repair nor a snapshot has to do with it.
    fn is_dead(&self, id: SegmentId) -> bool {
        let s = self.log.segment(id);
        // Asked first: all segments are looked at, and most have something that lives.
        if s.live_bytes > 0 {
            return false;
        }
        let is_settled = s.state == SegmentState::Closed && s.in_flight == 0 && s.stream().holds_records();
        let is_others =
            self.gc.is_some_and(|gc| gc.segment() == id) || s.has_failed() || self.own.held().contains(&id);
        is_settled && !is_others
    }

    /// Gives back one such segment if segments are short and values are in the structure. Manifests leave many there, and collections would come
    /// to them only when merges rest. True if one was given back.
    pub(super) fn release_dead_if_short<M: SegmentStore>(&mut self, m: &mut M) -> bool {
        self.settings.has_inside() && self.wants_segments(m) && self.release_dead_records(1, m)
    }

    /// Whether collections are due.
    fn wants_segments<M: SegmentStore>(&self, m: &M) -> bool {
        m.free_segments() + self.log.releasing() as u32 <= self.free_low(m)
    }

    fn end_collection<M: SegmentStore>(&mut self, gc: GcCursor, m: &mut M) {
        self.gc = None;
        let id = gc.walker.segment;
        if let Some(pages) = gc.repair {
            // If more have failed since, it begins again.
            if self.log.segment(id).failed_pages().len() == pages {
                // Where nothing lives any more nothing is missing.
                match gc.is_broken && self.log.segment(id).live_bytes > 0 {
                    true => self.log.break_off_repair(id),
                    false if gc.is_pinned => self.log.end_repair_pinned(id, m),
                    false => self.log.end_repair(id, m),
                }
            }
            return;
        }
        self.log.drop_until_checkpoint(id);
        if gc.is_broken {
            return self.log.set_damaged(id);
        }
        // What the structure still refers to here is stale: newer entries of the same versions lead to the copies.
        let stale = self.log.segment(id).live_bytes;
        self.log.sub_live(id, stale);
        self.kv.gc_segments += 1;
        self.log.release(id, m);
    }

    /// Copies a record if it is needed. With anything but `Done(Done)` nothing happened.
    fn move_record<M: SegmentStore, W: Meter>(
        &mut self,
        r: &Walked,
        repairs: bool,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Moved, KvError>> {
        let Some(key) = Key::new(&r.key[..usize::from(r.header.key_bytes)]) else {
            return Step::Done(Ok(Moved::Done));
        };
        let is_passing = self.is_passing(&r.header);
        if is_passing && (r.header.version < self.manifest.version || self.is_passed_over(&key, &r.header)) {
            return Step::Done(Ok(Moved::Done));
        }
        let mut known = None;
        if !is_passing {
            let here = Entry { key, version: r.header.version, addr: r.addr, stamp: r.page.sequence };
            let (newest, trail) = ready!(with_pages(&self.log, r, S::find(self, &key, None, m, w)));
            S::searched(self, &trail, m, w);
            known = match newest {
                Ok(Some(e)) if e.addr == here.addr && e.version == here.version => Some(e),
                Ok(newest) => {
                    let seen = S::is_seen(self, (key, &here), newest, m, w);
                    let seen = ready!(with_pages(&self.log, r, also(seen, trail.into())));
                    return Step::Done(seen.map(|seen| if seen { Moved::Held } else { Moved::Done }));
                }
                Err(e) => return Step::Done(Err(e)),
            };
        }
        let bytes = record_bytes(key.len() as u32, r.header.value_bytes);
        let (slots, others) =
            if repairs { (REPAIRS_LEAVE, 0) } else { (COLLECTIONS_LEAVE, S::kept_from_copies(self, m)) };
        let segments = self.log.kept_for_repairs(repairs) + others;
        if self.log.room(m, Stream::Gc, bytes, Reserve { slots, segments }).is_err() {
            return Step::Done(Ok(Moved::Later));
        }
        self.copy(r, key, known, bytes, m);
        self.kv.gc_records_copied += 1;
        self.kv.gc_bytes_copied += u64::from(bytes);
        w.work(Unit::CopyByte, u64::from(bytes));
        w.work(Unit::Move, 1);
        Step::Done(Ok(Moved::Done))
    }

    /// Whether a record is needed only until a manifest says that the structure has what it says.
    pub(super) fn is_passing(&self, header: &Header) -> bool {
        header.kind == Kind::Tombstone || !header.stays && self.settings.may_be_inside(header.value_bytes)
    }

    /// Whether a record that only passes through the log says nothing any more: a memtable has a newer one of its key, which the log has
    /// too. Of tombstones that is not asked: there are few, and they are short.
    fn is_passed_over(&self, key: &Key, header: &Header) -> bool {
        let mut tables = self.own.frozen().map(AsRef::as_ref).chain([&self.mem]);
        let is_newer = |table: &Memtable| table.newest(key).is_some_and(|e| e.version > header.version);
        header.kind == Kind::Pair && tables.any(is_newer)
    }

    fn copy<M: SegmentStore>(&mut self, r: &Walked, key: Key, known: Option<Entry>, bytes: u32, m: &mut M) {
        let record = record_of(&self.log, r, bytes, m);
        let (writer, stamp) = self.begin(Stream::Gc, (0, bytes), m);
        let log_addr = writer.log_addr();
        self.log.put(m, &writer, 0, &record);
        self.log.commit(m, writer);
        let Some(old) = known else {
            let id = self.segment_at(log_addr.0);
            if r.header.kind == Kind::Tombstone {
                return self.log.add_until_checkpoint(id, u64::from(bytes));
            }
            return self.note_passing(id, bytes);
        };
        let addr = RecordAddr::new(log_addr.0, bytes, r.header.key_bytes);
        let new = Entry { key, version: r.header.version, addr, stamp };
        self.enter_anew(new);
        if let Some(living) = self.reveal.living_mut() {
            living.moved(&old, &new);
        }
        S::moved(self, &old, &new);
    }

    /// Enters a write in the memtable. What a snapshot sees of the one it replaces stays.
    pub(super) fn enter(&mut self, e: Entry, replaced: Replaced) {
        self.enter_near(e, replaced, Near::NOWHERE);
    }

    /// The same where it is known what the entry is near.
    #[inline(always)]
    pub(super) fn enter_near(&mut self, e: Entry, replaced: Replaced, near: Near) {
        if self.settings.has_inside() {
            self.enter_and_tell(e, replaced, near);
        } else if self.enter_anew_near(e, near) {
            self.reveal.added();
        }
    }

    /// The same where values are in the structure: what it replaces is noted.
    #[inline(never)]
    fn enter_and_tell(&mut self, e: Entry, replaced: Replaced, near: Near) {
        let one_more = self.enter_anew_near(e, near);
        self.note_replaced(&e, replaced, one_more);
    }

    /// The same with an entry that is in already, for another place. Whether the memtable has one more now.
    fn enter_anew(&mut self, e: Entry) -> bool {
        self.enter_anew_near(e, Near::NOWHERE)
    }

    /// The same where it is known what the entry is near.
    #[inline(always)]
    fn enter_anew_near(&mut self, e: Entry, near: Near) -> bool {
        if let Some((id, bytes)) = referred(&self.log, &self.births, &e) {
            self.log.add_live(id, bytes);
            self.mem.refs.add(id, e.stamp, bytes, &self.births);
            self.know_record(id, &e);
        }
        self.tell_readers(&e);
        let old = if near == Near::NOWHERE { self.mem.insert(e) } else { self.mem.insert_near(e, near) };
        let Some(old) = old else { return true };
        self.forget_record(&old);
        if self.own.sees(old.version, e.version) {
            self.mem.keep(old);
            return true;
        }
        if let Some((id, bytes)) = referred(&self.log, &self.births, &old) {
            self.log.sub_live(id, bytes);
            self.mem.refs.sub(id, bytes);
        }
        false
    }
}
