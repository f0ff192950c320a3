// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys that the device takes for those of envelopes, and what is read with versions, on any device.

use saker::{
    EngineKind, HostError, KeyRange, Kv, PairVersion, Require, SplitOutcome, TransactionEnd, TransactionId,
    WriteBatch,
};

/// A key of 16 bytes with the mark of envelopes.
pub fn marked(n: u8) -> [u8; 16] {
    let mut key = [n; 16];
    (key[0], key[1]) = (0xFF, 0x4B);
    key
}

fn id(number: u64) -> TransactionId {
    TransactionId { host: *b"a host of a test", number }
}

fn value(n: u8) -> Vec<u8> {
    vec![n; 100 + usize::from(n)]
}

fn get(kv: &mut Kv, n: u8) -> Option<Vec<u8>> {
    kv.get(&marked(n)).expect("reads")
}

/// Each way of a transaction with such keys, beside plain puts and gets of the same ones.
pub fn marked_keys(kv: &mut Kv, engine: EngineKind) {
    let name = engine.name();
    kv.put(&marked(1), &value(1)).expect("room");
    kv.put(b"native", b"0").expect("room");
    let mut txn = kv.begin_transaction().expect("it has them");
    assert_eq!(txn.get(&marked(1)).expect("reads"), Some(value(1)), "{name}: what was put");
    assert_eq!(txn.get(&marked(2)).expect("reads"), None);
    for n in [2, 3] {
        txn.put(&marked(n), &value(n)).expect("a good key");
    }
    txn.put(b"native", b"1").expect("a good key");
    txn.commit().expect("nobody is between");
    assert_eq!(
        [1, 2, 3].map(|n| get(kv, n)),
        [1, 2, 3].map(|n| Some(value(n))),
        "{name}: what was committed"
    );

    // Stores alone, which land as a plain group does.
    let mut txn = kv.begin_transaction().expect("it has them");
    txn.put(&marked(4), &value(4)).expect("a good key");
    txn.put(b"native", b"2").expect("a good key");
    txn.commit().expect("nobody is between");
    let mut batch = WriteBatch::new();
    batch.set_atomic(true);
    batch.put(&marked(5), &value(5)).put(b"native", b"3").put(&[b'l'; 90], b"long").delete(&marked(4));
    kv.write(&batch).expect("room");
    assert_eq!((get(kv, 4), get(kv, 5)), (None, Some(value(5))), "{name}: an atomic batch");

    conflicts(kv, name);
    ranges(kv, engine);
    let mut txn = kv.begin_transaction().expect("it has them");
    assert!(txn.delete(&marked(1)).expect("asks"));
    txn.put(&marked(6), &value(6)).expect("a good key");
    assert_eq!(txn.commit_as(id(1)), Ok(TransactionEnd::Done), "{name}");
    assert_eq!((get(kv, 1), get(kv, 6)), (None, Some(value(6))), "{name}: in parts");
    assert_eq!(kv.transaction_outcome(id(1)), Ok(SplitOutcome::DoneBefore));

    // One pair each, whatever way it came.
    let listed: Vec<_> = kv.list(None).map(|key| key.expect("lists")).collect();
    let count = listed.iter().filter(|key| key.starts_with(&marked(0)[..2])).count();
    assert_eq!(count, [2, 3, 5, 6].len(), "{name}: {listed:?}");
}

fn conflicts(kv: &mut Kv, name: &str) {
    let mut txn = kv.begin_transaction().expect("it has them");
    assert_eq!(txn.get(&marked(1)).expect("reads"), Some(value(1)));
    txn.put(b"native", b"never").expect("a good key");
    let set = txn.suspend();
    kv.put(&marked(1), &value(1)).expect("room");
    let conflict = kv.resume_transaction(set).commit();
    assert_eq!(conflict, Err(HostError::Conflict { key: marked(1).to_vec() }), "{name}");
    for (what, holds) in [
        (Require::Present, true),
        (Require::Absent, false),
        (Require::Value(value(1)), true),
        (Require::Value(value(2)), false),
        (Require::Version(PairVersion::ABSENT), false),
    ] {
        let mut txn = kv.begin_transaction().expect("it has them");
        txn.require(&marked(1), what.clone()).expect("a good key");
        txn.put(&marked(2), &value(2)).expect("a good key");
        let unmet = Err(HostError::Unmet { key: marked(1).to_vec() });
        assert_eq!(txn.commit(), if holds { Ok(()) } else { unmet }, "{name}: {what:?}");
    }
}

/// A range that such keys are in, and one that comes into it.
fn ranges(kv: &mut Kv, engine: EngineKind) {
    if !["lsm", "tree"].contains(&engine.name()) {
        return;
    }
    let from = marked(0);
    let range = KeyRange { from: &from, ..KeyRange::default() };
    let mut txn = kv.begin_transaction().expect("it has them");
    let found: Vec<_> = txn.scan(&range).expect("it has ranges").into_iter().map(|(key, _)| key).collect();
    assert_eq!(found, [1, 2, 3, 5].map(|n| marked(n).to_vec()), "{}", engine.name());
    txn.put(b"native", b"4").expect("a good key");
    let set = txn.suspend();
    kv.put(&marked(9), b"a phantom").expect("room");
    assert!(
        matches!(kv.resume_transaction(set).commit(), Err(HostError::Conflict { .. })),
        "{}",
        engine.name()
    );
    assert!(kv.delete(&marked(9)).expect("deletes"));
}

/// What is read with a version is what is read without; the version is of that write alone.
pub fn versions(kv: &mut Kv, engine: EngineKind) {
    let name = engine.name();
    let mut seen = vec![PairVersion::ABSENT];
    for key in [&b"k"[..], b"sixteen bytes...", &marked(1), b"a key that is longer than sixteen bytes"] {
        assert_eq!(kv.get_versioned(key).expect("reads").version, PairVersion::ABSENT);
        for bytes in [0, 1, 100, 4071, 4072, 4073, 4096, 30_000] {
            let value: Vec<_> = (0..bytes).map(|n| (n % 251) as u8).collect();
            kv.put(key, &value).expect("room");
            let first = kv.get_versioned(key).expect("reads");
            assert_eq!(first.value, Some(value), "{name}: {bytes} bytes");
            assert_eq!(kv.get_versioned(key).expect("reads").version, first.version, "{name}: nobody wrote");
            assert!(!seen.contains(&first.version), "{name}: {bytes} bytes: a version twice");
            seen.push(first.version);
            let mut txn = kv.begin_transaction().expect("it has them");
            txn.require(key, Require::Version(first.version)).expect("a good key");
            txn.put(b"other", b"1").expect("a good key");
            txn.commit().expect("it has that version");
        }
        assert!(kv.delete(key).expect("deletes"));
        assert_eq!(kv.get_versioned(key).expect("reads"), saker::Versioned::default(), "{name}: deleted");
        // A pair of the same bytes is another one.
        kv.put(key, &[]).expect("room");
        let again = kv.get_versioned(key).expect("reads").version;
        assert!(!seen.contains(&again), "{name}: the version of a deleted pair");
        seen.push(again);
        kv.delete(key).expect("deletes");
    }
}
