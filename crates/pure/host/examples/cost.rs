// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prints the host's nanoseconds per command over a device that does nothing, on one thread: what the host side costs,
//! together with the rings. Compare with `cargo run --release -p saker-link --example floor` on the same machine.
#![expect(clippy::disallowed_types, reason = "a measurement needs the OS clock; the library does not")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use saker_host::client::DeleteMissing;
use saker_host::session::{Hub, Options, Session};
use saker_host::transfer::Available;
use saker_host::{ClientOptions, DriverFn, KvClient, KvQueue};
use saker_host::{Patience, TransferOptions};
use saker_link::probe::NoopController;
use saker_link::{DeviceCq, DeviceSq, DmaSpace, Doorbells, HostQueuePair};
use saker_nvme::Key;
use saker_nvme::vendor_specific::Methods;

const ENTRIES: u32 = 65;
const KEYS: usize = 1024;

fn queue() -> (KvQueue, DriverFn<impl FnMut()>) {
    let space = DmaSpace::new(512, 128);
    let doorbells = Doorbells::new(2);
    let host = HostQueuePair::new(&space, &doorbells, 1, ENTRIES, ENTRIES).expect("fits");
    let sq = DeviceSq::new(&space, &doorbells, 1, host.sq_iova(), ENTRIES).expect("fits");
    let cq = DeviceCq::new(&space, &doorbells, 1, host.cq_iova(), ENTRIES).expect("fits");
    let mut device = NoopController::new(sq, cq, 1);
    let driver = DriverFn(move || {
        device.drive(64).expect("good doorbells");
    });
    (KvQueue::new(&space, host, 64, 1).expect("fits"), driver)
}

fn client() -> KvClient<DriverFn<impl FnMut()>> {
    let (queue, driver) = queue();
    KvClient::over(queue, driver, 1 << 20, DeleteMissing::Reported, ClientOptions::default())
}

/// A session over a queue that says it takes groups.
fn session() -> Session<KvQueue, DriverFn<impl FnMut()>> {
    let (mut queue, driver) = queue();
    let methods = Methods(1 << 6);
    assert!(methods.groups(), "bit 6 of the log page");
    let available = Available { methods, group_bytes_max: 1 << 20, ..Available::default() };
    queue.set_transfer(TransferOptions::default(), available);
    let hub = Arc::new(Hub::new(vec![queue], Options::default()));
    Session::new(hub, (0, 0), driver, 1 << 20, Patience::default())
}

fn key(n: u64) -> Key {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&n.to_le_bytes());
    Key::from_padded(bytes, 16).expect("16 bytes")
}

/// Made before the clock runs: building a key byte by byte costs as much as sending it.
fn keys() -> Vec<Key> {
    (0..KEYS as u64).map(key).collect()
}

fn time(what: &str, rounds: u64, mut run: impl FnMut(u64)) {
    (0..rounds / 10).for_each(&mut run);
    let start = Instant::now();
    (0..rounds).for_each(&mut run);
    println!("{:7.1} ns  {what}", start.elapsed().as_nanos() as f64 / rounds as f64);
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|arg| arg.parse().ok()).unwrap_or(5_000_000);
    for _ in 0..3 {
        let (mut one, keys) = (client(), keys());
        time("exists, depth 1", rounds, |n| assert!(one.exists(&keys[n as usize % KEYS]).expect("answers")));
        for bytes in [0, 16, 64, 1024, 4096] {
            let value = vec![7; bytes];
            time(&format!("put of {bytes} bytes, depth 1"), rounds, |n| {
                one.put(&keys[n as usize % KEYS], black_box(&value)).expect("answers");
            });
        }
        let value = [7; 16];
        time("put_queued of 16 bytes, depth 64", rounds, |n| {
            one.put_queued(&keys[n as usize % KEYS], black_box(&value)).expect("answers");
        });
        one.drain().expect("answers");
        // More keys than can be on their way: none is parked.
        let (mut session, keys) = (session(), (0..16 * KEYS as u64).map(key).collect::<Vec<_>>());
        time("session put of 16 bytes, batch 64", rounds, |n| {
            session.put(&keys[n as usize % keys.len()], black_box(&value)).expect("buffered");
        });
        session.sync().expect("answers");
    }
}
