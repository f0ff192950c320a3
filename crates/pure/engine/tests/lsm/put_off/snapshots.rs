// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Snapshots that are held while merges are put off, and while these are done late.

use super::{key, put_off};
use crate::lsm::inside::{adapt, ask_for};
use crate::ordered::Ordered;
use crate::ordered::bench::{Bench as Rig, Model, scale, shape};
use saker_engine::{Condition, LsmStore, Scans, Snapshot};
use saker_flash::FaultPlan;
use saker_flash::nand::Shape;
use saker_segment_store::Geometry;
use saker_sim::{Rng, Seed};
use std::ops::Bound;

/// Snapshots of a history, of which those are held that were taken while merges were put off.
struct Held {
    rng: Rng,
    all: Vec<(Snapshot, Model)>,
    /// Looks at a snapshot while merges were put off, and while they went on.
    looks: (u64, u64),
}

impl Held {
    /// All that a snapshot sees, one way or the other.
    fn look(&mut self, bench: &mut Rig<LsmStore>) {
        if self.all.is_empty() {
            return;
        }
        let merges = bench.store.running_compactions() > 0;
        self.looks.0 += u64::from(!merges && bench.store.level0_files() > 4);
        self.looks.1 += u64::from(merges);
        let (snapshot, seen) = &self.all[self.rng.below(self.all.len() as u64) as usize];
        let backwards = self.rng.below(2) == 0;
        // Between two steps merges go on.
        let step = if self.rng.below(8) == 0 { 40 } else { 1000 };
        let shown = bench.scan((Bound::Unbounded, b"key", backwards), *snapshot, step);
        let seen = seen.clone().into_iter();
        let is_same = if backwards { shown.into_iter().eq(seen.rev()) } else { shown.into_iter().eq(seen) };
        assert!(is_same, "{:?}", bench.store.tables_by_level());
    }

    fn release(&mut self, bench: &mut Rig<LsmStore>) {
        let n = self.rng.below(self.all.len() as u64) as usize;
        bench.store.release(self.all.remove(n).0);
    }
}

/// How many pairs more fit a flash of twice the usual size behind a history of which everything is merged, with snapshots or without.
fn history_beside_snapshots(seed: u64, holds: bool) -> usize {
    adapt(put_off);
    ask_for(u32::MAX, None);
    let shape = Shape { geometry: Geometry { segments: 72, ..shape().geometry }, ..shape() };
    let mut bench = Rig::<LsmStore>::shaped(shape, LsmStore::small(true), FaultPlan::default());
    let mut held = Held { rng: Seed(seed).child("held").rng(), all: Vec::new(), looks: (0, 0) };
    let mut rng = Seed(seed).child("history").rng();
    for n in 0..3000_u64 {
        let key = key(rng.below(400) as u32);
        if rng.below(4) == 0 {
            let was_there = bench.model.contains_key(&key);
            assert_eq!(bench.delete(&key).is_ok(), was_there);
        } else {
            bench
                .put(&key, &vec![n as u8; 20 + rng.below(60) as usize], Condition::Always)
                .expect("there is room");
        }
        let is_put_off = bench.store.level0_files() >= 8 && bench.store.running_compactions() == 0;
        if holds && is_put_off && held.all.len() < 3 && held.rng.below(4) == 0 {
            let snapshot = bench.store.snapshot().expect("it has snapshots");
            held.all.push((snapshot, bench.model.clone()));
        }
        if n % 20 == 0 {
            held.look(&mut bench);
        }
        if held.all.len() == 3 && held.rng.below(200) == 0 {
            held.release(&mut bench);
        }
    }
    println!("seed {seed}: looks while put off and while merged {:?}", held.looks);
    assert!(!holds || held.looks.0 > 4 && held.looks.1 > 4, "{:?}", held.looks);
    // What is late is done, beside those that are still held; then they go.
    (0..2000).for_each(|_| _ = bench.background());
    held.looks = (0, 0);
    while !held.all.is_empty() {
        held.look(&mut bench);
        held.release(&mut bench);
    }
    bench.check();
    let stored = |n: &u32| bench.put(&key(1000 + n), &[1; 50], Condition::Always).is_ok();
    let more = (0..).take_while(stored).count();
    bench.check();
    bench.assert_sound();
    more
}

/// Every version that a snapshot sees is read while merges wait and while they are done. What snapshots held is room when they are gone.
#[test]
fn snapshots_see_their_moments_through_late_merges() {
    for seed in saker_testing::seeds(scale(2)) {
        let (with, without) = (history_beside_snapshots(seed, true), history_beside_snapshots(seed, false));
        println!("seed {seed}: {with} pairs more fit, {without} without snapshots");
        assert!(
            with * 100 >= without * 95,
            "seed {seed}: {with} pairs more fit, {without} without snapshots"
        );
    }
}
