// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory that experiments share which run at once.

use crate::plan::Settings;
use crate::run::plan_of;
use std::sync::{Condvar, Mutex, PoisonError};

/// Memory that experiments together may take by their plans, unless one alone takes more.
pub(super) const MEMORY_MIB: u64 = 900;

/// Memory of an experiment at the scale that it is run at.
pub(super) fn memory_mib(id: &str, settings: &Settings) -> u64 {
    plan_of(id).map_or(0, |plan| {
        let scale = settings.scale.unwrap_or(plan.default_scale).max(1);
        plan.memory_mib * u64::from(plan.default_scale) / u64::from(scale)
    })
}

/// Memory that is shared by what runs at once.
pub(super) struct Room {
    most: u64,
    /// What is taken, and by how many.
    taken: Mutex<(u64, usize)>,
    given: Condvar,
}

impl Room {
    pub(super) fn new(most: u64) -> Self {
        Self { most, taken: Mutex::new((0, 0)), given: Condvar::new() }
    }

    /// Waits until there is room, or nothing else runs.
    pub(super) fn take(&self, mib: u64) -> u64 {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |(taken, runs): &mut (u64, usize)| *runs > 0 && *taken + mib > self.most;
        let mut taken = self.given.wait_while(taken, is_full).unwrap_or_else(PoisonError::into_inner);
        *taken = (taken.0 + mib, taken.1 + 1);
        mib
    }

    pub(super) fn give(&self, mib: u64) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken = (taken.0 - mib, taken.1 - 1);
        self.given.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Three that take half each: never three at once, and one that takes more than there is runs alone.
    #[test]
    fn what_runs_at_once_fits_the_memory() {
        let (room, most) = (Room::new(100), AtomicUsize::new(0));
        let run = |mib| {
            let taken = room.take(mib);
            most.fetch_max(room.taken.lock().unwrap().0 as usize, Ordering::SeqCst);
            std::thread::yield_now();
            room.give(taken);
        };
        std::thread::scope(|scope| {
            (0..12).for_each(|n| drop(scope.spawn(move || (0..50).for_each(|_| run([50, 40, 20][n % 3])))))
        });
        assert!(most.load(Ordering::SeqCst) <= 100);
        run(500);
        assert_eq!(*room.taken.lock().unwrap(), (0, 0));
    }

    #[test]
    fn memory_follows_the_scale() {
        let at = |scale| memory_mib("bandslim-fig12", &Settings { scale, ..Settings::default() });
        assert_eq!((at(None), at(Some(100)), at(Some(1))), (640, 64, 6400));
    }
}
