// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A host that writes any doorbells and takes no completion: what it has under way, and what waits for room, does not grow.

use saker_assembly::{Build, port};
use saker_host::{ConnectOptions, Connection, Driver};
use saker_link::{DoorbellKind, Doorbells};
use saker_nvme::{Key, kv};
use saker_profile::Profile;
use saker_world::{Clocked, Inline};
use std::sync::Arc;

const ENTRIES: u32 = 16;

/// A device, and what the flood needs of it.
trait Flooded: Driver {
    fn of(build: &Build, host: saker_device::Attachment) -> Self;
    fn fetched(&mut self) -> u64;
    /// Looks at the doorbells; time stands still.
    fn look(&mut self);
}

impl Flooded for Clocked {
    fn of(build: &Build, host: saker_device::Attachment) -> Self {
        Self(build.timed(host))
    }
    fn fetched(&mut self) -> u64 {
        self.0.stats().device.traffic.sqe_fetches
    }
    fn look(&mut self) {
        self.0.look();
    }
}

impl Flooded for Inline {
    fn of(build: &Build, host: saker_device::Attachment) -> Self {
        Self(build.untimed(host))
    }
    fn fetched(&mut self) -> u64 {
        self.0.stats().device.traffic.sqe_fetches
    }
    fn look(&mut self) {
        self.drive();
    }
}

struct Rig<D> {
    device: D,
    connection: Connection,
    doorbells: Arc<Doorbells>,
}

impl<D: Flooded> Rig<D> {
    fn new() -> Self {
        let profile = Profile::builtin("tiny").expect("built in");
        let build = Build::kv(&profile, 32 << 20, 1).expect("large enough");
        let host = build.attach(3, ENTRIES as u16);
        let doorbells = host.doorbells.clone();
        let mut device = D::of(&build, host.clone());
        let options = ConnectOptions { io_queues: 2, ..ConnectOptions::default() };
        let connection = Connection::connect(port(&host), &mut device, options).expect("connects");
        Self { device, connection, doorbells }
    }

    /// Announces the entries of a queue again and again. How many were fetched.
    fn flood(&mut self, qid: u16) -> u64 {
        let before = self.device.fetched();
        for n in 0..1000 {
            self.doorbells.write(DoorbellKind::SqTail, qid, [15, 7][n % 2]).expect("there is such a queue");
            self.device.look();
        }
        self.device.fetched() - before
    }

    fn pass_time(&mut self, turns: usize) {
        (0..turns).for_each(|_| self.device.drive());
    }
}

/// A queue of pairs is flooded, then taken as a host should, and another one is used.
fn queues_stay_bounded<D: Flooded>() {
    let mut rig = Rig::<D>::new();
    let mut pair = rig.connection.create_queue(&mut rig.device, ENTRIES).expect("made");
    let mut other = rig.connection.create_queue(&mut rig.device, ENTRIES).expect("made");
    let mut all = rig.flood(pair.queue());
    assert!(all <= u64::from(ENTRIES), "its entries at most: {all}");
    // What was begun ends. The completions fill the other queue, which is never emptied.
    for _ in 0..100 {
        rig.pass_time(200);
        all += rig.flood(pair.queue());
    }
    rig.pass_time(2000);
    assert!(all <= 2 * u64::from(ENTRIES), "only room for completions brings more: {all}");
    let mut ended = 0;
    for _ in 0..200 {
        rig.device.drive();
        while pair.poll().is_some() {
            ended += 1;
            pair.ring_cq();
        }
    }
    assert!(ended >= all && all > 0, "{ended} of {all} have ended");
    other.submit(&kv::exist(1, &Key::new(b"key").expect("short"))).expect("room");
    other.ring();
    rig.pass_time(200);
    assert!(other.poll().is_some(), "others are served");
}

#[test]
fn a_host_that_floods_a_queue_does_not_fill_memory_in_virtual_time() {
    queues_stay_bounded::<Clocked>();
}

#[test]
fn a_host_that_floods_a_queue_does_not_fill_memory_without_time() {
    queues_stay_bounded::<Inline>();
}
