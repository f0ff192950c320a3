// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A host that writes any doorbells, and never takes a completion: what it has under way does not grow.

use saker_assembly::{Build, port};
use saker_device::DeviceStats;
use saker_host::{ConnectOptions, Connection, Driver};
use saker_link::DoorbellKind;
use saker_nvme::{Key, kv};
use saker_profile::Profile;
use saker_world::Clocked;

const ENTRIES: u32 = 16;

fn fetched(device: &mut Clocked) -> u64 {
    let stats: DeviceStats = device.0.stats().device;
    stats.traffic.sqe_fetches
}

#[test]
fn a_host_has_no_more_commands_under_way_than_its_queue_has_entries() {
    let profile = Profile::builtin("tiny").expect("built in");
    let build = Build::kv(&profile, 32 << 20, 1).expect("large enough");
    let host = build.attach(3, ENTRIES as u16);
    let doorbells = host.doorbells.clone();
    let mut device = Clocked(build.timed(host.clone()));
    let options = ConnectOptions { io_queues: 2, ..ConnectOptions::default() };
    let mut connection = Connection::connect(port(&host), &mut device, options).expect("connects");
    let mut pair = connection.create_queue(&mut device, ENTRIES).expect("made");
    let mut other = connection.create_queue(&mut device, ENTRIES).expect("made");
    let before = fetched(&mut device);
    let flood = |device: &mut Clocked| {
        for n in 0..1000 {
            doorbells
                .write(DoorbellKind::SqTail, pair.queue(), [15, 7][n % 2])
                .expect("there is such a queue");
            device.0.look();
        }
    };
    flood(&mut device);
    let begun = fetched(&mut device) - before;
    assert_eq!(begun, u64::from(ENTRIES), "its entries, again and again");
    // They end. Their completions fill its other queue, which it never empties.
    for _ in 0..100 {
        (0..200).for_each(|_| device.drive());
        flood(&mut device);
    }
    (0..2000).for_each(|_| device.drive());
    let all = fetched(&mut device) - before;
    assert!(
        begun < all && all <= 3 * u64::from(ENTRIES),
        "{all} were fetched: only room for completions brings more"
    );
    // It takes them after all, and what it asks for then is answered.
    let mut ended = 0;
    for _ in 0..200 {
        device.drive();
        while pair.poll().is_some() {
            ended += 1;
            pair.ring_cq();
        }
    }
    assert!(ended >= all, "{ended} of {all}");
    other.submit(&kv::exist(1, &Key::new(b"key").expect("short"))).expect("room");
    other.ring();
    (0..200).for_each(|_| device.drive());
    assert!(other.poll().is_some(), "others are served");
}
