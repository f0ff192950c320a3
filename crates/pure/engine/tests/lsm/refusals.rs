// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a full device says it can hold.

use crate::lsm::Bench;
use crate::ordered::bench::OWNER;
use crate::ordered::nearly_full::{bench, fill, key};
use saker_engine::{Condition, Engine, KvError, LsmStore};
use saker_sim::{Class, Seed};

/// However much collections have moved: the device that refuses a pair has the capacity that it had when it first did.
pub fn refusals_find_the_same_capacity() {
    let mut bench = bench::<LsmStore>(true);
    bench.digests = false;
    let value = |n: u64| vec![n as u8; 1000];
    let pairs = fill(&mut bench, 0, || value(0));
    let capacity = |b: &mut Bench| b.store.capacity_bytes(&b.flash.view(OWNER, Class::Foreground));
    let first = capacity(&mut bench);
    let (mut rng, moved) = (Seed(3).rng(), bench.done()[2]);
    for round in 0..10 {
        for _ in 0..50 {
            let k = key(rng.below(pairs));
            assert_eq!(bench.put(&k, &value(round), Condition::Always), Ok(()));
        }
        assert_eq!(bench.put(&key(pairs), &value(0), Condition::Always), Err(KvError::CapacityExceeded));
        assert_eq!(capacity(&mut bench), first, "round {round}");
    }
    assert!(bench.done()[2] > moved, "segments were collected meanwhile");
}
