// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How an engine comes back.

use saker_log::recover::{Damage, Progress};
use saker_segment_store::{Completion, SegmentStore, Step};
use std::fmt::Debug;

/// A store on its way back after power came on.
pub trait Recover: Clone + Debug {
    /// What comes of it.
    type Engine;

    /// Goes on, until it has [`Finished`](Progress::Finished).
    ///
    /// # Errors
    /// [`Damage`]: the image contradicts itself, and the store cannot be opened.
    fn step<M: SegmentStore>(&mut self, medium: &mut M) -> Step<Result<Progress, Damage>>;

    /// Takes note of a finished I/O.
    fn completed<M: SegmentStore>(&mut self, done: &Completion, medium: &mut M);

    /// The store, after `step` said so.
    fn finish(self) -> Self::Engine;
}
