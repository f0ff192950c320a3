// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Manifests: which structure there is. A manifest is a checkpoint of the log, so it replaces the one before by its end record,
//! and its cut says from where on the value log must be scanned for what the structure does not have.
//!
//! A manifest begins when a memtable is frozen: everything before the cut is then in the structure or in that memtable. It goes
//! on when the structure has taken that in, and describes it as it is then.

use super::Store;
use super::structure::Structure;
use saker_engine_api::Background;
use saker_log::checkpoint::release_others;
use saker_log::reserve::FOR_COPIES;
use saker_log::{CheckpointWriter, Log};
use saker_segment_store::{SegmentId, SegmentStore, Stream, Tag};
use saker_sim::{Meter, Unit};
use std::collections::VecDeque;

/// How many times its own bytes a manifest lets go of records that passed through the log: fewer would cost more than they are worth.
const TRIMMED_TIMES: u64 = 16;

/// Where manifests stand.
#[derive(Clone, Debug, Default)]
pub struct State {
    running: Option<CheckpointWriter>,
    /// Chunks that are to be written; `None`: memtables must be taken in first.
    chunks: Option<VecDeque<Vec<u8>>>,
    /// Segments of the last complete one.
    pub(super) segments: Vec<SegmentId>,
    /// Version at its cut.
    pub(super) version: u64,
    pub(super) generation: u64,
    bytes_at_cut: u64,
    postponed_at: Option<u64>,
    /// One is needed now.
    pub(crate) wanted: bool,
}

impl State {
    /// Whether one is being written.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }
}

fn appended(log: &Log) -> u64 {
    let stats = log.stats();
    stats.bytes_appended[Stream::User as usize] + stats.bytes_appended[Stream::Gc as usize]
}

impl<S: Structure> Store<S> {
    /// Free segments that everybody leaves to manifests.
    pub(crate) fn manifest_segments<M: SegmentStore>(&self, _: &M) -> u32 {
        FOR_COPIES.segments + self.manifest_left()
    }

    /// Segments that the running manifest, or else the next one, will take.
    pub(crate) fn manifest_left(&self) -> u32 {
        let left = self.manifest.running.as_ref().map(CheckpointWriter::segments_left);
        left.unwrap_or_else(|| self.whole_manifest_segments())
    }

    /// Segments of a manifest, whether one is half written or not: what may be stored does not depend on that.
    pub(crate) fn whole_manifest_segments(&self) -> u32 {
        saker_log::checkpoint::segments_for(&self.log, S::manifest_bytes(self))
    }

    fn is_manifest_due<M: SegmentStore>(&self, m: &M) -> bool {
        let grown = appended(&self.log) - self.manifest.bytes_at_cut;
        let segment = self.log.geometry().segment_bytes();
        let much = (segment * 2).max(segment * u64::from(m.quota_segments()) / 32);
        let due = grown > self.settings.checkpoint_bytes_min || S::freed_by_manifest(self) > much;
        // Where values are in the structure all that a manifest flushes is merged with much: it has to be worth that.
        let worth = if self.settings.has_inside() { segment / 4 } else { 0 };
        let helps = S::freed_at_once(self) > worth || self.log.until_checkpoint_bytes() > segment / 4;
        self.manifest.wanted || (due || helps && self.is_pressed(m)) && self.may_retry(m)
    }

    /// Nothing else goes on, and room is short: a manifest is wanted if it frees anything. True if it is.
    pub(crate) fn want_manifest<M: SegmentStore>(&mut self, m: &M) -> bool {
        let frees = self.settings.has_inside() && self.is_pressed(m) && S::freed_by_manifest(self) > 0;
        let is_new = frees && !self.manifest.wanted && !self.manifest.is_running() && self.may_retry(m);
        self.manifest.wanted |= is_new;
        is_new
    }

    /// Whether a manifest for which there was no room may have some now.
    fn may_retry<M: SegmentStore>(&self, m: &M) -> bool {
        let has_grown = |at| appended(&self.log) > at;
        self.manifest
            .postponed_at
            .is_none_or(|at| has_grown(at) || m.free_segments() > self.manifest_segments(m))
    }

    /// The memtable is full and may be frozen: if values are in it, a manifest begins now, whose cut is then where the memtable ends, and
    /// which lets the records of the values go. True if it froze the memtable.
    pub(crate) fn trim<M: SegmentStore>(&mut self, m: &mut M) -> bool {
        let is_due = self.settings.has_inside()
            && !self.manifest.is_running()
            && self.may_retry(m)
            && self.log.until_checkpoint_bytes() >= TRIMMED_TIMES * S::manifest_bytes(self);
        is_due && self.begin_manifest(m) == Background::Worked
    }

    /// The memtable is full and may be frozen: it is, with a manifest if one is due. `false`: the manifest before it has to end first.
    pub(crate) fn freeze_full<M: SegmentStore>(&mut self, m: &mut M) -> bool {
        let must_cut = S::must_cut(self, m);
        if must_cut && self.manifest.is_running() {
            return false;
        }
        let is_frozen = if must_cut { self.begin_manifest(m) == Background::Worked } else { self.trim(m) };
        if !is_frozen {
            self.freeze();
        }
        true
    }

    /// Whether there is work for a manifest.
    pub(crate) fn manifest_has_work<M: SegmentStore>(&self, m: &M) -> bool {
        self.manifest.is_running() || self.is_manifest_due(m)
    }

    /// One piece of manifest work.
    pub(crate) fn manifest_step<M: SegmentStore, W: Meter>(
        &mut self,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Background {
        let Some(running) = &self.manifest.running else {
            return if self.may_freeze() && self.is_manifest_due(m) {
                self.begin_manifest(m)
            } else {
                Background::Idle
            };
        };
        if running.is_finished() {
            return self.complete_manifest(finished, m);
        }
        if self.manifest.chunks.is_none() {
            if !self.own.has_cut() {
                return Background::Waiting;
            }
            let most = self.log.geometry().segment_bytes() / 4;
            let most = most.min(saker_log::checkpoint::CHUNK_BYTES_MAX - 8);
            self.manifest.chunks = Some(S::describe(self, most));
        }
        self.write_chunk(finished, m, w)
    }

    pub(crate) fn begin_manifest<M: SegmentStore>(&mut self, m: &mut M) -> Background {
        self.close_gaps(m);
        let (generation, bytes) = (self.manifest.generation + 1, S::manifest_bytes(self));
        match CheckpointWriter::begin(&mut self.log, m, generation, self.version, bytes, 0) {
            Ok(writer) => {
                self.freeze();
                self.longest.cut();
                self.own.manifest_begun();
                let state = &mut self.manifest;
                (state.running, state.generation, state.chunks) = (Some(writer.resting()), generation, None);
                (state.bytes_at_cut, state.postponed_at, state.wanted) = (appended(&self.log), None, false);
                Background::Worked
            }
            Err(_) => {
                self.manifest.postponed_at = Some(appended(&self.log));
                Background::Waiting
            }
        }
    }

    fn write_chunk<M: SegmentStore, W: Meter>(&mut self, finished: Tag, m: &mut M, w: &mut W) -> Background {
        let State { running: Some(running), chunks: Some(chunks), .. } = &mut self.manifest else {
            return Background::Idle;
        };
        let Some(chunk) = chunks.front() else {
            let ended = running.finish(&mut self.log, m, finished);
            return if ended.is_ok() { Background::Worked } else { Background::Waiting };
        };
        if running.chunk(&mut self.log, m, chunk).is_err() {
            return Background::Waiting;
        }
        self.kv.checkpoint_bytes += chunk.len() as u64;
        w.work(Unit::CopyByte, chunk.len() as u64);
        chunks.pop_front();
        Background::Worked
    }

    fn complete_manifest<M: SegmentStore>(&mut self, finished: Tag, m: &mut M) -> Background {
        if !self.manifest.running.as_ref().is_some_and(|r| r.is_complete(finished)) {
            return Background::Waiting;
        }
        let running = self.manifest.running.take().expect("checked above").taken();
        self.manifest.version = running.cut().version;
        let previous = std::mem::take(&mut self.manifest.segments);
        let mut segments = running.replace(&mut self.log, m, &previous);
        segments.retain(|id| !previous.contains(id));
        self.manifest.segments = segments;
        self.manifest.chunks = None;
        self.kv.checkpoints += 1;
        S::manifest_complete(self, m);
        Background::Worked
    }

    /// A page of the running manifest, or of what it names, failed: another one is written.
    pub(crate) fn fail_manifest<M: SegmentStore>(&mut self, m: &mut M) {
        match self.manifest.running.take() {
            Some(running) => running.taken().abort(&mut self.log, m, &self.manifest.segments),
            None => release_others(&mut self.log, m, &self.manifest.segments),
        }
        self.manifest.chunks = None;
        self.manifest.wanted = true;
        S::manifest_failed(self);
    }
}
