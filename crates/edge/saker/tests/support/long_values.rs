// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values of the longest length in transactions: read in those that write and in those that only read, in ranges, and what is written of
//! them.

use saker::{HostError, KeyRange, Kv, Require, ScanOptions, SplitOutcome, TransactionEnd, TransactionId};

const LONG: &[u8] = b"a key that is longer than sixteen bytes";

/// A value that is not the same anywhere.
fn value(seed: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|n| (n.wrapping_mul(31) >> 3) as u8 ^ (n >> 11) as u8 ^ seed as u8).collect()
}

/// As long as a value may be, and a little shorter: with its key and what tells of it, such a pair does not fit a command.
pub fn are_read(kv: &mut Kv, is_ordered: bool, what: &str) {
    let most = kv.client().value_bytes_max() as usize;
    assert_eq!(most, 2 << 20, "{what}");
    for less in [0, 1, 20, 28, 56, 100, most / 2 - 100] {
        let long = value(less, most - less);
        kv.put(b"key", &long).expect("room");
        let mut txn = kv.begin_transaction().expect("it has them");
        assert!(txn.get(b"key").expect("reads") == Some(long.clone()), "{what}: {less}");
        txn.put(b"seen", &less.to_le_bytes()).expect("a good key");
        assert_eq!(txn.commit(), Ok(()), "{what}: {less}");
        // Whoever writes it in between is a conflict, with the same bytes too.
        let mut txn = kv.begin_transaction().expect("it has them");
        assert!(txn.get(b"key").expect("reads").is_some_and(|found| found == long), "{what}: {less}");
        txn.put(b"seen", b"never").expect("a good key");
        let set = txn.suspend();
        kv.put(b"key", &long).expect("room");
        let refused = kv.resume_transaction(set).commit();
        assert_eq!(refused, Err(HostError::Conflict { key: b"key".to_vec() }), "{what}: {less}");
        let mut found = None;
        let only_read = kv.read(&mut |read| {
            found = read.get(b"key")?;
            assert!(read.get(b"none")?.is_none());
            Ok(())
        });
        assert_eq!(only_read, Ok(()), "{what}: {less}");
        assert!(found == Some(long.clone()), "{what}: {less}");
        if is_ordered {
            let range = KeyRange { from: b"k", to: b"l", prefix: b"" };
            let mut txn = kv.begin_transaction().expect("it has them");
            let scanned = txn.scan(&range).expect("scans");
            assert!(scanned == [(b"key".to_vec(), long.clone())], "{what}: {less}");
            assert_eq!(txn.commit(), Ok(()), "{what}: {less}");
            let scanned = kv.begin_read().expect("begins").scan(&range).expect("scans");
            assert!(scanned == [(b"key".to_vec(), long.clone())], "{what}: {less}");
        }
    }
    // Many values that together are longer than an answer.
    if is_ordered {
        let many: Vec<_> = (0..8_u8).map(|n| (vec![b'm', n], value(usize::from(n), 600_000))).collect();
        many.iter().for_each(|(key, value)| kv.put(key, value).expect("room"));
        let mut txn = kv.begin_transaction().expect("it has them");
        let scanned = txn.scan(&KeyRange { from: b"m", to: b"n", prefix: b"" }).expect("scans");
        assert!(scanned == many, "{what}");
        assert_eq!(txn.commit(), Ok(()), "{what}");
    }
    // What follows a long pair in a range comes, too.
    if is_ordered {
        kv.put(b"kez", b"behind").expect("room");
        let mut lengths = Vec::new();
        let range = KeyRange { prefix: b"ke", ..KeyRange::default() };
        let options = ScanOptions { range, ..ScanOptions::default() };
        let scanned = kv.scan(&options, &mut |key, value| {
            lengths.push((key.to_vec(), value.len()));
            true
        });
        scanned.expect("scans");
        assert_eq!(lengths.len(), 2, "{what}: {lengths:?}");
    }
}

/// The longest value under a long key, which shares its pair with what tells of the key.
pub fn are_read_by_long_keys(kv: &mut Kv, what: &str) {
    let most = kv.client().value_bytes_max() as usize;
    let fits = |kv: &mut Kv, bytes| kv.put(LONG, &value(7, bytes)).is_ok();
    let (mut short, mut long) = (most - 1000, most);
    assert!(fits(kv, short) && !fits(kv, long), "{what}");
    while long - short > 1 {
        let middle = short.midpoint(long);
        if fits(kv, middle) { short = middle } else { long = middle }
    }
    let longest = value(9, short);
    kv.put(LONG, &longest).expect("room");
    let mut txn = kv.begin_transaction().expect("it has them");
    assert!(txn.get(LONG).expect("reads") == Some(longest.clone()), "{what}");
    txn.put(b"seen", b"1").expect("a good key");
    assert_eq!(txn.commit(), Ok(()), "{what}");
    let mut found = None;
    let only_read = kv.read(&mut |read| {
        found = read.get(LONG)?;
        Ok(())
    });
    assert_eq!(only_read, Ok(()), "{what}");
    assert!(found == Some(longest), "{what}");
}

/// What is written and required in a transaction is limited, in parts too: longer ones are refused by name, and nothing has changed.
pub fn are_refused_where_they_do_not_fit(kv: &mut Kv, what: &str) {
    let id = |number| TransactionId { host: *b"of long values..", number };
    kv.put(b"key", b"before").expect("room");
    let most = kv.client().value_bytes_max() as usize;
    let longest = value(3, most);
    let mut txn = kv.begin_transaction().expect("it has them");
    txn.put(b"key", &longest).expect("a good key");
    assert!(matches!(txn.commit(), Err(HostError::TransactionLength { .. })), "{what}");
    let mut txn = kv.begin_transaction().expect("it has them");
    txn.put(b"key", &longest).expect("a good key");
    assert!(matches!(txn.commit_as(id(1)), Err(HostError::TransactionLength { .. })), "{what}");
    let mut txn = kv.begin_transaction().expect("it has them");
    txn.require(b"key", Require::Value(longest)).expect("a good key");
    assert!(matches!(txn.commit_as(id(1)), Err(HostError::TransactionLength { .. })), "{what}");
    // Requirements alone, of more bytes together than one may have: refused again and again, and no memory of the host is taken.
    for _ in 0..4 {
        let mut txn = kv.begin_transaction().expect("it has them");
        for n in 0..6_u8 {
            txn.require(&[n], Require::Value(vec![n; 900_000])).expect("a good key");
        }
        txn.put(b"key", b"never").expect("a good key");
        assert!(matches!(txn.commit_as(id(1)), Err(HostError::TransactionLength { .. })), "{what}");
    }
    assert_eq!(kv.transaction_outcome(id(1)), Ok(SplitOutcome::NotDone), "{what}");
    assert_eq!(kv.get(b"key").expect("reads"), Some(b"before".to_vec()), "{what}");
    // As long as one value of a transaction may be, in one of several parts.
    let bytes = (1 << 20) - 200;
    let mut txn = kv.begin_transaction().expect("it has them");
    txn.require(b"none", Require::Absent).expect("a good key");
    txn.put(b"key", &value(5, bytes)).expect("a good key");
    assert_eq!(txn.commit_as(id(2)), Ok(TransactionEnd::Done), "{what}");
    assert!(kv.get(b"key").expect("reads") == Some(value(5, bytes)), "{what}");
}
