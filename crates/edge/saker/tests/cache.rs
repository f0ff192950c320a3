// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The read cache of a `Kv`: against a model, with every way to write.

use saker::{Kv, WriteBatch};
use saker_host::group::{Form, Op};
use saker_sim::{Rng, Seed};
use std::collections::BTreeMap;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Keys of the device's own, long ones, and one that looks like an envelope's.
fn key(n: u64) -> Vec<u8> {
    match n {
        0..8 => vec![n as u8; 1 + 2 * n as usize],
        8..10 => vec![n as u8; 40],
        _ => [&[0xFF, 0x4B][..], &[n as u8; 14]].concat(),
    }
}

fn step(kv: &mut Kv, model: &mut Model, rng: &mut Rng) {
    let key = key(rng.below(12));
    let value = vec![rng.below(256) as u8; [3, 200, 3000][rng.below(3) as usize]];
    match rng.below(14) {
        0 | 1 => {
            kv.put(&key, &value).expect("stored");
            model.insert(key, value);
        }
        2 => {
            kv.put_queued(&key, &value).expect("queued");
            model.insert(key, value);
        }
        9 => {
            let is_absent = !model.contains_key(&key);
            assert_eq!(kv.put_if_absent(&key, &value).expect("answered"), is_absent);
            model.entry(key).or_insert(value);
        }
        3 => assert_eq!(kv.delete(&key).expect("deleted"), model.remove(&key).is_some()),
        4 => {
            let mut batch = WriteBatch::new();
            batch.put(&key, &value).delete(&self::key(0));
            kv.write(&batch).expect("written");
            model.remove(&self::key(0));
            if key != self::key(0) {
                model.insert(key, value);
            }
        }
        5 if key.len() <= 16 && key[0] != 0xFF => {
            let mut group = kv.begin(Form::All(Op::Store));
            group.store(&key, &value).expect("fits");
            group.commit().expect("carried out");
            model.insert(key, value);
        }
        6 => assert_eq!(kv.exists(&key).expect("answered"), model.contains_key(&key)),
        7 => {
            let keys = [self::key(1), key, self::key(9)];
            let found = kv.multi_get(&keys.each_ref().map(Vec::as_slice)).expect("read");
            let expected: Vec<_> = keys.iter().map(|key| model.get(key).cloned()).collect();
            assert_eq!(found, expected);
        }
        8 => {
            let mut buffer = vec![0; 250];
            let length = kv.get_into(&key, &mut buffer).expect("read");
            let expected = model.get(&key);
            assert_eq!(length, expected.map(Vec::len));
            if let Some(expected) = expected {
                let shown = expected.len().min(buffer.len());
                assert_eq!(buffer[..shown], expected[..shown]);
            }
        }
        _ => assert_eq!(kv.get(&key).expect("read"), model.get(&key).cloned()),
    }
}

#[test]
fn a_cache_changes_no_answer() {
    for (seed, cache) in
        ["0", "700", "1MiB", "1MiB&cache_policy=s3fifo", "1MiB&cache_value_max=250"].into_iter().enumerate()
    {
        let mut kv = Kv::open(&format!("mem:?size=64MiB&profile=tiny&cache={cache}")).expect("opens");
        let (mut model, mut rng) = (Model::new(), Seed(seed as u64).rng());
        for _ in 0..2000 {
            step(&mut kv, &mut model, &mut rng);
        }
        let stats = kv.cache_stats();
        assert_eq!(stats.hits > 0, cache != "0", "{cache}: {stats:?}");
        kv.close().expect("closes");
    }
}
