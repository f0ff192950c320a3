// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions that only read, beside others that write.

use super::support::{count, open, serve};
use crate::transfers::{ACCOUNTS, EACH, account, number, open_accounts, transfer};
use saker::{HostError, KeyRange, Kv, KvError};
use saker_sim::Seed;

const ENGINES: [&str; 6] = ["hash_store", "hash_original", "hash_doubling", "hash_plus", "lsm", "tree"];

fn has_moments(engine: &str) -> bool {
    ["lsm", "tree"].contains(&engine)
}

fn device(engine: &str) -> String {
    format!("mem:?size=64MiB&profile=tiny&engine={engine}")
}

/// Two hosts move money while two others look: whoever has read all accounts has seen all money.
#[test]
fn the_sum_holds_amid_transfers() {
    for engine in ENGINES {
        let server = serve(&device(engine));
        open_accounts(&mut open(&server, "")).expect("opens accounts");
        let rounds = count(400) as u64;
        std::thread::scope(|scope| {
            for n in 0..2 {
                let server = &server;
                scope.spawn(move || {
                    let (mut kv, mut rng) = (open(server, ""), Seed(n).rng());
                    (0..rounds).for_each(|_| _ = transfer(&mut kv, n, &mut rng).expect("transfers"));
                });
                scope.spawn(move || {
                    let mut kv = open(server, "");
                    for _ in 0..rounds / 4 {
                        let mut sum = 0;
                        kv.read(&mut |read| {
                            assert_eq!(read.is_of_one_moment(), has_moments(engine));
                            sum = 0;
                            for n in 0..ACCOUNTS {
                                sum += number(read.get(&account(n))?);
                            }
                            Ok(())
                        })
                        .expect("reads");
                        assert_eq!(sum, ACCOUNTS * EACH, "{engine}");
                    }
                });
            }
        });
    }
}

/// What was read is of the begin, long keys and ranges too, whatever comes in between; with engines without moments the end says so.
#[test]
fn a_read_is_of_its_begin() {
    for engine in ENGINES {
        let server = serve(&device(engine));
        let (mut one, mut other) = (open(&server, ""), open(&server, ""));
        let long = b"a key that is longer than sixteen bytes";
        for key in [&b"a"[..], b"b", long] {
            one.put(key, b"old").expect("room");
        }
        let mut read = one.begin_read().expect("begins");
        assert_eq!(read.get(b"a").expect("reads"), Some(b"old".to_vec()));
        assert_eq!(read.get(b"new").expect("reads"), None);
        other
            .transact(&mut |txn| {
                txn.put(b"a", b"new")?;
                txn.put(b"new", &[7; 9000])?;
                txn.put(long, b"new")?;
                txn.delete(b"b").map(drop)
            })
            .expect("nobody is between");
        if !has_moments(engine) {
            let again = read.get(b"a");
            assert_eq!(again, Err(HostError::Conflict { key: b"a".to_vec() }), "{engine}");
            let ended = read.end();
            assert!(matches!(ended, Err(HostError::Conflict { .. })), "{engine}: {ended:?}");
            continue;
        }
        for (key, then) in [(&b"a"[..], true), (b"b", true), (long, true), (b"new", false), (b"none", false)]
        {
            let found = read.get(key).expect("reads");
            assert_eq!(found, then.then(|| b"old".to_vec()), "{engine}: {}", key.escape_ascii());
            assert_eq!(read.exists(key), Ok(then));
        }
        let all = read.scan(&KeyRange::default()).expect("scans");
        let keys: Vec<_> = all.iter().map(|(key, _)| key.as_slice()).collect();
        assert_eq!(keys, [&b"a"[..], b"b", long], "{engine}");
        assert!(all.iter().all(|(_, value)| value == b"old"), "{engine}");
        read.end().expect("nothing refuses it");
        let mut later = one.begin_read().expect("begins");
        assert_eq!(later.get(b"new").expect("reads"), Some(vec![7; 9000]), "{engine}: values of any length");
        assert_eq!(later.get(b"b").expect("reads"), None);
        assert_eq!(later.scan(&KeyRange { prefix: b"n", ..KeyRange::default() }).expect("scans").len(), 1);
    }
}

/// A device gives a moment up when so much is written meanwhile, and with Format: what reads then is told, and never shown something else.
#[test]
fn a_moment_that_is_given_up() {
    for engine in ["lsm", "tree"] {
        for formats in [true, false] {
            let server = serve(&device(engine));
            let (mut one, mut other) = (open(&server, ""), open(&server, ""));
            one.put(b"key", b"old").expect("room");
            let mut read = one.begin_read().expect("begins");
            give_up(&mut other, formats);
            assert_eq!(read.get(b"key"), Err(HostError::Kv(KvError::IteratorLost)), "{engine}, {formats}");
            let scanned = read.scan(&KeyRange::default());
            assert_eq!(scanned, Err(HostError::Kv(KvError::IteratorLost)), "{engine}, {formats}");
            read.end().expect("it has ended");
            let mut runs = 0;
            one.read(&mut |read| {
                runs += 1;
                if runs == 1 {
                    give_up(&mut other, formats);
                }
                read.exists(b"key").map(drop)
            })
            .expect("the next run has a moment of its own");
            assert_eq!(runs, 2, "{engine}, {formats}");
        }
    }
}

fn give_up(other: &mut Kv, formats: bool) {
    if formats {
        return other.format().expect("formats");
    }
    for n in 0..1100_u32 {
        other.put(&(n % 50).to_le_bytes(), &[1; 10_000]).expect("room");
    }
}

/// Reads that are dropped or ended leave no iterator behind: a host has 16.
#[test]
fn a_read_that_is_dropped_ends() {
    let server = serve(&device("lsm"));
    let mut kv = open(&server, "");
    kv.put(b"key", b"old").expect("room");

    for n in 0..100_u32 {
        let mut read = kv.begin_read().expect("begins");
        assert_eq!(read.get(b"key").expect("reads"), Some(b"old".to_vec()));
        if n % 2 == 0 {
            read.end().expect("ends");
        }
    }
}
