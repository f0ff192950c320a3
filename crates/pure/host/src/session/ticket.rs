// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a sync waits for.

use std::fmt;
use std::sync::Arc;
use std::task::Waker;

use saker_link::ShortLock;
use saker_nvme::Key;

use crate::error::HostError;

/// Writes that somebody will want to know the end of: those of a session between two syncs.
#[derive(Clone)]
pub struct Ticket(Arc<ShortLock<State>>);

#[derive(Default)]
struct State {
    /// Containers and parked writes that carry the ticket.
    open: usize,
    failures: Vec<(Key, HostError)>,
    wakers: Vec<Waker>,
}

impl Ticket {
    /// Nothing carries it.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(ShortLock::new(State::default())))
    }

    /// One more carries it.
    pub(super) fn open(&self) {
        self.0.lock().open += 1;
    }

    /// One that carried it has come to its end. Who waited for the last one is to be woken when no lock is held: wakers
    /// are somebody else's code.
    pub(super) fn close(&self, to_wake: &mut Vec<Waker>) {
        let mut state = self.0.lock();
        state.open -= 1;
        if state.open == 0 {
            to_wake.append(&mut state.wakers);
        }
    }

    /// A write that it covers was refused.
    pub(super) fn fail(&self, key: Key, error: HostError) {
        self.0.lock().failures.push((key, error));
    }

    /// Whether every write has come to its end.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.0.lock().open == 0
    }

    /// Whether every write has come to its end and nobody has to be told of a failure.
    pub(super) fn is_settled(&self) -> bool {
        let state = self.0.lock();
        state.open == 0 && state.failures.is_empty()
    }

    /// Wakes `waker` once every write has come to its end; at once if that is so.
    pub fn wake_when_done(&self, waker: &Waker) {
        let mut state = self.0.lock();
        if state.open > 0 {
            state.wakers.push(waker.clone());
            return;
        }
        drop(state);
        waker.wake_by_ref();
    }

    /// The writes that failed, once: who asks first is told.
    #[must_use]
    pub fn take_failures(&self) -> Vec<(Key, HostError)> {
        std::mem::take(&mut self.0.lock().failures)
    }

    /// Whether two tickets are the same.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Default for Ticket {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticket")
    }
}
