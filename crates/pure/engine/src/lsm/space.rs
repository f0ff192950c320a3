//! Room: what may be stored, what is kept back, and finding out what has been replaced.
//!
//! A store does not look for the pair it replaces, so the log counts replaced records as live until a compaction meets
//! them. Only when that would turn a store away is the tree merged towards one level, after which nothing is counted
//! that is not needed.

use super::LsmStore;
use crate::ordered::key::{Entry, Key};
use crate::kv::KvError;
use saker_medium::{Medium, Step, ready};
use saker_sim::Meter;

/// Bytes of an entry in a table, with its share of description and filter.
pub(super) const ENTRY_BYTES: u64 = Entry::FIXED_BYTES as u64 + 16 + 4;
/// Append points, and one segment each for a collection, a compaction and a delete.
const SPARE_SEGMENTS: u32 = 7;
/// Part of the remaining segments that records may fill, so that collections always gain something.
const FILL_PERCENT_MAX: u64 = 90;
/// Most bytes of tables for which room is kept for merging them at once.
const MERGED_BYTES_MAX: u64 = 256 << 20;

/// Sizes of all tables.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    /// Tables.
    pub tables: u64,
    /// Their pages.
    pub pages: u64,
    /// Their entries.
    pub entries: u64,
    /// Bytes that compactions owe.
    pub pending_bytes: u64,
}

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
    /// The memtable must be frozen.
    Wanted,
    /// Everything goes towards the deepest level.
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

    /// Whether compactions go on although no level is too large.
    pub fn merges(&self) -> bool {
        self.stage == Stage::Merging
    }
}

impl LsmStore {
    /// Bytes of pages that tables need.
    fn table_bytes(&self) -> u64 {
        self.sizes.pages * u64::from(self.log.geometry().page_bytes)
    }

    /// Live bytes of records, as far as is known.
    pub(super) fn value_log_bytes(&self) -> u64 {
        self.log.live_bytes() - self.table_live
    }

    /// The tables have changed.
    pub(super) fn measure(&mut self) {
        let page_bytes = u64::from(self.log.geometry().page_bytes);
        let all = self.levels.all();
        let (tables, pages) = all.fold((0, 0), |(n, pages), (_, t)| (n + 1, pages + t.pages_total()));
        let pending_bytes = super::policy::pending_bytes(&self.config, &self.levels, page_bytes);
        self.sizes = Sizes { tables, pages, entries: self.levels.entries(), pending_bytes };
    }

    /// Bytes of records that may live at once: what the segments hold, less the spare ones, two manifests, tables with
    /// room to merge them, what is lost in each segment, and a share that keeps collections cheap.
    pub fn capacity_bytes<M: Medium>(&self, m: &M) -> u64 {
        self.capacity_for(self.entries_at_most(), self.record_bytes_max, m)
    }

    fn capacity_for<M: Medium>(&self, entries: u64, longest: u32, m: &M) -> u64 {
        let segment_bytes = self.log.geometry().segment_bytes();
        let tables = (entries * ENTRY_BYTES * 5 / 4).max(self.table_bytes());
        let merged = tables.min(MERGED_BYTES_MAX);
        let segments = (tables + merged).div_ceil(segment_bytes) as u32;
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

    /// Half of what a segment has unused on the average when the store is as full as may be: there is always one that a
    /// collection gains so much of.
    pub(super) fn worth_collecting(&self, lost: u64) -> u64 {
        (self.log.geometry().segment_bytes() - lost) * (100 - FILL_PERCENT_MAX) / 200
    }

    /// Segments that a merge of tables takes before it gives any back.
    fn merge_segments(&self) -> u32 {
        let merged = (self.table_bytes() + self.mem.bytes() / 2).min(MERGED_BYTES_MAX);
        merged.div_ceil(self.log.geometry().segment_bytes()) as u32
    }

    /// Free segments that new pairs leave.
    pub(super) fn for_pairs<M: Medium>(&self, m: &M) -> u32 {
        self.for_deletes(m) + 1
    }

    /// Free segments that deletes leave.
    pub(super) fn for_deletes<M: Medium>(&self, m: &M) -> u32 {
        3 + self.manifest_segments(m) + self.merge_segments()
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
        let old = match ready!(self.find_pair(key, u64::MAX, m, w)) {
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
                let news = self.reveal.done_at != Some(self.version);
                if stuck && news { Stage::Wanted } else { return false }
            }
            Stage::Wanted if self.frozen.is_empty() && !self.manifest.is_running() => {
                self.freeze();
                Stage::Merging
            }
            Stage::Merging
                if self.frozen.is_empty() && self.compactions.is_empty() && self.nothing_to_merge() =>
            {
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

    fn nothing_to_merge(&self) -> bool {
        super::policy::pick_all(&self.levels, &self.cursors).is_none()
    }
}
