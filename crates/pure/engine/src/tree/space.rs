//! Room: what may be stored, what is kept back, and finding out what has been replaced.
//!
//! A store does not look for the pair it replaces, so the log counts replaced records as live until a merge meets them. When
//! that would turn a store away, the buffer is merged and a manifest written, after which nothing is counted that is not needed.

use super::TreeStore;
use crate::kv::KvError;
use crate::ordered::key::{Entry, Key};
use saker_medium::{Medium, Step, ready};
use saker_sim::Meter;

/// Bytes of an entry in a leaf.
const ENTRY_BYTES: u64 = Entry::FIXED_BYTES as u64 + 16;
/// Append points, and one segment each for a collection, for moving nodes and for a delete.
const SPARE_SEGMENTS: u32 = 8;
/// Part of the remaining segments that records may fill, so that collections always gain something.
const FILL_PERCENT_MAX: u64 = 90;

/// When a record may be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// There is room.
    Now,
    /// Background work will tell.
    Later,
}

/// Finding out what is not needed any more.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reveal {
    stage: Stage,
    /// The version at the end of the last time.
    done_at: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Idle,
    /// The buffer must be frozen.
    Wanted,
    Merging,
    /// A manifest must begin, and then end.
    Manifest,
    Ending,
}

impl Reveal {
    fn want(&mut self) {
        if self.stage == Stage::Idle {
            self.stage = Stage::Wanted;
        }
    }

    /// Whether it is under way.
    pub fn is_running(&self) -> bool {
        self.stage != Stage::Idle
    }
}

impl TreeStore {
    /// Live bytes of records, as far as is known.
    pub(super) fn value_log_bytes(&self) -> u64 {
        self.log.live_bytes() - self.node_live
    }

    /// Bytes of records that may live at once: what the segments hold, less the spare ones, two manifests, the tree and as
    /// much for what replaces it, what is lost in each segment, and a share that keeps collections cheap.
    pub fn capacity_bytes<M: Medium>(&self, m: &M) -> u64 {
        self.capacity_for(self.entries_at_most(), self.record_bytes_max, m)
    }

    fn capacity_for<M: Medium>(&self, entries: u64, longest: u32, m: &M) -> u64 {
        let segment_bytes = self.log.geometry().segment_bytes();
        // Nodes that were split are half full; most are fuller.
        let nodes = (entries * ENTRY_BYTES * 3 / 2).max(self.tree.pages * self.page_bytes());
        let replaced = nodes.min(self.most_merged() * self.page_bytes());
        let held = self.pins.nodes() * self.page_bytes();
        let segments = (nodes + replaced.max(held)).div_ceil(segment_bytes) as u32;
        let kept = SPARE_SEGMENTS + segments + 2 * self.manifest_segments(m);
        let usable = u64::from(m.quota_segments().saturating_sub(kept));
        usable * (segment_bytes - self.lost_in_segment(longest)) * FILL_PERCENT_MAX / 100
    }

    /// A store that was opened knows of long records from the manifest, and from what it meets.
    pub(super) fn know_record(&mut self, bytes: u32) {
        self.record_bytes_max = self.record_bytes_max.max(bytes);
    }

    /// Bytes of a segment that a collection can leave unused.
    pub(super) fn lost_in_segment(&self, longest: u32) -> u64 {
        let geometry = self.log.geometry();
        let sealed = if self.config.ring_lasts { 0 } else { 2 * u64::from(geometry.page_bytes) };
        (u64::from(longest) + sealed).min(geometry.segment_bytes() / 2)
    }

    /// Pages that merging two full buffers writes at most, if the tree is large.
    fn most_merged(&self) -> u64 {
        2 * self.pages_of(self.config.write_buffer_size / crate::ordered::memtable::ENTRY_BYTES)
    }

    /// Pages that merging so many updates writes at most, if the tree is large: each meets a leaf of its own, with all above it
    /// and a neighbour.
    fn pages_of(&self, updates: u64) -> u64 {
        2 * updates * u64::from(self.tree.height.max(1)) + 2
    }

    /// Whether nothing that goes on in the background will make room: snapshots hold it.
    pub(super) fn is_exhausted<M: Medium>(&self, m: &M) -> bool {
        let is_known = self.reveal.done_at == Some(self.version) && !self.reveal.is_running();
        let is_quiet = self.gc.is_none() && self.job.is_none() && !self.clean.is_running();
        let is_over = is_known && is_quiet && self.imm.is_none() && self.mem.is_empty();
        is_over
            && !self.pins.snapshots.is_empty()
            && self.log.releasing() == 0
            && !self.log.has_failures()
            && !self.manifest_has_work(m)
    }

    /// Segments that a merge of the buffers takes before it gives any back.
    pub(super) fn merge_segments(&self) -> u32 {
        let updates = self.buffered();
        let new = updates * ENTRY_BYTES * 2 / self.page_bytes() + 2;
        let rounds =
            1 + self.pins.snapshots.iter().filter(|held| held.version + 1 >= self.first_buffered()).count();
        let whole = rounds as u64 * (self.tree.pages + new);
        let pages = whole.min(self.pages_of(updates) + new);
        (pages * self.page_bytes()).div_ceil(self.log.geometry().segment_bytes()) as u32
    }

    fn first_buffered(&self) -> u64 {
        self.imm.as_ref().map_or(self.mem_first, |imm| imm.first)
    }

    /// Free segments that new pairs leave.
    pub(super) fn for_pairs<M: Medium>(&self, m: &M) -> u32 {
        self.for_deletes(m) + 1
    }

    /// Free segments that deletes leave.
    pub(super) fn for_deletes<M: Medium>(&self, m: &M) -> u32 {
        4 + self.manifest_segments(m) + self.merge_segments()
    }

    /// Free segments below which collections start.
    pub(super) fn free_low<M: Medium>(&self, m: &M) -> u32 {
        self.for_pairs(m) + 2 + m.quota_segments() / 50
    }

    /// Whether writes are close to waiting for background work.
    pub fn is_pressed<M: Medium>(&self, m: &M) -> bool {
        m.free_segments() <= self.for_pairs(m)
    }

    /// Whether a record may be stored. Near the capacity what it replaces is looked up.
    pub(super) fn admit<M: Medium, W: Meter>(
        &mut self,
        key: &Key,
        bytes: u32,
        m: &M,
        w: &mut W,
    ) -> Step<Result<Admission, KvError>> {
        let longest = self.record_bytes_max.max(bytes);
        let live = self.value_log_bytes();
        if live + u64::from(bytes) <= self.capacity_for(self.entries_at_most() + 1, longest, m) {
            return Step::Done(Ok(Admission::Now));
        }
        let old = match ready!(self.find_pair(key, m, w)) {
            Ok(old) => old.map_or(0, |e| e.loc.record_bytes()),
            Err(e) => return Step::Done(Err(e)),
        };
        // A pair may always be replaced by one that is not longer.
        if bytes <= old {
            return Step::Done(Ok(Admission::Now));
        }
        if self.reveal.done_at == Some(self.version) && !self.reveal.is_running() {
            return Step::Done(Err(KvError::CapacityExceeded));
        }
        self.reveal.want();
        Step::Done(Ok(Admission::Later))
    }

    /// Goes on finding out what is not needed. True if anything happened.
    pub(super) fn reveal_step<M: Medium>(&mut self, m: &M) -> bool {
        let next = match self.reveal.stage {
            Stage::Idle => {
                // Collections find nothing to gain, although writes wait: much must have been replaced.
                let stuck = self.gc.is_none() && self.log.releasing() == 0 && self.is_pressed(m);
                let news = self.reveal.done_at != Some(self.version) || !self.mem.is_empty();
                if stuck && news { Stage::Wanted } else { return false }
            }
            Stage::Wanted if self.imm.is_none() && !self.manifest.is_running() => {
                self.freeze();
                Stage::Merging
            }
            Stage::Merging if self.imm.is_none() => {
                self.manifest.wanted = true;
                Stage::Manifest
            }
            Stage::Manifest if self.manifest.is_running() => Stage::Ending,
            Stage::Ending if !self.manifest.is_running() && !self.manifest.wanted => {
                self.reveal.done_at = Some(self.version);
                Stage::Idle
            }
            _ => return false,
        };
        self.reveal.stage = next;
        true
    }
}
