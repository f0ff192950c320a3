// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions with an ID over the network: an answer that is lost, hosts that are gone, several at a time.

use super::support::{count, open, serve};
use saker::{HostError, KeyRange, Kv, KvError, SplitOutcome, TransactionEnd, TransactionId};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const ENGINES: [&str; 6] = ["hash_store", "hash_original", "hash_doubling", "hash_plus", "lsm", "tree"];

fn device(engine: &str) -> String {
    format!("mem:?size=64MiB&profile=tiny&engine={engine}")
}

fn id(host: u8, number: u64) -> TransactionId {
    TransactionId { host: [host; 16], number }
}

/// A way to a target that is cut behind so many bytes of answers: what was sent has come, and its answer is lost.
struct Way {
    at: SocketAddr,
    /// Bytes of answers that may still pass.
    left: Arc<AtomicU64>,
    cuts: Arc<AtomicU64>,
}

impl Way {
    fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let at = listener.local_addr().expect("an address");
        let (left, cuts) = (Arc::new(AtomicU64::new(u64::MAX)), Arc::new(AtomicU64::new(0)));
        let way = Self { at, left: Arc::clone(&left), cuts: Arc::clone(&cuts) };
        std::thread::spawn(move || {
            for host in listener.incoming() {
                let Ok(host) = host else { return };
                let Ok(device) = TcpStream::connect(target) else { return };
                let (Ok(from), Ok(to)) = (host.try_clone(), device.try_clone()) else { return };
                std::thread::spawn(move || pass(from, to, None));
                let (left, cuts) = (Arc::clone(&left), Arc::clone(&cuts));
                std::thread::spawn(move || pass(device, host, Some((left, cuts))));
            }
        });
        way
    }

    /// The next answer is lost, with its connection.
    fn lose_answer(&self) {
        self.left.store(0, Ordering::SeqCst);
    }
}

type Limit = (Arc<AtomicU64>, Arc<AtomicU64>);

fn pass(mut from: TcpStream, mut to: TcpStream, limit: Option<Limit>) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(n @ 1..) = from.read(&mut bytes) {
        if let Some((left, cuts)) = &limit
            && left.load(Ordering::SeqCst) < n as u64
        {
            left.store(u64::MAX, Ordering::SeqCst);
            cuts.fetch_add(1, Ordering::SeqCst);
            break;
        }
        if to.write_all(&bytes[..n]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// The answer to a commit is lost: it is asked again over another connection, and has one effect.
#[test]
fn a_lost_answer_is_asked_again() {
    for engine in ENGINES {
        let server = serve(&device(engine));
        let way = Way::to(server.addresses()[0]);
        let url = format!("tcp://{}/{}?reconnect=20", way.at, server.names()[0]);
        let (mut kv, mut other) = (Kv::open(&url).expect("opens"), open(&server, ""));
        let mut before = 0;
        for number in 1..=6 {
            kv.put(b"counter", &[number as u8]).expect("room");
            let mut txn = kv.begin_transaction().expect("it has them");
            let read = txn.get(b"counter").expect("reads").unwrap_or_default();
            txn.put(b"counter", &[read[0] + 100]).expect("a good key");
            // Every other one is longer than a command, so that parts are there when its connection goes.
            for n in 0..if number % 2 == 0 { 40_000_u32 } else { 2 } {
                let key = [&b"absent"[..], &n.to_be_bytes()].concat();
                txn.require(&key, saker::Require::Absent).expect("a good key");
            }
            way.lose_answer();
            let end = txn.commit_as(id(1, number)).expect("it is asked again");
            before += u64::from(end == TransactionEnd::DoneBefore);
            assert_eq!(other.get(b"counter").expect("reads"), Some(vec![number as u8 + 100]), "{engine}");
            assert_eq!(other.transaction_outcome(id(1, number)), Ok(SplitOutcome::DoneBefore));
            // Carried out a second time it would be a conflict, and without conditions a second effect.
            kv.put(b"counter", b"later").expect("room");
            let mut again = kv.begin_transaction().expect("it has them");
            again.put(b"counter", b"wrong").expect("a good key");
            assert_eq!(again.commit_as(id(1, number)), Ok(TransactionEnd::DoneBefore));
            assert_eq!(kv.get(b"counter").expect("reads"), Some(b"later".to_vec()));
        }
        assert_eq!(way.cuts.load(Ordering::SeqCst), 6, "{engine}: each lost an answer");
        assert!(before >= 3, "{engine}: {before} were carried out before they were asked again");
    }
}

/// Many hosts count under IDs of their own.
#[test]
fn hosts_do_not_meet() {
    let server = serve(&device("lsm"));
    let rounds = count(500) as u64;
    std::thread::scope(|scope| {
        for host in 1..=4_u8 {
            let server = &server;
            scope.spawn(move || {
                let mut kv = open(server, "");
                for number in 1..=rounds {
                    let end = loop {
                        let mut txn = kv.begin_transaction().expect("it has them");
                        let sum = txn.get(b"sum").expect("reads");
                        let sum = sum.map_or(0, |v| u64::from_le_bytes(v.try_into().expect("8 bytes")));
                        txn.put(b"sum", &(sum + 1).to_le_bytes()).expect("a good key");
                        match txn.commit_as(id(host, number)) {
                            Err(HostError::Conflict { key }) => assert_eq!(key, b"sum"),
                            end => break end,
                        }
                    };
                    assert_eq!(end, Ok(TransactionEnd::Done), "host {host}, {number}");
                }
            });
        }
    });
    let mut kv = open(&server, "");
    assert_eq!(kv.get(b"sum").expect("reads"), Some((4 * rounds).to_le_bytes().to_vec()));
    // Outcomes are no pairs of anybody's: neither lists nor scans show them, and ranges do not count them.
    let listed: Vec<_> = kv.list(None).collect();
    assert_eq!(listed, [Ok(b"sum".to_vec())]);
    let mut seen = Vec::new();
    kv.transact(&mut |txn| {
        seen = txn.scan(&KeyRange::default())?;
        txn.put(b"seen", b"1")
    })
    .expect("nobody is between");
    assert_eq!(seen.len(), 1);
    let mut txn = kv.begin_transaction().expect("it has them");
    assert_eq!(txn.scan(&KeyRange { from: b"t", ..KeyRange::default() }).expect("scans"), []);
    kv.put(b"\xFFZ", b"a phantom behind them").expect("room");
    let mut txn = kv.begin_transaction().expect("it has them");
    assert_eq!(txn.scan(&KeyRange { from: b"t", ..KeyRange::default() }).expect("scans").len(), 1);
    txn.put(b"phantoms", b"1").expect("a good key");
    txn.commit_as(id(9, 1)).expect("nobody is between");
    assert_eq!(kv.transaction_outcome(id(1, rounds + 1)), Ok(SplitOutcome::NotDone));
    let old = kv.transaction_outcome(id(9, 2));
    assert!(old != Err(HostError::Kv(KvError::OutcomeUnknown)), "{old:?}");
}
