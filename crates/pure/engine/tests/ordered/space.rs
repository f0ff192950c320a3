// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Room: a full store, churn, and what deletes give back.

use crate::ordered::Ordered;
use crate::ordered::bench::{Bench, OWNER, scale};
use saker_engine::{Condition, KvError};
use saker_flash::FaultPlan;
use saker_segment_store::PowerHistory;
use saker_sim::{Class, Seed};

fn fill<S: Ordered>(bench: &mut Bench<S>, prefix: &str) -> Vec<Vec<u8>> {
    let mut stored = Vec::new();
    loop {
        let k = format!("{prefix}{:06}", stored.len()).into_bytes();
        match bench.put(&k, &[7; 100], Condition::Always) {
            Ok(()) => stored.push(k),
            Err(e) => {
                assert_eq!(e, KvError::CapacityExceeded);
                return stored;
            }
        }
    }
}

pub fn a_full_store_still_reads_deletes_and_then_stores<S: Ordered>() {
    for ring_lasts in [true, false] {
        let mut bench = Bench::<S>::new(S::small(ring_lasts), FaultPlan::default());
        let stored = fill(&mut bench, "key");
        assert!(stored.len() > S::least_pairs(), "{}", stored.len());
        assert_eq!(bench.get(&stored[3]), Ok(vec![7; 100]));
        for k in &stored {
            assert_eq!(bench.put(k, &[8; 100], Condition::Always), Ok(()), "in place of itself");
        }
        let (gone, kept) = stored.split_at(stored.len() / 2);
        for k in gone {
            assert_eq!(bench.delete(k), Ok(()));
        }
        for n in 0..gone.len() * 9 / 10 {
            let k = format!("new{n:06}").into_bytes();
            assert_eq!(bench.put(&k, &[9; 100], Condition::Always), Ok(()), "{n} of {}", gone.len());
        }
        assert_eq!(bench.get(&kept[0]), Ok(vec![8; 100]));
        bench.restart(PowerHistory::Killed, 1);
        bench.check();
    }
}

/// Ten fills of the device at 80 % utilisation: as many pairs can be stored at the end as at the beginning, and what counts then is
/// what their records take. Tables differ by a few pages, which are part of the capacity, so one history may end with some pairs
/// less, but not all of them.
pub fn churn_leaks_no_space<S: Ordered>() {
    let mut bench = Bench::<S>::new(S::small(true), FaultPlan::default());
    let capacity = fill(&mut bench, "key").len() as u64;
    let histories = scale(1);
    let stored: Vec<_> =
        (5..5 + histories).map(|seed| stored_after_churn::<S>(capacity, Seed(seed))).collect();
    assert!(stored.iter().all(|n| *n >= capacity * 95 / 100), "{stored:?} of {capacity}");
    assert!(stored.iter().sum::<u64>() >= histories * (capacity * 97 / 100), "{stored:?} of {capacity}");
}

fn stored_after_churn<S: Ordered>(capacity: u64, seed: Seed) -> u64 {
    let mut bench = Bench::<S>::new(S::small(true), FaultPlan::default());
    let pairs = capacity * 8 / 10;
    let mut rng = seed.rng();
    let written_at_least = 10 * bench.store.capacity_bytes(&bench.flash.view(OWNER, Class::Foreground));
    let mut written = 0;
    while written < written_at_least {
        let k = format!("key{:06}", rng.below(pairs)).into_bytes();
        bench.put(&k, &[written as u8; 100], Condition::Always).expect("80 % is not full");
        written += 136;
        if rng.below(10) == 0 {
            let k = format!("key{:06}", rng.below(pairs)).into_bytes();
            let _ = bench.delete(&k);
        }
    }
    let stored = fill(&mut bench, "key").len() as u64;
    let (found, landed) = (bench.store.stats(), 8 * stored);
    assert!((136 * stored..=136 * stored + landed).contains(&found.pair_bytes), "{seed:?}: {found:?}");
    bench.check();
    stored
}
