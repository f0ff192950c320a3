//! Background work, in bounded pieces: what must be made good first, then what writes wait for, then what is owed.

use super::TreeStore;
use crate::kv::{Background, KvError};
use saker_log::SegmentState;
use saker_medium::{Completion, Io, Medium, Step, Stream, Tag};
use saker_sim::Meter;

const PIECES: u32 = 7;

impl TreeStore {
    /// One piece of background work. `finished`: everything up to this tag has completed.
    pub fn background<M: Medium, W: Meter>(
        &mut self,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Step<Background> {
        self.log.pump(finished, m);
        if self.error.is_some() {
            return Step::Done(Background::Idle);
        }
        if self.pins.is_swept {
            self.release_dead_nodes(m);
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
    fn piece<M: Medium, W: Meter>(
        &mut self,
        n: u32,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Background, KvError>> {
        let first = self.turn || self.is_pressed(m);
        match n {
            0 => Step::Done(Ok(self.repair_nodes(finished, m))),
            1 if self.gc.is_some_and(|gc| gc.is_repair()) => self.collect(m, w),
            2 if first && self.may_collect() => self.collect(m, w),
            3 => self.merge_step(finished, m, w),
            4 => Step::Done(Ok(self.manifest_step(finished, m, w))),
            5 if !first && self.may_collect() => self.collect(m, w),
            6 => self.clean_step(m, w),
            _ => Step::Done(Ok(Background::Idle)),
        }
    }

    /// Whether a collection is under way, and there is room for the entries of what it moves.
    fn may_collect(&self) -> bool {
        let is_flooded = self.imm.is_some() && self.mem.bytes() >= 2 * self.config.write_buffer_size;
        self.gc.is_some_and(|gc| !gc.is_repair()) && !is_flooded
    }

    /// Whether background work is due. Cheap: asked after every command.
    pub fn has_debt<M: Medium>(&self, m: &M) -> bool {
        self.imm.is_some()
            || self.job.is_some()
            || self.clean.is_running()
            || self.gc.is_some()
            || self.reveal.is_running()
            || self.pins.is_swept
            || self.log.releasing() > 0
            || self.log.has_failures()
            || self.is_full()
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
            Stream::Table => self.job.iter_mut().for_each(|job| job.page_failed(at)),
            Stream::Map | Stream::Invalid => {}
            Stream::User | Stream::Gc => {
                if self.log.segment(id).state == SegmentState::Closed && self.gc.is_none() {
                    self.start_collection(m);
                }
            }
        }
    }
}
