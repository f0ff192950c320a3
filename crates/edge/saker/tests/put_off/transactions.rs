// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every kind of write puts merges off, and transactions keep their promises meanwhile.

use crate::support::put_off::{
    AT_OPEN, Model, WORDS, assert_has, image, in_memory, is_put_off, level0, put_off, read_in_order,
};
use saker::{HostError, KeyRange, Kv, Require, TransactionEnd, TransactionId, WriteBatch};
use saker_sim::Seed;

type Write = fn(&mut Kv, &[u8], u32);

fn id(number: u64) -> TransactionId {
    TransactionId { host: [9; 16], number }
}

/// Each kind by itself.
const WRITES: [(&str, Write); 8] = [
    ("put", |kv, key, _| kv.put(key, &[1; 40]).expect("stores")),
    ("long key", |kv, key, _| {
        kv.put(&[key, b", longer than a device takes it"].concat(), &[1; 40]).expect("stores")
    }),
    ("put_if_absent", |kv, key, _| assert!(kv.put_if_absent(key, &[1; 40]).expect("stores"))),
    ("queued", |kv, key, n| {
        kv.put_queued(key, &[1; 40]).expect("queued");
        if n % 32 == 0 {
            kv.drain().expect("stored");
        }
    }),
    ("batch", |kv, key, _| kv.write(WriteBatch::new().put(key, &[1; 40])).expect("writes")),
    ("atomic", |kv, key, _| {
        kv.write(WriteBatch::new().set_atomic(true).put(key, &[1; 40])).expect("writes");
    }),
    ("transaction", |kv, key, _| kv.transact(&mut |txn| txn.put(key, &[1; 40])).expect("commits")),
    ("transaction with an ID", |kv, key, n| {
        let mut txn = kv.begin_transaction().expect("has them");
        txn.put(key, &[1; 40]).expect("a key");
        assert_eq!(txn.commit_as(id(n.into())), Ok(TransactionEnd::Done));
    }),
];

#[test]
fn every_kind_of_write_puts_merges_off() {
    for (what, write) in WRITES {
        let mut kv =
            Kv::open(&in_memory("unlimited").replace(AT_OPEN, "write_buffer_size=32KiB")).expect("opens");
        let is_enough = (0..20_000_u32).any(|n| {
            let key = format!("key {:06}", n.wrapping_mul(7919) % 100_000);
            write(&mut kv, key.as_bytes(), n);
            n % 16 == 0 && is_put_off(&mut kv)
        });
        kv.drain().expect("stored");
        assert!(is_enough, "{what}: level 0 has {} files", level0(&mut kv));
    }
}

fn pairs_of(model: &Model, range: &KeyRange<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let wanted = model.iter().filter(|(key, _)| range.contains(key));
    wanted.map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[test]
fn transactions_are_whole_and_judged_while_merges_wait() {
    for word in WORDS {
        let mut kv = Kv::open(&in_memory(word)).expect("opens");
        let (mut rng, mut model) = (Seed(21).rng(), Model::new());
        let mut conflicts = 0;
        for n in 0..6_u64 {
            put_off(&mut kv, &mut rng, &mut model);
            let keys: Vec<_> = model.keys().skip(n as usize).step_by(model.len() / 20).cloned().collect();
            let mut txn = kv.begin_transaction().expect("has them");
            for key in &keys {
                assert_eq!(txn.get(key).expect("reads").as_ref(), model.get(key), "{word}, {n}");
            }
            let range = KeyRange { from: b"key 05000", to: b"key 05005", ..KeyRange::default() };
            let found = txn.scan(&range).expect("scans");
            assert_eq!(found, pairs_of(&model, &range), "{word}, {n}");
            for key in &keys {
                txn.put(key, &n.to_le_bytes()).expect("a key");
            }
            txn.require(b"no such key", Require::Absent).expect("a key");
            let set = txn.suspend();
            // In every other round somebody is between, and merges go on before the commit is judged.
            let is_late = n % 2 == 0;
            if is_late {
                kv.put(&keys[3], b"between").expect("stores");
                model.insert(keys[3].clone(), b"between".to_vec());
            }
            if n % 3 == 0 {
                read_in_order(&mut kv, &model);
            }
            match kv.resume_transaction(set).commit() {
                Err(HostError::Conflict { key }) if is_late => {
                    assert_eq!(key, keys[3]);
                    conflicts += 1;
                }
                Ok(()) if !is_late => {
                    model.extend(keys.into_iter().map(|key| (key, n.to_le_bytes().to_vec())));
                }
                told => panic!("{word}, {n}: {told:?}"),
            }
            assert_has(&mut kv, &model, &format!("{word}, {n}"));
        }
        assert_eq!(conflicts, 3, "{word}");
    }
}

/// Transactions with an ID are known when the image is opened again, whether what they wrote has been merged or not.
#[test]
fn outcomes_are_known_before_and_after_merges() {
    for word in WORDS {
        let dir = tempfile::tempdir().expect("a directory");
        let url = image(&dir.path().join("disk.img"), word);
        let (mut rng, mut model) = (Seed(22).rng(), Model::new());
        for life in 0..3_u64 {
            let mut kv = Kv::open(&url).expect("opens");
            for earlier in 1..=life {
                let mut again = kv.begin_transaction().expect("has them");
                again.put(b"counted", b"twice").expect("a key");
                assert_eq!(again.commit_as(id(earlier)), Ok(TransactionEnd::DoneBefore), "{word}, {earlier}");
            }
            put_off(&mut kv, &mut rng, &mut model);
            let mut txn = kv.begin_transaction().expect("has them");
            txn.put(b"counted", &[life as u8]).expect("a key");
            assert_eq!(txn.commit_as(id(life + 1)), Ok(TransactionEnd::Done), "{word}");
            model.insert(b"counted".to_vec(), vec![life as u8]);
            if life == 1 {
                read_in_order(&mut kv, &model);
            }
            assert_has(&mut kv, &model, &format!("{word}, life {life}"));
            // As a killed process leaves it.
            drop(kv);
        }
    }
}
