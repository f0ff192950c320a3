// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A cut at every event: through merges, collections, manifests and recovery itself.

use crate::ordered::Ordered;
use crate::ordered::bench::{Bench, Model, scale};
use saker_engine::Condition;
use saker_flash::FaultPlan;
use saker_segment_store::PowerHistory;
use saker_sim::Seed;

/// Everything acknowledged is there after power comes back, and nothing else.
pub fn recovers_killed<S: Ordered>(bench: &Bench<S>, model: &Model) {
    recovers(bench, model, PowerHistory::Killed);
}

pub fn recovers_cut<S: Ordered>(bench: &Bench<S>, model: &Model) {
    recovers(bench, model, PowerHistory::Cut { ring_kept: true });
}

fn recovers<S: Ordered>(bench: &Bench<S>, model: &Model, history: PowerHistory) {
    let mut fork = bench.clone();
    (fork.watch, fork.model) = (None, model.clone());
    fork.restart(history, bench.store.digest());
    assert_eq!(fork.keys_from(&[]), model.keys().cloned().collect::<Vec<_>>());
    for (k, v) in model.iter().step_by(5) {
        assert_eq!(fork.get(k).as_ref(), Ok(v));
    }
    // What recovery began goes on, and a second cut in it loses nothing either.
    for _ in 0..3 {
        fork.background();
    }
    fork.restart(history, 1);
    fork.check();
}

fn history<S: Ordered>(ring_lasts: bool, watch: fn(&Bench<S>, &Model)) {
    for seed in saker_testing::seeds(scale(1)) {
        let bench = history_with(seed, S::small(ring_lasts), watch, 2500);
        assert!(bench.done().iter().all(|n| *n > 3), "{:?}", bench.done());
    }
}

pub fn history_with<S: Ordered>(
    seed: u64,
    config: S::Config,
    watch: fn(&Bench<S>, &Model),
    steps: u64,
) -> Bench<S> {
    let mut rng = Seed(seed).rng();
    let mut bench = Bench::new(config, FaultPlan::default());
    for step in 0..steps {
        // Watched in windows, so that the history gets far.
        bench.watch = (step % 200 > 170).then_some(watch);
        let k = S::pick(&mut rng);
        if rng.below(10) < 7 {
            let mut value = vec![0; rng.below(200) as usize];
            rng.fill(&mut value);
            bench.put(&k, &value, Condition::Always).expect("there is room");
        } else {
            let _ = bench.delete(&k);
        }
        bench.idle(step);
    }
    bench.watch = None;
    bench.check();
    bench
}

pub fn kills_at_every_event<S: Ordered>() {
    history::<S>(true, recovers_killed);
}

pub fn kills_at_every_event_without_a_capacitor<S: Ordered>() {
    history::<S>(false, recovers_killed);
}

pub fn power_cuts_at_every_event<S: Ordered>() {
    history::<S>(true, recovers_cut);
}

/// Where the page buffer is lost, what a completed Flush covered is there; of the writes after it a prefix of the log may be.
pub fn lost_rings_keep_what_was_flushed<S: Ordered>() {
    for seed in saker_testing::seeds(scale(4)) {
        let mut rng = Seed(seed).rng();
        let mut bench = Bench::<S>::new(S::small(false), FaultPlan::default());
        let mut flushed = Model::new();
        let mut touched = std::collections::BTreeSet::new();
        for step in 0..3000 {
            let k = S::pick(&mut rng);
            touched.insert(k.clone());
            if rng.below(10) < 7 {
                bench.put(&k, &[step as u8; 90][..rng.below(90) as usize], Condition::Always).expect("room");
            } else {
                let _ = bench.delete(&k);
            }
            bench.idle(step);
            if step % 23 == 0 {
                bench.flush();
                (flushed, touched) = (bench.model.clone(), std::collections::BTreeSet::new());
            }
            if step % 3 == 0 {
                let mut fork = bench.clone();
                fork.restart(PowerHistory::Cut { ring_kept: false }, step);
                for (k, v) in flushed.iter().filter(|(k, _)| !touched.contains(*k)) {
                    assert_eq!(fork.get(k).as_ref(), Ok(v), "step {step}");
                }
                let stored = fork.keys_from(&[]);
                let gone = |k: &&Vec<u8>| !flushed.contains_key(*k) && !touched.contains(*k);
                assert_eq!(stored.iter().find(gone), None, "step {step}");
            }
        }
        assert!(bench.done().iter().all(|n| *n > 3), "{:?}", bench.done());
    }
}
