// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hosts come, work and go while a flood of connections that connect no queue is refilled all the time.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use saker_nvme::tcp::IcReq;
use saker_tcp::Server;
use zerocopy::IntoBytes;

use crate::loopback::raw::{dial, shaken};
use crate::loopback::support::{DEVICE, config, count, open};

/// Connections of a flood.
const FLOOD: usize = 300;
/// Half-open connections that the server keeps.
const KEPT: usize = 32;

/// Whether the server has closed it; an ICResp may have come before.
fn is_closed(mut stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).expect("an option");
    loop {
        match stream.read(&mut [0; 256]) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != ErrorKind::WouldBlock,
        }
    }
}

/// One that the server may close while it shakes hands.
fn half_shaken(address: SocketAddr) -> TcpStream {
    let mut stream = dial(address);
    // It is to be closed at any moment, also at this one.
    let _ = stream.write_all(IcReq::new(0).as_bytes());
    stream
}

/// Opens the flood and again what is closed, until told to stop; those that are left.
fn flood(dial: impl Fn() -> TcpStream, stop: &AtomicBool, refilled: &AtomicUsize) -> Vec<TcpStream> {
    let mut streams: Vec<TcpStream> = (0..FLOOD).map(|_| dial()).collect();
    while !stop.load(Ordering::Relaxed) {
        for stream in streams.iter_mut().filter(|stream| is_closed(stream)) {
            *stream = dial();
            refilled.fetch_add(1, Ordering::Relaxed);
        }
        std::thread::yield_now();
    }
    streams
}

/// Stops the flood when dropped.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A host's life.
fn work(server: &Server, n: u32) {
    let mut kv = open(server, "");
    kv.put(&n.to_le_bytes(), b"in spite of all").expect("stored");
    assert_eq!(kv.get(&n.to_le_bytes()).expect("read"), Some(b"in spite of all".to_vec()));
    kv.close().expect("closed");
}

/// Hosts one after another in a flood; every one gets in.
fn hosts_in_a_flood(dial: impl Fn(SocketAddr) -> TcpStream + Sync) {
    let mut config = config(DEVICE);
    config.handshakes_max = KEPT;
    let server = Server::start(config).expect("the server starts");
    let (stop, refilled) = (AtomicBool::new(false), AtomicUsize::new(0));
    let address = server.addresses()[0];
    let left = std::thread::scope(|scope| {
        // Also when a host fails.
        let stopping = Stop(&stop);
        let flood = scope.spawn(|| flood(|| dial(address), &stop, &refilled));
        while refilled.load(Ordering::Relaxed) < FLOOD && !flood.is_finished() {
            std::thread::yield_now();
        }
        let before = refilled.load(Ordering::Relaxed);
        // On a busy machine it may be long until the flood has the processor again.
        let (hosts, mut n) = (count(400) as u32, 0);
        while n < hosts || (refilled.load(Ordering::Relaxed) == before && n < 100 * hosts) {
            work(&server, n);
            n += 1;
        }
        assert!(refilled.load(Ordering::Relaxed) > before, "the flood went on beside {n} hosts");
        drop(stopping);
        flood.join().expect("the flood ends")
    });
    // A host at last comes in after all of the flood: what it could push out has been pushed out.
    work(&server, u32::MAX);
    let kept = left.iter().filter(|stream| !is_closed(stream)).count();
    assert!((1..=KEPT).contains(&kept), "{kept} of the flood are kept");
    server.stop().expect("stopped");
}

#[test]
fn silent_connections_keep_no_host_out() {
    hosts_in_a_flood(dial);
}

#[test]
fn connections_that_only_shake_hands_keep_no_host_out() {
    hosts_in_a_flood(half_shaken);
}

#[test]
fn half_open_connections_make_room_among_all_connections() {
    let mut config = config(DEVICE);
    (config.connections_max, config.handshakes_max) = (8, 8);
    let server = Server::start(config).expect("the server starts");
    let address = server.addresses()[0];
    let mut strangers: Vec<TcpStream> = (0..4).map(|_| dial(address)).collect();
    strangers.extend((0..4).map(|_| shaken(address)));
    // Each has an admin queue and an I/O queue.
    let mut hosts: Vec<_> = (0..4).map(|_| open(&server, "")).collect();
    for (n, kv) in hosts.iter_mut().enumerate() {
        kv.put(&[n as u8], b"there is room").expect("stored");
    }
    assert!(strangers.iter().all(is_closed), "their places are taken");
    drop(hosts);
    server.stop().expect("stopped");
}
