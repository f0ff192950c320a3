// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Snapshots that see what lies on pages whose programs failed.

use crate::ordered::Ordered;
use crate::ordered::bench::{Bench, OWNER, scale};
use saker_engine::Condition;
use saker_flash::FaultPlan;
use saker_sim::Class;
use std::ops::Bound;

/// Pieces of background work after which it counts as never ending.
const PIECES_MAX: u32 = 10_000;

fn rests<S: Ordered>(bench: &mut Bench<S>) -> bool {
    (0..PIECES_MAX).any(|_| {
        bench.background();
        bench.store.job(&bench.flash.view(OWNER, Class::Background)).is_none()
    })
}

fn key(n: u64) -> Vec<u8> {
    format!("k{n:03}").into_bytes()
}

/// Repairs end while the snapshot is held, which goes on reading, and what they left behind goes with it.
pub fn a_snapshot_reads_from_failed_pages_and_holds_up_no_flush<S: Ordered>() {
    for seed in saker_testing::seeds(scale(20)) {
        let faults = FaultPlan { seed, program: S::failing(), ..FaultPlan::default() };
        let mut bench = Bench::<S>::new(S::small(false), faults);
        (0..30).for_each(|n| bench.put(&key(n), &[1; 100], Condition::Always).expect("there is room"));
        let (snapshot, seen) = (bench.store.snapshot().expect("it has snapshots"), bench.model.clone());
        // The youngest first, so that a page holds what only the snapshot sees while it is repaired.
        (0..30).rev().for_each(|n| bench.put(&key(n), &[2; 90], Condition::Always).expect("there is room"));
        let tag = bench.store.flush(&mut bench.flash.view(OWNER, Class::Foreground));
        let is_flushed = (0..PIECES_MAX).any(|_| {
            bench.settle();
            bench.background();
            bench.store.is_flushed(tag, bench.flash.finished())
        });
        assert!(is_flushed, "seed {seed}");
        for _ in 0..100 {
            bench.background();
        }
        let found = bench.scan((Bound::Unbounded, b"", false), snapshot, 7);
        assert_eq!(found, seen.into_iter().collect::<Vec<_>>(), "seed {seed}");
        bench.store.release(snapshot);
        assert!(rests(&mut bench), "seed {seed}");
    }
}
