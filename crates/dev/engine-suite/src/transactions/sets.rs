// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sets of pairs that are written together: at power cuts, when the store is full, and beside snapshots.

use super::part;
use crate::contract::{Model, has_collected, key};
use crate::cuts::survivor;
use crate::setup::TIMED;
use crate::{Bench, OWNER, Setup, Subject, scale};
use saker_engine::transaction::Ask;
use saker_engine::{Capability, Condition, Context, KvError, NotDone, Pairs, Scan, Scans, Snapshot};
use saker_flash::FaultPlan;
use saker_segment_store::PowerHistory;
use saker_sim::{Class, Free, Rng, Seed};
use std::collections::BTreeMap;
use std::ops::Bound;

/// Pairs of one transaction.
const SET: usize = 6;

fn set_keys(set: u64) -> [Vec<u8>; SET] {
    std::array::from_fn(|n| format!("s{set:03}-{n}").into_bytes())
}

/// A value of so many bytes, which begins with a stamp.
fn stamped(stamp: u64, bytes: u64) -> Vec<u8> {
    let mut value = stamp.to_le_bytes().to_vec();
    value.resize(8 + bytes as usize, stamp as u8);
    value
}

/// Asserts that each set is of one transaction.
fn sets_are_whole(bench: &mut Bench) {
    for set in 0..SETS {
        let of = |found: Result<Vec<u8>, KvError>| match found {
            Ok(value) => value.first_chunk().map(|stamp| u64::from_le_bytes(*stamp)),
            Err(KvError::NotFound) => None,
            Err(e) => panic!("set {set}: {e}"),
        };
        let stamps = set_keys(set).map(|key| of(bench.get(&key)));
        assert!(stamps.iter().all(|stamp| *stamp == stamps[0]), "set {set} is torn: {stamps:?}");
    }
}

const SETS: u64 = 10;

fn killed(bench: &Bench) {
    sets_are_whole(&mut survivor(bench, PowerHistory::Killed));
}

fn cut(bench: &Bench) {
    sets_are_whole(&mut survivor(bench, PowerHistory::Cut { ring_kept: true }));
}

fn cut_with_the_ring(bench: &Bench) {
    sets_are_whole(&mut survivor(bench, PowerHistory::Cut { ring_kept: false }));
}

/// Writes or deletes a whole set, if it is as it was left.
fn write_set(bench: &mut Bench, rng: &mut Rng, stamp: u64) {
    let keys = set_keys(rng.below(SETS));
    let old: Vec<_> = keys.iter().map(|key| bench.version(key).expect("it can be told")).collect();
    let values: Vec<_> = keys.iter().map(|_| stamped(stamp, rng.below(200))).collect();
    let deletes = old[0].is_some() && rng.below(4) == 0;
    let conditions = keys.iter().zip(&old).map(|(key, old)| part(key, Ask::Version(*old)));
    let write = |n: usize| if deletes { Ask::Delete } else { Ask::Store(&values[n]) };
    let writes = keys.iter().enumerate().map(|(n, key)| part(key, write(n)));
    let only_writes = rng.below(2) == 0;
    let parts: Vec<_> = conditions.filter(|_| !only_writes).chain(writes).collect();
    bench.transact(&parts).unwrap_or_else(|e| panic!("nobody is between: {e:?}"));
    let mut broken = parts.clone();
    broken.push(part(b"nobody", Ask::Present));
    assert!(bench.transact(&broken).is_err(), "of all its parts one is refused");
}

fn cut_history(subject: Subject, seed: u64, ring_lasts: bool, watch: fn(&Bench)) {
    let mut rng = Seed(seed).rng();
    let setup = Setup { timings: Some(TIMED), digests: false, ..Setup::small(subject, ring_lasts) };
    let mut bench = setup.start(FaultPlan::default());
    if !bench.has(Capability::Transactions) {
        return;
    }
    for step in 0..1000 {
        bench.watch = (step % 20 == 19).then_some(watch);
        match rng.below(10) {
            0..2 => {
                let (k, value) = (key(&mut rng, 30), vec![step as u8; rng.below(300) as usize]);
                assert_eq!(bench.put(&k, &value, Condition::Always), Ok(()));
            }
            _ => write_set(&mut bench, &mut rng, step),
        }
        if step % 37 == 0 {
            bench.flush();
        }
    }
    bench.watch = None;
    sets_are_whole(&mut bench);
    has_collected(&bench);
}

/// The process is killed at any event.
pub fn kills_leave_transactions_whole(subject: Subject) {
    for seed in saker_testing::seeds(scale(1)) {
        cut_history(subject, 400 + seed, true, killed);
        cut_history(subject, 410 + seed, false, killed);
    }
}

/// Power is cut at any event, and again while the engine recovers.
pub fn power_cuts_leave_transactions_whole(subject: Subject) {
    for seed in saker_testing::seeds(scale(1)) {
        cut_history(subject, 420 + seed, true, cut);
    }
}

/// The same, and the page buffer is lost.
pub fn power_cuts_that_take_the_ring_leave_transactions_whole(subject: Subject) {
    for seed in saker_testing::seeds(scale(1)) {
        cut_history(subject, 430 + seed, false, cut_with_the_ring);
    }
}

/// A full store refuses a transaction as a whole, and takes others.
pub fn a_full_store_refuses_a_transaction_as_a_whole(subject: Subject) {
    let mut bench = Setup::small(subject, true).start(FaultPlan::default());
    if !bench.has(Capability::Transactions) {
        return;
    }
    let (mut full, value) = (0, [7; 100]);
    let stores = |keys: &[Vec<u8>; SET], value: &[u8]| -> Vec<(Vec<u8>, Vec<u8>)> {
        keys.iter().map(|key| (key.clone(), value.to_vec())).collect()
    };
    let parts = |of: &[(Vec<u8>, Vec<u8>)]| -> Vec<(Vec<u8>, Vec<u8>)> { of.to_vec() };
    loop {
        let of = parts(&stores(&set_keys(full), &value));
        let mut lent = vec![part(b"nobody", Ask::Absent)];
        lent.extend(of.iter().map(|(key, value)| part(key, Ask::Store(value))));
        match bench.transact(&lent) {
            Ok(_) => full += 1,
            Err(e) => {
                assert_eq!(e, NotDone::CapacityExceeded);
                break;
            }
        }
    }
    assert!(full * SET as u64 > subject.least_pairs as u64 / 2, "{full} sets");
    let refused = set_keys(full);
    assert!(refused.iter().all(|key| bench.get(key) == Err(KvError::NotFound)), "nothing of it is there");
    // What takes no more room goes on, and what was deleted makes room.
    for set in 0..full {
        let keys = set_keys(set);
        let lent: Vec<_> = keys.iter().map(|key| part(key, Ask::Store(&[8; 100]))).collect();
        assert!(bench.transact(&lent).is_ok(), "set {set} of {full} is replaced");
    }
    for set in 0..full / 2 {
        let keys = set_keys(set);
        let lent: Vec<_> = keys.iter().map(|key| part(key, Ask::Delete)).collect();
        assert!(bench.transact(&lent).is_ok(), "set {set} of {full} is deleted");
    }
    for set in 0..full / 4 {
        let keys = set_keys(full + set);
        let lent: Vec<_> = keys.iter().map(|key| part(key, Ask::Store(&value))).collect();
        let stored = bench.transact(&lent).map(|_| ());
        assert_eq!(stored, Ok(()), "set {set} again");
    }
    bench.restart(PowerHistory::Killed, 5);
    assert_eq!(bench.get(&set_keys(full - 1)[0]), Ok(vec![8; 100]));
}

/// Values of a snapshot, by key.
struct Shown(Model, Vec<u8>);

impl Pairs for Shown {
    fn wants(&mut self, _: &[u8], _: u32) -> bool {
        true
    }

    fn pair(&mut self, key: &[u8], _: u32) {
        self.1 = key.to_vec();
        self.0.insert(key.to_vec(), Vec::new());
    }

    fn value(&mut self, bytes: &[u8]) {
        self.0.entry(self.1.clone()).or_default().extend_from_slice(bytes);
    }
}

fn scanned(bench: &mut Bench, snapshot: Snapshot) -> Model {
    let (mut all, mut from) = (BTreeMap::new(), Bound::Unbounded);
    loop {
        let mut shown = Shown(BTreeMap::new(), Vec::new());
        bench
            .run(|s, f| {
                shown.0.clear();
                let scan =
                    Scan { snapshot, from: from.as_ref().map(Vec::as_slice), backwards: false, values: true };
                s.scan(&scan, &mut shown, &mut Context::new(&mut f.view(OWNER, Class::Foreground), &mut Free))
            })
            .expect("a snapshot can be read");
        let Some(last) = shown.0.keys().last().cloned() else { return all };
        from = Bound::Excluded(last);
        all.extend(shown.0);
    }
}

/// Snapshots, where an engine has them, see all of a transaction or nothing.
pub fn a_snapshot_sees_a_transaction_whole(subject: Subject) {
    let mut rng = Seed(77).rng();
    let mut bench = Setup::small(subject, true).start(FaultPlan::default());
    if !bench.has(Capability::Transactions) || !bench.has(Capability::Snapshots) {
        return;
    }
    let mut held: Vec<(Snapshot, Model)> = Vec::new();
    for stamp in 0..200 {
        write_set(&mut bench, &mut rng, stamp);
        if stamp % 9 == 0 {
            let snapshot = bench.snapshot().expect("it has snapshots");
            let now = scanned(&mut bench, snapshot);
            for set in 0..SETS {
                let of = |key: &Vec<u8>| now.get(key).and_then(|v| v.first_chunk::<8>().copied());
                let stamps = set_keys(set).each_ref().map(of);
                assert!(stamps.iter().all(|stamp| *stamp == stamps[0]), "set {set}: {stamps:?}");
            }
            held.push((snapshot, now));
        }
        if held.len() > 3 {
            let (snapshot, then) = held.remove(0);
            assert_eq!(scanned(&mut bench, snapshot), then, "transactions since do not show");
            bench.release(snapshot);
        }
    }
    held.into_iter().for_each(|(snapshot, _)| bench.release(snapshot));
}
