// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One application that waits for each of its operations, in virtual time. No core is modelled: only the time below the lane
//! passes.

use crate::joined::Clocked;
use crate::stores::DiskStore;
use saker_device::Stats;
use saker_host::HostError;
use saker_sim::Instant;
use saker_store::{KvStore, Lane, Op, Outcome, Refusal, Share, Submitted};

const NO_ROOM: Refusal = Refusal::Broken("nothing is on its way that could make room");
const NO_ANSWER: Refusal = Refusal::Broken("the operation has no answer, and nothing happens any more");

/// A store with one lane.
#[derive(Debug)]
pub struct Alone<S: KvStore> {
    store: S,
    lane: S::Lane,
}

impl Alone<DiskStore<Clocked>> {
    /// The device's counters.
    pub fn device_stats(&mut self) -> Stats {
        self.store.device().stats()
    }
}

impl<S: KvStore<Lane: Lane<Error = HostError>>> Alone<S> {
    /// On that store.
    ///
    /// # Errors
    /// [`Refusal::Lanes`] if it has no lane left.
    pub fn new(mut store: S) -> Result<Self, Refusal> {
        let lane = store.open_lane()?;
        Ok(Self { store, lane })
    }

    /// The time below the lane.
    pub fn now(&self) -> Instant {
        self.store.now()
    }

    /// Carries an operation out and shows how it ended, or tells that the store refused it.
    ///
    /// # Errors
    /// [`HostError`]: the lane cannot be used any more.
    pub fn carry_out<R>(
        &mut self,
        op: &Op,
        show: impl FnOnce(Outcome<'_>) -> R,
    ) -> Result<Result<R, Refusal>, HostError> {
        match self.lane.submit(Share::alone(op), self.store.now()) {
            Submitted::Done(outcome) => Ok(Ok(show(outcome))),
            Submitted::Refused(refusal) => Ok(Err(refusal)),
            Submitted::Stalled(_) => Ok(Err(NO_ROOM)),
            Submitted::Pending(_) => self.wait(show),
        }
    }

    fn wait<R>(&mut self, show: impl FnOnce(Outcome<'_>) -> R) -> Result<Result<R, Refusal>, HostError> {
        let (mut show, mut is_over) = (Some(show), false);
        loop {
            self.lane.resume();
            let now = self.store.now();
            self.lane.look(now);
            let shown = self.lane.poll(now, |ended| show.take().map(|show| show(ended.outcome)))?;
            if let Some(shown) = shown.flatten() {
                return Ok(Ok(shown));
            }
            if is_over {
                return Ok(Err(NO_ANSWER));
            }
            self.lane.ring();
            self.store.drive();
            is_over = self.store.next_deadline().is_none() && !self.lane.look(self.store.now());
        }
    }
}
