//! Collecting the value log: what is live in a segment is written anew, its entries follow through the buffer, and the segment
//! is erased. What only a snapshot sees stays where it is, and delays that.

use super::TreeStore;
use super::descend::Trail;
use crate::hash_store::record::{Kind, record_bytes};
use crate::hash_store::walk::{Next, Walked, Walker};
use crate::index::Loc;
use crate::kv::{Background, KvError};
use crate::lsm::gc::{is_on_failed_page, record_of, with_pages};
use crate::ordered::key::{Entry, Key};
use saker_log::SegmentState;
use saker_log::append::Reserve;
use saker_medium::{Medium, SegmentId, Step, Stream, ready};
use saker_sim::{Meter, Unit};

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

impl TreeStore {
    /// Chooses a segment to collect.
    pub(super) fn start_collection<M: Medium>(&mut self, m: &M) {
        let short = m.free_segments() + self.log.releasing() as u32 <= self.free_low(m);
        let repairs = self.log.has_failures() && self.log.must_evacuate();
        if !short && !repairs {
            return;
        }
        let Some(victim) = self.victim() else { return };
        let segment = self.log.segment(victim);
        if !segment.evacuate && self.log.gain(victim) < self.least_gain() {
            return;
        }
        let repair = segment.evacuate.then(|| segment.failed_pages().len());
        self.gc = Some(GcCursor { walker: Walker::new(victim, segment.next_page), repair, is_broken: false });
    }

    /// The segment with the fewest live bytes in which a snapshot does not hold anything, as far as is known; before that, one
    /// in which a program failed.
    fn victim(&self) -> Option<SegmentId> {
        let first = self.log.victim()?;
        if self.log.segment(first).evacuate || !self.pins.held.contains(&first) {
            return Some(first);
        }
        let is_settled = |id: &SegmentId| {
            let s = self.log.segment(*id);
            let closed = s.state == SegmentState::Closed && s.stream().holds_records() && s.in_flight == 0;
            closed && !self.pins.held.contains(id)
        };
        let all = (0..self.log.geometry().segments).map(SegmentId).filter(is_settled);
        all.min_by_key(|id| self.log.segment(*id).live_bytes)
    }

    /// A collection must free more than it can lose, or collections would never come to an end.
    fn least_gain(&self) -> u64 {
        self.lost_in_segment(self.record_bytes_max) + 1
    }

    /// One piece of a collection.
    pub(super) fn collect<M: Medium, W: Meter>(
        &mut self,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Background, KvError>> {
        for done in 0..QUANTUM_RECORDS {
            let Some(mut gc) = self.gc else { break };
            let id = gc.walker.segment;
            // A dead segment needs no walk.
            if self.log.segment(id).live_bytes == 0 {
                self.end_collection(gc, m);
                return Step::Done(Ok(Background::Worked));
            }
            let next = match self.records().walk(&mut gc.walker, m) {
                Step::Done(Ok(next)) => next,
                Step::Done(Err(_)) => {
                    self.log.set_damaged(id);
                    self.gc = None;
                    return Step::Done(Ok(Background::Worked));
                }
                _ if done > 0 => return Step::Done(Ok(Background::Worked)),
                Step::Need(reads) => {
                    self.gc = Some(gc);
                    return Step::Need(reads);
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
                    Step::Done(Ok(Moved::Held)) if !gc.is_repair() => {
                        self.gc = None;
                        self.pins.held.push(id);
                        return Step::Done(Ok(Background::Worked));
                    }
                    Step::Done(Err(e)) => return Step::Done(Err(e)),
                    _ if done > 0 => return Step::Done(Ok(Background::Worked)),
                    Step::Need(reads) => return Step::Need(reads),
                    _ => return Step::Done(Ok(Background::Waiting)),
                },
            }
            self.gc = Some(gc);
        }
        Step::Done(Ok(Background::Worked))
    }

    fn end_collection<M: Medium>(&mut self, gc: GcCursor, m: &mut M) {
        self.gc = None;
        let id = gc.walker.segment;
        if let Some(pages) = gc.repair {
            // If more have failed since, it begins again.
            if self.log.segment(id).failed_pages().len() == pages {
                self.log.end_repair(id, m);
            }
            return;
        }
        self.log.drop_until_checkpoint(id);
        if gc.is_broken {
            return self.log.set_damaged(id);
        }
        // What leaves still refer to here is stale: entries of the same versions in a buffer lead to the copies.
        let stale = self.log.segment(id).live_bytes;
        self.log.sub_live(id, stale);
        self.stats.kv.gc_segments += 1;
        self.log.release(id, m);
    }

    /// Copies a record if it is needed. With anything but `Done(Done)` nothing happened.
    fn move_record<M: Medium, W: Meter>(
        &mut self,
        r: &Walked,
        repairs: bool,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Moved, KvError>> {
        let Some(key) = Key::new(&r.key[..usize::from(r.header.key_bytes)]) else {
            return Step::Done(Ok(Moved::Done));
        };
        let is_tombstone = r.header.kind == Kind::Tombstone;
        if is_tombstone && r.header.version < self.manifest.version {
            return Step::Done(Ok(Moved::Done));
        }
        let mut known = None;
        if !is_tombstone {
            match ready!(self.newest(&key, r, m, w)) {
                Ok(Some(e)) if e.loc == r.loc && e.version == r.header.version => known = Some(e),
                Ok(found) => {
                    let seen = ready!(self.is_seen(&key, r, found, m, w));
                    return Step::Done(seen.map(|seen| if seen { Moved::Held } else { Moved::Done }));
                }
                Err(e) => return Step::Done(Err(e)),
            }
        }
        let bytes = record_bytes(key.len() as u32, r.header.value_bytes);
        let others = 1 + self.manifest_segments(m) + self.merge_segments();
        let segments = self.log.kept_for_repairs(repairs) + if repairs { 0 } else { others };
        if self.log.room(m, Stream::Gc, bytes, Reserve { slots: 2, segments }).is_err() {
            return Step::Done(Ok(Moved::Later));
        }
        self.copy(r, key, known, bytes, m);
        self.stats.kv.gc_records_copied += 1;
        self.stats.kv.gc_bytes_copied += u64::from(bytes);
        w.work(Unit::CopyByte, u64::from(bytes));
        w.work(Unit::Move, 1);
        Step::Done(Ok(Moved::Done))
    }

    fn newest<M: Medium, W: Meter>(
        &mut self,
        key: &Key,
        r: &Walked,
        m: &M,
        w: &mut W,
    ) -> Step<Result<Option<Entry>, KvError>> {
        let mut trail = Trail::default();
        let found = self.find(key, &self.now(), &mut trail, m, w);
        if found.is_ok() {
            self.remember(&trail, m, w);
        }
        with_pages(&self.log, r, trail.step(found))
    }

    /// Whether a snapshot sees a record that is not the newest of its key.
    fn is_seen<M: Medium, W: Meter>(
        &self,
        key: &Key,
        r: &Walked,
        newest: Option<Entry>,
        m: &M,
        w: &mut W,
    ) -> Step<Result<bool, KvError>> {
        let version = r.header.version;
        let mut trail = Trail::default();
        // A key without an entry was deleted, and the tree has forgotten when.
        let replaced = newest.map_or(u64::MAX, |e| e.version);
        let between = self.pins.snapshots.iter().filter(|s| version <= s.version && s.version < replaced);
        for held in between {
            let view = super::descend::View { version: held.version, tree: held.tree };
            let found = self.find(key, &view, &mut trail, m, w);
            match ready!(with_pages(&self.log, r, trail.step(found))) {
                Ok(Some(e)) if e.loc == r.loc && e.version == version => return Step::Done(Ok(true)),
                Ok(_) => {}
                Err(e) => return Step::Done(Err(e)),
            }
        }
        Step::Done(Ok(false))
    }

    fn copy<M: Medium>(&mut self, r: &Walked, key: Key, known: Option<Entry>, bytes: u32, m: &mut M) {
        self.know_record(bytes);
        let record = record_of(&self.log, r, bytes, m);
        let (writer, stamp) = self.begin(Stream::Gc, bytes, m);
        let spot = writer.spot();
        self.log.put(m, &writer, 0, &record);
        self.log.commit(m, writer);
        let Some(old) = known else {
            let id = SegmentId((spot.0 / self.log.geometry().segment_bytes()) as u32);
            return self.log.add_until_checkpoint(id, u64::from(bytes));
        };
        let loc = Loc::new(spot.0, bytes, r.header.key_bytes);
        let new = Entry { key, version: r.header.version, loc, stamp };
        self.enter(new);
        self.moved(&old, &new);
    }
}
