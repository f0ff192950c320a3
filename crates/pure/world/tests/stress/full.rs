// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Capacity Exceeded and what goes on afterwards; the write cache switched off.

use crate::stress::pairs::{get, name, put, remove};
use crate::stress::rig::{self, Machine, Rig};
use saker_nvme::admin::feature::fid;
use saker_nvme::{Key, Status};
use saker_world::{Clocked, Inline};

/// A full device serves reads and deletes, and deletes make room.
fn fill<D: Machine>(capacitor: bool, bytes: usize) {
    let mut rig = Rig::<D>::new(&rig::small(capacitor, 3));
    let key = |n: u32| Key::new(&n.to_be_bytes()).expect("4 bytes");
    let value = |n: u32, round: u8| vec![n as u8 ^ round; bytes];
    let mut stored = 0;
    let full = loop {
        match put(&mut rig, &key(stored), &value(stored, 0)) {
            s if s.is_success() => stored += 1,
            s => break s,
        }
        assert!(stored < 100_000, "it must be full at some time");
    };
    assert!(full.is(Status::CAPACITY_EXCEEDED), "{full}");
    // With key, header and padding; a fifth of the raw flash at least.
    assert!(stored as usize * (bytes + 32) > 12 * 32 * 1024 / 5, "{stored} pairs of {bytes} bytes fill it");
    for round in 1..20u8 {
        // Existing pairs can be replaced, new ones not stored.
        let n = u32::from(round) * 7 % stored;
        assert!(put(&mut rig, &key(n), &value(n, round)).is_success());
        assert!(put(&mut rig, &key(stored + 1), &value(0, 0)).is(Status::CAPACITY_EXCEEDED));
        assert_eq!(get(&mut rig, &key(n), 16_384), value(n, round));
        assert!(remove(&mut rig, &key(n)).is_success());
        assert!(put(&mut rig, &key(n), &value(n, 0)).is_success(), "a delete makes room");
    }
    (0..stored).for_each(|n| assert_eq!(get(&mut rig, &key(n), 16_384), value(n, 0)));
    (0..stored).for_each(|n| assert!(remove(&mut rig, &key(n)).is_success()));
    (0..stored).for_each(|n| assert!(put(&mut rig, &key(n), &value(n, 9)).is_success(), "pair {n} again"));
    (0..stored).for_each(|n| assert_eq!(get(&mut rig, &key(n), 16_384), value(n, 9)));
}

#[test]

fn a_full_device_reads_deletes_and_then_stores_again() {
    for bytes in [40, 700, 3000] {
        for capacitor in [true, false] {
            fill::<Inline>(capacitor, bytes);
            fill::<Clocked>(capacitor, bytes);
        }
    }
}

fn a_write_cache_that_is_off<D: Machine>() {
    let mut rig = Rig::<D>::new(&rig::roomy(false, 8));
    let programmed = |rig: &mut Rig<D>| rig.machine.stats().flash.pages_programmed;
    assert!(put(&mut rig, &name(1), b"cached").is_success());
    rig.machine.rest();
    assert_eq!(programmed(&mut rig), 0, "the cache is on: nothing is programmed for a small pair");
    let Rig { connection, machine, .. } = &mut rig;
    connection.set_feature(machine, 0, fid::VOLATILE_WRITE_CACHE, 0).expect("it can be switched off");
    let mut before = programmed(&mut rig);
    assert!(before > 0, "what was cached is programmed when the cache is off");
    for n in 0..20 {
        assert!(put(&mut rig, &name(n), b"through").is_success());
        let now = programmed(&mut rig);
        assert!(now > before, "store {n} completed before it was programmed");
        before = now;
    }
    assert!(remove(&mut rig, &name(3)).is_success());
    assert!(programmed(&mut rig) > before, "and so does a delete");
    let Rig { connection, machine, .. } = &mut rig;
    connection.set_feature(machine, 0, fid::VOLATILE_WRITE_CACHE, 1).expect("it can be switched on");
    rig.machine.rest();
    let before = programmed(&mut rig);
    assert!(put(&mut rig, &name(1), b"cached again").is_success());
    rig.machine.rest();
    assert_eq!(programmed(&mut rig), before);
    assert_eq!(get(&mut rig, &name(1), 64), b"cached again");
}

#[test]
fn without_write_cache_a_completed_write_is_programmed() {
    a_write_cache_that_is_off::<Inline>();
    a_write_cache_that_is_off::<Clocked>();
}
