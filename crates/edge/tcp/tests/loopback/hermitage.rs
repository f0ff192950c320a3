// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The cases of Hermitage (M. Kleppmann), which tell isolation levels apart: two or three hosts, two pairs, one interleaving each. The table in
//! docs/api.md says what becomes of each.

use super::support::{open, serve};
use saker::{EngineKind, HostError, KeyRange, Kv, Transaction};

/// Three hosts of one device that has the pairs 1 = 10 and 2 = 20, on each engine.
fn on_each_engine(case: fn([Kv; 3])) {
    on_each_of(EngineKind::ALL, case);
}

/// The same on engines that keep keys in order.
fn on_each_ordered_engine(case: fn([Kv; 3])) {
    on_each_of(&[EngineKind::LSM, EngineKind::TREE], case);
}

fn on_each_of(engines: &[EngineKind], case: fn([Kv; 3])) {
    for engine in engines {
        let server = serve(&format!("mem:?size=64MiB&profile=tiny&engine={}", engine.name()));
        let hosts = [(); 3].map(|()| open(&server, ""));
        let [mut first, second, third] = hosts;
        first
            .transact(&mut |txn| {
                txn.put(b"1", b"10")?;
                txn.put(b"2", b"20")
            })
            .expect("stores both");
        case([first, second, third]);
    }
}

fn conflict(key: &[u8]) -> Result<(), HostError> {
    Err(HostError::Conflict { key: key.to_vec() })
}

/// Both pairs as a transaction of their own sees them.
fn both(kv: &mut Kv) -> [Vec<u8>; 2] {
    let mut found = [vec![], vec![]];
    kv.transact(&mut |txn| {
        found = [txn.get(b"1")?.unwrap_or_default(), txn.get(b"2")?.unwrap_or_default()];
        Ok(())
    })
    .expect("reads");
    found
}

/// G0, write cycles: of two transactions that write both pairs, one is wholly behind the other.
#[test]
fn dirty_writes_do_not_happen() {
    on_each_engine(|[mut a, mut b, mut c]| {
        let (mut t1, mut t2) =
            (a.begin_transaction().expect("begins"), b.begin_transaction().expect("begins"));
        t1.put(b"1", b"11").expect("a key");
        t2.put(b"1", b"12").expect("a key");
        t1.put(b"2", b"21").expect("a key");
        t1.commit().expect("it has read nothing");
        assert_eq!(both(&mut c), [b"11", b"21"]);
        t2.put(b"2", b"22").expect("a key");
        t2.commit().expect("it has read nothing");
        assert_eq!(both(&mut c), [b"12", b"22"]);
    });
}

/// G1a, aborted reads.
#[test]
fn what_is_given_up_is_never_read() {
    on_each_engine(|[mut a, mut b, _]| {
        let (mut t1, mut t2) =
            (a.begin_transaction().expect("begins"), b.begin_transaction().expect("begins"));
        t1.put(b"1", b"101").expect("a key");
        assert_eq!(t2.get(b"1").expect("reads"), Some(b"10".to_vec()));
        t1.abort();
        assert_eq!(t2.get(b"1").expect("reads"), Some(b"10".to_vec()));
        assert_eq!(t2.commit(), Ok(()));
    });
}

/// G1b, intermediate reads.
#[test]
fn what_is_replaced_before_the_commit_is_never_read() {
    on_each_engine(|[mut a, mut b, _]| {
        let (mut t1, mut t2) =
            (a.begin_transaction().expect("begins"), b.begin_transaction().expect("begins"));
        t1.put(b"1", b"101").expect("a key");
        assert_eq!(t2.get(b"1").expect("reads"), Some(b"10".to_vec()));
        t1.put(b"1", b"11").expect("a key");
        t1.commit().expect("nobody is between");
        assert_eq!(t2.get(b"1"), conflict(b"1").map(|()| None), "the read cannot be repeated");
        assert_eq!(t2.commit(), Ok(()), "all that it has read is one pair, as of one moment");
    });
}

/// G1c, information that goes round.
#[test]
fn two_transactions_do_not_read_from_each_other() {
    on_each_engine(|[mut a, mut b, _]| {
        let (mut t1, mut t2) =
            (a.begin_transaction().expect("begins"), b.begin_transaction().expect("begins"));
        t1.put(b"1", b"11").expect("a key");
        t2.put(b"2", b"22").expect("a key");
        assert_eq!(t1.get(b"2").expect("reads"), Some(b"20".to_vec()));
        assert_eq!(t2.get(b"1").expect("reads"), Some(b"10".to_vec()));
        t1.commit().expect("the first one wins");
        assert_eq!(t2.commit(), conflict(b"1"));
    });
}

/// OTV, an observed transaction vanishes.
#[test]
fn who_has_seen_one_write_of_a_transaction_sees_the_other() {
    on_each_engine(|[mut a, mut b, mut c]| {
        let mut t1 = a.begin_transaction().expect("begins");
        let mut t2 = b.begin_transaction().expect("begins");
        let mut t3 = c.begin_transaction().expect("begins");
        for (key, value) in [(b"1", b"11"), (b"2", b"19")] {
            t1.put(key, value).expect("a key");
        }
        t2.put(b"1", b"12").expect("a key");
        t1.commit().expect("nobody is between");
        assert_eq!(t3.get(b"1").expect("reads"), Some(b"11".to_vec()));
        t2.put(b"2", b"18").expect("a key");
        assert_eq!(t3.get(b"2").expect("reads"), Some(b"19".to_vec()));
        t2.commit().expect("it has read nothing");
        assert_eq!(t3.get(b"2"), conflict(b"2").map(|()| None));
        assert_eq!(t3.commit(), conflict(b"1"), "or 2: both have changed");
    });
}

/// P4, lost updates.
#[test]
fn no_update_is_lost() {
    on_each_engine(|[mut a, mut b, mut c]| {
        let (mut t1, mut t2) =
            (a.begin_transaction().expect("begins"), b.begin_transaction().expect("begins"));
        for txn in [&mut t1, &mut t2] {
            assert_eq!(txn.get(b"1").expect("reads"), Some(b"10".to_vec()));
            txn.put(b"1", b"11").expect("a key");
        }
        t1.commit().expect("the first one wins");
        assert_eq!(t2.commit(), conflict(b"1"), "the same value is a write, too");
        assert_eq!(both(&mut c), [b"11", b"20"]);
    });
}

/// G-single, read skew.
#[test]
fn two_reads_are_of_one_moment() {
    on_each_engine(|[mut a, mut b, _]| {
        let mut t1 = a.begin_transaction().expect("begins");
        assert_eq!(t1.get(b"1").expect("reads"), Some(b"10".to_vec()));
        b.transact(&mut |t2| {
            t2.get(b"1")?;
            t2.get(b"2")?;
            t2.put(b"1", b"12")?;
            t2.put(b"2", b"18")
        })
        .expect("nobody is between");
        assert_eq!(t1.get(b"2").expect("reads"), Some(b"18".to_vec()), "of another moment");
        assert_eq!(t1.commit(), conflict(b"1"), "so its reads do not count");
    });
}

/// G-single with a write: what was read of an old moment is not written on.
#[test]
fn no_write_follows_from_an_old_read() {
    on_each_engine(|[mut a, mut b, mut c]| {
        let mut t1 = a.begin_transaction().expect("begins");
        assert_eq!(t1.get(b"1").expect("reads"), Some(b"10".to_vec()));
        b.transact(&mut |t2| {
            t2.put(b"1", b"12")?;
            t2.put(b"2", b"18")
        })
        .expect("nobody is between");
        assert!(t1.delete(b"2").expect("it is there"));
        assert_eq!(t1.commit(), conflict(b"1"));
        assert_eq!(both(&mut c), [b"12", b"18"]);
    });
}

/// G2-item, write skew.
#[test]
fn two_transactions_do_not_write_what_the_other_has_read() {
    on_each_engine(|[mut a, mut b, mut c]| {
        let (mut t1, mut t2) =
            (a.begin_transaction().expect("begins"), b.begin_transaction().expect("begins"));
        for txn in [&mut t1, &mut t2] {
            assert_eq!(txn.get(b"1").expect("reads"), Some(b"10".to_vec()));
            assert_eq!(txn.get(b"2").expect("reads"), Some(b"20".to_vec()));
        }
        t1.put(b"1", b"11").expect("a key");
        t2.put(b"2", b"21").expect("a key");
        t1.commit().expect("the first one wins");
        assert_eq!(t2.commit(), conflict(b"1"));
        assert_eq!(both(&mut c), [b"11", b"20"]);
    });
}

/// A key with its value.
type Pair = (Vec<u8>, Vec<u8>);

/// All pairs, as a predicate finds them that no index helps.
fn all(txn: &mut Transaction<'_>) -> Result<Vec<Pair>, HostError> {
    txn.scan(&KeyRange { from: b"1", ..KeyRange::default() })
}

fn begun() -> Vec<(Vec<u8>, Vec<u8>)> {
    vec![(b"1".to_vec(), b"10".to_vec()), (b"2".to_vec(), b"20".to_vec())]
}

/// PMP, predicate-many-preceders: a pair that comes into a range that was read.
#[test]
fn no_pair_comes_into_a_range_that_was_read() {
    on_each_ordered_engine(|[mut a, mut b, _]| {
        let mut t1 = a.begin_transaction().expect("begins");
        assert_eq!(all(&mut t1).expect("scans"), begun());
        b.transact(&mut |t2| t2.put(b"3", b"30")).expect("nobody is between");
        assert_eq!(all(&mut t1).expect("scans").len(), 3, "of another moment");
        assert_eq!(t1.commit(), conflict(b"1"), "the range from 1 on, so neither counts");
    });
}

/// PMP with a write: what is deleted by its value has another one meanwhile.
#[test]
fn no_write_follows_from_an_old_range() {
    on_each_ordered_engine(|[mut a, mut b, mut c]| {
        let (mut t1, mut t2) =
            (a.begin_transaction().expect("begins"), b.begin_transaction().expect("begins"));
        for (key, value) in all(&mut t1).expect("scans") {
            let more: u32 = String::from_utf8(value).expect("digits").parse().expect("a number");
            t1.put(&key, (more + 10).to_string().as_bytes()).expect("a key");
        }
        for (key, value) in all(&mut t2).expect("scans") {
            if value == b"20" {
                assert!(t2.delete(&key).expect("it is there"));
            }
        }
        t1.commit().expect("the first one wins");
        assert_eq!(t2.commit(), conflict(b"1"));
        assert_eq!(both(&mut c), [b"20", b"30"]);
    });
}

/// G-single with predicates: two scans are of one moment.
#[test]
fn two_scans_are_of_one_moment() {
    on_each_ordered_engine(|[mut a, mut b, _]| {
        let mut t1 = a.begin_transaction().expect("begins");
        assert_eq!(all(&mut t1).expect("scans"), begun());
        b.transact(&mut |t2| t2.put(b"1", b"12")).expect("nobody is between");
        assert_eq!(all(&mut t1), conflict(b"1").map(|()| vec![]), "the scan cannot be repeated");
    });
}

/// G2, anti-dependencies by predicates: each adds a pair to what the other has scanned.
#[test]
fn two_transactions_do_not_add_to_what_the_other_has_scanned() {
    on_each_ordered_engine(|[mut a, mut b, mut c]| {
        let (mut t1, mut t2) =
            (a.begin_transaction().expect("begins"), b.begin_transaction().expect("begins"));
        assert_eq!(all(&mut t1).expect("scans"), begun());
        assert_eq!(all(&mut t2).expect("scans"), begun());
        t1.put(b"3", b"30").expect("a key");
        t2.put(b"4", b"42").expect("a key");
        t1.commit().expect("the first one wins");
        assert_eq!(t2.commit(), conflict(b"1"), "the range from 1 on");
        let mut t3 = c.begin_transaction().expect("begins");
        assert_eq!(all(&mut t3).expect("scans").len(), 3);
        assert_eq!(t3.commit(), Ok(()));
    });
}

/// G2 of three transactions (Fekete, O'Neil, O'Neil): one that only reads tells the order of the others.
#[test]
fn who_only_scans_tells_the_order_of_others() {
    on_each_ordered_engine(|[mut a, mut b, mut c]| {
        let mut t1 = a.begin_transaction().expect("begins");
        assert_eq!(all(&mut t1).expect("scans"), begun());
        b.transact(&mut |t2| t2.put(b"2", b"25")).expect("nobody is between");
        let mut t3 = c.begin_transaction().expect("begins");
        assert_eq!(all(&mut t3).expect("scans")[1].1, b"25");
        t3.commit().expect("nobody is between");
        t1.put(b"1", b"0").expect("a key");
        assert_eq!(t1.commit(), conflict(b"2"), "it has seen 20, and t3 25 without 0");
    });
}
