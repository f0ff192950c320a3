// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checkpoints of the map. A chunk is `first block u64`, then a map word (u32) for each following block.

use super::gc::Progress;
use super::reserve::TRIMS_PART_MAX;
use super::{PageMap, RunningCheckpoint};
use saker_log::CheckpointWriter;
use saker_log::checkpoint::{release_others, segments_for};
use saker_segment_store::{SegmentId, SegmentStore, Stream, Tag};

const CHUNK_BLOCKS_MAX: usize = 2048;

/// Where checkpoints stand.
#[derive(Clone, Debug, Default)]
pub struct State {
    pub(super) running: RunningCheckpoint,
    next: usize,
    pub(super) segments: Vec<SegmentId>,
    pub(super) version: u64,
    pub(super) generation: u64,
    bytes_at_cut: u64,
    postponed_at: Option<u64>,
    /// A trim waits for the room that earlier ones take. Stays so until a checkpoint begins.
    wanted: bool,
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
}

impl PageMap {
    fn appended(&self) -> u64 {
        let stats = self.log.stats();
        stats.bytes_appended[Stream::User as usize] + stats.bytes_appended[Stream::Gc as usize]
    }

    pub(super) fn checkpoint_due(&self) -> bool {
        let grown = self.appended() - self.checkpoint.bytes_at_cut;
        let retry = self.checkpoint.postponed_at.unwrap_or(0) + self.config.checkpoint_bytes / 8;
        grown > self.config.checkpoint_bytes && self.appended() >= retry
    }

    fn trims_press<M: SegmentStore>(&self, m: &M) -> bool {
        self.is_pressed(m)
            && self.log.until_checkpoint_bytes() > self.log.geometry().segment_bytes() / 4
            && self.checkpoint.postponed_at.is_none_or(|at| self.appended() > at)
    }

    fn checkpoint_payload(&self) -> u64 {
        self.dftl.as_ref().map_or(self.map.len() as u64 * 4, |d| d.checkpoint_payload())
    }

    fn checkpoint_segments_needed(&self) -> u32 {
        segments_for(&self.log, self.checkpoint_payload())
    }

    /// Segments that collections must free for a checkpoint that waits for room.
    pub(super) fn checkpoint_segments_wanted(&self) -> u32 {
        let waits = self.checkpoint.running.is_none()
            && (self.checkpoint.wanted || self.checkpoint.postponed_at.is_some());
        if waits { self.checkpoint_segments_needed() } else { 0 }
    }

    /// Whether trims hold so much room, and others leave so little, that no more come before a checkpoint.
    pub(super) fn trims_must_wait<M: SegmentStore>(&self, m: &M) -> bool {
        let low = self.free_low(m) + self.checkpoint_segments_needed();
        m.free_segments() <= low
            && self.log.tombstone_bytes() >= self.log.geometry().segment_bytes() / TRIMS_PART_MAX
    }

    pub(super) fn checkpoint_quantum<M: SegmentStore>(&mut self, finished: Tag, m: &mut M) -> Progress {
        let Some(running) = &self.checkpoint.running else {
            let due = self.checkpoint.wanted || self.checkpoint_due() || self.trims_press(m);
            return if due { self.begin_checkpoint(m) } else { Progress::Idle };
        };
        if running.is_finished() {
            return self.complete_checkpoint(finished, m);
        }
        self.write_chunk(finished, m)
    }

    /// Begins a checkpoint now if there is room for it.
    pub fn begin_checkpoint<M: SegmentStore>(&mut self, m: &mut M) -> Progress {
        if !self.may_cut() {
            return Progress::Idle;
        }
        let generation = self.checkpoint.generation + 1;
        let payload = self.checkpoint_payload();
        let left = self.map_segments_left();
        self.checkpoint.postponed_at = None;
        match CheckpointWriter::begin(&mut self.log, m, generation, self.version, payload, 1 + left) {
            Ok(writer) => {
                self.checkpoint.running = Some(writer.resting());
                (self.checkpoint.next, self.checkpoint.generation) = (0, generation);
                self.checkpoint.bytes_at_cut = self.appended();
                self.checkpoint.wanted = false;
                self.keep_written();
                self.dftl.as_mut().into_iter().for_each(|d| d.begin_chunks());
                Progress::Worked
            }
            Err(_) => {
                self.checkpoint.postponed_at = Some(self.appended());
                Progress::Idle
            }
        }
    }

    fn write_chunk<M: SegmentStore>(&mut self, finished: Tag, m: &mut M) -> Progress {
        let most = CHUNK_BLOCKS_MAX.min((self.log.geometry().segment_bytes() / 16) as usize).max(4);
        if self.dftl.is_some() {
            return self.write_map_chunk(8 + 4 * most, finished, m);
        }
        let mut running = self.checkpoint.running.take().expect("a checkpoint is running").taken();
        let first = self.checkpoint.next;
        let end = (first + most).min(self.map.len());
        let wrote = if first == end {
            running.finish(&mut self.log, m, finished)
        } else if self.map[first..end].iter().all(|word| *word == 0) {
            Ok(())
        } else {
            let mut payload = (first as u64).to_le_bytes().to_vec();
            payload.extend(self.map[first..end].iter().flat_map(|word| word.to_le_bytes()));
            running.chunk(&mut self.log, m, &payload)
        };
        self.checkpoint.running = Some(running.resting());
        match wrote {
            Ok(()) => {
                self.checkpoint.next = end;
                Progress::Worked
            }
            Err(_) => Progress::Waiting,
        }
    }

    fn complete_checkpoint<M: SegmentStore>(&mut self, finished: Tag, m: &mut M) -> Progress {
        if !self.checkpoint.running.as_ref().is_some_and(|r| r.is_complete(finished)) {
            return Progress::Waiting;
        }
        let running = self.checkpoint.running.take().expect("checked above").taken();
        self.checkpoint.version = running.cut().version;
        let previous = std::mem::take(&mut self.checkpoint.segments);
        let mut segments = running.replace(&mut self.log, m, &previous);
        segments.retain(|id| !previous.contains(id));
        self.checkpoint.segments = segments;
        self.end_naming(true);
        self.stats.checkpoints += 1;
        Progress::Worked
    }

    pub(super) fn checkpoint_failed<M: SegmentStore>(&mut self, m: &mut M) {
        if let Some(running) = self.checkpoint.running.take() {
            running.taken().abort(&mut self.log, m, &self.checkpoint.segments);
            self.end_naming(false);
        } else {
            release_others(&mut self.log, m, &self.checkpoint.segments);
        }
        if self.checkpoint.segments.iter().any(|id| self.log.segment(*id).has_failed()) {
            self.checkpoint.want();
        }
        self.checkpoint.postponed_at = Some(self.appended());
    }
}
