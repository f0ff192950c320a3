// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions against a model, with keys of any length, Format and Flush between.

use super::{DELETE, ENGINES, Entry, RETRIEVE, STORE, transact};
use crate::stress::groups::small_with;
use crate::stress::rig::{KV, Machine, Rig};
use crate::stress::tier;
use saker_engine::EngineKind;
use saker_host::RawData;
use saker_long_keys::NarrowDigest;
use saker_nvme::group::{Ask, Op, PairVersion};
use saker_nvme::{Sqe, Status};
use saker_sim::{Rng, Seed};
use saker_world::{Clocked, Inline};
use std::collections::{BTreeMap, BTreeSet};

/// One of 40 keys; every third is too long for the engine.
fn key(n: u64) -> Vec<u8> {
    let mut key = format!("k{n:02}").into_bytes();
    if n % 3 == 1 {
        key.resize(17 + n as usize, b'+');
    }
    key
}

#[derive(Default)]
struct Model {
    pairs: BTreeMap<Vec<u8>, (u64, Vec<u8>)>,
    writes: u64,
    /// Which write of its key each version was seen with.
    seen: BTreeMap<(Vec<u8>, PairVersion), u64>,
    /// The last that was seen of each key.
    last: BTreeMap<Vec<u8>, PairVersion>,
}

impl Model {
    fn entry(&self, rng: &mut Rng) -> Entry {
        let key = key(rng.below(40));
        let there = self.pairs.get(&key).map(|(_, value)| value.clone());
        let rarely = rng.below(12) == 0;
        match rng.below(20) {
            0..9 => (STORE, key, vec![rng.below(256) as u8; rng.below(300) as usize]),
            9..12 if there.is_some() || rarely => (DELETE, key, vec![]),
            12..14 => (RETRIEVE, key, vec![]),
            14 => (Ask::Op(Op::Exist), key, vec![]),
            15 if there.is_none() || rarely => (Ask::Absent, key, vec![]),
            16 if there.is_some() || rarely => (Ask::Present, key, vec![]),
            17 | 18 => {
                let version = self.last.get(&key).copied().unwrap_or_default();
                (Ask::Version, key, version.0.to_vec())
            }
            _ => (Ask::Value, key, there.filter(|_| !rarely).unwrap_or_default()),
        }
    }

    fn entries(&self, rng: &mut Rng) -> Vec<Entry> {
        let mut written = BTreeSet::new();
        let mut entries: Vec<_> = (0..rng.below(8) + 1).map(|_| self.entry(rng)).collect();
        entries.retain(|(ask, key, _)| !ask.is_write() || written.insert(key.clone()));
        entries
    }

    /// Whether an entry may be carried out; `None`: that is not known, as a collection may have changed a version.
    fn holds(&self, (ask, key, rest): &Entry) -> Option<Result<(), Status>> {
        let there = self.pairs.get(key);
        let condition = |holds| if holds { Ok(()) } else { Err(Status::PRECONDITION_FAILED) };
        Some(match ask {
            Ask::Op(Op::Delete) if there.is_none() => Err(Status::KEY_DOES_NOT_EXIST),
            Ask::Op(_) => Ok(()),
            Ask::Range => unreachable!("no entry here asks for a range"),
            Ask::Absent => condition(there.is_none()),
            Ask::Present => condition(there.is_some()),
            Ask::Value => condition(there.is_some_and(|(_, value)| value == rest)),
            Ask::Version => {
                let version = PairVersion::from_slice(rest).expect("a version");
                let of = self.seen.get(&(key.clone(), version)).copied();
                match there {
                    _ if version.is_absent() => condition(there.is_none()),
                    Some((write, _)) if of == Some(*write) => return None,
                    _ => Err(Status::PRECONDITION_FAILED),
                }
            }
        })
    }

    fn saw(&mut self, key: &[u8], version: PairVersion) {
        let write = self.pairs.get(key).map(|(write, _)| *write);
        assert_eq!(version.is_absent(), write.is_none());
        if let Some(write) = write {
            let first = *self.seen.entry((key.to_vec(), version)).or_insert(write);
            assert_eq!(first, write, "{key:?}: this was the version of an earlier write");
        }
        self.last.insert(key.to_vec(), version);
    }

    fn step<D: Machine>(&mut self, rig: &mut Rig<D>, rng: &mut Rng) -> bool {
        let entries = self.entries(rng);
        let outcome = transact(rig, &entries);
        let fates: Vec<_> = entries.iter().map(|e| self.holds(e)).collect();
        let first = fates.iter().position(|fate| matches!(fate, Some(Err(_))));
        let results = match outcome {
            Ok(results) => results,
            Err((status, at)) => {
                let fate = fates[at as usize];
                // Keys that share an envelope share its version; a collection may have moved the pair.
                let moved = fate.is_none() && status.is(Status::PRECONDITION_FAILED);
                assert!(moved || matches!(fate, Some(Err(s)) if status.is(s)), "{status} {at}: {fates:?}");
                assert!(first.is_none_or(|first| at as usize <= first), "the first decides");
                if moved {
                    let key = &entries[at as usize].1;
                    let read = transact(rig, &[(RETRIEVE, key.clone(), vec![])]);
                    self.saw(key, read.expect("a read is never refused")[0].1);
                }
                return false;
            }
        };
        assert_eq!(first, None, "{entries:?}");
        for ((ask, key, _), (status, version, value)) in entries.iter().zip(&results) {
            let there = self.pairs.get(key).cloned();
            if matches!(ask, Ask::Op(Op::Retrieve | Op::Exist)) {
                assert_eq!(status.is_success(), there.is_some());
                assert!(status.is_success() || status.is(Status::KEY_DOES_NOT_EXIST));
                self.saw(key, *version);
            }
            let expected = if *ask == RETRIEVE { there.map(|(_, v)| v).unwrap_or_default() } else { vec![] };
            assert_eq!(*value, expected, "as it was before the transaction");
        }
        self.writes += 1;
        for (ask, key, rest) in entries {
            match ask {
                Ask::Op(Op::Store) => _ = self.pairs.insert(key, (self.writes, rest)),
                Ask::Op(Op::Delete) => _ = self.pairs.remove(&key),
                _ => {}
            }
        }
        true
    }

    fn check<D: Machine>(&self, rig: &mut Rig<D>) {
        for key in (0..40).map(key) {
            let read = transact(rig, &[(RETRIEVE, key.clone(), vec![])]).expect("a read");
            let there = self.pairs.get(&key);
            assert_eq!(read[0].1.is_absent(), there.is_none());
            assert_eq!(read[0].2, there.map(|(_, v)| v.clone()).unwrap_or_default());
        }
    }
}

fn history<D: Machine>(engine: EngineKind, seed: u64, bits: u32) {
    let mut build = small_with(engine, true, seed);
    build.config.long_key_digest = NarrowDigest { bits };
    let (mut rig, mut rng) = (Rig::<D>::new(&build), Seed(seed).child("transactions").rng());
    let (mut model, mut done) = (Model::default(), 0);
    for step in 1..=tier(800, 8000) {
        done += u64::from(model.step(&mut rig, &mut rng));
        if step % 50 == 0 {
            let flushed = rig.call(KV, Sqe::new(0, KV), RawData::Untouched);
            assert!(flushed.status.is_success());
            rig.machine.rest();
        }
        if step % 300 == 0 {
            model.check(&mut rig);
            rig.connection.format(&mut rig.machine, KV).expect("formats");
            // What was seen before is never seen again; what is asked for by it is refused.
            model.pairs.clear();
        }
    }
    model.check(&mut rig);
    assert!(done > tier(800, 8000) / 3, "{done} transactions");
}

#[test]
fn they_answer_as_a_model_does() {
    for engine in ENGINES.iter().copied() {
        history::<Inline>(engine, 1, 128);
        history::<Clocked>(engine, 2, 128);
    }
}

/// All long keys share two envelopes.
#[test]
fn they_answer_as_a_model_does_where_long_keys_collide() {
    for engine in ENGINES.iter().copied() {
        history::<Inline>(engine, 3, 1);
    }
}

/// A version outlives neither a power cycle nor Format.
#[test]
fn versions_end_with_the_life_of_a_namespace() {
    for engine in ENGINES.iter().copied() {
        let mut rig = Rig::<Inline>::new(&small_with(engine, true, 4));
        let entry = |ask, rest: &[u8]| vec![(ask, b"key".to_vec(), rest.to_vec())];
        let mut seen = BTreeSet::new();
        for _ in 0..3 {
            transact(&mut rig, &entry(STORE, b"value")).expect("room");
            let version = transact(&mut rig, &entry(RETRIEVE, b"")).expect("it is there")[0].1;
            assert!(transact(&mut rig, &entry(Ask::Version, &version.0)).is_ok());
            assert!(seen.insert(version), "{engine:?}: {version:?} was there before Format");
            rig.connection.format(&mut rig.machine, KV).expect("formats");
            let refused = transact(&mut rig, &entry(Ask::Version, &version.0));
            assert!(refused.is_err_and(|(status, _)| status.is(Status::PRECONDITION_FAILED)));
        }
    }
}

/// Results kept under a name, and a transaction that has none.
#[test]
fn results_are_kept_under_a_name() {
    let mut rig = Rig::<Inline>::new(&small_with(EngineKind::HASH_STORE, true, 5));
    let id = saker_nvme::Key::new(b"transaction").expect("a name");
    let entries = [(STORE, b"a".to_vec(), b"1".to_vec()), (RETRIEVE, b"a".to_vec(), vec![])];
    let (form, payload) = super::pack(&entries);
    for round in 0..2 {
        let ticket = rig.kv.group_in_mode(form, super::VERSIONS, Some(id), &payload).expect("room");
        let (status, dw0, bytes, _) = super::end(&mut rig, ticket);
        assert!(status.is_success() && dw0 == 0);
        let ticket = rig.kv.group_results(id, bytes).expect("room");
        let (status, length, _, data) = super::end(&mut rig, ticket);
        assert_eq!((status.is_success(), length), (true, bytes));
        let told = super::told((status, 0, length, data)).expect("results");
        assert_eq!(told[1].1.is_absent(), round == 0);
        assert_eq!(told[1].2, if round == 0 { vec![] } else { b"1".to_vec() });
    }
    // Nobody asks for its results, and none are kept.
    let ticket = rig.kv.group_in_mode(form, super::VERSIONS, None, &payload).expect("room");
    let (status, _, bytes, _) = super::end(&mut rig, ticket);
    assert_eq!((status.is_success(), bytes), (true, 0));
}
