// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stores that decide by themselves which values are in their tree. Where changes matter and not their cause they decide by turns.

use super::{Bench, inside};
use crate::ordered::Ordered;
use crate::ordered::bench::OWNER;
use crate::ordered::layout::Entry;
use crate::ordered::nearly_full::{self, fill};
use saker_engine::lsm::{AUTO, BY_TURNS};
use saker_engine::{Condition, Engine, GroupOp, Inspect, KvError, LsmStore};
use saker_flash::FaultPlan;
use saker_segment_store::PowerHistory;
use saker_sim::{Class, Rng, Seed};

fn small(min_blob_size: u32) -> Bench {
    inside::ask_for(min_blob_size, None);
    Bench::new(LsmStore::small(true), FaultPlan::default())
}

/// A store with room for 8 MiB and a quarter more.
fn large(min_blob_size: u32) -> Bench {
    inside::ask_for(min_blob_size, None);
    let mut bench: Bench = nearly_full::bench::<LsmStore>(true);
    bench.digests = false;
    bench
}

fn key(n: u64) -> Vec<u8> {
    nearly_full::key(n)
}

fn counter(bench: &Bench, name: &str) -> u64 {
    bench.store.counter(name).expect("a store that decides has it")
}

/// Whether a pair's value is in the value log.
fn is_apart(bench: &mut Bench, n: u64) -> bool {
    let view = &mut bench.flash.view(OWNER, Class::Foreground);
    bench.store.place_of(&key(n), view).is_some()
}

/// Random pairs of 40 are replaced by ones of so many bytes, and after each put so many are read.
fn used(bench: &mut Bench, rng: &mut Rng, (puts, value_bytes, reads): (u64, usize, u64)) {
    for n in 0..puts {
        bench
            .put(&key(rng.below(40)), &vec![n as u8; value_bytes], Condition::Always)
            .expect("there is room");
        for _ in 0..reads {
            let n = rng.below(40);
            let found = bench.get(&key(n));
            assert_eq!(found.ok().as_ref(), bench.model.get(&key(n)));
        }
    }
}

/// Values that are only put go to the log, unless a place takes as much; those that are read before they are put again stay in the tree.
#[test]
fn what_is_read_goes_to_the_tree() {
    let (mut rng, mut bench) = (Seed(1).rng(), small(AUTO));
    used(&mut bench, &mut rng, (300, 100, 0));
    assert_eq!(counter(&bench, "auto_min_blob_size"), 16);
    assert!((0..40).all(|n| is_apart(&mut bench, n)));
    used(&mut bench, &mut rng, (300, 12, 0));
    assert!(!(0..40).any(|n| is_apart(&mut bench, n)));
    used(&mut bench, &mut rng, (300, 100, 32));
    assert!((0..40).all(|n| !is_apart(&mut bench, n)), "{}", counter(&bench, "auto_min_blob_size"));
    used(&mut bench, &mut rng, (600, 100, 0));
    assert!((0..40).all(|n| is_apart(&mut bench, n)));
    assert!(counter(&bench, "auto_min_blob_size_changes") >= 2);
    bench.check();
}

/// Each length goes its way: the short values are read, the long ones are only put.
#[test]
fn lengths_are_decided_one_by_one() {
    let (mut rng, mut bench) = (Seed(2).rng(), small(AUTO));
    for n in 0..800 {
        let (short, long) = (rng.below(20), 20 + rng.below(20));
        bench.put(&key(short), &[n as u8; 40], Condition::Always).expect("there is room");
        bench.put(&key(long), &[n as u8; 200], Condition::Always).expect("there is room");
        (0..16).for_each(|_| _ = bench.get(&key(rng.below(20))));
    }
    assert!((0..20).all(|n| !is_apart(&mut bench, n)), "short ones are in the tree");
    assert!((20..40).all(|n| is_apart(&mut bench, n)), "long ones are in the log");
}

/// Equal histories lead to equal decisions.
#[test]
fn equal_histories_decide_alike() {
    let digest = || {
        let (mut rng, mut bench) = (Seed(3).rng(), small(AUTO));
        for round in 0..12 {
            used(&mut bench, &mut rng, (60, 20 + 17 * round, round as u64 % 3 * 16));
        }
        (bench.store.digest(), counter(&bench, "auto_min_blob_size_changes"))
    };
    let (one, changes) = digest();
    assert!(changes > 2, "{changes}");
    assert_eq!((one, changes), digest());
}

/// Puts, groups and deletes of pairs that change their place again and again.
fn mixed(bench: &mut Bench, rng: &mut Rng, writes: u64, pairs: u64) {
    for _ in 0..writes {
        let first = rng.below(pairs);
        let value = |rng: &mut Rng| vec![rng.below(256) as u8; rng.below(300) as usize];
        if rng.below(3) > 0 {
            bench.put(&key(first), &value(rng), Condition::Always).expect("there is room");
            continue;
        }
        let entries: Vec<_> = (first..first + 1 + rng.below(8))
            .map(|n| match n % 5 {
                0 => Entry { op: GroupOp::Delete, key: key(n), value: Vec::new() },
                _ => Entry { op: GroupOp::Store, key: key(n), value: value(rng) },
            })
            .collect();
        bench.group(&entries).expect("there is room");
    }
}

/// After a kill and after a cut each value is where it was, whichever way its record, or its member of a group, went.
#[test]
fn values_are_found_where_they_went() {
    for (seed, history) in
        [(4, PowerHistory::Killed), (5, PowerHistory::Cut { ring_kept: true }), (6, PowerHistory::Killed)]
    {
        let (mut rng, mut bench) = (Seed(seed).rng(), small(BY_TURNS));
        for round in 0..6 {
            mixed(&mut bench, &mut rng, 250, 60);
            let places = |bench: &mut Bench| (0..70).map(|n| is_apart(bench, n)).collect::<Vec<_>>();
            let before = places(&mut bench);
            let apart = before.iter().filter(|apart| **apart).count();
            assert!(apart > 5, "{apart}");
            bench.restart(history, round);
            assert_eq!(places(&mut bench), before, "seed {seed}, round {round}");
            bench.check();
        }
        assert!(bench.done().iter().all(|n| *n > 1), "{:?}", bench.done());
    }
}

/// What a full store holds it holds wherever its values are: each pair is replaced by one that is as long, again and again, alone and in
/// groups, and is never refused.
#[test]
fn on_a_full_store_pairs_change_their_places() {
    for value_bytes in [20, 200, 1000] {
        let (mut rng, mut bench) = (Seed(7).rng(), large(BY_TURNS));
        let pairs = fill(&mut bench, 0, || vec![1; value_bytes]);
        let (mut moved, mut apart) = (0, vec![None; pairs as usize]);
        for round in 0..4u8 {
            let mut n = 0;
            while n < pairs {
                let many = (1 + rng.below(12)).min(pairs - n);
                let numbers = n..n + many;
                let value = vec![round; value_bytes];
                if many % 2 == 0 {
                    let one = |n| Entry { op: GroupOp::Store, key: key(n), value: value.clone() };
                    let entries: Vec<_> = numbers.clone().map(one).collect();
                    assert!(
                        bench.group(&entries).is_ok(),
                        "{value_bytes} bytes, round {round}: {n} of {pairs}"
                    );
                } else {
                    for n in numbers.clone() {
                        let stored = bench.put(&key(n), &value, Condition::MustExist);
                        assert_eq!(stored, Ok(()), "{value_bytes} bytes, round {round}: {n} of {pairs}");
                    }
                }
                for n in numbers {
                    let now = is_apart(&mut bench, n);
                    let before = apart[n as usize].replace(now);
                    moved += u64::from(before.is_some_and(|before| before != now));
                }
                n += many;
            }
            bench.restart(PowerHistory::Cut { ring_kept: true }, round.into());
        }
        assert!(moved > pairs / 2, "{value_bytes} bytes: {moved} changed their places, of {pairs}");
        let one_more = bench.put(&key(pairs), &vec![1; value_bytes], Condition::Always);
        assert_eq!(one_more, Err(KvError::CapacityExceeded), "{value_bytes} bytes");
        (0..pairs).for_each(|n| bench.delete(&key(n)).expect("it is there"));
        let again = fill(&mut bench, 0, || vec![1; value_bytes]);
        assert!(again * 100 >= pairs * 98, "{value_bytes} bytes: {again} of {pairs} fit again");
    }
}

/// A store that decides holds no more than either of those that have all values in one place, and that much wherever its values are.
#[test]
fn as_many_pairs_fit_as_the_dearer_place_lets_in() {
    for value_bytes in [20, 100, 400, 1000, 4000] {
        let fit = |size: u32| {
            let bench = &mut large(size);
            bench.store.pairs_that_fit(8, value_bytes, &bench.flash.view(OWNER, Class::Foreground))
        };
        // 16: as 0, but its tables have blocks of the same form.
        let [apart, inside, auto] = [16, u32::MAX, AUTO].map(fit);
        println!("{value_bytes} bytes: {apart} apart, {inside} inside, {auto} decided");
        let least = apart.min(inside);
        assert!((least * 3 / 4..=least).contains(&auto), "{value_bytes} bytes: {auto}, {apart}, {inside}");
        let mut taken = large(BY_TURNS);
        let stored = fill(&mut taken, 0, || vec![1; value_bytes as usize]);
        assert!(stored * 100 >= auto * 92, "{value_bytes} bytes: {stored} stored, {auto} it says");
    }
}
