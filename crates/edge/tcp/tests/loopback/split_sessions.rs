// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A session that buffers a key and a transaction of the same key, in both orders, at targets in memory and on images.

use saker::{HostError, Require, Saker, SakerOptions, SplitOutcome, TransactionEnd};
use std::time::Duration;

use super::split_owners::{BEGINS, COMMITS, Controller, DONE};
use super::split_pairs::targets;
use super::splits::id;
use super::support::{open, url};

/// Containers leave when they are full or synced, and not by themselves.
fn options() -> SakerOptions {
    SakerOptions { linger: Duration::from_secs(3_600), ..SakerOptions::default() }
}

/// What a session buffers is nothing to a transaction before it is synced, and a conflict after that; what a transaction has written is replaced by what a
/// session syncs later.
#[test]
fn a_transaction_and_a_buffered_write() {
    targets(|server, what| {
        let saker = Saker::open(&url(server, ""), options()).expect("opens");
        let (mut session, mut kv, mut other) =
            (saker.session().expect("a session"), open(server, ""), open(server, ""));
        for (round, key) in (1_u64..).zip([&b"k"[..], b"sixteen bytes ok"]) {
            let what = format!("{what}, a key of {} bytes", key.len());
            // The session first: its write comes between the read and the commit.
            session.put(key, b"buffered").expect("buffers");
            let mut txn = kv.begin_transaction().expect("it has them");
            assert_eq!(txn.get(key), Ok(None), "{what}: it is at the session alone");
            session.sync().expect("stores");
            txn.put(key, b"mine").expect("a good key");
            let refused = txn.commit_as(id(1, 10 * round));
            assert_eq!(refused, Err(HostError::Conflict { key: key.to_vec() }), "{what}");
            assert_eq!(other.get(key), Ok(Some(b"buffered".to_vec())), "{what}");
            // The transaction first: what is synced behind it replaces it.
            session.put(key, b"later").expect("buffers");
            let mut txn = kv.begin_transaction().expect("it has them");
            assert_eq!(txn.get(key), Ok(Some(b"buffered".to_vec())), "{what}");
            txn.put(key, b"mine").expect("a good key");
            txn.put(b"told", b"mine").expect("a good key");
            assert_eq!(txn.commit_as(id(1, 10 * round + 1)), Ok(TransactionEnd::Done), "{what}");
            assert_eq!(session.get(key), Ok(Some(b"later".to_vec())), "{what}: its own");
            assert_eq!(other.get(key), Ok(Some(b"mine".to_vec())), "{what}");
            session.sync().expect("stores");
            assert_eq!(other.get(key), Ok(Some(b"later".to_vec())), "{what}");
            assert_eq!(session.get(b"told"), Ok(Some(b"mine".to_vec())), "{what}");
            assert_eq!(kv.transaction_outcome(id(1, 10 * round)), Ok(SplitOutcome::NotDone), "{what}");
            // A delete that is buffered.
            session.delete(key).expect("buffers");
            let mut txn = kv.begin_transaction().expect("it has them");
            txn.require(key, Require::Present).expect("a good key");
            txn.put(b"told", b"present").expect("a good key");
            assert_eq!(txn.commit(), Ok(()), "{what}: it is still there");
            session.sync().expect("deletes");
            let mut txn = kv.begin_transaction().expect("it has them");
            txn.require(key, Require::Present).expect("a good key");
            assert_eq!(txn.commit(), Err(HostError::Unmet { key: key.to_vec() }), "{what}");
        }
        drop(session);
        saker.close().expect("closes");
    });
}

/// Parts are nothing to a session before their commit, and what it syncs between them is replaced by it; who stores a pair if it is absent is told of
/// the commit.
#[test]
fn open_parts_and_a_session() {
    targets(|server, what| {
        let saker = Saker::open(&url(server, ""), options()).expect("opens");
        let (mut session, mut mine, mut other) =
            (saker.session().expect("a session"), Controller::of(server), open(server, ""));
        assert_eq!(mine.part(id(1, 1), BEGINS, b"key", b"parts"), Ok(1), "{what}");
        session.put(b"key", b"session").expect("buffers");
        session.sync().expect("stores");
        assert_eq!(other.get(b"key"), Ok(Some(b"session".to_vec())), "{what}");
        session.put(b"key", b"later").expect("buffers");
        assert_eq!(mine.part(id(1, 1), COMMITS, b"second", b"parts"), DONE, "{what}");
        assert_eq!(other.get(b"key"), Ok(Some(b"parts".to_vec())), "{what}");
        session.sync().expect("stores");
        assert_eq!(other.get(b"key"), Ok(Some(b"later".to_vec())), "{what}");
        // In both orders with a pair that is stored if there is none.
        assert_eq!(mine.part(id(1, 2), BEGINS, b"new", b"parts"), Ok(1), "{what}");
        assert_eq!(session.put_if_absent(b"new", b"session"), Ok(true), "{what}");
        assert_eq!(mine.part(id(1, 2), COMMITS, b"newer", b"parts"), DONE, "{what}");
        assert_eq!(session.put_if_absent(b"newer", b"session"), Ok(false), "{what}");
        for key in [&b"new"[..], b"newer"] {
            assert_eq!(other.get(key), Ok(Some(b"parts".to_vec())), "{what}");
        }
        // A session that is closed with something in its buffer stores it, in front of the commit.
        assert_eq!(mine.part(id(1, 3), BEGINS, b"last", b"parts"), Ok(1), "{what}");
        session.put(b"last", b"session").expect("buffers");
        session.put(b"left", b"session").expect("buffers");
        drop(session);
        saker.close().expect("closes");
        assert_eq!(other.get(b"last"), Ok(Some(b"session".to_vec())), "{what}");
        assert_eq!(mine.part(id(1, 3), COMMITS, b"newer", b"parts"), DONE, "{what}");
        assert_eq!(other.get(b"last"), Ok(Some(b"parts".to_vec())), "{what}");
        assert_eq!(other.get(b"left"), Ok(Some(b"session".to_vec())), "{what}");
    });
}
