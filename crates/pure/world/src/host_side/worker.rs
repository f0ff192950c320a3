//! Background work of HostKV's store: one worker, in quanta on the cores of the application's threads. As in the device
//! (`device/src/timed/cores.rs`): an idle core takes it at once, busy ones after a bounded number of operations; a quantum
//! occupies its core, and nothing follows it before its time is over.

use super::{HostRun, State};
use saker_host::host_kv::Work;
use saker_sim::{Instant, OVERTAKERS_MAX};

/// What the worker is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worker {
    /// Nothing is due.
    Idle,
    /// Waits for a core, since then; so many operations went past it.
    Due { since: Instant, overtakers: u32 },
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

    /// Whether it is its turn though no core is idle.
    pub fn has_waited_enough(self) -> bool {
        matches!(self, Self::Due { overtakers, .. } if overtakers >= OVERTAKERS_MAX)
    }
}

impl HostRun {
    /// Something happened after which background work may be due.
    pub(super) fn wake_worker(&mut self, at: Instant) {
        if self.worker == Worker::Idle && self.store.has_background() {
            self.worker = Worker::Due { since: at, overtakers: 0 };
        }
    }

    /// When the worker does something by itself: its quantum ends, or a core is idle.
    pub(super) fn work_at(&self) -> Option<Instant> {
        match self.worker {
            Worker::Idle => None,
            Worker::Due { since, .. } => self.idle_core().map(|n| self.threads[n].busy.max(since)),
            Worker::Busy { until } => Some(until),
        }
    }

    /// The core of a thread that has nothing to do, the first that is free.
    fn idle_core(&self) -> Option<usize> {
        let idle = self.threads.iter().enumerate().filter(|(_, t)| t.state != State::Ready);
        idle.min_by_key(|(_, t)| t.busy).map(|(n, _)| n)
    }

    /// It is time for what [`HostRun::work_at`] told.
    pub(super) fn work(&mut self, at: Instant) {
        match (self.worker, self.idle_core()) {
            (Worker::Due { .. }, Some(n)) => self.quantum(n, at),
            _ => {
                self.worker = Worker::Idle;
                self.go_on(at);
                self.wake_worker(at);
            }
        }
    }

    /// The core of a thread does a quantum.
    pub(super) fn quantum(&mut self, n: usize, at: Instant) {
        let worked = self.store.quantum(Work::Counted(&mut self.meter));
        let until = at + self.spent(at);
        self.result.background_busy += until.since(at);
        self.threads[n].busy = until;
        self.worker = if worked { Worker::Busy { until } } else { Worker::Idle };
    }
}
