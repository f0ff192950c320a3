//! Background work of a store at the host: one worker, in quanta on the cores of the application's threads. As in the device
//! (`device/src/timed/cores.rs`): an idle core takes it at once, busy ones after a bounded number of operations; a quantum
//! occupies its core, and nothing follows it before its time is over.

use super::{Driver, State};
use crate::measured::Measured;
use saker_sim::{Instant, OVERTAKERS_MAX};
use saker_store::JobId;

/// What the worker is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worker {
    /// Nothing is due.
    Idle,
    /// A job waits for a core, since then; so many operations went past it.
    Due { job: JobId, since: Instant, overtakers: u32 },
    /// A quantum ends then.
    Busy { until: Instant },
}

impl Worker {
    /// An operation was executed.
    pub fn was_overtaken(&mut self) {
        if let Self::Due { overtakers, .. } = self {
            *overtakers += 1;
        }
    }

    /// The job whose turn it is though no core is idle.
    pub fn has_waited_enough(self) -> Option<JobId> {
        match self {
            Self::Due { job, overtakers, .. } if overtakers >= OVERTAKERS_MAX => Some(job),
            _ => None,
        }
    }
}

impl<S: Measured> Driver<S> {
    /// Something happened after which background work may be due.
    pub(super) fn wake_worker(&mut self, at: Instant) {
        if self.worker == Worker::Idle
            && let Some(job) = self.store.background()
        {
            self.worker = Worker::Due { job: job.id, since: at, overtakers: 0 };
        }
    }

    /// When the worker does something by itself: its quantum ends, or a core is idle.
    pub(super) fn work_at(&self) -> Option<Instant> {
        match self.worker {
            Worker::Idle => None,
            Worker::Due { since, .. } => self.idle_core().map(|n| self.cores[n].busy.max(since)),
            Worker::Busy { until } => Some(until),
        }
    }

    /// The core of a lane that has nothing to do, the first that is free.
    fn idle_core(&self) -> Option<usize> {
        let is_idle = |state| matches!(state, State::Waiting | State::Over);
        let idle = self.cores.iter().enumerate().filter(|(_, core)| is_idle(core.state));
        idle.min_by_key(|(_, core)| core.busy).map(|(n, _)| n)
    }

    /// It is time for what [`Driver::work_at`] told.
    pub(super) fn work(&mut self, at: Instant) {
        match (self.worker, self.idle_core()) {
            (Worker::Due { job, .. }, Some(n)) => self.quantum(job, n, at),
            _ => {
                self.worker = Worker::Idle;
                self.take_everybodys(at);
                self.wake_worker(at);
            }
        }
    }

    /// The core of a lane does a quantum.
    pub(super) fn quantum(&mut self, job: JobId, n: usize, at: Instant) {
        let worked = self.store.quantum(job, at);
        let until = at + self.spent_by_store(n, at);
        self.result.background_busy += until.since(at);
        self.cores[n].busy = until;
        self.worker = if worked { Worker::Busy { until } } else { Worker::Idle };
    }
}
