// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checkpoints of the index, so that recovery scans only the log's tail and tombstones can go.
//!
//! A chunk is a run of entries of one key class: `class u8, 7 reserved`, then for each entry the mixed key
//! (8 or 16 bytes) and the place word (8 bytes).

use super::{HashStore, RunningCheckpoint};
use crate::mix::{IndexKey, MixedKey};
use saker_engine_api::Background;
use saker_log::checkpoint::release_others;
use saker_log::{CheckpointWriter, Log};
use saker_segment_store::{SegmentId, SegmentStore, Stream, Tag};
use saker_sim::{Meter, Unit};

/// Bytes of the largest entry in a chunk.
pub const ENTRY_BYTES_MAX: u64 = 24;
const CHUNK_ENTRIES_MAX: usize = 320;
pub(super) const CHUNK_HEAD: usize = 8;

/// Where checkpoints stand.
#[derive(Clone, Debug, Default)]
pub struct State {
    running: RunningCheckpoint,
    /// The next entry to write.
    next: Option<IndexKey>,
    /// Segments of the last complete checkpoint.
    pub(super) segments: Vec<SegmentId>,
    /// Version at the cut of the last complete checkpoint.
    pub(super) version: u64,
    pub(super) generation: u64,
    /// Bytes appended to the log at the last cut.
    bytes_at_cut: u64,
    /// No room for a checkpoint was found at this number of appended bytes; tried again later.
    postponed_at: Option<u64>,
    /// Memory for copying records and building chunks.
    pub(super) scratch: Vec<u8>,
    /// A store waits for the room that tombstones take. Stays so until a checkpoint begins.
    wanted: bool,
    /// Whose turn the next quantum is: collection or checkpoint.
    pub(super) turn: bool,
}

impl State {
    /// Asks for a checkpoint now, whatever the log has grown by.
    pub(super) fn want(&mut self) {
        self.wanted = true;
    }

    /// Segments that the running checkpoint will still take.
    pub(super) fn segments_left(&self) -> u32 {
        self.running.as_ref().map_or(0, CheckpointWriter::segments_left)
    }

    /// Whether one is being written.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// The version at the running checkpoint's cut.
    pub fn cut_version(&self) -> Option<u64> {
        self.running.as_ref().map(|r| r.cut().version)
    }

    /// Tombstones of older versions are not needed.
    pub fn durable_version(&self) -> u64 {
        self.version
    }
}

fn appended(log: &Log) -> u64 {
    let stats = log.stats();
    stats.bytes_appended[Stream::User as usize] + stats.bytes_appended[Stream::Gc as usize]
}

impl HashStore {
    /// Whether the log has grown enough since the last checkpoint.
    #[inline]
    pub(super) fn checkpoint_due(&self) -> bool {
        let grown = appended(&self.log) - self.checkpoint.bytes_at_cut;
        if grown <= self.config.checkpoint_bytes_min {
            return false;
        }
        let wanted = self.config.checkpoint_index_ratio * self.checkpoint_payload();
        let retry = self.checkpoint.postponed_at.unwrap_or(0) + self.config.checkpoint_bytes_min / 8;
        grown > wanted && appended(&self.log) >= retry
    }

    /// Whether tombstones hold so much room that a checkpoint is worth it by itself.
    fn tombstones_press<M: SegmentStore>(&self, m: &M) -> bool {
        self.is_pressed(m)
            && self.log.until_checkpoint_bytes() > self.log.geometry().segment_bytes() / 4
            && self.checkpoint.postponed_at.is_none_or(|at| appended(&self.log) > at)
    }

    /// Segments that collections must free for a checkpoint that waits for room.
    pub(super) fn checkpoint_segments_wanted(&self) -> u32 {
        let waits = self.checkpoint.running.is_none()
            && (self.checkpoint.wanted || self.checkpoint.postponed_at.is_some());
        if waits { self.checkpoint_segments_needed() } else { 0 }
    }

    fn checkpoint_segments_needed(&self) -> u32 {
        saker_log::checkpoint::segments_for(&self.log, self.checkpoint_payload())
    }

    /// One piece of checkpoint work.
    pub(super) fn checkpoint_quantum<M: SegmentStore, W: Meter>(
        &mut self,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Background {
        if self.checkpoint.running.is_none() {
            let due = self.checkpoint.wanted || self.checkpoint_due() || self.tombstones_press(m);
            return if due { self.begin_checkpoint(m) } else { Background::Idle };
        }
        let running = self.checkpoint.running.as_ref().expect("checked above");
        if running.is_finished() {
            return self.complete_checkpoint(finished, m);
        }
        self.write_chunk(finished, m, w)
    }

    /// Begins a checkpoint now if there is room for it.
    pub fn begin_checkpoint<M: SegmentStore>(&mut self, m: &mut M) -> Background {
        self.enter_pending();
        let payload = self.checkpoint_payload();
        let generation = self.checkpoint.generation + 1;
        match CheckpointWriter::begin(&mut self.log, m, generation, self.version, payload, 1) {
            Ok(writer) => {
                self.checkpoint.running = Some(writer.resting());
                self.checkpoint.next = None;
                self.checkpoint.generation = generation;
                self.checkpoint.bytes_at_cut = appended(&self.log);
                self.checkpoint.postponed_at = None;
                self.checkpoint.wanted = false;
                Background::Worked
            }
            Err(_) => {
                self.checkpoint.postponed_at = Some(appended(&self.log));
                Background::Idle
            }
        }
    }

    fn write_chunk<M: SegmentStore, W: Meter>(&mut self, finished: Tag, m: &mut M, w: &mut W) -> Background {
        let mut payload = std::mem::take(&mut self.checkpoint.scratch);
        let (next, entries) = self.fill_chunk(&mut payload);
        let mut running = self.checkpoint.running.take().expect("a checkpoint is running").taken();
        let mut wrote = Ok(());
        if entries > 0 {
            wrote = running.chunk(&mut self.log, m, &payload);
        }
        if wrote.is_ok() {
            self.stats.checkpoint_bytes += payload.len() as u64;
            self.checkpoint.next = next;
            w.work(Unit::CopyByte, payload.len() as u64);
            w.work(Unit::ListEntry, entries as u64);
            if next.is_none() {
                wrote = running.finish(&mut self.log, m, finished);
                // The chunks are written; come back for the end only.
                self.checkpoint.next = Some(IndexKey::LAST);
            }
        }
        payload.clear();
        self.checkpoint.scratch = payload;
        self.checkpoint.running = Some(running.resting());
        if wrote.is_ok() { Background::Worked } else { Background::Waiting }
    }

    /// Fills a chunk with the entries from `next` on. Returns the place to go on at, and the entries taken.
    fn fill_chunk(&self, out: &mut Vec<u8>) -> (Option<IndexKey>, usize) {
        out.clear();
        let most = CHUNK_ENTRIES_MAX
            .min((self.log.geometry().segment_bytes() / 4 / ENTRY_BYTES_MAX) as usize)
            .max(4);
        let (mut next, mut entries) = (None, 0);
        self.index.visit(self.checkpoint.next, |place, addr| {
            let mixed = place.mixed();
            let class = u8::from(matches!(mixed, MixedKey::Long(_)));
            if entries == most || (entries > 0 && out[0] != class) {
                next = Some(place);
                return false;
            }
            if entries == 0 {
                out.extend([class, 0, 0, 0, 0, 0, 0, 0]);
            }
            match mixed {
                MixedKey::Short(k) => out.extend(k.to_le_bytes()),
                MixedKey::Long(k) => k.iter().for_each(|word| out.extend(word.to_le_bytes())),
            }
            out.extend(addr.word().to_le_bytes());
            entries += 1;
            true
        });
        (next, entries)
    }

    fn complete_checkpoint<M: SegmentStore>(&mut self, finished: Tag, m: &mut M) -> Background {
        if !self.checkpoint.running.as_ref().is_some_and(|r| r.is_complete(finished)) {
            return Background::Waiting;
        }
        let running = self.checkpoint.running.take().expect("checked above").taken();
        let version = running.cut().version;
        let previous = std::mem::take(&mut self.checkpoint.segments);
        let mut segments = running.replace(&mut self.log, m, &previous);
        segments.retain(|id| !previous.contains(id));
        self.checkpoint.segments = segments;
        self.checkpoint.version = version;
        self.stats.checkpoints += 1;
        Background::Worked
    }

    /// A program of the running checkpoint failed: give it up, try again later.
    pub(super) fn checkpoint_failed<M: SegmentStore>(&mut self, m: &mut M) {
        if let Some(running) = self.checkpoint.running.take() {
            running.taken().abort(&mut self.log, m, &self.checkpoint.segments);
        } else {
            release_others(&mut self.log, m, &self.checkpoint.segments);
        }
        if self.checkpoint.segments.iter().any(|id| self.log.segment(*id).has_failed()) {
            self.checkpoint.want();
        }
        self.checkpoint.postponed_at = Some(appended(&self.log));
    }
}
