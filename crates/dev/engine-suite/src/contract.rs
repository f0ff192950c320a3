// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The contract of engines: each against a BTreeMap, over untimed flash so small that collections and checkpoints are
//! always near, with power cycles of every kind in between.

use crate::{Bench, Setup, Subject, scale};
use saker_engine::{Capability, Condition, Engine, Inspect, KvError};
use saker_flash::{Cells, FaultPlan};
use saker_segment_store::{PowerHistory, SegmentId};
use saker_sim::{Chance, Rng, Seed};
use std::collections::BTreeMap;

/// What there should be.
pub type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Longest value of a history, in bytes, of an engine that takes it.
const LONG_BYTES: u32 = 2000;

/// One of `space` keys of 4 to 16 bytes.
pub fn key(rng: &mut Rng, space: u64) -> Vec<u8> {
    let n = rng.below(space);
    let mut key = format!("k{n:03}").into_bytes();
    key.resize(4 + (n % 13) as usize, b'x');
    key
}

/// Asserts that the pairs of the model are there, no others, and that they are listed in one order from wherever a list begins.
pub fn check(bench: &mut Bench, model: &Model) {
    let mut keys = bench.keys();
    let in_order = keys.clone();
    keys.sort();
    let extra: Vec<_> = keys.iter().filter(|k| !model.contains_key(*k)).collect();
    let lost: Vec<_> = model.keys().filter(|k| !keys.contains(*k)).collect();
    assert!(extra.is_empty() && lost.is_empty(), "pairs that should not be there {extra:?}, lost {lost:?}");
    for (k, v) in model {
        assert_eq!(bench.get(k).as_ref(), Ok(v));
    }
    if bench.has(Capability::List) {
        // Listing from any key, stored or not, goes on in the same order.
        for probe in in_order.iter().step_by(7) {
            let rest = bench.keys_from(probe);
            let from = in_order.iter().position(|k| k == probe).expect("listed");
            assert_eq!(rest, in_order[from..]);
        }
    }
    bench.store.settle();
    let pairs = bench.store.stats().pairs;
    let is_right =
        if bench.kind().counts_pairs() { pairs == model.len() as u64 } else { pairs >= model.len() as u64 };
    assert!(is_right, "{pairs} of {}", model.len());
    for (name, n) in bench.store.counters() {
        assert_eq!(bench.store.counter(name), Some(n), "{name} alone and among all counters");
    }
}

/// A kill or a power cut, before which everything is flushed where the page buffer can be lost.
pub fn power_cycle(bench: &mut Bench, rng: &mut Rng) {
    let history = match rng.below(3) {
        0 => PowerHistory::Killed,
        _ if bench.setup.config.ring_lasts => PowerHistory::Cut { ring_kept: true },
        _ => {
            bench.flush();
            PowerHistory::Cut { ring_kept: false }
        }
    };
    bench.restart(history, rng.next_u64());
}

/// Asserts that a history has written its flash more than once.
pub fn has_collected(bench: &Bench) {
    let segments = bench.setup.shape().geometry.segments;
    let erased: u32 = (0..segments).map(|n| bench.flash.media().epoch(SegmentId(n))).sum();
    assert!(erased > 10, "the history must have collected segments: {erased}");
}

/// A put of a value that may be long, under any condition.
fn put(bench: &mut Bench, model: &mut Model, rng: &mut Rng, k: Vec<u8>, longest: u32) {
    let mut value = vec![0; rng.below(u64::from(longest)) as usize];
    rng.fill(&mut value);
    let condition = [Condition::Always, Condition::MustExist, Condition::MustNotExist][rng.below(3) as usize];
    let expected = match (condition, model.contains_key(&k)) {
        (Condition::MustExist, false) => Err(KvError::NotFound),
        (Condition::MustNotExist, true) => Err(KvError::Exists),
        _ => Ok(()),
    };
    assert_eq!(bench.put(&k, &value, condition), expected);
    if expected.is_ok() {
        model.insert(k, value);
    }
}

/// A history of 8000 random operations, with power cycles between them.
pub fn history(subject: Subject, seed: u64, ring_lasts: bool, faults: FaultPlan) {
    let mut rng = Seed(seed).rng();
    let mut bench = Setup::small(subject, ring_lasts).start(faults);
    let long = bench.longest_value(LONG_BYTES);
    let mut model = Model::new();
    for step in 0..8000 {
        let k = key(&mut rng, 60);
        match rng.below(100) {
            0..60 => put(&mut bench, &mut model, &mut rng, k, if step % 50 == 0 { long } else { 300 }),
            60..85 => {
                let expected = model.remove(&k).map(|_| ()).ok_or(KvError::NotFound);
                assert_eq!(bench.delete(&k), expected);
            }
            85..98 => assert_eq!(bench.get(&k), model.get(&k).cloned().ok_or(KvError::NotFound)),
            _ => {
                power_cycle(&mut bench, &mut rng);
                check(&mut bench, &model);
            }
        }
    }
    check(&mut bench, &model);
    has_collected(&bench);
}

/// Histories on a device with a capacitor.
pub fn random_histories_with_a_capacitor(subject: Subject) {
    for seed in saker_testing::seeds(scale(6)) {
        history(subject, seed, true, FaultPlan::default());
    }
}

/// Histories on a device that loses its page buffer with power.
pub fn random_histories_without_a_capacitor(subject: Subject) {
    for seed in saker_testing::seeds(scale(6)) {
        history(subject, 100 + seed, false, FaultPlan::default());
    }
}

/// Histories on flash of which one program in sixty fails, until power goes for the first time.
pub fn random_histories_with_failing_programs(subject: Subject) {
    for seed in saker_testing::seeds(scale(5)) {
        let seed = 200 + seed;
        history(subject, seed, true, FaultPlan { seed, program: Chance::one_in(60), ..FaultPlan::default() });
    }
}

/// A full store refuses, reads, replaces and deletes; then it stores again.
pub fn a_full_store_still_reads_deletes_and_then_stores(subject: Subject) {
    let mut bench = Setup::small(subject, true).start(FaultPlan::default());
    let mut stored = Vec::new();
    for n in 0.. {
        let k = format!("key{n:06}").into_bytes();
        match bench.put(&k, &[7; 100], Condition::Always) {
            Ok(()) => stored.push(k),
            Err(e) => {
                assert_eq!(e, KvError::CapacityExceeded);
                break;
            }
        }
    }
    assert!(stored.len() > subject.least_pairs, "{}", stored.len());
    assert_eq!(bench.get(&stored[3]), Ok(vec![7; 100]));
    // Overwriting in place of itself works while full.
    for k in &stored {
        assert_eq!(bench.put(k, &[8; 100], Condition::Always), Ok(()));
    }
    let (gone, kept) = stored.split_at(stored.len() / 2);
    for k in gone {
        assert_eq!(bench.delete(k), Ok(()));
    }
    for n in 0..gone.len() / 2 {
        let stored = bench.put(format!("new{n:06}").as_bytes(), &[9; 100], Condition::Always);
        let (live, most) = (bench.store.live_bytes(), bench.capacity());
        assert_eq!(stored, Ok(()), "{n} of {}: {live} of {most}", gone.len());
    }
    assert_eq!(bench.get(&kept[0]), Ok(vec![8; 100]));
    assert!(bench.flash.media().epoch(SegmentId(0)) > 0 || bench.store.stats().gc_segments > 0);
}

/// Keys and values that no engine takes are refused by their own errors, and nothing comes of them.
pub fn what_is_too_long_is_refused(subject: Subject) {
    let mut bench = Setup::small(subject, true).start(FaultPlan::default());
    for key in [&[][..], &[b'k'; 17]] {
        assert_eq!(bench.put(key, b"value", Condition::Always), Err(KvError::KeySize));
        assert_eq!(bench.get(key), Err(KvError::KeySize));
        assert_eq!(bench.delete(key), Err(KvError::KeySize));
    }
    let most = bench.setup.size.segment_bytes() as u32;
    let longest = bench.longest_value(most);
    assert!(longest < most, "no engine's record is longer than a segment");
    let value = vec![1; longest as usize + 1];
    assert_eq!(bench.put(b"sixteen bytes ok", &value, Condition::Always), Err(KvError::ValueSize));
    assert_eq!(bench.put(b"sixteen bytes ok", &value[1..], Condition::Always), Ok(()));
    check(&mut bench, &Model::from([(b"sixteen bytes ok".to_vec(), value[1..].to_vec())]));
}
