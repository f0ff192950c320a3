// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random operations on a store and on a BTreeMap.

use std::collections::BTreeMap;

use proptest::prelude::*;
use saker_host::{Condition, HostError, KeyDigest, KvError, KvStoreClient, Xxh3Digest};

use crate::client::open;
use crate::fake::Fake;
use crate::long::Collide;

#[derive(Clone, Debug)]
enum Op {
    Put(Vec<u8>, usize, u8, Condition),
    Queue(Vec<u8>, usize, u8),
    Get(Vec<u8>),
    GetInto(Vec<u8>, usize),
    Delete(Vec<u8>),
    Exists(Vec<u8>),
    List(Option<Vec<u8>>),
    Drain,
}

/// Few keys of every kind, so that operations meet.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let length = prop_oneof![Just(1), Just(15), Just(16), Just(17), Just(40), Just(255)];
    let marked = (0..3_u8, 14..18_usize).prop_map(|(n, rest)| [vec![0xFF, 0x4B], vec![n; rest]].concat());
    prop_oneof![4 => (0..4_u8, length).prop_map(|(n, length)| vec![n; length]), 1 => marked]
}

fn value_bytes() -> impl Strategy<Value = usize> {
    prop_oneof![8 => 0..200_usize, 4 => 4000..4200_usize, 2 => 0..50_000_usize, 1 => Just(400_000)]
}

fn op() -> impl Strategy<Value = Op> {
    let condition =
        prop_oneof![Just(Condition::Always), Just(Condition::MustExist), Just(Condition::MustNotExist)];
    prop_oneof![
        4 => (key(), value_bytes(), any::<u8>(), condition).prop_map(|(k, n, v, c)| Op::Put(k, n, v, c)),
        4 => (key(), value_bytes(), any::<u8>()).prop_map(|(k, n, v)| Op::Queue(k, n, v)),
        3 => key().prop_map(Op::Get),
        2 => (key(), 0..10_000_usize).prop_map(|(k, n)| Op::GetInto(k, n)),
        3 => key().prop_map(Op::Delete),
        1 => key().prop_map(Op::Exists),
        1 => proptest::option::of(key()).prop_map(Op::List),
        1 => Just(Op::Drain),
    ]
}

struct World<D> {
    store: KvStoreClient<Fake, D>,
    model: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl<D: KeyDigest> World<D> {
    fn new(digest: D) -> Self {
        let mut fake = Fake::new();
        fake.behaviour.reverse = true;
        Self { store: KvStoreClient::with_digest(open(fake), digest), model: BTreeMap::new() }
    }

    fn put(&mut self, key: &[u8], value: Vec<u8>, condition: Condition) -> Result<(), HostError> {
        match (condition, self.model.contains_key(key)) {
            (Condition::MustExist, false) => return Err(KvError::NotFound.into()),
            (Condition::MustNotExist, true) => return Err(KvError::Exists.into()),
            _ => drop(self.model.insert(key.to_vec(), value)),
        }
        Ok(())
    }

    fn run(&mut self, op: Op) {
        match op {
            Op::Put(key, bytes, fill, condition) => {
                let value = vec![fill; bytes];
                let done = self.store.put_if(&key, &value, condition);
                if matches!(done, Err(HostError::ValueLength { .. })) {
                    return;
                }
                assert_eq!(done, self.put(&key, value, condition));
            }
            Op::Queue(key, bytes, fill) => {
                let done = self.store.put_queued(&key, &vec![fill; bytes]);
                if matches!(done, Err(HostError::ValueLength { .. })) {
                    return;
                }
                assert_eq!(done, self.put(&key, vec![fill; bytes], Condition::Always));
            }
            Op::Get(key) => assert!(self.store.get(&key).expect("reads") == self.model.get(&key).cloned()),
            Op::GetInto(key, bytes) => {
                let mut buffer = vec![0; bytes];
                let full = self.store.get_into(&key, &mut buffer).expect("reads");
                assert_eq!(full, self.model.get(&key).map(Vec::len));
                if let Some(value) = self.model.get(&key) {
                    let fits = bytes.min(value.len());
                    assert!(buffer[..fits] == value[..fits]);
                }
            }
            Op::Delete(key) => assert_eq!(self.store.delete(&key), Ok(self.model.remove(&key).is_some())),
            Op::Exists(key) => assert_eq!(self.store.exists(&key), Ok(self.model.contains_key(&key))),
            Op::List(from) => self.list(from.as_deref()),
            Op::Drain => assert_eq!(self.store.drain(), Ok(())),
        }
    }

    /// All keys are there, once, in one order; a listing from a key is the end of the listing of all.
    fn list(&mut self, from: Option<&[u8]>) {
        let mut all: Vec<_> = self.store.list(None).map(|key| key.expect("lists")).collect();
        if let Some(from) = from {
            let tail: Vec<_> = self.store.list(Some(from)).map(|key| key.expect("lists")).collect();
            assert_eq!(all[all.len() - tail.len()..], tail);
            assert!(!self.model.contains_key(from) || tail.first().is_some_and(|first| first == from));
        }
        all.sort();
        assert!(all.iter().eq(self.model.keys()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_store_is_a_map(ops in proptest::collection::vec(op(), 1..60)) {
        let mut world = World::new(Xxh3Digest);
        ops.into_iter().for_each(|op| world.run(op));
        world.run(Op::Drain);
        world.list(None);
    }

    #[test]
    fn the_store_is_a_map_though_all_long_keys_collide(ops in proptest::collection::vec(op(), 1..60)) {
        let mut world = World::new(Collide);
        ops.into_iter().for_each(|op| world.run(op));
        world.run(Op::Drain);
        world.list(None);
    }
}
