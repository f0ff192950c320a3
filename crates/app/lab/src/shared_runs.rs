// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs that several experiments need, each made once.
//!
//! Virtual time makes a run a function of what it is given, so two experiments that ask for the same one are given one result. A key names
//! everything that a run depends on.

use saker_world::RunResult;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A run that was made.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub result: RunResult,
    /// How often a tuner changed threads, and memtables.
    pub changes: [u64; 2],
}

/// Runs by key.
#[derive(Debug, Default)]
pub(crate) struct SharedRuns {
    /// `None`: somebody makes it now.
    all: Mutex<BTreeMap<String, Option<Arc<Made>>>>,
    changed: Condvar,
}

/// The right to make a run. Given back when dropped, so that another one tries if it failed.
struct Claim<'a> {
    runs: &'a SharedRuns,
    key: &'a str,
}

impl SharedRuns {
    /// Makes a run unless it is there or somebody makes it now. Does not wait.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn ahead<E>(&self, key: &str, make: impl FnOnce() -> Result<Made, E>) -> Result<(), E> {
        match self.claim(key) {
            Some(claim) => make().map(|made| drop(claim.keep(made))),
            None => Ok(()),
        }
    }

    /// A run, made now unless it is there. Waits for who makes it now.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn of<E>(&self, key: &str, make: impl FnOnce() -> Result<Made, E>) -> Result<Arc<Made>, E> {
        loop {
            if let Some(claim) = self.claim(key) {
                return make().map(|made| claim.keep(made));
            }
            let is_making = |all: &mut BTreeMap<_, _>| matches!(all.get(key), Some(None));
            let all = self.changed.wait_while(self.lock(), is_making);
            let all = all.unwrap_or_else(PoisonError::into_inner);
            if let Some(Some(made)) = all.get(key) {
                return Ok(Arc::clone(made));
            }
        }
    }

    fn claim<'a>(&'a self, key: &'a str) -> Option<Claim<'a>> {
        let mut all = self.lock();
        if all.contains_key(key) {
            return None;
        }
        all.insert(key.to_owned(), None);
        Some(Claim { runs: self, key })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Option<Arc<Made>>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim<'_> {
    fn keep(self, made: Made) -> Arc<Made> {
        let made = Arc::new(made);
        self.runs.lock().insert(self.key.to_owned(), Some(Arc::clone(&made)));
        made
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut all = self.runs.lock();
        if let Some(None) = all.get(self.key) {
            all.remove(self.key);
        }
        drop(all);
        self.runs.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::mpsc::channel;

    fn made(operations: u64) -> Made {
        Made { result: RunResult { operations, ..RunResult::new() }, changes: [0; 2] }
    }

    #[test]
    fn a_run_is_made_once_whoever_asks() {
        let (runs, count) = (SharedRuns::default(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for key in ["a", "b", "c"] {
                        let make = || Ok::<_, ()>(made(count.fetch_add(1, Ordering::Relaxed)));
                        runs.of(key, make).expect("made");
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 3);
    }

    #[test]
    fn a_run_that_failed_is_tried_again_by_who_waits() {
        let runs = SharedRuns::default();
        let (begun, begins) = channel();
        std::thread::scope(|scope| {
            let waits = scope.spawn({
                let runs = &runs;
                move || {
                    begins.recv().expect("begun");
                    runs.of("a", || Ok::<_, ()>(made(2))).expect("made").result.operations
                }
            });
            let failed = runs.of("a", || {
                begun.send(()).expect("heard");
                runs.ahead::<()>("a", || panic!("somebody makes it")).expect("left alone");
                Err::<Made, ()>(())
            });
            assert!(failed.is_err());
            assert_eq!(waits.join().expect("joined"), 2);
        });
    }

    #[test]
    fn other_keys_are_other_runs() {
        let runs = SharedRuns::default();
        let of = |key, n| runs.of(key, || Ok::<_, ()>(made(n))).expect("made").result.operations;
        assert_eq!([of("a", 1), of("b", 2), of("a", 3)], [1, 2, 1]);
    }
}
