// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions through the door for applications, on devices of this process.

use crate::support::SLOW;
use saker::{EngineKind, Hold, HostError, KeyRange, Kv, KvError, PairVersion, Require, WriteBatch};
use std::collections::BTreeMap;

const ENGINES: [&str; 6] = ["hash_store", "hash_original", "hash_doubling", "hash_plus", "lsm", "tree"];

fn open(options: &str) -> Kv {
    Kv::open(&format!("mem:?size=64MiB&profile=tiny{options}")).expect("opens")
}

fn long(n: u32) -> Vec<u8> {
    format!("a key that no device takes as it is, number {n:03}").into_bytes()
}

#[test]
fn all_of_a_transaction_or_nothing() {
    for engine in ENGINES {
        let mut kv = open(&format!("&engine={engine}"));
        kv.put(b"a", b"1").expect("room");
        kv.put(&long(1), b"one").expect("room");
        let mut txn = kv.begin_transaction().expect("it has them");
        assert_eq!(txn.get(b"a").expect("reads"), Some(b"1".to_vec()));
        assert_eq!(txn.get(&long(1)).expect("reads"), Some(b"one".to_vec()));
        txn.put(b"b", b"2").expect("a good key");
        txn.put(&long(2), &[7; 5000]).expect("a good key");
        assert!(txn.delete(&long(1)).expect("asks") && !txn.delete(&long(3)).expect("asks"));
        txn.commit().expect("nobody is between");
        assert_eq!(kv.multi_exist(&[b"b", &long(2), &long(1)]).expect("looks"), [true, true, false]);
        let mut txn = kv.begin_transaction().expect("it has them");
        txn.put(b"c", b"3").expect("a good key");
        txn.put(b"too much", &vec![0; 900_000]).expect("a good key");
        let refused = txn.commit().expect_err("it is more than the namespace takes");
        assert!(matches!(refused, HostError::TransactionLength { .. }), "{refused}");
        assert!(!kv.exists(b"c").expect("looks"));
        kv.close().expect("closes");
    }
}

#[test]
fn requirements_name_their_key() {
    let mut kv = open("");
    kv.put(b"a", b"1").expect("room");
    let there = kv.get_versioned(b"a").expect("reads");
    assert_eq!(kv.get_versioned(b"no").expect("reads").version, PairVersion::ABSENT);
    let good = [
        (&b"a"[..], Require::Present),
        (b"no", Require::Absent),
        (b"a", Require::Value(b"1".to_vec())),
        (b"a", Require::Version(there.version)),
        (b"no", Require::Version(PairVersion::ABSENT)),
    ];
    let bad = [
        (&b"a"[..], Require::Absent),
        (b"no", Require::Present),
        (b"a", Require::Value(b"2".to_vec())),
        (b"no", Require::Value(vec![])),
        (b"a", Require::Version(PairVersion::ABSENT)),
        (b"no", Require::Version(there.version)),
    ];
    for (key, what) in bad {
        let mut txn = kv.begin_transaction().expect("it has them");
        for (key, what) in good.clone() {
            txn.require(key, what).expect("a good key");
        }
        txn.require(key, what.clone()).expect("a good key");
        txn.put(b"written", b"never").expect("a good key");
        assert_eq!(txn.commit(), Err(HostError::Unmet { key: key.to_vec() }), "{what:?}");
    }
    assert!(!kv.exists(b"written").expect("looks"));
    let mut txn = kv.begin_transaction().expect("it has them");
    for (key, what) in good {
        txn.require(key, what).expect("a good key");
    }
    txn.commit().expect("all of it holds");
    let mut txn = kv.begin_transaction().expect("it has them");
    assert_eq!(txn.put(b"", b"1"), Err(HostError::KeyLength(0)));
    assert_eq!(txn.put(&[1; 256], b"1"), Err(HostError::KeyLength(256)));
    assert_eq!(txn.require(b"", Require::Present), Err(HostError::KeyLength(0)));
}

#[test]
fn what_is_between_is_a_conflict() {
    let mut kv = open("");
    let mut runs = 0;
    let outcome = kv.transact(&mut |txn| {
        runs += 1;
        txn.get(b"a")?;
        txn.put(b"a", b"mine")?;
        // As if another host had been between: the first runs are told so.
        if runs < 4 { Err(HostError::Conflict { key: b"a".to_vec() }) } else { Ok(()) }
    });
    assert_eq!((outcome, runs), (Ok(()), 4));
    let failed = kv.transact(&mut |txn| {
        txn.put(b"b", b"never")?;
        Err(HostError::Kv(KvError::NotFound))
    });
    assert_eq!(failed, Err(HostError::Kv(KvError::NotFound)));
    assert_eq!(
        (kv.get(b"a").expect("reads"), kv.exists(b"b").expect("looks")),
        (Some(b"mine".to_vec()), false)
    );
    let unmet = kv.transact(&mut |txn| txn.require(b"a", Require::Absent));
    assert_eq!(unmet, Err(HostError::Unmet { key: b"a".to_vec() }), "it is not tried again");
}

#[test]
fn an_atomic_batch_is_not_split() {
    for engine in ENGINES {
        let mut kv = open(&format!("&engine={engine}"));
        kv.put(b"gone", b"1").expect("room");
        let mut batch = WriteBatch::new();
        batch.set_atomic(true).put(b"a", b"1").delete(b"gone").delete(b"never was").put(&long(4), b"2");
        let before = kv.group_stats().groups;
        kv.write(&batch).expect("deletes of keys that are not there succeed");
        // One told that a key is not there.
        assert_eq!(kv.group_stats().groups - before, 2);
        assert_eq!(kv.multi_exist(&[b"a", b"gone", &long(4)]).expect("looks"), [true, false, true]);
        for n in 0..200_u32 {
            batch.put(&n.to_be_bytes(), &[1; 10_000]);
        }
        assert!(matches!(kv.write(&batch), Err(HostError::TransactionLength { .. })));
        assert!(!kv.exists(&0_u32.to_be_bytes()).expect("looks"));
    }
}

/// A batch may write a key twice, atomic or not: the last write counts.
#[test]
fn an_atomic_batch_writes_a_key_as_often_as_another() {
    for (engine, key) in ENGINES.into_iter().flat_map(|engine| [(engine, b"a".to_vec()), (engine, long(1))]) {
        let mut kv = open(&format!("&engine={engine}"));
        for is_atomic in [false, true] {
            let mut batch = WriteBatch::new();
            batch
                .set_atomic(is_atomic)
                .put(&key, b"1")
                .delete(&key)
                .put(&key, b"2")
                .put(b"b", b"3")
                .delete(b"b");
            assert_eq!(kv.write(&batch), Ok(()), "{engine}, atomic: {is_atomic}");
            let found = (kv.get(&key).expect("reads"), kv.get(b"b").expect("reads"));
            assert_eq!(found, (Some(b"2".to_vec()), None), "{engine}, atomic: {is_atomic}");
        }
    }
}

/// Puts that nobody has waited for come before a transaction that follows them.
#[test]
fn queued_puts_come_before_a_transaction() {
    for engine in ENGINES {
        for more in ["", "&threads=1", "&timing=real"] {
            let mut kv = open(&format!("&engine={engine}{more}"));
            for round in 0..30_u8 {
                for n in 0..40_u8 {
                    kv.put_queued(b"a", &[round, n]).expect("queued");
                }
                kv.transact(&mut |txn| {
                    assert_eq!(txn.get(b"a")?, Some(vec![round, 39]), "{engine}{more}");
                    txn.put(b"a", &[round, 40])
                })
                .expect("nobody is between");
                (41..50).for_each(|n| kv.put_queued(b"a", &[round, n]).expect("queued"));
                // Nothing is read that would wait for them.
                let mut batch = WriteBatch::new();
                kv.write(batch.set_atomic(true).put(b"a", &[round, 50])).expect("room");
                kv.drain().expect("stored");
                assert_eq!(kv.get(b"a").expect("reads"), Some(vec![round, 50]), "{engine}{more}");
            }
        }
    }
}

/// Rounds of writes after which a device counts as one that holds none back.
const ROUNDS_MAX: u32 = 30;

/// Transactions wait as single writes do while the engine's background work does not keep up.
#[test]
fn transactions_are_held_back_as_other_writes() {
    for more in ["", "&threads=1", SLOW] {
        for stop in [1, 40] {
            let mut kv = open(&format!(
                "&engine=lsm&write_buffer_size=2KiB&level0_file_num_compaction_trigger=1&level0_slowdown_writes_trigger=1\
                 &delayed_write_rate=64KiB&level0_stop_writes_trigger={stop}{more}"
            ));
            let put_all = |kv: &mut Kv| {
                for n in 0..200_u32 {
                    kv.transact(&mut |txn| {
                        txn.put(&n.to_be_bytes(), &[1; 50])?;
                        txn.put(&(n + 1000).to_be_bytes(), &[2; 50])
                    })
                    .expect("it waits, and is not refused");
                }
            };
            put_all(&mut kv);
            let keys: Vec<[u8; 4]> = (0..200).chain(1000..1200).map(u32::to_be_bytes).collect();
            let lent: Vec<&[u8]> = keys.iter().map(<[u8; 4]>::as_slice).collect();
            assert!(
                kv.multi_exist(&lent).expect("looks").into_iter().all(|is_there| is_there),
                "{stop}{more}"
            );
            if more == SLOW {
                let hold = if stop == 1 { Hold::Stopped } else { Hold::Delayed };
                // Were this thread stopped for all that time, the device would catch up: then it is tried again.
                let was_held = (0..ROUNDS_MAX).any(|_| {
                    put_all(&mut kv);
                    let stalls = kv.write_control().expect("asked").expect("told").stalls;
                    stalls.all(hold).writes > 0
                });
                assert!(was_held, "{stop}: in {ROUNDS_MAX} rounds no transaction was held back");
            }
        }
    }
}

/// The list above has all engines, and each says that it has transactions.
#[test]
fn every_engine_has_transactions() {
    let mut names: Vec<_> = EngineKind::ALL.iter().map(|engine| engine.name()).collect();
    let mut listed = ENGINES;
    names.sort_unstable();
    listed.sort_unstable();
    assert_eq!(names, listed);
    for engine in ENGINES {
        assert_eq!(open(&format!("&engine={engine}")).has_transactions(), Ok(true), "{engine}");
    }
}

#[test]
fn the_read_cache_follows() {
    let mut kv = open("&cache=1MiB");
    kv.put(b"a", b"1").expect("room");
    assert_eq!(kv.get(b"a").expect("reads"), Some(b"1".to_vec()));
    kv.transact(&mut |txn| txn.put(b"a", b"2")).expect("nobody is between");
    assert_eq!(kv.get(b"a").expect("reads"), Some(b"2".to_vec()));
    kv.transact(&mut |txn| txn.delete(b"a").map(drop)).expect("nobody is between");
    assert_eq!(kv.get(b"a").expect("reads"), None);
    let refused = kv.transact(&mut |txn| {
        txn.put(b"a", b"3")?;
        txn.require(b"b", Require::Present)
    });
    assert_eq!((refused.is_err(), kv.get(b"a").expect("reads")), (true, None));
}

/// A device of two shards has a transaction in one of them, or not at all.
#[test]
fn several_shards_are_refused_by_name() {
    let mut kv = open("&shards=2");
    assert_eq!(kv.has_transactions(), Ok(true));
    kv.transact(&mut |txn| txn.put(b"alone", b"1")).expect("one key is in one shard");
    let (mut done, mut refused) = (0, 0);
    for n in 0..40_u8 {
        match kv.transact(&mut |txn| {
            txn.get(&[n, 1])?;
            txn.put(&[n, 1], b"1")?;
            txn.put(&[n, 2], b"2")
        }) {
            Ok(()) => done += 1,
            Err(HostError::SeveralShards { key }) => {
                assert_eq!(key, [n, 2]);
                refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
        let there = kv.multi_exist(&[&[n, 1], &[n, 2]]).expect("looks");
        assert_eq!(there[0], there[1], "all or nothing");
    }
    assert!(done > 5 && refused > 5, "{done} done, {refused} refused");
    kv.close().expect("closes");
}

#[test]
fn an_image_keeps_what_was_committed() {
    let dir = tempfile::tempdir().expect("a directory");
    for engine in ENGINES {
        let path = dir.path().join(format!("{engine}.img"));
        let kind = EngineKind::ALL.iter().find(|kind| kind.name() == engine).expect("an engine");
        let plan = saker::ImagePlan { engine: *kind, ..saker::ImagePlan::kv(16 << 20, "tiny", 1) };
        plan.create(&path).expect("creates");
        let url = format!("file:{}", path.display());
        let mut kv = Kv::open(&url).expect("opens");
        let mut model = BTreeMap::new();
        let mut seen = Vec::new();
        for round in 0..3_u8 {
            for n in 0..50_u8 {
                kv.transact(&mut |txn| {
                    txn.get(&[n])?;
                    txn.put(&[n], &[round; 100])?;
                    txn.put(&[n, n], &[round; 200])
                })
                .expect("nobody is between");
                model.insert(vec![n], vec![round; 100]);
                model.insert(vec![n, n], vec![round; 200]);
            }
            let version = kv.get_versioned(&[7]).expect("reads").version;
            assert!(!seen.contains(&version), "{engine}: a version of an earlier run");
            seen.push(version);
            if round == 1 {
                kv.close().expect("closes");
            } else {
                drop(kv);
            }
            kv = Kv::open(&url).expect("opens");
            for (key, value) in &model {
                assert_eq!(kv.get(key).expect("reads").as_ref(), Some(value));
            }
            // What was read before the device was closed has changed, as far as anybody can tell.
            let mut txn = kv.begin_transaction().expect("it has them");
            txn.require(&[7], Require::Version(version)).expect("a good key");
            assert!(matches!(txn.commit(), Err(HostError::Unmet { .. })));
        }
        kv.close().expect("closes");
        let mut kv = Kv::open(&format!("{url}?readonly")).expect("opens");
        let refused = kv.transact(&mut |txn| txn.put(b"a", b"1"));
        assert_eq!(refused, Err(HostError::Kv(KvError::WriteProtected)));
    }
}

fn keys_of(pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<&[u8]> {
    pairs.iter().map(|(key, _)| key.as_slice()).collect()
}

/// A scan sees what is stored and what its transaction has written, in order.
#[test]
fn a_scan_sees_what_its_transaction_writes() {
    for engine in ["lsm", "tree"] {
        let mut kv = open(&format!("&engine={engine}"));
        for n in 0..150_u8 {
            kv.put(&[b'k', n], &[n; 20]).expect("room");
        }
        kv.transact(&mut |txn| {
            txn.put(&[b'k', 200], b"new")?;
            txn.put(&[b'k', 7], b"other")?;
            txn.delete(&[b'k', 8])?;
            txn.put(b"z", b"beside")?;
            let all = txn.scan(&KeyRange { prefix: b"k", ..KeyRange::default() })?;
            assert_eq!(all.len(), 150, "{engine}");
            assert!(all.is_sorted() && !all.contains(&(vec![b'k', 8], vec![8; 20])));
            assert_eq!(
                (&all[7], &all[149]),
                (&(vec![b'k', 7], b"other".to_vec()), &(vec![b'k', 200], b"new".to_vec()))
            );
            let some = txn.scan(&KeyRange { from: &[b'k', 5], to: &[b'k', 10], prefix: b"" })?;
            assert_eq!(keys_of(&some), [[b'k', 5], [b'k', 6], [b'k', 7], [b'k', 9]], "{engine}");
            assert!(txn.scan(&KeyRange { from: b"x", to: b"c", prefix: b"" })?.is_empty());
            Ok(())
        })
        .expect("nobody is between");
        assert_eq!(kv.get(&[b'k', 200]).expect("reads"), Some(b"new".to_vec()));
        // Scans alone are checked, too.
        kv.transact(&mut |txn| {
            assert_eq!(txn.scan(&KeyRange { from: b"y", ..KeyRange::default() })?.len(), 1);
            Ok(())
        })
        .expect("nobody is between");
    }
}

/// Who cannot tell that a key is new in a range says so before anything is read.
#[test]
fn scans_are_refused_by_name_where_keys_are_in_no_order() {
    let all = KeyRange::default();
    for engine in ENGINES {
        let mut kv = open(&format!("&engine={engine}"));
        kv.put(b"a", b"1").expect("room");
        let ordered = ["lsm", "tree"].contains(&engine);
        let mut txn = kv.begin_transaction().expect("it has them");
        let scanned = txn.scan(&all);
        assert_eq!(scanned.is_ok(), ordered, "{engine}: {scanned:?}");
        assert!(ordered || matches!(scanned, Err(HostError::NoTransactions(why)) if why.contains("order")));
        assert!(matches!(txn.scan(&KeyRange { from: &[1; 17], ..all }), Err(HostError::KeyLength(17))));
        drop(txn);
    }
}
