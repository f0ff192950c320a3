// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory that experiments share which run at once.

use crate::plan::Settings;
use crate::run::plan_of;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Memory that experiments together may take by their plans, unless one alone takes more.
pub(super) const MEMORY_MIB: u64 = 900;

/// Memory of an experiment at the scale that it is run at.
pub(super) fn memory_mib(id: &str, settings: &Settings) -> u64 {
    plan_of(id).map_or(0, |plan| {
        let scale = settings.scale.unwrap_or(plan.default_scale).max(1);
        plan.memory_mib * u64::from(plan.default_scale) / u64::from(scale)
    })
}

/// Experiments that wait for a thread, in the order in which they begin, and the memory of those that run.
pub(super) struct Room {
    most: u64,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, PartialEq, Eq)]
struct State {
    /// Which, and the memory that each takes.
    waiting: Vec<(usize, u64)>,
    /// What is taken, and by how many.
    taken: u64,
    running: usize,
}

impl Room {
    /// Of so much memory, for experiments that take so much each.
    pub(super) fn new(most: u64, experiments: impl Iterator<Item = u64>) -> Self {
        let waiting = experiments.enumerate().collect();
        Self { most, state: Mutex::new(State { waiting, taken: 0, running: 0 }), ended: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first that fits beside those that run, or the first of all if none runs. `None`: none waits any more.
    pub(super) fn begin(&self) -> Option<Begun<'_>> {
        let none_fits = |state: &mut State| !state.waiting.is_empty() && self.fitting(state).is_none();
        let waited = self.ended.wait_while(self.lock(), none_fits);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        let place = self.fitting(&state)?;
        let (n, mib) = state.waiting.remove(place);
        state.taken += mib;
        state.running += 1;
        Some(Begun { room: self, n, mib })
    }

    fn fitting(&self, state: &State) -> Option<usize> {
        let fits = |(_, mib): &(usize, u64)| state.running == 0 || state.taken + mib <= self.most;
        state.waiting.iter().position(fits)
    }
}

/// One that runs until this is dropped: one that panics keeps nobody waiting.
pub(super) struct Begun<'a> {
    room: &'a Room,
    /// Which.
    pub(super) n: usize,
    mib: u64,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let mut state = self.room.lock();
        state.taken -= self.mib;
        state.running -= 1;
        drop(state);
        self.room.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Never more than there is, whatever the order, and each once; one that takes more runs alone.
    #[test]
    fn what_runs_at_once_fits_the_memory() {
        let sizes: Vec<u64> = (0..600).map(|n| if n == 300 { 500 } else { [50, 40, 20][n % 3] }).collect();
        let (room, begun) = (Room::new(100, sizes.iter().copied()), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..12 {
                scope.spawn(|| {
                    while let Some(one) = room.begin() {
                        assert_eq!(one.mib, sizes[one.n]);
                        begun.fetch_add(1, Ordering::SeqCst);
                        let state = room.lock();
                        assert!(state.taken <= 100 || (state.taken, state.running) == (500, 1), "{state:?}");
                        drop(state);
                        std::thread::yield_now();
                    }
                });
            }
        });
        assert_eq!(begun.load(Ordering::SeqCst), 600);
        assert_eq!(*room.lock(), State { waiting: vec![], taken: 0, running: 0 });
    }

    #[test]
    fn the_first_that_fits_begins() {
        let room = Room::new(100, [70, 60, 30, 20].into_iter());
        let begin = || room.begin().expect("one fits");
        let (large, small) = (begin(), begin());
        assert_eq!((large.n, small.n), (0, 2));
        drop(large);
        let next = begin();
        assert_eq!(next.n, 1);
        drop(small);
        let last = begin();
        assert_eq!((last.n, room.begin().is_none()), (3, true));
    }

    #[test]
    fn memory_follows_the_scale() {
        let at = |scale| memory_mib("bandslim-fig12", &Settings { scale, ..Settings::default() });
        assert_eq!((at(None), at(Some(100)), at(Some(1))), (240, 24, 2400));
    }
}
