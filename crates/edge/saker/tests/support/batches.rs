// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Batches of every shape, whatever device is behind the URL.

use saker::{Kv, Values, WriteBatch};
use std::collections::BTreeMap;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Keys of the device's own length, long ones, and one that the host keeps for itself on the device.
fn mixed_keys() -> Vec<Vec<u8>> {
    let mut marked = vec![0; 16];
    marked[..2].copy_from_slice(&[0xFF, 0x4B]);
    let long = |n| format!("a key that no device takes as it is, number {n:03}").into_bytes();
    (0..70).map(|n| vec![n; 16]).chain((0..70).map(long)).chain([marked]).collect()
}

/// Puts of two thirds of the keys; in later rounds deletes, too, and writes that replace others.
fn batch_of(round: u8, keys: &[Vec<u8>], model: &mut Model) -> WriteBatch {
    let mut batch = WriteBatch::new();
    for (n, key) in keys.iter().enumerate().filter(|(n, _)| (n + usize::from(round)) % 3 > 0) {
        let value = vec![round; if n == 50 && round == 4 { 70_000 } else { n + 1 }];
        batch.put(key, &value);
        model.insert(key.clone(), value);
        if round > 2 && n % 5 == 0 {
            batch.delete(key);
            model.remove(key);
        }
        if round > 3 && n % 10 == 0 {
            batch.put(key, b"again");
            model.insert(key.clone(), b"again".to_vec());
        }
    }
    batch
}

/// Writes batches and reads them back, one by one and many at once.
pub fn of_every_shape(url: &str) {
    let keys = mixed_keys();
    let mut kv = Kv::open(url).expect("opens");
    let (mut model, mut values) = (Model::new(), Values::default());
    for round in 0..6_u8 {
        // The first rounds have the device's own keys alone: one command, as it was packed.
        let keys = if round < 2 { &keys[..70] } else { &keys[..] };
        let groups = kv.group_stats().groups;
        kv.write(&batch_of(round, keys, &mut model)).expect("room");
        let is_one = round > 1 || kv.group_stats().groups == groups + 1;
        assert!(is_one, "{url}, round {round}: {:?}", kv.group_stats());
        let lent: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        kv.multi_get_into(&lent, &mut values).expect("reads");
        let expected: Vec<_> = lent.iter().map(|key| model.get(*key).map(Vec::as_slice)).collect();
        assert!(values.iter().eq(expected.iter().copied()), "{url}, round {round}");
        let several = kv.multi_get(&lent).expect("reads");
        assert!(several.iter().map(Option::as_deref).eq(expected.iter().copied()), "{url}, round {round}");
        for (key, value) in lent.iter().zip(expected) {
            assert_eq!(kv.get(key).expect("reads").as_deref(), value, "{url}, round {round}, key {key:?}");
        }
    }
    kv.close().expect("closes");
}
