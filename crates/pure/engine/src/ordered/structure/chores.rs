// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Background work.

use super::Configured;
use crate::ordered::Store;
use crate::ordered::background::Piece;
use saker_engine_api::{Background, Job, JobKind, Task};
use saker_segment_store::{PageAddr, SegmentStore, Step, Tag};
use saker_sim::Meter;

/// Background work of the structure, in pieces.
pub trait Chores: Configured {
    /// Pieces that take turns.
    const PIECES: u32;

    /// A call for background work has come.
    fn begin<M: SegmentStore>(store: &mut Store<Self>, m: &mut M);

    /// One of the pieces, in the order of their urgency.
    fn piece<M: SegmentStore, W: Meter>(
        store: &mut Store<Self>,
        n: u32,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Piece;

    /// What a piece is for, as things are.
    fn kind_of(store: &Store<Self>, n: u32) -> JobKind {
        let _ = (store, n);
        JobKind::Upkeep
    }

    /// Whether what is due may wait for later calls ([`Engine::puts_off`](saker_engine_api::Engine::puts_off)); nothing else is due.
    fn puts_off<M: SegmentStore>(store: &mut Store<Self>, m: &M) -> bool {
        let _ = (store, m);
        false
    }

    /// Work for another thread ([`Engine::next_task`](saker_engine_api::Engine::next_task)).
    fn next_task(store: &mut Store<Self>) -> Option<Box<dyn Task>> {
        let _ = store;
        None
    }

    /// It is done.
    fn task_done(store: &mut Store<Self>, task: Box<dyn Task>) {
        let _ = (store, task);
    }

    /// Whether work waits for such a thread.
    fn waits_for_task(store: &Store<Self>) -> bool {
        let _ = store;
        false
    }

    /// Jobs that may run side by side now; background work is due.
    fn jobs<M: SegmentStore>(store: &Store<Self>, m: &M, visit: &mut dyn FnMut(Job)) {
        let _ = (store, m);
        visit(Job::UPKEEP);
    }

    /// A piece of a job of the structure's own, which may be over.
    fn job_piece<M: SegmentStore, W: Meter>(
        store: &mut Store<Self>,
        job: Job,
        m: &mut M,
        w: &mut W,
    ) -> Piece {
        let _ = (store, job, m, w);
        Step::Done(Ok(Background::Idle))
    }

    /// One of the pieces, without what jobs of their own do.
    fn rest_piece<M: SegmentStore, W: Meter>(
        store: &mut Store<Self>,
        n: u32,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Piece {
        Self::piece(store, n, finished, m, w)
    }

    /// Whether it has work of its own.
    fn has_work(&self) -> bool;

    /// The program of a page of its own failed. Whether what a running manifest names must first be made good elsewhere.
    fn page_failed(&mut self, page: PageAddr) -> bool;
}
