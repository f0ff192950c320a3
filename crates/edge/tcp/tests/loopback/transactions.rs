// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions of hosts that compete over the network.

use super::support::{count, open, serve, url};
use crate::transfers::{audit, open_accounts, transfer};
use saker::{HostError, KeyRange, Kv, Require, Saker, SakerOptions, WriteBatch};
use saker_sim::Seed;

fn device(engine: &str) -> String {
    format!("mem:?size=64MiB&profile=tiny&engine={engine}")
}

#[test]
fn a_conflict_names_its_key() {
    for engine in ["hash_store", "hash_original", "hash_doubling", "hash_plus", "lsm", "tree"] {
        let server = serve(&device(engine));
        let (mut one, mut other) = (open(&server, ""), open(&server, ""));
        one.put(b"a", b"1").expect("room");
        let mut txn = one.begin_transaction().expect("it has them");
        assert_eq!(txn.get(b"a").expect("reads"), Some(b"1".to_vec()));
        assert_eq!(txn.get(b"new").expect("reads"), None);
        txn.put(b"b", b"from a").expect("a good key");
        other.put(b"a", b"2").expect("room");
        assert_eq!(txn.commit(), Err(HostError::Conflict { key: b"a".to_vec() }));
        assert!(!one.exists(b"b").expect("looks"), "nothing of it was done");
        // Absence is read, too, and the same value written again is a write.
        let mut txn = one.begin_transaction().expect("it has them");
        assert_eq!(txn.get(b"new").expect("reads"), None);
        txn.put(b"b", b"1").expect("a good key");
        other.put(b"new", b"").expect("room");
        assert_eq!(txn.commit(), Err(HostError::Conflict { key: b"new".to_vec() }));
        let mut txn = one.begin_transaction().expect("it has them");
        txn.get(b"a").expect("reads");
        other.put(b"a", b"2").expect("room");
        assert_eq!(txn.get(b"a"), Err(HostError::Conflict { key: b"a".to_vec() }), "known before the commit");
        // Reads alone are checked together.
        let mut txn = one.begin_transaction().expect("it has them");
        txn.get(b"a").expect("reads");
        other.put(b"a", b"3").expect("room");
        txn.get(b"new").expect("reads");
        assert_eq!(txn.commit(), Err(HostError::Conflict { key: b"a".to_vec() }));
        // Writes alone compete with nobody.
        let mut txn = one.begin_transaction().expect("it has them");
        txn.put(b"a", b"4").expect("a good key");
        other.put(b"a", b"5").expect("room");
        txn.commit().expect("it has read nothing");
        assert_eq!(other.get(b"a").expect("reads"), Some(b"4".to_vec()));
    }
}

#[test]
fn values_of_any_length_are_read_and_batches_are_whole() {
    let server = serve(&device("hash_store"));
    let mut kv = open(&server, "");
    for bytes in [0, 1, 1000, 4096, 20_000] {
        let value = vec![7; bytes];
        kv.transact(&mut |txn| txn.put(b"key", &value)).expect("room");
        let mut read = None;
        kv.transact(&mut |txn| {
            read = txn.get(b"key")?;
            txn.require(b"key", Require::Value(value.clone()))
        })
        .expect("nobody is between");
        assert_eq!(read.as_ref(), Some(&value), "{bytes} bytes");
    }
    let mut batch = WriteBatch::new();
    batch.set_atomic(true).put(b"one", b"1").delete(b"key").delete(b"never was");
    kv.write(&batch).expect("room");
    assert_eq!(kv.multi_exist(&[b"one", b"key"]).expect("looks"), [true, false]);
}

/// Clients on threads of their own move money; the sum holds, and every transfer counts once.
#[test]
fn transfers_of_many_hosts() {
    for engine in ["hash_store", "hash_original", "hash_doubling", "hash_plus", "lsm", "tree"] {
        let server = serve(&device(engine));
        open_accounts(&mut open(&server, "")).expect("opens accounts");
        let (clients, transfers) = (4, count(2000) as u64);
        let told: Vec<u64> = std::thread::scope(|scope| {
            let client = |n| {
                let server = &server;
                scope.spawn(move || {
                    let (mut kv, mut rng) = (open(server, ""), Seed(n).rng());
                    (0..transfers)
                        .map(|_| transfer(&mut kv, n, &mut rng).expect("transfers"))
                        .last()
                        .unwrap_or(0)
                })
            };
            let threads: Vec<_> = (0..clients).map(client).collect();
            threads.into_iter().map(|thread| thread.join().expect("a client ends")).collect()
        });
        assert_eq!(told, vec![transfers; clients as usize]);
        audit(&mut open(&server, ""), &told);
    }
}

/// Sessions gather writes of a key in containers while transactions of another host read and write it: each write of either counts
/// once, and what a transaction has read is what was there.
#[test]
fn beside_sessions_that_buffer_the_same_key() {
    let server = serve(&device("lsm"));
    let rounds = count(1000) as u64;
    let options = SakerOptions::default();
    std::thread::scope(|scope| {
        let at = url(&server, "");
        scope.spawn(move || {
            let saker = Saker::open(&at, options).expect("opens");
            let mut session = saker.session().expect("a session");
            for n in 1..=rounds {
                session.put(b"shared", &n.to_le_bytes()).expect("buffers");
                session.put(b"of the session", &n.to_le_bytes()).expect("buffers");
                if n % 10 == 0 {
                    session.sync().expect("stores");
                }
            }
            session.sync().expect("stores");
        });
        let server = &server;
        scope.spawn(move || {
            let mut kv = open(server, "");
            for n in 1..=rounds {
                kv.transact(&mut |txn| {
                    let shared = txn.get(b"shared")?.unwrap_or_default();
                    txn.put(b"copy", &shared)?;
                    txn.put(b"of the transactions", &n.to_le_bytes())
                })
                .expect("transacts");
            }
        });
    });
    let mut kv = open(&server, "");
    let mut read = |key: &[u8]| kv.get(key).expect("reads");
    for key in [&b"shared"[..], b"of the session", b"of the transactions"] {
        assert_eq!(read(key), Some(rounds.to_le_bytes().to_vec()), "{}", key.escape_ascii());
    }
    let copy = read(b"copy").unwrap_or_default();
    assert!(copy.len() == 8 || copy.is_empty(), "{copy:?}");
}

/// A second host formats the namespace: what was read before is a conflict.
#[test]
fn format_between_is_a_conflict() {
    let server = serve(&device("hash_store"));
    let (mut one, mut other): (Kv, Kv) = (open(&server, ""), open(&server, ""));
    one.put(b"a", b"1").expect("room");
    let mut txn = one.begin_transaction().expect("it has them");
    txn.get(b"a").expect("reads");
    txn.put(b"b", b"1").expect("a good key");
    other.format().expect("formats");
    other.put(b"a", b"1").expect("room");
    assert_eq!(txn.commit(), Err(HostError::Conflict { key: b"a".to_vec() }));
}

/// The commit is refused if a key of a range that was scanned is changed, added or taken away meanwhile, also if as many keys are there
/// then, and not for keys beside it.
#[test]
fn phantoms_are_conflicts() {
    for engine in ["lsm", "tree"] {
        let server = serve(&device(engine));
        let (mut one, mut other) = (open(&server, ""), open(&server, ""));
        #[expect(clippy::type_complexity, reason = "a table of this test")]
        let changes: [(&[&[u8]], &[&[u8]], bool); 7] = [
            (&[b"k2"], &[], true),
            (&[b"k4"], &[], true),
            (&[], &[b"k1"], true),
            (&[b"k4"], &[b"k1"], true),
            (&[b"k3"], &[b"k3"], true),
            (&[b"j", b"l"], &[], false),
            (&[], &[b"z1"], false),
        ];
        for (puts, deletes, is_conflict) in changes {
            for key in [b"k1", b"k2", b"k3", b"z1"] {
                one.put(key, b"1").expect("room");
            }
            one.delete(b"k4").expect("asks");
            let mut runs = 0;
            let outcome = one.transact(&mut |txn| {
                runs += 1;
                let found = txn.scan(&KeyRange { prefix: b"k", ..KeyRange::default() })?;
                txn.put(b"sum", &[found.len() as u8])?;
                if runs == 1 {
                    deletes.iter().for_each(|key| assert_eq!(other.delete(key), Ok(true)));
                    puts.iter().for_each(|key| other.put(key, b"1").expect("room"));
                }
                Ok(())
            });
            assert_eq!(
                (outcome, runs),
                (Ok(()), 1 + u32::from(is_conflict)),
                "{engine}: {puts:?} {deletes:?}"
            );
            let keys = [b"k1", b"k2", b"k3", b"k4"];
            let there = keys.iter().filter(|key| other.exists(&key[..]).expect("looks")).count();
            assert_eq!(
                one.get(b"sum").expect("reads"),
                Some(vec![there as u8]),
                "{engine}: {puts:?} {deletes:?}"
            );
        }
    }
}

/// Long keys are in no order: who has scanned a range relies on all of them. None comes into the range or leaves it unseen, also not in exchange
/// for one beside it.
#[test]
fn long_keys_are_phantoms_too() {
    let long = |name: &str| format!("{name}, under a long key").into_bytes();
    let (inside, new, outside, other_new) = (long("k in"), long("k new"), long("z beside"), long("z new"));
    let marked = &b"\xFFK short"[..];
    for engine in ["lsm", "tree"] {
        let server = serve(&device(engine));
        let (mut one, mut other) = (open(&server, ""), open(&server, ""));
        #[expect(clippy::type_complexity, reason = "a table of this test")]
        let changes: [(&[&[u8]], &[&[u8]], bool); 9] = [
            (&[&new], &[], true),
            (&[], &[&inside], true),
            (&[&inside], &[&inside], true),
            (&[&inside], &[], true),
            (&[&new], &[&outside], true),
            (&[&new], &[marked], true),
            (&[&other_new], &[&inside], true),
            // Nobody can tell that it is not in the range.
            (&[&other_new], &[], true),
            (&[b"j", b"l"], &[], false),
        ];
        for (puts, deletes, is_conflict) in changes {
            for key in [b"k1", b"k2", &inside[..], &outside, marked] {
                one.put(key, b"1").expect("room");
            }
            for key in [&new, &other_new] {
                one.delete(key).expect("asks");
            }
            let (mut runs, mut keys) = (0, Vec::new());
            let outcome = one.transact(&mut |txn| {
                runs += 1;
                keys = txn
                    .scan(&KeyRange { prefix: b"k", ..KeyRange::default() })?
                    .into_iter()
                    .map(|(key, _)| key)
                    .collect();
                txn.put(b"sum", &[keys.len() as u8])?;
                if runs == 1 {
                    deletes.iter().for_each(|key| assert_eq!(other.delete(key), Ok(true)));
                    puts.iter().for_each(|key| other.put(key, b"1").expect("room"));
                }
                Ok(())
            });
            assert_eq!(
                (outcome, runs),
                (Ok(()), 1 + u32::from(is_conflict)),
                "{engine}: {puts:?} {deletes:?}"
            );
            let all = [&inside[..], &new, b"k1", b"k2"];
            let there: Vec<_> = all.iter().filter(|key| other.exists(key).expect("looks")).collect();
            assert!(keys.iter().map(Vec::as_slice).eq(there.iter().map(|key| **key)), "{engine}: {keys:?}");
            assert_eq!(one.get(b"sum").expect("reads"), Some(vec![there.len() as u8]), "{engine}");
        }
        // Ranges that end before the marked keys, or begin behind them, and all of it.
        for (from, to) in [(&b""[..], &b"k2"[..]), (b"\xFFKa", b""), (b"\xFFS", b"\xFFU"), (b"", b"")] {
            let mut found = Vec::new();
            one.transact(&mut |txn| {
                found = txn.scan(&KeyRange { from, to, prefix: b"" })?;
                txn.put(b"sum", b"0")
            })
            .expect("nobody is between");
            let mut listed: Vec<_> = other.list(None).map(|key| key.expect("lists")).collect();
            listed.retain(|key| key.as_slice() >= from && (to.is_empty() || key.as_slice() < to));
            listed.sort();
            assert!(found.iter().map(|(key, _)| key).eq(&listed), "{engine}: {from:?} to {to:?}: {found:?}");
        }
    }
}
