// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rows of keys, each written by batches: what is done until the power ends, and what must be there afterwards.

use super::{KEYS, ROWS, TURNS_MAX, batch, key};
use saker_sim::Seed;
use saker_store::{KvStore, Lane, Op, Outcome, Share, Submitted};
use std::collections::BTreeMap;

/// What a run leaves: by row the last batch that was acknowledged, and the last that a Flush covered.
#[derive(Default)]
pub struct Left {
    pub batches: u64,
    pub acknowledged: BTreeMap<u64, u64>,
    pub flushed: BTreeMap<u64, u64>,
}

/// Batches, and a Flush now and then, until nothing completes any more.
pub fn run<S: KvStore>(store: &mut S, seed: u64, is_powered: impl Fn(&mut S) -> bool) -> Left {
    let mut rng = Seed(seed).child("cut").rng();
    let mut lane = store.open_lane().unwrap_or_else(|refusal| panic!("{refusal}"));
    let mut left = Left::default();
    loop {
        let number = left.batches + 1;
        if !ends(store, &mut lane, &batch(&mut rng, number), &is_powered) {
            return left;
        }
        left.batches = number;
        left.acknowledged.insert(number % ROWS, number);
        if number.is_multiple_of(7) {
            if !ends(store, &mut lane, &Op::Flush, &is_powered) {
                return left;
            }
            left.flushed = left.acknowledged.clone();
        }
    }
}

/// Whether an operation has ended before the power did.
fn ends<S: KvStore>(
    store: &mut S,
    lane: &mut S::Lane,
    op: &Op,
    is_powered: &impl Fn(&mut S) -> bool,
) -> bool {
    let now = store.now();
    match lane.submit(Share::alone(op), now) {
        Submitted::Done(outcome) => {
            assert_eq!(outcome, Outcome::DONE);
            return is_powered(store);
        }
        Submitted::Pending(_) => {}
        Submitted::Stalled(stall) => panic!("{stall:?}"),
        Submitted::Refused(refusal) => panic!("{refusal}"),
    }
    for _ in 0..TURNS_MAX {
        lane.ring();
        store.drive();
        let now = store.now();
        if let Some(job) = store.background() {
            store.quantum(job.id, now);
        }
        let ended = if lane.look(now) {
            lane.poll(now, |done| done.outcome == Outcome::DONE).unwrap_or(None)
        } else {
            None
        };
        if !is_powered(store) {
            return false;
        }
        if let Some(is_done) = ended {
            assert!(is_done, "{}", op.name());
            return true;
        }
    }
    panic!("{} never ends", op.name());
}

/// Whether each row is that of one batch, and of no earlier one than `least`.
pub fn check(left: &Left, least: &BTreeMap<u64, u64>, mut get: impl FnMut(&[u8]) -> Option<Vec<u8>>) {
    for row in 0..ROWS {
        let found: Vec<_> = (0..KEYS).map(|n| get(&key(row, n))).collect();
        let number = |value: &Vec<u8>| u64::from_le_bytes(value[..8].try_into().expect("eight bytes"));
        let numbers: Vec<_> = found.iter().map(|value| value.as_ref().map(number)).collect();
        let last = numbers[0].unwrap_or(0);
        let whole = (0..KEYS).map(|n| {
            let is_deleted = last == 0 || n == KEYS - 1 && last % 2 == 1;
            (!is_deleted).then_some(last)
        });
        assert!(whole.eq(numbers.iter().copied()), "row {row} is of several batches: {numbers:?}");
        let least = least.get(&row).copied().unwrap_or(0);
        assert!(
            (least..=left.batches + 1).contains(&last),
            "row {row}: {last} after {least} was acknowledged"
        );
    }
}
