// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What writes cost on a store that is nearly full, with values in its tree.

use super::{Bench, inside};
use crate::ordered::bench::{Model, OWNER, Sent};
use crate::ordered::layout::Entry;
use crate::ordered::nearly_full::{self, fill, key};
use saker_engine::lsm::BY_TURNS;
use saker_engine::{Condition, Context, Engine, GroupError, GroupOp, KvError, LsmStore, Scans, Snapshot};
use saker_segment_store::Step;
use saker_sim::{Class, Free, Rng, Seed};
use std::ops::Range;

/// Of values that may be short, of all, and of some and then others.
const SIZES: [u32; 4] = [64, 4096, u32::MAX, BY_TURNS];

/// An empty store with room for 8 MiB and a quarter more.
fn started(min_blob_size: u32) -> Bench {
    inside::ask_for(min_blob_size, None);
    let mut bench: Bench = nearly_full::bench::<LsmStore>(true);
    bench.digests = false;
    bench
}

/// Mostly short ones, some long ones.
fn value(rng: &mut Rng) -> Vec<u8> {
    let most = [500, 500, 500, 2000, 6000][rng.below(5) as usize];
    vec![rng.below(256) as u8; rng.below(most) as usize]
}

/// Pages that each put programs, times 100, while random pairs of a full store are replaced of which `kept` in 100 are left; groups of
/// `members` replace as many at once.
fn programs_a_put(min_blob_size: u32, kept: u64, members: u64) -> u64 {
    let (mut rng, mut bench) = (Seed(7).rng(), started(min_blob_size));
    let pairs = fill(&mut bench, 0, || value(&mut rng));
    for n in (0..pairs).filter(|n| n % 100 >= kept) {
        bench.delete(&key(n)).expect("it is there");
    }
    let before = bench.flash.stats().pages_programmed;
    for _ in 0..pairs / members {
        let mut entries: Vec<Entry> = Vec::new();
        for _ in 0..members {
            let n = rng.below(pairs);
            let key = key(if n % 100 >= kept { n - n % 100 } else { n });
            if entries.iter().all(|e| e.key != key) {
                entries.push(Entry { op: GroupOp::Store, key, value: value(&mut rng) });
            }
        }
        let is_taken = match &entries[..] {
            [one] => {
                let stored = bench.put(&one.key, &one.value, Condition::Always);
                matches!(stored, Ok(()) | Err(KvError::CapacityExceeded))
            }
            _ => matches!(bench.group(&entries), Ok(_) | Err(GroupError::CapacityExceeded)),
        };
        assert!(is_taken, "only room may be lacking");
    }
    let programs = (bench.flash.stats().pages_programmed - before) * 100 / pairs;
    println!(
        "min_blob_size {min_blob_size}, {kept} % full, {members} at once: {programs} hundredths of a page a put"
    );
    programs
}

/// What it takes at most to write a pair and to merge it: a page is 2048 bytes and a value 900 on the average, so half a page is written
/// by the log and half by a flush, one and a half to merge level 0 with the first level, and up to five and a half for the next level,
/// which is ten times as large.
const MERGED: u64 = 800;

/// Near the capacity the tree is not merged for each put. Where some room is left collections find segments in which little lives. In a full
/// store they are half full, and write as much again. Room for a pair that is longer than the one before costs no more than that.
#[test]
fn puts_of_a_nearly_full_store_do_not_merge_it_each() {
    let [nearly, full] = [90, 100].map(|kept| programs_a_put(4096, kept, 1));
    assert!(nearly < MERGED, "{nearly}");
    assert!(full < 2 * nearly, "{full} where nothing is left, and {nearly} with a tenth");
    let inside = programs_a_put(u32::MAX, 97, 1);
    assert!(inside < 2 * MERGED, "{inside}");
}

/// Nor is it for each group: what its members replace is known, too.
#[test]
fn groups_of_a_nearly_full_store_do_not_merge_it_each() {
    let [nearly, full] = [90, 100].map(|kept| programs_a_put(4096, kept, 8));
    assert!(nearly < MERGED && full < 2 * MERGED, "{full} where nothing is left, and {nearly} with a tenth");
}

/// Members of a group at most.
const MEMBERS: u64 = 12;

/// Puts, deletes, and groups of both, of which many find a full store: all of the keys from one on.
fn write(bench: &mut Bench, n: u64, rng: &mut Rng) {
    match rng.below(8) {
        0 => {
            let entry = |n: u64| match n % 5 {
                0 => Entry { op: GroupOp::Delete, key: key(n), value: Vec::new() },
                _ => Entry { op: GroupOp::Store, key: key(n), value: vec![1; (n * 37 % 900) as usize] },
            };
            let entries: Vec<_> = (n..=n + rng.below(MEMBERS)).map(entry).collect();
            let _ = bench.group(&entries);
        }
        1 | 2 => _ = bench.delete(&key(n)),
        _ => _ = bench.put(&key(n), &value(rng), Condition::Always),
    }
}

/// Pairs that the store must keep and their bytes: those that are there, and those that a snapshot sees instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kept {
    pairs: u64,
    bytes: u64,
}

impl Kept {
    /// Of the keys with these numbers.
    fn of(now: &Model, seen: Option<&Model>, keys: Range<u64>) -> Self {
        let keys = key(keys.start)..key(keys.end);
        let seen = seen.into_iter().flat_map(|seen| seen.range(keys.clone()));
        let replaced = seen.filter(|(k, v)| now.get(*k) != Some(*v));
        let all = now.range(keys.clone()).chain(replaced);
        let none = Self { pairs: 0, bytes: 0 };
        all.fold(none, |kept, (k, v)| Self {
            pairs: kept.pairs + 1,
            bytes: kept.bytes + (k.len() + v.len()) as u64,
        })
    }

    /// With what is kept of some keys now instead of what was.
    fn changed(self, was: Self, now: Self) -> Self {
        Self { pairs: self.pairs - was.pairs + now.pairs, bytes: self.bytes - was.bytes + now.bytes }
    }
}

/// What is known of replaced pairs never makes the store count less than what it holds: it would take more than it has room for.
#[test]
fn a_full_store_counts_no_less_than_what_lives() {
    for min_blob_size in SIZES {
        let (mut rng, mut bench) = (Seed(3).rng(), started(min_blob_size));
        let pairs = fill(&mut bench, 0, || value(&mut rng));
        let mut held: Option<(Snapshot, Model)> = None;
        let numbers = pairs + pairs / 8;
        let all = 0..numbers + MEMBERS;
        // Counted anew for the keys that a write has: for all of them at each write it would take the square of the pairs.
        let mut kept = Kept::of(&bench.model, None, all.clone());
        for n in 0..3000 {
            if n % 400 == 200 {
                held = Some((bench.store.snapshot().expect("an ordered engine"), bench.model.clone()));
            } else if n % 400 == 399 {
                held.take().into_iter().for_each(|(snapshot, _)| bench.store.release(snapshot));
                kept = Kept::of(&bench.model, None, all.clone());
            }
            let first = rng.below(numbers);
            let (seen, written) = (held.as_ref().map(|(_, seen)| seen), first..first + MEMBERS);
            let was = Kept::of(&bench.model, seen, written.clone());
            write(&mut bench, first, &mut rng);
            kept = kept.changed(was, Kept::of(&bench.model, seen, written));
            let (stats, counted) = (bench.store.stats(), bench.store.live_bytes());
            let (there, lives) = (kept.pairs, kept.bytes);
            assert!(counted >= lives, "{min_blob_size}, write {n}: {counted} bytes of {lives}");
            assert!(stats.pairs >= there, "{min_blob_size}, write {n}: {} of {there} pairs", stats.pairs);
        }
        let seen = held.as_ref().map(|(_, seen)| seen);
        assert_eq!(kept, Kept::of(&bench.model, seen, all), "counted write by write");
        let counted = bench.store.live_bytes() as usize;
        let lives: usize = bench.model.iter().map(|(k, v)| 64 + k.len() + v.len()).sum();
        assert!(counted < lives * 5 / 4, "{min_blob_size}: {counted} bytes are counted, and {lives} live");
    }
}

/// How many pairs of 1000 bytes fit.
fn fits(bench: &mut Bench, from: u64) -> u64 {
    fill(bench, from, || vec![9; 1000]) - from
}

/// Where there was room writes have not looked. What they may have replaced is found before a pair is refused for it.
#[test]
fn what_was_replaced_unseen_makes_room() {
    for min_blob_size in SIZES {
        let all = fits(&mut started(min_blob_size), 0);
        // On a device of several stores somebody's I/O may be on its way all the time.
        let mut bench = started(min_blob_size);
        bench.is_shared = true;
        let pairs = fill(&mut bench, 0, || vec![1; 4000]);
        for n in (0..pairs).filter(|n| n % 4 == 0) {
            bench.delete(&key(n)).expect("it is there");
        }
        for n in (0..pairs).filter(|n| n % 4 > 0) {
            bench.put(&key(n), &[2; 8], Condition::Always).expect("it is shorter");
        }
        let stored = fits(&mut bench, pairs);
        assert!(stored > all * 3 / 4, "{min_blob_size}: {stored} pairs where {all} fit an empty store");
    }
}

/// Whether another pair of 1000 bytes waits until it is known what lives.
fn is_full(bench: &mut Bench) -> bool {
    let capacity = bench.store.capacity_bytes(&bench.flash.view(OWNER, Class::Foreground));
    bench.store.live_bytes() + 1000 > capacity
}

/// While all is merged deletes go on. What they free is not found by that merge, and makes room nevertheless.
#[test]
fn what_is_deleted_during_a_merge_of_everything_makes_room() {
    for min_blob_size in SIZES {
        let mut bench = started(min_blob_size);
        let mut pairs = 0;
        let store = |bench: &mut Bench, n| {
            let view = &mut bench.flash.view(OWNER, Class::Foreground);
            let (mut source, mut free) = (Sent(&[1; 1000]), Free);
            let cx = &mut Context::new(view, &mut free);
            bench.store.store(&key(n), &mut source, Condition::Always, cx)
        };
        loop {
            match store(&mut bench, pairs) {
                Step::Done(stored) => {
                    _ = stored.expect("nobody knows that it is full").ended();
                    bench.model.insert(key(pairs), vec![1; 1000]);
                    pairs += 1;
                    bench.settle();
                }
                Step::Blocked(_) if is_full(&mut bench) => break,
                Step::Blocked(_) => _ = bench.background(),
                Step::Need(_) => panic!("untimed flash is always resident"),
            }
        }
        (0..3).for_each(|_| _ = bench.background());
        let deleted = pairs / 3;
        for n in 0..deleted {
            bench.delete(&key(n)).expect("it is there");
        }
        let stored = fits(&mut bench, pairs);
        assert!(stored >= deleted * 9 / 10, "{min_blob_size}: {stored} pairs for {deleted} deleted ones");
    }
}

/// A pair of a full store may grow into the room that is left.
#[test]
fn a_longer_pair_takes_the_place_of_one_and_what_is_left() {
    for min_blob_size in SIZES {
        let mut bench = started(min_blob_size);
        // No longer one comes later.
        bench.put(b"longest", &[1; 1032], Condition::Always).expect("there is room");
        let pairs = fill(&mut bench, 0, || vec![1; 1000]);
        let shorter = fill(&mut bench, pairs, || vec![1; 200]);
        fill(&mut bench, shorter, || vec![1; 8]);
        bench.delete(&key(7)).expect("it is there");
        bench.put(&key(7), &[2; 800], Condition::Always).expect("it is shorter");
        // A snapshot needs what a write replaces.
        let snapshot = bench.store.snapshot().expect("an ordered engine");
        let refused = bench.put(&key(8), &[3; 1032], Condition::Always);
        assert_eq!(refused, Err(KvError::CapacityExceeded), "{min_blob_size}: there are 200 bytes for it");
        bench.store.release(snapshot);
        let grows = |n: &u64| bench.put(&key(*n), &[3; 1032], Condition::Always).is_ok();
        let grown = (8..pairs).take_while(grows).count();
        assert!((3..20).contains(&grown), "{min_blob_size}: {grown} pairs grew by 32 bytes into 200");
    }
}
