// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device that was filled without time, to begin any number of timed runs from.

use crate::joined::Inline;
use crate::result::Job;
use crate::running::Running;
use crate::stores::{DiskLane, DiskStore};
use saker_assembly::Build;
use saker_device::{Costs, Stats, timings};
use saker_host::{HostError, TransferOptions};
use saker_nvme::KeyLengthError;
use saker_sim::Instant;
use saker_store::{Failure, KvStore as _, Lane as _, Op, Outcome, Refusal, Share, Submitted};

/// Turns after which an operation will not be answered any more: a device without time answers in the first.
const TURNS_MAX: u64 = 1 << 20;

/// A device without time, and a lane.
pub struct Prepared {
    build: Build,
    store: DiskStore<Inline>,
    lane: DiskLane,
}

impl Prepared {
    /// An empty device of that build.
    ///
    /// # Errors
    /// [`HostError`] if it cannot be connected to.
    pub fn start(build: &Build) -> Result<Self, HostError> {
        let job = Job {
            threads: 1,
            depth: 1,
            operations: Vec::new(),
            flush: false,
            transfer: TransferOptions::default(),
        };
        let mut store = DiskStore::untimed(build, &job)?;
        let lane = store.open_lane().map_err(|_| HostError::Protocol(saker_host::ProtocolError::Queues))?;
        Ok(Self { build: build.clone(), store, lane })
    }

    /// Carries operations out, one after the other.
    ///
    /// # Errors
    /// [`HostError`] of the first that fails. A key that is not there is no failure.
    pub fn run(&mut self, operations: impl IntoIterator<Item = Op>) -> Result<(), HostError> {
        let mut operations = operations.into_iter().filter(|operation| *operation != Op::Wait);
        operations.try_for_each(|operation| self.carry_out(&operation))
    }

    fn carry_out(&mut self, operation: &Op) -> Result<(), HostError> {
        match self.lane.submit(Share::alone(operation), Instant::ZERO) {
            Submitted::Done(outcome) => return ended(outcome),
            Submitted::Pending(_) => {}
            Submitted::Stalled(_) => return Err(HostError::Timeout { turns: 0 }),
            Submitted::Refused(Refusal::KeyLength(bytes)) => {
                return Err(HostError::NativeKeyLength(KeyLengthError(bytes)));
            }
            Submitted::Refused(_) => return Err(saker_host::ProtocolError::Queues.into()),
        }
        self.lane.ring();
        for _ in 0..TURNS_MAX {
            self.store.drive();
            if let Some(outcome) = self.lane.poll(Instant::ZERO, |completed| ended(completed.outcome))? {
                return outcome;
            }
        }
        Err(HostError::Timeout { turns: TURNS_MAX })
    }

    /// A device in virtual time in this one's state, for jobs with the threads and the depth of `like`.
    ///
    /// # Errors
    /// [`HostError`] if it cannot be connected to.
    pub fn fork(&mut self, like: &Job) -> Result<Running, HostError> {
        let host = self.build.attach(like.threads.max(1) as u16, like.depth.max(1));
        let profile = &self.build.profile;
        let device = self.store.device().fork_timed(timings(profile), Costs::of(profile), host);
        Running::on(device, &self.build, like)
    }

    /// The device's counters.
    pub fn stats(&mut self) -> Stats {
        self.store.device().stats()
    }
}

fn ended(outcome: Outcome<'_>) -> Result<(), HostError> {
    match outcome {
        Outcome::Failed(Failure::Status(status)) => Err(status.into()),
        Outcome::Failed(_) => Err(saker_host::KvError::OutcomeUnknown.into()),
        _ => Ok(()),
    }
}
