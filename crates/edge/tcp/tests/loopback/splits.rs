// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions with an ID over the network: an answer that is lost, hosts that are gone, several at a time.

use super::support::{count, open, serve};
use saker::{
    HostError, KeyRange, Kv, KvError, Require, Saker, SakerOptions, SplitOutcome, Transaction,
    TransactionEnd, TransactionId,
};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

pub const ENGINES: [&str; 6] = ["hash_store", "hash_original", "hash_doubling", "hash_plus", "lsm", "tree"];

pub fn device(engine: &str) -> String {
    format!("mem:?size=64MiB&profile=tiny&engine={engine}")
}

pub fn id(host: u8, number: u64) -> TransactionId {
    TransactionId { host: [host; 16], number }
}

/// A way to a target that is cut behind so many bytes: of answers, so that what was sent has come and its answer is lost; or of commands.
pub struct Way {
    pub at: SocketAddr,
    /// Bytes of answers that may still pass.
    pub left: Arc<AtomicU64>,
    /// Bytes of commands that may still pass.
    pub sent: Arc<AtomicU64>,
    pub cuts: Arc<AtomicU64>,
    /// Whoever comes anew is sent away.
    refuses: Arc<AtomicBool>,
}

impl Way {
    pub fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let at = listener.local_addr().expect("an address");
        let [left, sent] = [(); 2].map(|()| Arc::new(AtomicU64::new(u64::MAX)));
        let (cuts, refuses) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let way = Self { at, left, sent, cuts, refuses };
        let (answers, commands) = (way.limit(&way.left), way.limit(&way.sent));
        let refuses = Arc::clone(&way.refuses);
        std::thread::spawn(move || {
            for host in listener.incoming() {
                let Ok(host) = host else { return };
                if refuses.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(device) = TcpStream::connect(target) else { return };
                let (Ok(from), Ok(to)) = (host.try_clone(), device.try_clone()) else { return };
                let (answers, commands) = (answers.clone(), commands.clone());
                std::thread::spawn(move || pass(from, to, &commands));
                std::thread::spawn(move || pass(device, host, &answers));
            }
        });
        way
    }

    /// The next answer is lost, with its connection.
    fn lose_answer(&self) {
        self.left.store(0, Ordering::SeqCst);
    }

    /// The connection is lost behind so many more bytes of commands, and there is no other.
    fn lose_host(&self, behind: u64) {
        self.refuses.store(true, Ordering::SeqCst);
        self.sent.store(behind, Ordering::SeqCst);
    }

    fn limit(&self, left: &Arc<AtomicU64>) -> Limit {
        (Arc::clone(left), Arc::clone(&self.cuts))
    }
}

/// Bytes that may still pass, and how often a way was cut.
type Limit = (Arc<AtomicU64>, Arc<AtomicU64>);

fn pass(mut from: TcpStream, mut to: TcpStream, (left, cuts): &Limit) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(n @ 1..) = from.read(&mut bytes) {
        let before = left.load(Ordering::SeqCst);
        if before < n as u64 {
            left.store(u64::MAX, Ordering::SeqCst);
            cuts.fetch_add(1, Ordering::SeqCst);
            break;
        }
        if before != u64::MAX {
            left.fetch_sub(n as u64, Ordering::SeqCst);
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
            if number % 2 == 0 {
                require_much(&mut txn, 40_000);
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

/// Requirements that no command takes together, so that parts of the transaction are at the device before its commit: so many, of 20 bytes each.
pub fn require_much(txn: &mut Transaction<'_>, many: u32) {
    for n in 0..many {
        txn.require(&[&b"absent"[..], &n.to_be_bytes()].concat(), Require::Absent).expect("a good key");
    }
}

/// A connection that is lost takes the parts along that came by it. A host has 16 transactions at a time: if one of these were left the
/// later ones would find no room.
#[test]
fn a_lost_connection_leaves_no_parts() {
    for engine in ENGINES {
        let server = serve(&device(engine));
        let way = Way::to(server.addresses()[0]);
        let url = format!("tcp://{}/{}?reconnect=0", way.at, server.names()[0]);
        let mut other = open(&server, "");
        for number in 1..=20 {
            way.refuses.store(false, Ordering::SeqCst);
            let mut kv = Kv::open(&url).expect("opens");
            let mut txn = kv.begin_transaction().expect("it has them");
            txn.put(b"key", b"never").expect("a good key");
            require_much(&mut txn, 100_000);
            // A part has a MiB at most: one is at the device, and another one never comes.
            way.lose_host(3 << 19);
            assert!(txn.commit_as(id(1, number)).is_err(), "{engine}: its host is gone");
            // The target may not have seen yet that the connection is gone. Few questions: by many the device would forget what is open.
            let ask = |n| {
                std::thread::sleep(Duration::from_millis(n));
                other.transaction_outcome(id(1, number))
            };
            let outcome = (0..120).map(ask).find(|outcome| *outcome != Ok(SplitOutcome::Open));
            assert_eq!(
                outcome,
                Some(Ok(SplitOutcome::NotDone)),
                "{engine}: {number} is gone with its connection"
            );
        }
        assert_eq!(way.cuts.load(Ordering::SeqCst), 20, "{engine}: each lost its host");
        let mut txn = other.begin_transaction().expect("it has them");
        txn.put(b"key", b"value").expect("a good key");
        require_much(&mut txn, 100_000);
        assert_eq!(txn.commit_as(id(1, 21)), Ok(TransactionEnd::Done), "{engine}: there is room");
        assert_eq!(other.get(b"key").expect("reads"), Some(b"value".to_vec()));
    }
}

/// A session gathers writes of a key in containers while another host's transactions in parts read and write it: each reads what is there, or
/// is refused, and each counts once.
#[test]
fn beside_sessions_that_buffer_the_same_key() {
    for engine in ENGINES {
        let server = serve(&device(engine));
        let rounds = count(200) as u64;
        std::thread::scope(|scope| {
            let at = format!("tcp://{}/{}", server.addresses()[0], server.names()[0]);
            scope.spawn(move || {
                let saker = Saker::open(&at, SakerOptions::default()).expect("opens");
                let mut session = saker.session().expect("a session");
                for n in 1..=rounds * 4 {
                    session.put(b"shared", &n.to_le_bytes()).expect("buffers");
                    if n % 10 == 0 {
                        session.sync().expect("stores");
                    }
                }
                session.sync().expect("stores");
            });
            let server = &server;
            scope.spawn(move || {
                let mut kv = open(server, "");
                for number in 1..=rounds {
                    let end = loop {
                        let mut txn = kv.begin_transaction().expect("it has them");
                        let shared = txn.get(b"shared").expect("reads").unwrap_or_default();
                        let count = txn.get(b"count").expect("reads").map_or(0, |count| count[0]);
                        txn.put(b"copy", &shared).expect("a good key");
                        txn.put(b"count", &[count.wrapping_add(1)]).expect("a good key");
                        match txn.commit_as(id(1, number)) {
                            Err(HostError::Conflict { key }) => assert_eq!(key, b"shared"),
                            end => break end,
                        }
                    };
                    assert_eq!(end, Ok(TransactionEnd::Done), "{engine}, {number}");
                }
            });
        });
        let mut kv = open(&server, "");
        assert_eq!(kv.get(b"shared").expect("reads"), Some((rounds * 4).to_le_bytes().to_vec()), "{engine}");
        assert_eq!(kv.get(b"count").expect("reads"), Some(vec![rounds as u8]), "{engine}");
    }
}

/// Another host formats the namespace amid a transaction: it is refused if it has read something, what was carried out before is
/// forgotten, and no part is left.
#[test]
fn format_between_parts() {
    for engine in ENGINES {
        let server = serve(&device(engine));
        let (mut one, mut other) = (open(&server, ""), open(&server, ""));
        let mut txn = one.begin_transaction().expect("it has them");
        txn.put(b"key", b"1").expect("a good key");
        assert_eq!(txn.commit_as(id(1, 1)), Ok(TransactionEnd::Done));
        let mut txn = one.begin_transaction().expect("it has them");
        assert_eq!(txn.get(b"key").expect("reads"), Some(b"1".to_vec()));
        txn.put(b"other", b"never").expect("a good key");
        require_much(&mut txn, 40_000);
        other.format().expect("formats");
        other.put(b"key", b"1").expect("room");
        assert_eq!(txn.commit_as(id(1, 2)), Err(HostError::Conflict { key: b"key".to_vec() }), "{engine}");
        for number in [1, 2] {
            assert_eq!(
                one.transaction_outcome(id(1, number)),
                Ok(SplitOutcome::NotDone),
                "{engine}: {number}"
            );
        }
        assert_eq!(other.get(b"other").expect("reads"), None);
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
    assert!(old != Err(HostError::Kv(KvError::Forgotten)), "{old:?}");
}
