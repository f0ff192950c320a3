// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Power goes at any event: while programs overtake each other, while segments are collected, and again while the engine
//! recovers. The flash takes time here, so that cuts tear pages, and so that operations need pages that are not here.

use crate::contract::{has_collected, key};
use crate::setup::TIMED;
use crate::{Bench, Setup, Subject, scale};
use saker_engine::{Capability, Condition, Engine, KvError};
use saker_flash::FaultPlan;
use saker_segment_store::PowerHistory;
use saker_sim::Seed;

/// Keys of a history.
const KEYS: u64 = 60;
/// Of so many operations each is cut at its events; of the others none.
const WATCHED_OF: u64 = 20;
/// Operations of a history.
const OPERATIONS: u64 = 3000;

/// Asserts that a copy of the bench from which power is taken now comes back with everything that it must have. On its way back
/// power goes once more.
pub fn survives(bench: &Bench, history: PowerHistory) {
    survivor(bench, history);
}

/// The same; the copy.
pub(crate) fn survivor(bench: &Bench, history: PowerHistory) -> Bench {
    let mut rng = Seed(bench.store.digest()).rng();
    let mut fork = bench.clone();
    fork.watch = None;
    fork.setup.digests = false;
    if history == PowerHistory::Killed {
        // The page buffer is there, whatever a power cut would do.
        fork.expected.flushed();
    }
    // The second cut is at one of the first programs and erases of recovery, or of what the engine does then.
    let faults = FaultPlan { cut_at: 1 + rng.below(8), ..FaultPlan::default() };
    if fork.restart_with(history, rng.next_u64(), faults) {
        for _ in 0..20 {
            if !fork.flash.is_powered() || !fork.background() {
                break;
            }
        }
    }
    fork.restart(history, rng.next_u64());
    finds(&mut fork);
    fork
}

/// Asserts that every key has a value that it may have, and that no others are listed.
pub fn finds(bench: &mut Bench) {
    let keys: Vec<_> = bench.expected.keys().cloned().collect();
    let mut there = Vec::new();
    for key in keys {
        let found = match bench.get(&key) {
            Ok(value) => Some(value),
            Err(KvError::NotFound) => None,
            Err(e) => panic!("{}: {e}", String::from_utf8_lossy(&key)),
        };
        let name = String::from_utf8_lossy(&key).into_owned();
        assert!(bench.expected.allows(&key, found.as_ref()), "{name}: {found:02x?} after a cut");
        there.extend(found.map(|_| key));
    }
    if bench.has(Capability::List) {
        let mut listed = bench.keys();
        listed.sort();
        assert_eq!(listed, there, "what is found is listed, and nothing else");
    }
}

fn killed(bench: &Bench) {
    survives(bench, PowerHistory::Killed);
}

fn cut(bench: &Bench) {
    survives(bench, PowerHistory::Cut { ring_kept: true });
}

fn cut_with_the_ring(bench: &Bench) {
    survives(bench, PowerHistory::Cut { ring_kept: false });
}

/// A history of random operations that is cut at its events.
fn history(subject: Subject, seed: u64, ring_lasts: bool, watch: fn(&Bench)) {
    let mut rng = Seed(seed).rng();
    let setup = Setup { timings: Some(TIMED), digests: false, ..Setup::small(subject, ring_lasts) };
    let mut bench = setup.start(FaultPlan::default());
    for step in 0..OPERATIONS {
        // Watched in windows, so that the history gets far.
        bench.watch = (step % WATCHED_OF == WATCHED_OF - 1).then_some(watch);
        let k = key(&mut rng, KEYS);
        if rng.below(10) < 7 {
            let mut value = vec![0; rng.below(300) as usize];
            rng.fill(&mut value);
            assert_eq!(bench.put(&k, &value, Condition::Always), Ok(()));
        } else {
            let is_there = bench.expected.now(&k).is_some();
            assert_eq!(bench.delete(&k).is_ok(), is_there);
        }
        if step % 37 == 0 {
            bench.flush();
        }
    }
    bench.watch = None;
    finds(&mut bench);
    has_collected(&bench);
}

/// The process is killed: the page buffer and what was programmed are whole.
pub fn kills_at_any_event(subject: Subject) {
    for seed in saker_testing::seeds(scale(1)) {
        history(subject, seed, true, killed);
    }
}

/// Power is cut on a device with a capacitor: everything acknowledged is there.
pub fn power_cuts_at_any_event(subject: Subject) {
    for seed in saker_testing::seeds(scale(1)) {
        history(subject, seed, true, cut);
    }
}

/// Power is cut on a device that loses its page buffer: what was flushed is there, and of what was written since what may be.
pub fn power_cuts_that_take_the_ring(subject: Subject) {
    for seed in saker_testing::seeds(scale(1)) {
        history(subject, seed, false, cut_with_the_ring);
    }
}

/// The process is killed on a device that would lose its page buffer with power.
pub fn kills_without_a_capacitor(subject: Subject) {
    for seed in saker_testing::seeds(scale(1)) {
        history(subject, seed, false, killed);
    }
}
