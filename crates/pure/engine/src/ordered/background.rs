// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Background work, in bounded pieces: what must be made good first, then what writes wait for, then what is owed.

use super::Store;
use super::structure::Structure;
use saker_engine_api::{Background, Job, JobKind, KvError};
use saker_log::SegmentState;
use saker_segment_store::{Completion, Io, SegmentStore, Step, Stream, Tag};
use saker_sim::Meter;

/// How a piece of background work ended.
pub type Piece = Step<Result<Background, KvError>>;

/// What background work has asked for pages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    /// The piece that waits for them.
    piece: Option<u32>,
    /// How often pieces have asked since one was done.
    in_vain: u32,
}

impl<S: Structure> Store<S> {
    /// One piece of background work. `finished`: everything up to this tag has completed.
    pub(super) fn quantum<M: SegmentStore, W: Meter>(
        &mut self,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Step<Background> {
        if !self.begin_quantum(finished, m) {
            return Step::Done(Background::Idle);
        }
        if self.begin_anew(m) {
            self.upkeep.did = Some(JobKind::Rest);
            return Step::Done(Background::Worked);
        }
        let waits = match self.first_of(Self::own_or_structures, finished, m, w) {
            Step::Done(Background::Waiting) => true,
            Step::Done(Background::Idle) if self.upkeep.error().is_none() => false,
            done => return done,
        };
        if self.upkeep.is_urgent || S::waits_for_task(self) {
            // More could be done, or will be: nothing is at rest, nor stuck.
            return Step::Done(if waits { Background::Waiting } else { Background::Idle });
        }
        // What makes reads faster, behind all that writes can wait for.
        if let Some(step) = self.bring_wanted(m, w) {
            return step;
        }
        if self.rests(finished, m) && (self.want_manifest(m) || self.reveal_at_last(m)) {
            return Step::Done(Background::Worked);
        }
        if finished >= m.last_tag() {
            // No I/O is on its way, so it may be slots of the page buffer that are waited for.
            let held = if waits { self.close_gaps(m) } else { false };
            if !held && self.lacks_only_segments(m) {
                self.upkeep.stick();
            }
        }
        let outstanding = self.log.releasing() > 0 || self.log.has_failures() || self.manifest.is_running();
        Step::Done(if waits || outstanding { Background::Waiting } else { Background::Idle })
    }

    /// A quantum of a job that others run beside. It leaves it to [`Self::quantum`] to find that nothing can be done: others may.
    pub(super) fn quantum_beside<M: SegmentStore, W: Meter>(
        &mut self,
        job: Job,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Step<Background> {
        if !self.begin_quantum(finished, m) {
            return Step::Done(Background::Idle);
        }
        if job.kind == JobKind::Rest {
            return self.rest(finished, m, w);
        }
        match S::job_piece(self, job, m, w) {
            Step::Done(Ok(Background::Worked)) => {
                self.reveal.rests_since = None;
                Step::Done(Background::Worked)
            }
            Step::Done(Ok(outcome)) => Step::Done(outcome),
            Step::Done(Err(e)) => {
                self.upkeep.fail(e);
                Step::Done(Background::Idle)
            }
            Step::Need(reads) => Step::Need(reads),
            Step::Blocked(_) => Step::Done(Background::Waiting),
        }
    }

    /// What is due and has no job of its own.
    fn rest<M: SegmentStore, W: Meter>(&mut self, finished: Tag, m: &mut M, w: &mut W) -> Step<Background> {
        if self.begin_anew(m) {
            return Step::Done(Background::Worked);
        }
        self.first_of(Self::own_or_rest, finished, m, w)
    }

    /// What every quantum begins with. Whether anything may be done.
    fn begin_quantum<M: SegmentStore>(&mut self, finished: Tag, m: &mut M) -> bool {
        self.upkeep.begin(S::is_short(self, m));
        self.log.pump(finished, m);
        S::begin(self, m);
        if self.upkeep.error().is_some() {
            return false;
        }
        if self.log.has_failures() && self.gc.is_some_and(|gc| !gc.is_repair()) && self.log.must_evacuate() {
            // Nothing is erased before failed pages are repaired.
            self.gc = None;
        }
        true
    }

    /// Begins a collection if one is due, and goes on finding out what is not needed. True if that did anything.
    fn begin_anew<M: SegmentStore>(&mut self, m: &mut M) -> bool {
        if self.release_dead_if_short(m) {
            return true;
        }
        if self.gc.is_none() {
            self.start_collection(m);
        }
        self.reveal_step(m)
    }

    /// The first of the pieces that does something, or needs pages for it. Otherwise, whether any waits; a failure is noted.
    fn first_of<M: SegmentStore, W: Meter>(
        &mut self,
        piece_of: impl Fn(&mut Self, u32, Tag, &mut M, &mut W) -> Piece,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Step<Background> {
        let mut outcome = Background::Idle;
        // Who asked for pages goes on first: others would ask for theirs, and so send these away.
        let asked = self.asked.piece.take();
        for piece in asked.into_iter().chain(0..=S::PIECES) {
            let kind = S::kind_of(self, piece);
            match piece_of(self, piece, finished, m, w) {
                Step::Done(Ok(Background::Worked)) => {
                    self.upkeep.did = Some(kind);
                    self.upkeep.worked();
                    self.asked.in_vain = 0;
                    self.reveal.rests_since = None;
                    return Step::Done(Background::Worked);
                }
                Step::Done(Ok(Background::Waiting)) | Step::Blocked(_) => outcome = Background::Waiting,
                Step::Done(Ok(Background::Idle)) => {}
                Step::Done(Err(e)) => {
                    self.upkeep.fail(e);
                    return Step::Done(Background::Idle);
                }
                Step::Need(reads) => {
                    self.asked.piece = Some(piece);
                    self.asked.in_vain = self.asked.in_vain.saturating_add(1);
                    return Step::Need(reads);
                }
            }
        }
        Step::Done(outcome)
    }

    /// Whether background work has asked for pages more often than a search of `levels` nodes has to: others send nodes that it looks
    /// at out of a cache while it waits for the rest. It then asks for those as well, as if they were in none.
    pub(crate) fn asks_in_vain(&self, levels: u32) -> bool {
        self.asked.in_vain > levels
    }

    /// One of the structure's pieces; the last one is the store's own.
    fn own_or_structures<M: SegmentStore, W: Meter>(
        &mut self,
        n: u32,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Piece {
        if n < S::PIECES { S::piece(self, n, finished, m, w) } else { self.walk_step(m, w) }
    }

    /// The same without what jobs of their own do.
    fn own_or_rest<M: SegmentStore, W: Meter>(
        &mut self,
        n: u32,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Piece {
        if n < S::PIECES { S::rest_piece(self, n, finished, m, w) } else { self.walk_step(m, w) }
    }

    /// Whether nothing else than segments is waited for: none is on its way to be free, nothing is to be repaired, and the page buffer, of
    /// which others may hold pages, has slots for any piece of work.
    fn lacks_only_segments<M: SegmentStore>(&self, m: &M) -> bool {
        let has_slots = 4 * m.page_buffer().free_slots() >= usize::from(m.page_buffer().slots());
        has_slots && self.log.releasing() == 0 && !self.log.has_failures()
    }

    /// Whether background work is due. Cheap: asked after every command.
    pub(super) fn has_debt<M: SegmentStore>(&self, m: &M) -> bool {
        self.own.has_work() || self.owes_more(m)
    }

    fn owes_more<M: SegmentStore>(&self, m: &M) -> bool {
        self.own.frozen().next().is_some()
            || self.gc.is_some()
            || self.reveal.is_running()
            || self.log.releasing() > 0
            || self.log.has_failures()
            || self.is_full()
            || self.manifest_has_work(m)
            || m.free_segments() <= self.free_low(m)
    }

    /// Whether nothing else is due than work of the structure that no write waits for.
    pub(super) fn owes_only_structure<M: SegmentStore>(&self, m: &M) -> bool {
        !self.owes_more(m) && self.upkeep.error().is_none()
    }

    /// Takes note of a finished I/O.
    pub(super) fn note_completed<M: SegmentStore>(&mut self, done: &Completion, m: &mut M) {
        let failed = self.log.completed(done, m);
        if done.io == Io::Sync && done.result.is_err() && self.manifest.is_running() {
            self.fail_manifest(m);
        }
        let Io::Program { at, .. } = done.io else { return };
        if !failed {
            return;
        }
        let id = self.log.geometry().segment_of(at);
        match self.log.segment(id).stream() {
            Stream::Checkpoint => self.fail_manifest(m),
            Stream::Table => {
                let manifest_fails = self.own.page_failed(at) && !self.settings.ring_lasts;
                if manifest_fails && self.manifest.is_running() {
                    self.fail_manifest(m);
                }
            }
            Stream::Map | Stream::Invalid => {}
            Stream::User | Stream::Gc => {
                if self.log.segment(id).state == SegmentState::Closed && self.gc.is_none() {
                    self.start_collection(m);
                }
            }
        }
    }
}
