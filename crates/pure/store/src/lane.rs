// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One application thread's way into a store.

use crate::op::{Op, Share};
use crate::outcome::{Outcome, Refusal, Stall};
use crate::work::Work;
use saker_sim::Instant;

/// Names what a lane has on its way: operations that were submitted together, which end together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// A small number, of no other ticket of the lane that is on its way: for tables beside the lane.
    pub slot: u32,
    /// How many of the lane's operations it stands for.
    pub operations: u32,
}

/// What a store says to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted<'a> {
    /// The first operation has ended.
    Done(Outcome<'a>),
    /// It is on its way, with those behind it that went along.
    Pending(Ticket),
    /// Not now. Nothing has happened.
    Stalled(Stall),
    /// Never. Nothing has happened.
    Refused(Refusal),
}

/// The end of what a ticket stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed<'a> {
    /// Whose it was: lanes have numbers in the order in which they were opened. Another lane's only where lanes share what
    /// takes completions ([`Completions::Shared`](crate::Completions::Shared)).
    pub lane: usize,
    /// What has ended.
    pub ticket: Ticket,
    /// How.
    pub outcome: Outcome<'a>,
}

/// How far a lane is that has nothing left to submit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// It has just begun to bring what it gathered to its end.
    Began,
    /// It waits for completions.
    Waiting,
    /// The same; what other lanes had gathered was in its way and has been announced to the device.
    Announced,
    /// Nothing more will come of it. What it has in flight ends by itself.
    Over,
    /// What it had gathered has come to its end now; so many writes that had been answered well failed after all.
    Synced {
        /// Those writes.
        failed: u64,
    },
}

/// One application thread's way into a store. None of its calls waits.
pub trait Lane {
    /// Why the lane cannot be used any more.
    type Error;

    /// Submits the first operation of `share`, and as many of those behind it as the store sends along.
    fn submit(&mut self, share: Share<'_>, now: Instant) -> Submitted<'_>;

    /// Goes on with an operation that is submitted piece by piece. While this is true nothing else can be submitted.
    #[inline]
    fn resume(&mut self) -> bool {
        false
    }

    /// Looks for completions; whether there is something for [`poll`](Self::poll), or to be charged.
    fn look(&mut self, now: Instant) -> bool;

    /// Shows one outcome to `visit`, if there is one.
    ///
    /// # Errors
    /// The lane cannot be used any more, or what came is nobody's; then the next call may bring more.
    fn poll<R>(
        &mut self,
        now: Instant,
        visit: impl FnOnce(Completed<'_>) -> R,
    ) -> Result<Option<R>, Self::Error>;

    /// Announces what was submitted to the device, if anything was.
    fn ring(&mut self);

    /// What was spent since the last call.
    fn work(&mut self) -> Work;

    /// What counts for the depth of a job: tickets on their way, or the commands they took.
    fn in_flight(&self) -> usize;

    /// Whether an operation of this kind counts for the depth, and so waits for room.
    #[inline]
    fn counts(&self, _: &Op) -> bool {
        true
    }

    /// Whether the operation would only join others that are gathered, and leave with them: it has begun when they have.
    #[inline]
    fn joins(&self, _: &Op) -> bool {
        false
    }

    /// The lane has nothing left to submit: brings to its end what was answered and is still gathered here.
    ///
    /// # Errors
    /// The lane cannot be used any more.
    #[inline]
    fn drain(&mut self, _: Instant) -> Result<Drain, Self::Error> {
        Ok(if self.in_flight() == 0 { Drain::Over } else { Drain::Waiting })
    }
}
