// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How many bytes of each segment of the value log entries refer to.
//!
//! A segment's live bytes are those that entries anywhere in the tree refer to, stale duplicates included; they fall
//! when a memtable or a table goes. A reference names the newest stamp among its entries: one that is older than the
//! segment's birth means an earlier life of the segment, and does not count.

use super::key::Entry;
use saker_log::{Log, SegmentState, Writer};
use saker_segment_store::{SegmentId, SegmentStore, Stream};

/// A reference: stamp and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ref {
    /// The newest stamp among the entries.
    pub stamp: u64,
    /// Bytes of their records.
    pub bytes: u64,
}

/// References by segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refs(Vec<Ref>);

impl Refs {
    /// Those that are not empty.
    pub fn iter(&self) -> impl Iterator<Item = (SegmentId, Ref)> + '_ {
        let all = self.0.iter().enumerate().map(|(n, r)| (SegmentId(n as u32), *r));
        all.filter(|(_, r)| r.bytes > 0)
    }

    /// Notes the record of an entry that counts.
    #[inline]
    pub fn add(&mut self, id: SegmentId, stamp: u64, bytes: u64, births: &Births) {
        let n = id.0 as usize;
        if n >= self.0.len() {
            self.0.resize(n + 1, Ref::default());
        }
        let r = &mut self.0[n];
        if r.stamp < births.of(id) {
            r.bytes = 0;
        }
        *r = Ref { stamp: r.stamp.max(stamp), bytes: r.bytes + bytes };
    }

    /// Bytes of a segment.
    pub fn of(&self, id: SegmentId) -> u64 {
        self.0.get(id.0 as usize).map_or(0, |r| r.bytes)
    }

    /// Takes the record of an entry that counts back.
    #[inline]
    pub fn sub(&mut self, id: SegmentId, bytes: u64) {
        self.0[id.0 as usize].bytes -= bytes;
    }
}

/// When each segment began its present life, in pages of the log.
#[derive(Clone, Debug, Default)]
pub struct Births(Vec<u64>);

impl Births {
    /// Of so many segments.
    pub fn new(segments: u32) -> Self {
        Self(vec![0; segments as usize])
    }

    /// Of one.
    #[inline]
    pub fn of(&self, id: SegmentId) -> u64 {
        self.0[id.0 as usize]
    }

    /// A segment begins.
    pub fn set(&mut self, id: SegmentId, sequence: u64) {
        self.0[id.0 as usize] = sequence;
    }

    /// Whether a segment still holds what was written into it at `stamp`: it may be one of tables by now.
    #[inline]
    pub fn is_alive(&self, log: &Log, id: SegmentId, stamp: u64) -> bool {
        // Entries of an image can tell of any segment.
        let Some(s) = log.find_segment(id) else { return false };
        let held = matches!(s.state, SegmentState::Open | SegmentState::Closed | SegmentState::Damaged);
        held && s.stream().holds_records() && stamp >= self.of(id)
    }
}

/// The segment an entry's record is in.
#[inline]
pub fn segment_of(log: &Log, e: &Entry) -> SegmentId {
    SegmentId(u32::try_from(e.addr.position() / log.geometry().segment_bytes()).unwrap_or(u32::MAX))
}

/// The segment and the bytes that an entry refers to, if it does and they are still there.
#[inline]
pub fn referred(log: &Log, births: &Births, e: &Entry) -> Option<(SegmentId, u64)> {
    if e.is_tombstone() || e.is_inside() {
        return None;
    }
    let id = segment_of(log, e);
    births.is_alive(log, id, e.stamp).then(|| (id, u64::from(e.addr.record_bytes())))
}

/// Counts or uncounts whole references.
pub fn count(log: &mut Log, births: &Births, refs: &Refs, add: bool) {
    for (id, r) in refs.iter() {
        if !births.is_alive(log, id, r.stamp) {
            continue;
        }
        if add { log.add_live(id, r.bytes) } else { log.sub_live(id, r.bytes) }
    }
}

/// Takes room in a log of records, for one behind a gap, and notes when a segment begins. The second part is the stamp of what is written there.
pub(crate) fn begin<M: SegmentStore>(
    log: &mut Log,
    births: &mut Births,
    stream: Stream,
    (gap, bytes): (u32, u32),
    m: &mut M,
) -> (Writer, u64) {
    let before = log.next_sequence();
    let writer = log.begin_behind(m, stream, gap, bytes);
    let segment_bytes = log.geometry().segment_bytes();
    if writer.log_addr().0.is_multiple_of(segment_bytes) && log.next_sequence() > before {
        births.set(SegmentId((writer.log_addr().0 / segment_bytes) as u32), before);
    }
    let stamp = log.next_sequence() - 1;
    (writer, stamp)
}
