//! A cut at every event: through flushes, compactions, collections, manifests and recovery itself.

use crate::bench::{Bench, Model, config, scale};
use crate::histories::key;
use saker_engine::{Condition, LsmConfig};
use saker_flash::FaultPlan;
use saker_medium::PowerHistory;
use saker_sim::Seed;

/// Everything acknowledged is there after power comes back, and nothing else.
fn recovers_killed(bench: &Bench, model: &Model) {
    recovers(bench, model, PowerHistory::Killed);
}

fn recovers_cut(bench: &Bench, model: &Model) {
    recovers(bench, model, PowerHistory::Cut { ring_kept: true });
}

fn recovers(bench: &Bench, model: &Model, history: PowerHistory) {
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

fn history(seed: u64, ring_lasts: bool, watch: fn(&Bench, &Model), steps: u64) {
    let bench = history_with(seed, config(ring_lasts), watch, steps);
    assert!(bench.done().iter().all(|n| *n > 3), "{:?}", bench.done());
}

fn history_with(seed: u64, config: LsmConfig, watch: fn(&Bench, &Model), steps: u64) -> Bench {
    let mut rng = Seed(seed).rng();
    let mut bench = Bench::new(config, FaultPlan::default());
    for step in 0..steps {
        // Watched in windows, so that the history gets far.
        bench.watch = (step % 200 > 170).then_some(watch);
        let k = key(&mut rng, 70);
        if rng.below(10) < 7 {
            let mut value = vec![0; rng.below(200) as usize];
            rng.fill(&mut value);
            bench.put(&k, &value, Condition::Always).expect("there is room");
        } else {
            let _ = bench.delete(&k);
        }
    }
    bench.watch = None;
    bench.check();
    bench
}

#[test]
fn kills_at_every_event() {
    (0..scale(1)).for_each(|seed| history(seed, true, recovers_killed, 2500));
}

#[test]
fn kills_at_every_event_without_a_capacitor() {
    (0..scale(1)).for_each(|seed| history(seed, false, recovers_killed, 2500));
}

#[test]
fn power_cuts_at_every_event_of_several_compactions() {
    let busy = LsmConfig {
        compaction_threads: 3,
        max_write_buffer_number: 3,
        target_file_pages: 1,
        max_bytes_for_level_base: 2 << 10,
        ..config(true)
    };
    for seed in 7..7 + scale(1) {
        let bench = history_with(seed, busy, recovers_cut, 1200);
        let [flushes, compactions, ..] = bench.done();
        assert!(
            flushes > 3 && compactions > 3 && bench.together > 1,
            "{:?} {}",
            bench.done(),
            bench.together
        );
    }
}

#[test]
fn power_cuts_at_every_event() {
    (0..scale(1)).for_each(|seed| history(seed, true, recovers_cut, 2500));
}

/// Where the ring is lost, what a completed Flush covered is there; of the writes after it a prefix of the log may be.
#[test]
fn lost_rings_keep_what_was_flushed() {
    for seed in 0..scale(4) {
        let mut rng = Seed(seed).rng();
        let mut bench = Bench::new(config(false), FaultPlan::default());
        let mut flushed = Model::new();
        let mut touched = std::collections::BTreeSet::new();
        for step in 0..3000 {
            let k = key(&mut rng, 70);
            touched.insert(k.clone());
            if rng.below(10) < 7 {
                bench.put(&k, &[step as u8; 90][..rng.below(90) as usize], Condition::Always).expect("room");
            } else {
                let _ = bench.delete(&k);
            }
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
