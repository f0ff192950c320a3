// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What RocksDB tells of itself while it runs: whether writes are stopped or delayed, and what ended in the background. Its listener is in
//! `shim/listener.cc`; options name it, since the interface for C hands out no options of its own to add one to.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Those that somebody has, by number.
static ALL: Mutex<BTreeMap<u64, Arc<Watch>>> = Mutex::new(BTreeMap::new());
/// Watchers of this program so far.
static MADE: AtomicU64 = AtomicU64::new(0);

/// What RocksDB says of writes. The order is that of `saker_condition` in `shim/saker_rocksdb.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(i32)]
pub enum Condition {
    /// They go on.
    #[default]
    GoesOn,
    /// They are delayed.
    Delayed,
    /// They wait for a flush or a compaction.
    Stopped,
}

/// What was told so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The condition; `None`: it has never changed.
    pub condition: Option<Condition>,
    /// How often writes were stopped.
    pub stops: u64,
    /// How often they were delayed, from going on or behind a stop.
    pub delays: u64,
    /// How long they were stopped, by this machine's clock.
    pub stopped: Duration,
    /// Memtables that became tables.
    pub flushes: u64,
    /// Compactions that ended.
    pub compactions: u64,
}

/// What a listener tells to.
#[derive(Debug, Default)]
pub struct Watch(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    told: Told,
    /// When the stop that lasts began.
    stopped_at: Option<Instant>,
}

impl Watch {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self, condition: Condition, now: Instant) {
        let mut state = self.state();
        let state = &mut *state;
        // Two of RocksDB's threads may tell the same, one behind the other.
        if state.told.condition.replace(condition) == Some(condition) {
            return;
        }
        if let Some(at) = state.stopped_at.take() {
            state.told.stopped += now.saturating_duration_since(at);
        }
        match condition {
            Condition::GoesOn => {}
            Condition::Delayed => state.told.delays += 1,
            Condition::Stopped => {
                state.told.stops += 1;
                state.stopped_at = Some(now);
            }
        }
    }

    /// Writes are stopped, delayed or go on from now on.
    pub fn is_now(&self, condition: Condition) {
        self.changed(condition, Instant::now());
    }

    /// A memtable has become a table.
    pub fn flushed(&self) {
        self.state().told.flushes += 1;
    }

    /// A compaction has ended.
    pub fn compacted(&self) {
        self.state().told.compactions += 1;
    }

    fn told(&self, now: Instant) -> Told {
        let state = self.state();
        let lasting = state.stopped_at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        Told { stopped: state.told.stopped + lasting, ..state.told }
    }
}

/// A watcher of one database.
#[derive(Debug)]
pub struct Watcher {
    number: u64,
    watch: Arc<Watch>,
}

impl Watcher {
    /// One that nobody tells anything yet.
    #[must_use]
    pub fn add() -> Self {
        let (number, watch) = (MADE.fetch_add(1, Ordering::Relaxed), Arc::<Watch>::default());
        all().insert(number, Arc::clone(&watch));
        Self { number, watch }
    }

    /// The option of a database that tells it.
    #[must_use]
    pub fn option(&self) -> String {
        format!("listeners=saker_watch-{}", self.number)
    }

    /// What was told.
    #[must_use]
    pub fn told(&self) -> Told {
        self.watch.told(Instant::now())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        all().remove(&self.number);
    }
}

fn all() -> MutexGuard<'static, BTreeMap<u64, Arc<Watch>>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What watcher `number` is told by. `None`: there is none.
#[must_use]
pub fn of(number: u64) -> Option<Arc<Watch>> {
    all().get(&number).map(Arc::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_and_delays_are_counted_once_and_timed() {
        let (watch, begun) = (Watch::default(), Instant::now());
        let at = |millis| begun + Duration::from_millis(millis);
        assert_eq!(watch.told(at(0)), Told::default());
        for (condition, millis) in [
            (Condition::Delayed, 10),
            (Condition::Stopped, 20),
            (Condition::Stopped, 21),
            (Condition::GoesOn, 25),
            (Condition::Stopped, 30),
        ] {
            watch.changed(condition, at(millis));
        }
        let told = watch.told(at(32));
        assert_eq!((told.stops, told.delays, told.stopped), (2, 1, Duration::from_millis(7)));
        watch.changed(Condition::Delayed, at(40));
        let told = watch.told(at(99));
        assert_eq!((told.stops, told.delays, told.stopped), (2, 2, Duration::from_millis(15)));
        assert_eq!(told.condition, Some(Condition::Delayed));
    }

    #[test]
    fn a_listener_whose_watcher_went_still_tells_and_a_new_one_of_its_name_tells_nobody() {
        let watcher = Watcher::add();
        let number = watcher.number;
        let listener = of(number).expect("somebody watches");
        listener.flushed();
        listener.is_now(Condition::GoesOn);
        let told = watcher.told();
        assert_eq!((told.flushes, told.condition), (1, Some(Condition::GoesOn)));
        drop(watcher);
        listener.compacted();
        assert!(of(number).is_none());
    }
}
