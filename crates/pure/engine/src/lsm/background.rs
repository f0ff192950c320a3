//! Background work, in bounded pieces: what must be made good first, then what writes wait for, then what is owed.

use super::LsmStore;
use super::job::Job;
use crate::kv::{Background, KvError};
use saker_log::SegmentState;
use saker_medium::{Completion, Io, Medium, Step, Stream, Tag};
use saker_sim::Meter;
use std::sync::Arc;

/// How a piece of background work ended.
pub(super) type Piece = Step<Result<Background, KvError>>;

impl LsmStore {
    /// One piece of background work. `finished`: everything up to this tag has completed.
    pub fn background<M: Medium, W: Meter>(
        &mut self,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Step<Background> {
        self.log.pump(finished, m);
        self.brake.pay();
        if self.error.is_some() {
            return Step::Done(Background::Idle);
        }
        if self.log.has_failures() && self.gc.is_some_and(|gc| !gc.is_repair()) && self.log.must_evacuate() {
            // Nothing is erased before failed pages are repaired.
            self.gc = None;
        }
        if self.gc.is_none() {
            self.start_collection(m);
        }
        if self.reveal_step(m) {
            return Step::Done(Background::Worked);
        }
        let mut waits = false;
        for piece in 0..PIECES {
            match self.piece(piece, finished, m, w) {
                Step::Done(Ok(Background::Worked)) => {
                    self.turn = !self.turn;
                    return Step::Done(Background::Worked);
                }
                Step::Done(Ok(Background::Waiting)) | Step::Blocked(_) => waits = true,
                Step::Done(Ok(Background::Idle)) => {}
                Step::Done(Err(e)) => {
                    self.error = Some(e);
                    return Step::Done(Background::Idle);
                }
                Step::Need(reads) => return Step::Need(reads),
            }
        }
        let outstanding = self.log.releasing() > 0 || self.log.has_failures() || self.manifest.is_running();
        Step::Done(if waits || outstanding { Background::Waiting } else { Background::Idle })
    }

    /// The pieces in the order of their urgency.
    fn piece<M: Medium, W: Meter>(&mut self, n: u32, finished: Tag, m: &mut M, w: &mut W) -> Piece {
        let first = self.collects_first(m);
        match n {
            0 => self.repair_tables(finished, m, w),
            1 if self.gc.is_some_and(|gc| gc.is_repair()) => self.collect(m, w),
            2 => self.flush_step(m, w),
            3 => Step::Done(Ok(self.manifest_step(finished, m, w))),
            4 if first => self.collect_step(m, w),
            5 => self.compaction_step(m, w),
            6 if !first => self.collect_step(m, w),
            7 if self.gc.is_none() && self.is_pressed(m) => self.collect_tables(m, w),
            _ => Step::Done(Ok(Background::Idle)),
        }
    }

    /// Whether collections go before compactions. Under pressure they do, but not while entries wait to be merged: what
    /// they move is entered anew, so they would fill the tables faster than anything takes out what they replaced.
    fn collects_first<M: Medium>(&self, m: &M) -> bool {
        if self.is_pressed(m) { !self.must_merge() } else { self.turn }
    }

    fn must_merge(&self) -> bool {
        let trigger = self.config.level0_file_num_compaction_trigger as usize;
        self.reveal.merges() || self.levels.level(0).len() >= trigger.max(1)
    }

    fn collect_step<M: Medium, W: Meter>(&mut self, m: &mut M, w: &mut W) -> Piece {
        if self.gc.is_some() { self.collect(m, w) } else { Step::Done(Ok(Background::Idle)) }
    }

    fn flush_step<M: Medium, W: Meter>(&mut self, m: &mut M, w: &mut W) -> Piece {
        if self.may_freeze() && self.mem.bytes() >= self.config.write_buffer_size {
            self.freeze();
        }
        let Some(oldest) = self.frozen.front() else { return Step::Done(Ok(Background::Idle)) };
        let mut job = self.flush.take().unwrap_or_else(|| Job::flush(Arc::clone(oldest)));
        let step = self.job_step(&mut job, m, w);
        if !matches!(step, Step::Done(Ok(Background::Idle))) {
            self.flush = Some(job);
        }
        worked_if_idle(step)
    }

    /// Whether background work is due. Cheap: asked after every command.
    pub fn has_debt<M: Medium>(&self, m: &M) -> bool {
        !self.frozen.is_empty()
            || !self.compactions.is_empty()
            || self.gc.is_some()
            || self.reveal.is_running()
            || self.log.releasing() > 0
            || self.log.has_failures()
            || self.sizes.pending_bytes > 0
            || self.mem.bytes() >= self.config.write_buffer_size
            || self.manifest_has_work(m)
            || m.free_segments() <= self.free_low(m)
    }

    /// Takes note of a finished I/O.
    pub fn completed<M: Medium>(&mut self, done: &Completion, m: &mut M) {
        let failed = self.log.completed(done, m);
        if done.io == Io::Sync && done.result.is_err() && self.manifest.is_running() {
            self.manifest_failed(m);
        }
        let Io::Program { at, .. } = done.io else { return };
        if !failed {
            return;
        }
        let id = self.log.geometry().segment_of(at);
        match self.log.segment(id).stream() {
            Stream::Checkpoint => self.manifest_failed(m),
            // What the manifest names must first be made good elsewhere.
            Stream::Table if !self.config.ring_lasts && self.manifest.is_running() => self.manifest_failed(m),
            Stream::Table | Stream::Map | Stream::Invalid => {}
            Stream::User | Stream::Gc => {
                if self.log.segment(id).state == SegmentState::Closed && self.gc.is_none() {
                    self.start_collection(m);
                }
            }
        }
    }
}

const PIECES: u32 = 8;

/// A job that is finished is work that was done.
pub(super) fn worked_if_idle(step: Piece) -> Piece {
    match step {
        Step::Done(Ok(Background::Idle)) => Step::Done(Ok(Background::Worked)),
        step => step,
    }
}
