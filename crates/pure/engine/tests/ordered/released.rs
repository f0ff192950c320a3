// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A full store beside a snapshot: what only the snapshot needed makes room once it is released.

use crate::ordered::Ordered;
use crate::ordered::bench::{Bench, Model, scale};
use crate::ordered::cuts::{recovers_cut, recovers_killed};
use crate::ordered::nearly_full;
use saker_engine::{Condition, KvError, Snapshot};
use saker_flash::FaultPlan;
use saker_segment_store::PowerHistory;
use saker_sim::{Rng, Seed};
use std::ops::Bound;

/// How what the snapshot held goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Released,
    /// Released while an older one that sees none of it stays.
    ReleasedBesideAnother,
    /// With the process.
    Killed,
}

fn key(n: u64) -> Vec<u8> {
    format!("k{n:06}").into_bytes()
}

fn fill<S: Ordered>(bench: &mut Bench<S>, rng: &mut Rng) -> u64 {
    for n in 0.. {
        match bench.put(&key(n), &value(rng), Condition::Always) {
            Ok(()) => {}
            Err(e) => {
                assert_eq!(e, KvError::CapacityExceeded);
                return n;
            }
        }
    }
    unreachable!("no device holds so many")
}

/// 100 bytes on the average, as in the other tests of room.
fn value(rng: &mut Rng) -> Vec<u8> {
    vec![rng.below(256) as u8; 92 + rng.below(16) as usize]
}

fn release<S: Ordered>(bench: &mut Bench<S>, held: &mut Vec<Snapshot>) {
    held.drain(..).for_each(|snapshot| bench.store.release(snapshot));
}

/// Half the pairs of a full store are deleted beside a snapshot; new ones are refused or not, and fit when it is gone.
fn half_goes<S: Ordered>(mut bench: Bench<S>, seed: u64, end: End, watch: Option<fn(&Bench<S>, &Model)>) {
    let mut rng = Seed(seed).child("released").rng();
    let older =
        (end == End::ReleasedBesideAnother).then(|| bench.store.snapshot().expect("an ordered engine"));
    let pairs = fill(&mut bench, &mut rng);
    let seen = bench.model.clone();
    let mut held: Vec<_> =
        (0..1 + rng.below(2)).map(|_| bench.store.snapshot().expect("an ordered engine")).collect();
    let mut deleted = 0;
    for n in 0..pairs {
        if rng.below(2) == 0 {
            bench.delete(&key(n)).expect("a full store deletes");
            deleted += 1;
        }
    }
    for n in 0..rng.below(20) {
        let stored = bench.put(&key(2 * pairs + n), &value(&mut rng), Condition::Always);
        assert!(matches!(stored, Ok(()) | Err(KvError::CapacityExceeded)), "seed {seed}: {stored:?}");
    }
    (0..rng.below(3) * 200).for_each(|_| _ = bench.background());
    let shown = bench.scan((Bound::Unbounded, b"", false), held[0], 50);
    assert!(shown.into_iter().eq(seen), "seed {seed}: the snapshot sees what was there");
    if end == End::Killed {
        held.clear();
        bench.restart(PowerHistory::Killed, seed);
    }
    release(&mut bench, &mut held);
    for n in 0..deleted * 4 / 5 {
        bench.watch = watch.filter(|_| n < 3);
        let stored = bench.put(&key(3 * pairs + n), &value(&mut rng), Condition::Always);
        assert_eq!(
            stored,
            Ok(()),
            "seed {seed} {end:?}: {n} of {deleted} deleted ones, {:?}",
            bench.store.counters()
        );
    }
    bench.watch = None;
    older.into_iter().for_each(|snapshot| bench.store.release(snapshot));
    bench.restart(PowerHistory::Killed, seed + 1);
    bench.check();
}

const ENDS: [End; 3] = [End::Released, End::ReleasedBesideAnother, End::Killed];

fn small<S: Ordered>(ring_lasts: bool) -> Bench<S> {
    Bench::new(S::small(ring_lasts), FaultPlan::default())
}

pub fn makes_room_in_small_segments<S: Ordered>() {
    for seed in saker_testing::seeds(scale(8)) {
        ENDS.iter().for_each(|end| half_goes(small::<S>(seed % 2 == 0), seed, *end, None));
    }
}

/// With these a delete leaves segments that only a collection empties, when nothing else goes on (seed 26 of the tree).
pub fn what_a_snapshot_held_is_collected<S: Ordered>() {
    (20..32).for_each(|seed| half_goes(small::<S>(true), seed, End::ReleasedBesideAnother, None));
}

pub fn makes_room_in_larger_segments<S: Ordered>() {
    for seed in saker_testing::seeds(scale(1)) {
        let mut bench = nearly_full::bench::<S>(seed % 2 == 0);
        // A digest of so many pairs takes long.
        bench.digests = false;
        half_goes(bench, seed, ENDS[seed as usize % ENDS.len()], None);
    }
}

pub fn makes_room_with_default_settings<S: Ordered>() {
    for seed in saker_testing::seeds(scale(4)) {
        let config = S::defaults(&crate::ordered::bench::shape().geometry, seed % 2 == 0);
        ENDS.iter()
            .for_each(|end| half_goes(Bench::<S>::new(config, FaultPlan::default()), seed, *end, None));
    }
}

/// A cut at every event while the first pairs come after the release.
pub fn is_cut_at_every_event<S: Ordered>() {
    for seed in saker_testing::seeds(scale(1)) {
        half_goes(small::<S>(seed % 2 == 0), seed, End::Released, Some(recovers_killed));
        half_goes(small::<S>(true), seed, End::Released, Some(recovers_cut));
    }
}

/// A snapshot that is taken and released all the time, as scans do, keeps no write waiting for ever.
pub fn scans_that_come_and_go_hold_up_no_verdict<S: Ordered>() {
    let mut bench = small::<S>(true);
    let mut rng = Seed(1).rng();
    let pairs = fill(&mut bench, &mut rng);
    for n in 0..40 {
        let snapshot = bench.store.snapshot().expect("it has snapshots");
        bench.delete(&key(n)).expect("it is there");
        let stored = bench.put(&key(pairs + n), &value(&mut rng), Condition::Always);
        assert!(matches!(stored, Ok(()) | Err(KvError::CapacityExceeded)), "{stored:?}");
        bench.store.release(snapshot);
    }
    bench.check();
}
