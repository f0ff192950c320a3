// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device that keeps time and is late: whoever handles what is due sees new commands meanwhile.

use saker::any::{Lag, catch_up};
use saker::{AnyDevice, DeviceUrl, Key, build_device};
use saker_host::connect::KvQueueOptions;
use saker_host::{ConnectOptions, Connection, Driver, KvQueue, Port};
use saker_nvme::kv::StoreOptions;
use saker_sim::Duration;
use std::cell::{Cell, RefCell};

/// A device whose clock goes from event to event.
struct Stepping(AnyDevice);

impl Driver for Stepping {
    fn drive(&mut self) {
        let now = self.0.next_deadline().unwrap_or(self.0.now());
        self.0.advance(now);
    }
}

const BURST: u8 = 32;

fn store(queue: &mut KvQueue, name: u8) {
    queue.store(&Key::new(&[name]).expect("short"), &[name; 4096], StoreOptions::NONE).expect("a slot");
    queue.ring();
}

fn completed(queue: &mut KvQueue) -> usize {
    std::iter::from_fn(|| queue.poll(|done| assert!(done.status.is_success(), "{:?}", done.status)))
        .filter(Result::is_ok)
        .count()
}

/// A device, and a queue of it for pairs.
fn late() -> (AnyDevice, KvQueue, Connection) {
    let url = DeviceUrl::parse("mem:?profile=saker-mid&timing=real&size=1GiB&seed=1").expect("a URL");
    let (device, host, _) = build_device(&url).expect("a device");
    let port =
        Port { space: host.space, registers: host.registers, doorbells: host.doorbells, bar: host.bar };
    let mut driver = Stepping(device);
    let mut connection = Connection::connect(port, &mut driver, ConnectOptions::default()).expect("connects");
    let options = KvQueueOptions { entries: 128, slots: 64 };
    let queue = connection.create_kv_queue(&mut driver, 1, options).expect("a queue");
    (driver.0, queue, connection)
}

#[test]
fn a_command_that_comes_while_events_are_due_is_answered_with_them() {
    let (mut device, queue, _connection) = late();
    let queue = RefCell::new(queue);

    let begun = device.now();
    (0..BURST).for_each(|name| store(&mut queue.borrow_mut(), name));
    device.advance(begun);
    assert_eq!(completed(&mut queue.borrow_mut()), 0, "they take their time");
    // The thread was away for a second. Each event takes it two microseconds from now on, and one more command comes amid them.
    let calls = Cell::new(0_u64);
    let clock = || {
        calls.set(calls.get() + 1);
        if calls.get() == u64::from(BURST) {
            store(&mut queue.borrow_mut(), BURST);
        }
        begun + Duration::from_nanos(1_000_000_000 + 2_000 * calls.get())
    };
    assert!(catch_up(&mut device, &clock, &Lag::default()), "much is due");
    assert!(calls.get() > u64::from(BURST), "the command came while events were due");
    assert_eq!(completed(&mut queue.borrow_mut()), usize::from(BURST) + 1, "the last one, too");
    assert!(
        device.now() < begun + Duration::from_nanos(1_000_000_000),
        "the device has its own time: {:?}",
        device.now()
    );
}

#[test]
fn a_device_whose_looks_take_too_long_gives_its_caller_a_turn() {
    let (mut device, mut queue, _connection) = late();
    let begun = device.now();
    (0..BURST).for_each(|name| store(&mut queue, name));
    device.advance(begun);
    // Whenever it asks, six microseconds are over: each look makes it late for the next event again.
    let calls = Cell::new(0_u64);
    let clock = || {
        calls.set(calls.get() + 1);
        assert!(calls.get() < 10_000, "it looks for ever");
        begun + Duration::from_nanos(1_000_000_000 + 6_000 * calls.get())
    };
    assert!(catch_up(&mut device, &clock, &Lag::default()), "much is due");
    // Its caller handles it at once.
    device.advance(clock());
    assert_eq!(completed(&mut queue), usize::from(BURST));
}
