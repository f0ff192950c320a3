// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Power cuts at every program and erase of a history, and again while what they left is recovered: no key is older than what was
//! flushed, and nothing changes afterwards.

use super::histories::{KEYS, Kept, Planted, key, value};
use super::rig::{Rig, Terms, sweeping, terms};
use saker_engine::KvError;
use saker_host::WriteBatch;
use saker_host::host_kv::{Answer, Batch, Op};
use saker_hybrid::planted::Fault;
use saker_hybrid::{Detector, Options, Rollback};
use saker_sim::{Duration, Rng, Seed};
use saker_testing::tier;
use std::collections::BTreeMap;

/// By key what was written, the oldest first. `None`: nothing.
type Writes = BTreeMap<Vec<u8>, Vec<Option<Vec<u8>>>>;

/// What a history has written.
#[derive(Default)]
struct Written {
    /// What a key may have: its value when it was flushed last, and all that was written since then.
    allowed: Writes,
    /// All that keys ever had.
    all: Writes,
    /// Batches: of each key the place of its write among all.
    batches: Vec<Vec<(Vec<u8>, usize)>>,
}

impl Written {
    /// It may have been carried out.
    fn note(&mut self, key: &[u8], value: &Option<Vec<u8>>) -> usize {
        self.allowed.entry(key.to_vec()).or_default().push(value.clone());
        let all = self.all.entry(key.to_vec()).or_insert_with(|| vec![None]);
        all.push(value.clone());
        all.len() - 1
    }

    fn batch(&mut self, rng: &mut Rng, number: u64) -> Op {
        let (mut writes, mut places) = (WriteBatch::new(), Vec::new());
        let first = rng.below(KEYS);
        for n in 0..2 + rng.below(4) {
            let (key, value) = (key((first + n * 7) % KEYS), value(rng, number, 6000));
            writes.put(&key, &value);
            places.push((key.clone(), self.note(&key, &Some(value))));
        }
        self.batches.push(places);
        Op::Batch(Batch::new(writes).expect("keys that are keys"))
    }

    /// Of each batch there is all or nothing, as far as later writes do not hide it.
    fn are_whole(&self, found: &BTreeMap<Vec<u8>, Option<Vec<u8>>>) -> Kept {
        for batch in &self.batches {
            let (mut has, mut lacks) = (0, 0);
            for (key, place) in batch {
                let known = self.all[key].iter().enumerate();
                let at: Vec<usize> =
                    known.filter(|(_, value)| **value == found[key]).map(|(at, _)| at).collect();
                has += usize::from(at == [*place]);
                lacks += usize::from(at.iter().all(|at| at < place));
            }
            if has > 0 && lacks > 0 {
                return Err(format!("of a batch {has} pairs are there, and {lacks} are not"));
            }
        }
        Ok(())
    }
}

/// Writes one at a time until power is cut; what each key may have then, and whether it was.
fn until_cut(rig: &mut Rig, seed: u64, operations: u64) -> (Written, bool) {
    let mut rng = Seed(seed).child("cuts").rng();
    let allowed: Writes = (0..KEYS).map(|n| (key(n), vec![None])).collect();
    let mut known = Written { all: allowed.clone(), allowed, batches: Vec::new() };
    for number in 1..=operations {
        let key = key(rng.below(KEYS));
        let (op, written) = match rng.below(20) {
            0 | 1 => (Op::Flush, None),
            2..6 => (Op::Delete(key.clone()), Some(None)),
            6 => {
                // Time for copies to go back.
                rig.pass(Duration::from_nanos(1_500_000));
                if !rig.is_powered() {
                    return (known, true);
                }
                continue;
            }
            7 | 8 => (known.batch(&mut rng, number), None),
            _ => {
                let value = value(&mut rng, number, 6000);
                (Op::Put(key.clone(), value.clone()), Some(Some(value)))
            }
        };
        if let Some(written) = &written {
            // Also if nobody is told: it may have been carried out.
            known.note(&key, written);
        }
        let is_flush = op == Op::Flush;
        let Some(outcome) = rig.ask(op) else { return (known, true) };
        match outcome {
            Ok(_) if is_flush => {
                for all in known.allowed.values_mut() {
                    all.drain(..all.len() - 1);
                }
            }
            Ok(_) | Err(KvError::NotFound) => {}
            Err(why) => panic!("{why}"),
        }
    }
    (known, false)
}

/// What each key has.
fn contents(rig: &mut Rig) -> Option<BTreeMap<Vec<u8>, Option<Vec<u8>>>> {
    let mut all = BTreeMap::new();
    for n in 0..KEYS {
        let found = match rig.ask(Op::Get(key(n)))? {
            Ok(Answer::Value(value)) => Some(value),
            Err(KvError::NotFound) => None,
            other => panic!("key {n}: {other:?}"),
        };
        all.insert(key(n), found);
    }
    Some(all)
}

fn is_allowed(found: &BTreeMap<Vec<u8>, Option<Vec<u8>>>, allowed: &Writes) -> Kept {
    for (key, value) in found {
        let all = &allowed[key];
        if !all.contains(value) {
            let number = |value: &Option<Vec<u8>>| {
                value.as_ref().map(|value| u64::from_le_bytes(value[..8].try_into().unwrap_or_default()))
            };
            let all: Vec<_> = all.iter().map(number).collect();
            return Err(format!("key {key:?} is that of write {:?}, not one of {all:?}", number(value)));
        }
    }
    Ok(())
}

/// A history that is cut there; what is left is recovered, with a cut of that as well if `recut` says so. Whether the first cut came.
fn cut_at(terms: &Terms, seed: u64, at: u64, recut: Option<u64>, operations: u64) -> Result<bool, String> {
    let mut rig = Rig::new(terms, seed, at);
    let (written, is_cut) = until_cut(&mut rig, seed, operations);
    if !is_cut {
        return Ok(false);
    }
    let mut flash = rig.cut(terms, seed, recut.unwrap_or(0));
    let mut known = None;
    // Each round opens it. Power ends again while it is opened or read, or while copies go back; then never again.
    for round in 1..4 {
        let mut rig = match Rig::reopened(terms, flash, seed + round) {
            Ok(rig) => rig,
            Err(left) => {
                flash = *left;
                continue;
            }
        };
        let mut is_over = false;
        if let Some(found) = contents(&mut rig) {
            is_allowed(&found, &written.allowed)?;
            written.are_whole(&found)?;
            if known.get_or_insert_with(|| found.clone()) != &found {
                return Err("a cut changes what was read before it".to_owned());
            }
            is_over = rig.settle() && contents(&mut rig).is_some_and(|after| after == found);
        }
        if rig.is_powered() {
            let copies = rig.counter("metadata_keys");
            return match is_over && copies == 0 {
                true => Ok(true),
                false => Err(format!("{copies} copies are left, or what was read has changed")),
            };
        }
        flash = rig.cut(terms, seed + round, 0);
    }
    Err("it has no power".to_owned())
}

fn all_terms() -> [Terms; 6] {
    let eager = terms(Detector::Exact, Rollback::Eager);
    [
        eager,
        Terms { capacitor: false, ..eager },
        Terms { min_blob_size: 5, capacitor: false, ..eager },
        Terms { options: Options { rollback: Rollback::Lazy, ..eager.options }, ..eager },
        sweeping(Detector::Exact, Rollback::Lazy),
        Terms { capacitor: false, ..sweeping(Detector::Exact, Rollback::Lazy) },
    ]
}

#[test]
fn no_cut_brings_an_old_value_back() {
    let (mut cuts, mut recuts) = (0, 0);
    for terms in all_terms() {
        for seed in saker_testing::seeds(tier(1, 12)) {
            for at in (1..).step_by(tier(23, 1)) {
                // Every other one is cut again.
                let recut = (at % 2 == 0).then_some(1 + at % 9);
                let cut = cut_at(&terms, seed, at, recut, 260);
                match cut {
                    Ok(true) => (cuts, recuts) = (cuts + 1, recuts + u64::from(recut.is_some())),
                    Ok(false) => break,
                    Err(why) => {
                        panic!("{terms:?}, SAKER_SEED={seed}, cut at {at}, again at {recut:?}: {why}")
                    }
                }
            }
        }
    }
    println!("{cuts} cuts, {recuts} of them cut again");
    assert!(cuts > 20 && recuts > 5, "{cuts} cuts");
}

#[test]
fn what_is_planted_shows_at_a_cut() {
    let (usual, swept) = (terms(Detector::Exact, Rollback::Eager), sweeping(Detector::Exact, Rollback::Lazy));
    for (fault, terms) in [
        (Fault::OldValueBack, usual),
        (Fault::EmptiedEarly, usual),
        (Fault::SweptEarly, swept),
        (Fault::ForgottenEarly, Terms { capacitor: false, ..swept }),
        (Fault::BatchComesApart, Terms { capacitor: false, ..usual }),
    ] {
        let places = || (1..=60).flat_map(|seed| (5..200).step_by(13).map(move |at| (seed, at)));
        let found = places().find_map(|(seed, at)| {
            let _planted = Planted::new(fault);
            cut_at(&terms, seed, at, None, 260).err().map(|why| (seed, at, why))
        });
        println!("{fault:?}: {found:?}");
        let (seed, at, _) = found.unwrap_or_else(|| panic!("{fault:?} shows nowhere"));
        let without = cut_at(&terms, seed, at, None, 260);
        without.unwrap_or_else(|why| panic!("seed {seed}, cut at {at}, without it: {why}"));
    }
}
