// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes that are stopped again and again. Of one that waits the store may say that it would wait again: every bench asserts that it does,
//! here that is said often, and then the suites go on as ever.

use super::adapted::adapted_suite;
use super::inside::{adapt, ask_for};
use crate::ordered::Ordered;
use crate::ordered::bench::{Bench, scale};
use saker_engine::{Condition, KvError, LsmConfig, LsmStore};
use saker_flash::FaultPlan;
use saker_sim::Chance;

/// One table in level 0 stops writes, and so does a memtable that was not flushed.
fn stopped(config: LsmConfig) -> LsmConfig {
    LsmConfig {
        level0_file_num_compaction_trigger: 1,
        level0_slowdown_writes_trigger: 1,
        level0_stop_writes_trigger: 1,
        ..config
    }
}

adapted_suite! { stopped, {
    apart: 0;
    inside: u32::MAX;
} {
    histories { with_a_capacitor without_a_capacitor with_failing_programs }
    groups { power_cuts_between_groups }
    space { a_full_store_still_reads_deletes_and_then_stores }
    nearly_full { every_write_on_the_brink_ends every_group_on_the_brink_ends }
} }

/// Pairs without values that fill a memtable.
const MEMTABLE: u64 = 40;

/// Puts until the device is full, replacements and deletes: at each memtable somebody waits, and is told so.
#[test]
fn who_waits_is_told_so() {
    for size in [0, 64, u32::MAX] {
        adapt(stopped);
        ask_for(size, None);
        let mut bench = Bench::<LsmStore>::new(LsmStore::small(true), FaultPlan::default());
        let key = |n: u32| format!("key{n:06}").into_bytes();
        let refused = (0..).find(|n| bench.put(&key(*n), &[7; 60], Condition::Always).is_err());
        let pairs = refused.expect("no device holds all");
        let filled = bench.kept_waiting;
        assert!(filled > u64::from(pairs) / MEMTABLE, "{size}: {filled} quanta, {pairs} pairs");
        (0..pairs).for_each(|n| bench.put(&key(n), &[8; 60], Condition::Always).expect("not longer"));
        let replaced = bench.kept_waiting - filled;
        assert!(replaced > u64::from(pairs) / MEMTABLE, "{size}: {replaced} quanta");
        (0..pairs).for_each(|n| bench.delete(&key(n)).expect("there"));
        bench.put(&key(pairs), &[9; 60], Condition::Always).expect("all others are gone");
        bench.check();
    }
}

/// A compaction that meets a page that cannot be read ends all writes, that one too which waits for it.
#[test]
fn who_waits_for_a_compaction_that_fails_is_refused() {
    adapt(stopped);
    ask_for(u32::MAX, None);
    let mut waited = 0;
    for seed in saker_testing::seeds(scale(12)) {
        let faults = FaultPlan { seed, read: Chance::one_in(100), ..FaultPlan::default() };
        let mut bench = Bench::<LsmStore>::new(LsmStore::small(true), faults);
        let mut put = |n: u32| {
            let before = bench.kept_waiting;
            let key = format!("key{:06}", n % 500).into_bytes();
            (bench.put(&key, &[7; 60], Condition::Always), bench.kept_waiting > before)
        };
        let refused = (0..20_000).map(&mut put).find(|(put, _)| put.is_err());
        let (why, has_waited) = refused.expect("no page fails in so many");
        assert!(matches!(why, Err(KvError::Unrecovered(_))), "seed {seed}: {why:?}");
        waited += u32::from(has_waited);
        assert_eq!(put(20_000), (why, false), "seed {seed}: and so is the next, at once");
    }
    assert!(waited > 0, "nobody waited when the compaction failed");
}
