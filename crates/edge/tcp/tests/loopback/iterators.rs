// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Iterators of several hosts at one device: each has its own, and as many as at a device of its own.

use std::time::Duration;

use saker::{EngineKind, ImagePlan, KeyRange, Kv, ScanOptions, ScanOrder, Store, StoreError};
use saker_nvme::vendor_specific::{IteratorCommand, IteratorRange};
use saker_nvme::{Sqe, Status};
use saker_nvme_tcp::initiator::Data;
use saker_tcp::Server;
use zerocopy::IntoBytes;

use crate::loopback::raw::RawQueue;
use crate::loopback::support::{serve, url};

/// A target of an engine with iterators, in memory and on an image.
fn targets(mut with: impl FnMut(&Server)) {
    let folder = tempfile::tempdir().expect("a folder");
    for engine in [EngineKind::LSM, EngineKind::TREE] {
        let path = folder.path().join(engine.name());
        ImagePlan { engine, ..ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path).expect("an image");
        let memory = format!("mem:?size=16MiB&profile=tiny&engine={}", engine.name());
        for device in [memory, format!("file:{}", path.display())] {
            let server = serve(&device);
            with(&server);
            server.stop().expect("stopped");
        }
    }
}

fn host(server: &Server, n: usize) -> Store {
    let name = format!("hostnqn=nqn.2026-11.dev.saker:host{n}");
    Store::open(&url(server, &name)).expect("connected")
}

/// Twenty hosts with sixteen scans each: nobody's scans are in another one's way, and each goes on to keys of both lengths.
#[test]
fn each_host_has_sixteen() {
    targets(|server| {
        let hosts: Vec<_> = (0..20).map(|n| host(server, n)).collect();
        hosts[0].put("short", "1").expect("stored");
        hosts[0].put("a key of more than sixteen bytes", "2").expect("stored");
        let open = |host: &Store| (0..16).map(|_| host.iter().expect("there is room")).collect::<Vec<_>>();
        let mut scans: Vec<_> = hosts.iter().flat_map(open).collect();
        assert!(hosts.iter().all(|host| matches!(host.iter(), Err(StoreError::ManyScans))));
        for value in [b"1", b"2"] {
            for pairs in &mut scans {
                assert_eq!(pairs.next().expect("there are two").expect("read").1, value);
            }
        }
        assert!(scans.iter_mut().all(|pairs| pairs.next().is_none()));
        drop(scans);
        assert!(hosts.iter().all(|host| host.iter().expect("there is room").count() == 2));
    });
}

/// What the device has ended by itself is not held against a host.
#[test]
fn a_format_by_another_host_makes_room() {
    targets(|server| {
        let (first, second) = (host(server, 1), host(server, 2));
        first.put("key", "value").expect("stored");
        for _ in 0..3 {
            let held: Vec<_> = (0..16).map(|_| first.iter().expect("there is room")).collect();
            assert!(matches!(first.iter(), Err(StoreError::ManyScans)));
            second.clear().expect("formatted");
            assert!(first.iter().expect("there is room").next().is_none());
            drop(held);
        }
    });
}

fn asked(queue: &mut RawQueue, sqe: Sqe, room: u32) -> Status {
    queue.execute(sqe, if room > 0 { Data::Receive(room) } else { Data::None }).cqe.status()
}

fn next(iterator: u32) -> Sqe {
    IteratorCommand::Next { iterator, buffer_bytes: 4096, pairs_max: 1, backwards: false, seek: None }
        .encode(1)
}

/// Numbers of iterators are easy to guess. Another host's iterator can be neither moved, nor ended, nor shared.
#[test]
fn anothers_iterator_is_none() {
    targets(|server| {
        let mut owner = Kv::open(&url(server, "hostnqn=nqn.2026-11.dev.saker:owner")).expect("connected");
        for key in [b"a", b"b", b"c"] {
            owner.put(key, b"value").expect("stored");
        }
        let mut iterator = owner.open_iterator(&KeyRange::default()).expect("opens").expect("it has them");
        let (_admin, cntlid) = RawQueue::admin(server.addresses()[0], &server.names()[0]);
        let (mut other, _) =
            RawQueue::connect(server.addresses()[0], &server.names()[0], cntlid, (1, 32)).expect("connected");
        let range = IteratorRange::new(b"", b"", b"").expect("a range");
        for number in 1..40 {
            assert!(asked(&mut other, next(number), 4096).is(Status::KEY_DOES_NOT_EXIST), "{number}");
            let close = IteratorCommand::Close { iterator: number }.encode(1);
            assert!(asked(&mut other, close, 0).is(Status::KEY_DOES_NOT_EXIST), "{number}");
            let beside = IteratorCommand::Open { keys_only: true, beside: Some(number) }.encode(1);
            let answer = other.execute(beside, Data::Send(range.as_bytes().to_vec()));
            assert!(answer.cqe.status().is(Status::KEY_DOES_NOT_EXIST), "{number}");
        }
        let batch = owner.next_pairs(&mut iterator, 0, false, None).expect("it is there");
        assert_eq!(batch.pairs().len(), 3, "nobody has moved it");
        // Its own it can use, and what has ended is none.
        let open = IteratorCommand::Open { keys_only: false, beside: None }.encode(1);
        let answer = other.execute(open, Data::Send(range.as_bytes().to_vec()));
        let mine = answer.cqe.result_dw0();
        assert!(answer.cqe.status().is_success() && asked(&mut other, next(mine), 4096).is_success());
        let scanned = owner.scan(&ScanOptions::default(), &mut |_, _| true);
        assert_eq!(scanned, Ok(ScanOrder::Bytes), "and nobody is in its way");
        let close = IteratorCommand::Close { iterator: mine }.encode(1);
        assert!(asked(&mut other, close, 0).is_success());
        assert!(asked(&mut other, next(mine), 4096).is(Status::KEY_DOES_NOT_EXIST));
        owner.close_iterator(iterator).expect("closes");
        owner.close().expect("closed");
    });
}

/// One that asks for many at once, before any is answered, gets sixteen.
#[test]
fn those_under_way_are_counted() {
    targets(|server| {
        let (_admin, cntlid) = RawQueue::admin(server.addresses()[0], &server.names()[0]);
        let (mut queue, _) =
            RawQueue::connect(server.addresses()[0], &server.names()[0], cntlid, (1, 64)).expect("connected");
        let range = IteratorRange::new(b"", b"", b"").expect("a range");
        for cid in 0..40 {
            let sqe = IteratorCommand::Open { keys_only: false, beside: None }.encode(1).with_cid(cid);
            assert!(queue.protocol.submit(sqe, Data::Send(range.as_bytes().to_vec()), 8192));
        }
        let statuses: Vec<_> = (0..40).map(|_| queue.answer().cqe.status()).collect();
        assert_eq!(statuses.iter().filter(|status| status.is_success()).count(), 16);
        let refused = |status: &&Status| status.is(Status::CAPACITY_EXCEEDED);
        assert_eq!(statuses.iter().filter(refused).count(), 24);
    });
}

fn named(n: usize) -> String {
    format!("nqn.2026-11.dev.saker:host{n}")
}

/// Opens as many as a host is given, over as many connections.
fn take_all(server: &Server, name: &str, connections: u16) -> (usize, Vec<RawQueue>) {
    let range = IteratorRange::new(b"", b"", b"").expect("a range");
    let (at, nqn) = (server.addresses()[0], &server.names()[0]);
    let (admin, cntlid) = RawQueue::admin_as(name, at, nqn);
    let (mut held, mut open) = (vec![admin], 0);
    for qid in 1..=connections {
        let (mut queue, _) = RawQueue::connect_as(name, at, nqn, cntlid, (qid, 32)).expect("connected");
        for cid in 0..20 {
            let sqe = IteratorCommand::Open { keys_only: false, beside: None }.encode(1).with_cid(cid);
            let answer = queue.execute(sqe, Data::Send(range.as_bytes().to_vec()));
            open += usize::from(answer.cqe.status().is_success());
        }
        held.push(queue);
    }
    (open, held)
}

/// Hosts that take what they can, over as many connections as they like, leave each other one sixteen: the first ones take halves of
/// what is left of what all share.
#[test]
fn crowds_leave_each_host_its_sixteen() {
    targets(|server| {
        let (first, crowd) = take_all(server, &named(1), 64);
        assert_eq!(first, 16 + 1024 / 2);
        let (second, others) = take_all(server, &named(2), 40);
        assert_eq!(second, 16 + 512 / 2);
        for n in 3..12 {
            let host = host(server, n);
            host.put("short", "1").expect("stored");
            host.put("a key of more than sixteen bytes", "2").expect("stored");
            let scans: Vec<_> = (0..16).map(|_| host.iter().expect("there is room")).collect();
            assert!(scans.into_iter().all(|scan| scan.count() == 2), "{n}");
        }
        // What a host has ended, or left, is there for others again.
        drop(crowd);
        let is_given_back = (0..200).any(|_| {
            // Connections take a moment to end.
            std::thread::sleep(Duration::from_millis(20));
            take_all(server, &named(1), 40).0 == 16 + (1024 - 256) / 2
        });
        assert!(is_given_back, "connections that are closed give back what they had");
        drop(others);
    });
}

/// One that opens and ends again and again has nothing in the end, and takes nothing from others.
#[test]
fn what_was_ended_is_not_counted() {
    targets(|server| {
        let hosts: Vec<_> = (0..3).map(|n| host(server, n)).collect();
        hosts[0].put("key", "value").expect("stored");
        for _ in 0..100 {
            assert!(hosts.iter().all(|host| host.iter().expect("there is room").count() == 1));
        }
        let (taken, _held) = take_all(server, &named(9), 40);
        assert_eq!(taken, 16 + 1024 / 2);
    });
}
