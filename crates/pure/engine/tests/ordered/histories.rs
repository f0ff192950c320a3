// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random operations, snapshots and scans, with power cycles of every kind in between.

use crate::ordered::Ordered;
use crate::ordered::bench::{Bench, Model, scale};
use saker_engine::{Condition, KvError, Snapshot};
use saker_flash::FaultPlan;
use saker_segment_store::PowerHistory;
use saker_sim::{Chance, Rng, Seed};
use std::ops::Bound;

pub fn key(rng: &mut Rng, space: u64) -> Vec<u8> {
    let n = rng.below(space);
    let mut key = format!("k{n:03}").into_bytes();
    key.resize(4 + (n % 13) as usize, b'x');
    key
}

type Held = Vec<(Snapshot, Model)>;

/// A write. What snapshots hold can leave no room for it; without them there is.
fn write<S: Ordered>(
    bench: &mut Bench<S>,
    snapshots: &mut Held,
    mut op: impl FnMut(&mut Bench<S>) -> Result<(), KvError>,
) -> Result<(), KvError> {
    let result = op(bench);
    if result != Err(KvError::CapacityExceeded) || snapshots.is_empty() {
        return result;
    }
    snapshots.drain(..).for_each(|(snapshot, _)| bench.store.release(snapshot));
    op(bench)
}

fn put<S: Ordered>(bench: &mut Bench<S>, rng: &mut Rng, k: &[u8], long: bool, snapshots: &mut Held) {
    let mut value = vec![0; rng.below(if long { 1500 } else { 120 }) as usize];
    rng.fill(&mut value);
    let condition = [Condition::Always, Condition::MustExist, Condition::MustNotExist][rng.below(3) as usize];
    let expected = match (condition, bench.model.contains_key(k)) {
        (Condition::MustExist, false) => Err(KvError::NotFound),
        (Condition::MustNotExist, true) => Err(KvError::Exists),
        _ => Ok(()),
    };
    assert_eq!(write(bench, snapshots, |b| b.put(k, &value, condition)), expected);
}

fn check_snapshots<S: Ordered>(bench: &mut Bench<S>, rng: &mut Rng, snapshots: &mut Held) {
    if snapshots.len() < 3 && rng.below(2) == 0 {
        snapshots.push((bench.store.snapshot().expect("it has snapshots"), bench.model.clone()));
        return;
    }
    let Some((snapshot, model)) = snapshots.pop() else { return };
    let (from, step) = (key(rng, S::KEYS), 1 + rng.below(40) as usize);
    let pairs = |range: &mut dyn DoubleEndedIterator<Item = (&Vec<u8>, &Vec<u8>)>| {
        range.map(|(k, v)| (k.clone(), v.clone())).collect::<Vec<_>>()
    };
    let (at, behind) = (Bound::Included(&from[..]), Bound::Excluded(&from[..]));
    assert_eq!(bench.scan((at, b"", false), snapshot, step), pairs(&mut model.range(from.clone()..)));
    let rest = pairs(&mut model.range((Bound::Excluded(from.clone()), Bound::Unbounded)));
    assert_eq!(bench.scan((behind, b"", false), snapshot, step), rest);
    assert_eq!(bench.scan((at, b"", true), snapshot, step), pairs(&mut model.range(..=from.clone()).rev()));
    assert_eq!(
        bench.scan((behind, b"", true), snapshot, step),
        pairs(&mut model.range(..from.clone()).rev())
    );
    assert_eq!(bench.scan((Bound::Unbounded, b"", true), snapshot, step), pairs(&mut model.iter().rev()));
    let prefixed = pairs(&mut model.iter().filter(|(k, _)| k.starts_with(b"k03")));
    assert_eq!(bench.scan((Bound::Included(&b"k03"[..]), b"k03", false), snapshot, step), prefixed);
    bench.store.release(snapshot);
}

/// Returns how many jobs were under way at once at most.
pub fn history<S: Ordered>(seed: u64, config: S::Config, faults: FaultPlan) -> usize {
    let mut rng = Seed(seed).rng();
    let ring_lasts = S::ring_lasts(&config);
    let mut bench = Bench::<S>::new(config, faults);
    let mut snapshots = Vec::new();
    for step in 0..6000 {
        let k = S::pick(&mut rng);
        match rng.below(1000) {
            0..600 => put(&mut bench, &mut rng, &k, step % 50 == 0, &mut snapshots),
            600..840 => {
                let expected = bench.model.get(&k).map(|_| ()).ok_or(KvError::NotFound);
                assert_eq!(write(&mut bench, &mut snapshots, |b| b.delete(&k)), expected);
            }
            840..970 => assert_eq!(bench.get(&k), bench.model.get(&k).cloned().ok_or(KvError::NotFound)),
            970..997 => check_snapshots(&mut bench, &mut rng, &mut snapshots),
            _ => {
                snapshots.clear();
                let history = match rng.below(3) {
                    0 => PowerHistory::Killed,
                    _ if ring_lasts => PowerHistory::Cut { ring_kept: true },
                    _ => {
                        bench.flush();
                        PowerHistory::Cut { ring_kept: false }
                    }
                };
                bench.restart(history, rng.next_u64());
                bench.check();
            }
        }
        bench.idle(step);
    }
    bench.check();
    assert!(bench.done().iter().all(|n| *n > 3), "{:?}", bench.done());
    bench.together
}

pub fn with_a_capacitor<S: Ordered>() {
    for seed in saker_testing::seeds(scale(S::HISTORIES)) {
        history::<S>(seed, S::small(true), FaultPlan::default());
    }
}

pub fn without_a_capacitor<S: Ordered>() {
    for seed in 100..100 + scale(S::HISTORIES) {
        let together = history::<S>(seed, S::small(false), FaultPlan::default());
        assert!(together <= 1, "one thread: {together}");
    }
}

pub fn with_failing_programs<S: Ordered>() {
    for seed in 200..200 + scale(S::HISTORIES / 2 + 1) {
        let plan = FaultPlan { seed, program: Chance::one_in(60), ..FaultPlan::default() };
        history::<S>(seed, S::small(seed % 2 == 0), plan);
    }
}
