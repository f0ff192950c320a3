// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions that only read, and transactions with an ID, on devices of this process: in memory, on images, of spaces and of shards.

use saker::{
    EngineKind, HostError, ImagePlan, KeyRange, Kv, Spaces, SplitOutcome, StoreError, TransactionEnd,
    TransactionId,
};

const LONG: &[u8] = b"a key that is longer than sixteen bytes";

fn has_moments(engine: EngineKind) -> bool {
    ["lsm", "tree"].contains(&engine.name())
}

fn id(number: u64) -> TransactionId {
    TransactionId { host: *b"a host of a test", number }
}

/// Devices of each engine: in memory, and an image that is opened again.
fn each(mut see: impl FnMut(EngineKind, Kv)) {
    for engine in EngineKind::ALL.iter().copied() {
        see(
            engine,
            Kv::open(&format!("mem:?size=64MiB&profile=tiny&engine={}", engine.name())).expect("opens"),
        );
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("disk.img");
        ImagePlan { engine, ..ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path).expect("creates");
        see(engine, Kv::open(&format!("file:{}", path.display())).expect("opens"));
    }
}

#[test]
fn a_read_sees_queued_puts_and_what_was_committed() {
    each(|engine, mut kv| {
        for n in 0..200_u32 {
            kv.put_queued(&n.to_be_bytes(), &[n as u8; 300]).expect("room");
        }
        kv.put(LONG, &[9; 20_000]).expect("room");
        let mut txn = kv.begin_transaction().expect("it has them");
        txn.put(b"committed", b"yes").expect("a good key");
        assert_eq!(txn.commit_as(id(1)), Ok(TransactionEnd::Done));
        let mut read = kv.begin_read().expect("begins");
        assert_eq!(read.is_of_one_moment(), has_moments(engine), "{engine:?}");
        for n in 0..200_u32 {
            assert_eq!(
                read.get(&n.to_be_bytes()).expect("reads"),
                Some(vec![n as u8; 300]),
                "{engine:?}: {n}"
            );
        }
        assert_eq!(read.get(LONG).expect("reads"), Some(vec![9; 20_000]), "{engine:?}");
        assert_eq!(read.get(b"committed").expect("reads"), Some(b"yes".to_vec()));
        assert_eq!(
            (read.exists(b"none"), read.get(b"a long key that nobody has stored")),
            (Ok(false), Ok(None))
        );
        let scanned = read.scan(&KeyRange { from: b"c", ..KeyRange::default() });
        if has_moments(engine) {
            let keys: Vec<_> = scanned.expect("scans").into_iter().map(|(key, _)| key).collect();
            assert_eq!(keys, [b"committed".to_vec()], "{engine:?}: neither long keys before it nor outcomes");
        } else {
            assert!(matches!(scanned, Err(HostError::NoTransactions(_))), "{engine:?}: {scanned:?}");
        }
        read.end().expect("nobody is between");
        assert!(matches!(kv.begin_read().expect("begins").get(&[1; 256]), Err(HostError::KeyLength(256))));
        let failed = kv.read(&mut |_| Err(HostError::NoOrder));
        assert_eq!(failed, Err(HostError::NoOrder), "errors of the body are told");
        kv.close().expect("closes");
    });
}

/// What a transaction in parts reads and requires may be longer than a command; what it writes may not, and that has a status of its own.
#[test]
fn what_does_not_fit_a_record_is_refused_by_name() {
    let mut by_grains = 0;
    each(|engine, mut kv| {
        kv.put(LONG, &[1; 100]).expect("room");
        let mut txn = kv.begin_transaction().expect("it has them");
        for n in 0..100_u32 {
            txn.put(&n.to_be_bytes(), &[7; 20_000]).expect("a good key");
        }
        let refused = txn.commit_as(id(1));
        assert!(matches!(refused, Err(HostError::TransactionLength { .. })), "{engine:?}: {refused:?}");
        assert_eq!(kv.transaction_outcome(id(1)), Ok(SplitOutcome::NotDone), "{engine:?}");
        assert!(!kv.exists(&0_u32.to_be_bytes()).expect("looks"));
        // Many small writes fit a payload; with the hash FTLs they do not fit a record.
        let mut txn = kv.begin_transaction().expect("it has them");
        for n in 0..300_u32 {
            txn.put(&n.to_be_bytes(), b"small").expect("a good key");
        }
        let ended = txn.commit();
        let is_hash_ftl = ["hash_original", "hash_doubling", "hash_plus"].contains(&engine.name());
        match ended {
            Err(HostError::TransactionLength { .. }) => {
                assert!(is_hash_ftl, "{engine:?}");
                by_grains += 1;
            }
            ended => assert_eq!(ended, Ok(()), "{engine:?}"),
        }
        assert_eq!(kv.get(LONG).expect("reads"), Some(vec![1; 100]));
        kv.close().expect("closes");
    });
    assert!(by_grains > 0, "nobody met the limit of grains");
}

/// A device of shards has neither moments nor outcomes; what is read of one shard is checked.
#[test]
fn shards_check_reads_and_refuse_ids() {
    let mut kv = Kv::open("mem:?size=64MiB&profile=tiny&shards=2&engine=lsm").expect("opens");
    (0..40_u8).for_each(|n| kv.put(&[n], &[n]).expect("room"));
    let mut read = kv.begin_read().expect("begins");
    assert!(!read.is_of_one_moment());
    assert_eq!(read.get(&[1]).expect("reads"), Some(vec![1]));
    read.end().expect("one key is in one shard");
    let ended = kv.read(&mut |read| (0..40_u8).try_for_each(|n| read.get(&[n]).map(drop)));
    assert!(matches!(ended, Err(HostError::SeveralShards { .. })), "{ended:?}");
    let mut txn = kv.begin_transaction().expect("it has them");
    txn.put(b"key", b"value").expect("a good key");
    let refused = txn.commit_as(id(1));
    assert!(matches!(refused, Err(HostError::NoTransactions(_))), "{refused:?}");
    assert!(matches!(kv.transaction_outcome(id(1)), Err(HostError::NoTransactions(_))));
    assert!(!kv.exists(b"key").expect("looks"));
    kv.close().expect("closes");
}

/// Numbers belong to the device: a transaction of another space does not get the same one again.
#[test]
fn spaces_share_the_numbers_of_a_host() {
    for engine in EngineKind::ALL {
        let url = format!("mem:?size=64MiB&profile=tiny&engine={}", engine.name());
        let spaces = Spaces::open(&url).expect("opens");
        let (users, orders) = (spaces.space("users").expect("made"), spaces.space("orders").expect("made"));
        let mut txn = users.begin().expect("it has them");
        txn.put("1", "Ada").expect("a good key");
        assert_eq!(txn.commit_as(id(1)).expect("commits"), TransactionEnd::Done);
        let mut txn = orders.begin().expect("it has them");
        txn.put("1", "a ship").expect("a good key");
        assert_eq!(txn.commit_as(id(1)).expect("commits"), TransactionEnd::DoneBefore, "{engine:?}");
        assert_eq!(users.get("1").expect("reads"), Some(b"Ada".to_vec()), "{engine:?}");
        assert_eq!(orders.get("1").expect("reads"), None, "{engine:?}");
        assert_eq!(orders.transaction_outcome(id(1)).expect("asks"), SplitOutcome::DoneBefore);
        let mut txn = orders.begin().expect("it has them");
        assert_eq!(txn.get("1").expect("reads"), None);
        txn.put("1", "a ship").expect("a good key");
        orders.put("1", "somebody else's").expect("room");
        let refused = txn.commit_as(id(2));
        assert!(
            matches!(refused, Err(StoreError::Host(HostError::Conflict { .. }))),
            "{engine:?}: {refused:?}"
        );
        assert_eq!(orders.transaction_outcome(id(2)).expect("asks"), SplitOutcome::NotDone);
        assert_eq!(
            users.iter().expect("scans").count() + orders.iter().expect("scans").count(),
            2,
            "{engine:?}"
        );
    }
}
