// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups: each is one record, there as a whole or not at all, through merges, collections, manifests and cuts.

use crate::ordered::Ordered;
use crate::ordered::bench::{Bench, Model, scale};
use crate::ordered::cuts::{recovers_cut, recovers_killed};
use crate::ordered::layout::{Entry, Told};
use saker_engine::{Condition, GroupOp};
use saker_flash::FaultPlan;
use saker_segment_store::PowerHistory;
use saker_sim::{Rng, Seed};
use std::collections::{BTreeMap, BTreeSet};

fn entry(op: GroupOp, key: &[u8], value: &[u8]) -> Entry {
    Entry { op, key: key.to_vec(), value: value.to_vec() }
}

/// Stores, deletes, or both with reads between them; each key once.
pub fn random<S: Ordered>(rng: &mut Rng) -> Vec<Entry> {
    use GroupOp::{Delete, Exist, Retrieve, Store};
    let forms: [&[GroupOp]; 4] = [&[Store], &[Store], &[Delete], &[Store, Store, Delete, Retrieve, Exist]];
    let ops = forms[rng.below(4) as usize];
    let keys: BTreeSet<_> = (0..1 + rng.below(12)).map(|_| S::pick(rng)).collect();
    let one = |key: &Vec<u8>| {
        let op = ops[rng.below(ops.len() as u64) as usize];
        let mut value = vec![0; if op == Store { rng.below(90) as usize } else { 0 }];
        rng.fill(&mut value);
        Entry { op, key: key.clone(), value }
    };
    keys.iter().map(one).collect()
}

/// What the members must answer.
pub fn expected(model: &Model, entries: &[Entry]) -> Vec<Told> {
    let one = |e: &Entry| match (e.op, model.get(&e.key)) {
        (GroupOp::Store, _) | (GroupOp::Delete | GroupOp::Exist, Some(_)) => Told::Done(Ok(())),
        (GroupOp::Retrieve, Some(value)) => Told::Value(value.clone()),
        (_, None) => Told::Done(Err(saker_engine::KvError::NotFound)),
    };
    entries.iter().map(one).collect()
}

fn writes(told: &[Told], entries: &[Entry]) -> u64 {
    let wrote = |(told, e): &(&Told, &Entry)| e.op.is_write() && **told == Told::Done(Ok(()));
    told.iter().zip(entries).filter(wrote).count() as u64
}

fn counter<S: Ordered>(bench: &Bench<S>, name: &str) -> u64 {
    bench.store.counters().iter().find(|(n, _)| *n == name).expect("there is such a counter").1
}

fn cut_in<S: Ordered>(seed: u64, ring_lasts: bool, watch: fn(&Bench<S>, &Model)) {
    let mut rng = Seed(seed).rng();
    let mut bench = Bench::<S>::new(S::small(ring_lasts), FaultPlan::default());
    let (mut records, mut members) = (0, 0);
    for step in 0..900 {
        // Watched in windows, so that the history gets far.
        bench.watch = (step % 150 > 140).then_some(watch);
        if rng.below(4) == 0 {
            bench.put(&S::pick(&mut rng), &[step as u8; 40], Condition::Always).expect("there is room");
        } else {
            let entries = random::<S>(&mut rng);
            let expected = expected(&bench.model, &entries);
            let told = bench.group(&entries).expect("a good group");
            assert_eq!(told, expected, "step {step}");
            let wrote = writes(&told, &entries);
            (records, members) = (records + u64::from(wrote > 0), members + wrote);
        }
        bench.idle(step);
    }
    bench.watch = None;
    bench.check();
    assert!(bench.done().iter().all(|n| *n > 3), "{:?}", bench.done());
    let counted = (counter(&bench, "group_records"), counter(&bench, "group_members"));
    assert_eq!(counted, (records, members), "each was one record");
}

pub fn kills_between_groups<S: Ordered>() {
    for seed in saker_testing::seeds(scale(1)) {
        cut_in::<S>(seed, true, recovers_killed);
        cut_in::<S>(seed, false, recovers_killed);
    }
}

pub fn power_cuts_between_groups<S: Ordered>() {
    (0..scale(1)).for_each(|seed| cut_in::<S>(seed + 50, true, recovers_cut));
}

/// Keys that always change together.
const SETS: u64 = 6;
const KEYS: u8 = 6;

fn name(set: u64, key: u8) -> Vec<u8> {
    vec![b's', set as u8, key, b'-', b'k']
}

/// What a set has.
type Content = BTreeMap<Vec<u8>, Vec<u8>>;

fn content(model: &Model, set: u64) -> Content {
    let from = name(set, 0);
    model.range(from..name(set, KEYS)).map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// A group that changes each key of a set: all are stored, all deleted, or some of both.
fn of_set(rng: &mut Rng, set: u64, step: u64) -> Vec<Entry> {
    let form = rng.below(4);
    let value = vec![step as u8; 20 + rng.below(60) as usize];
    let stores = |key: u8| form < 2 || form == 2 && key.is_multiple_of(2);
    let one = |key: u8| match stores(key) {
        true => entry(GroupOp::Store, &name(set, key), &value),
        false => entry(GroupOp::Delete, &name(set, key), b""),
    };
    (0..KEYS).map(one).collect()
}

/// Where the page buffer is lost, every group since the last Flush is there as a whole or not at all.
pub fn a_lost_ring_loses_whole_groups<S: Ordered>() {
    let mut done = [0; 4];
    for seed in saker_testing::seeds(scale(2)) {
        let mut rng = Seed(seed).rng();
        let mut bench = Bench::<S>::new(S::small(false), FaultPlan::default());
        let mut states: Vec<Vec<Content>> = vec![vec![Content::new()]; SETS as usize];
        let (mut lost, mut kept) = (0, 0);
        for step in 0..1200 {
            let set = rng.below(SETS);
            bench.group(&of_set(&mut rng, set, step)).expect("there is room");
            states[set as usize].push(content(&bench.model, set));
            bench.idle(step);
            if step % 31 == 0 {
                bench.flush();
                states.iter_mut().for_each(|s| *s = s.split_off(s.len() - 1));
            }
            if step % 4 == 0 {
                let mut fork = bench.clone();
                fork.restart(PowerHistory::Cut { ring_kept: false }, step);
                let found = fork.contents();
                for (set, states) in states.iter().enumerate() {
                    let there = content(&found, set as u64);
                    assert!(states.contains(&there), "step {step}, set {set}: {there:?}");
                    (lost, kept) = match states.last() == Some(&there) {
                        true => (lost, kept + 1),
                        false => (lost + 1, kept),
                    };
                }
            }
        }
        assert!(lost > 50 && kept > 50, "cuts must meet groups on their way: {lost} of {}", lost + kept);
        done = std::array::from_fn(|n| done[n] + bench.done()[n]);
    }
    assert!(done.iter().all(|n| *n > 3), "{done:?}");
}

pub fn collections_take_groups_apart<S: Ordered>() {
    taken_apart::<S>(60, 30);
}

/// The same with values that stay in the value log if those of fewer than 64 bytes do not.
pub fn collections_take_groups_of_longer_values_apart<S: Ordered>() {
    taken_apart::<S>(64, 70);
}

/// Of each group one pair stays and the others are replaced again and again: collections take those records apart.
fn taken_apart<S: Ordered>(hot_bytes: usize, cold_bytes: usize) {
    let mut bench = Bench::<S>::new(S::small(true), FaultPlan::default());
    for n in 0..2000_u32 {
        let mut entries: Vec<_> =
            (0..7).map(|hot: u8| entry(GroupOp::Store, &[b'h', hot], &vec![n as u8; hot_bytes])).collect();
        let cold = vec![n as u8; cold_bytes];
        entries.push(entry(GroupOp::Store, format!("cold{:04}", n % 500).as_bytes(), &cold));
        bench.group(&entries).expect("most of it is replaced");
    }
    assert!(bench.store.stats().gc_records_copied > 500, "{:?}", bench.store.stats());
    bench.check();
    bench.restart(PowerHistory::Killed, 1);
    bench.check();
    assert_eq!(bench.model.len(), 507);
}
