// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the host writes into the registers while the device is at work.

use crate::stress::pairs::{get, name, put};
use crate::stress::rig::{self, KV, Machine, Rig};
use saker_device::Attachment;
use saker_host::{Driver, RawData};
use saker_link::offset;
use saker_nvme::kv::{self, StoreOptions};
use saker_world::{Clocked, Inline};

fn a_shutdown_empties_the_cache<D: Machine>() {
    let mut rig = Rig::<D>::new(&rig::roomy(false, 8));
    assert!(put(&mut rig, &name(1), b"cached").is_success());
    rig.machine.rest();
    assert_eq!(rig.machine.stats().flash.pages_programmed, 0, "nothing is programmed for a small pair");
    let Rig { connection, mut machine, .. } = rig;
    connection.shut_down(&mut machine).expect("it shuts down");
    assert!(machine.stats().flash.pages_programmed > 0, "CSTS.SHST says complete: the cache is written");
}

#[test]
fn a_shutdown_is_complete_when_the_cache_is_written() {
    a_shutdown_empties_the_cache::<Inline>();
    a_shutdown_empties_the_cache::<Clocked>();
}

#[test]
fn a_reset_and_a_shutdown_in_one_write_are_both_followed() {
    let mut rig = Rig::<Inline>::new(&rig::roomy(true, 8));
    let host: Attachment = rig.machine.0.attachment().clone();
    // CC: EN 0 and SHN 01b.
    host.registers.store_u32(offset::CC, 0x4000).expect("a register");
    rig.machine.drive();
    let csts = host.registers.load_u32(offset::CSTS).expect("a register");
    assert_eq!((csts & 1, csts >> 2 & 3), (0, 2), "not ready, shutdown complete: {csts:#x}");
}

/// Looks at the host once, then the controller is disabled; time stands still.
struct DisabledAfterOneLook<'a> {
    machine: &'a mut Clocked,
    host: Attachment,
    looks: u32,
}

impl Driver for DisabledAfterOneLook<'_> {
    fn drive(&mut self) {
        let now = self.machine.0.now();
        if self.looks == 1 {
            self.host.registers.store_u32(offset::CC, 0).expect("a register");
        }
        if self.looks < 3 {
            self.machine.0.advance(now);
        }
        self.looks += 1;
    }
}

#[test]
fn a_format_that_waited_when_the_controller_was_disabled_is_forgotten() {
    let mut rig = Rig::<Clocked>::new(&rig::roomy(true, 8));
    assert!(put(&mut rig, &name(1), b"kept").is_success());
    let value = vec![7; 8000];
    rig.kv.raw(kv::store(KV, &name(2), 8000, StoreOptions::NONE), RawData::ToDevice(&value)).expect("room");
    rig.kv.ring();
    while rig.machine.0.flash().is_quiet() {
        rig.machine.drive();
    }
    let Rig { mut connection, mut machine, .. } = rig;
    let host = machine.0.attachment().clone();
    let mut driver = DisabledAfterOneLook { machine: &mut machine, host: host.clone(), looks: 0 };
    connection.format(&mut driver, KV).expect_err("nobody answers any more");
    machine.rest();
    let mut rig = Rig::over(machine, &host);
    assert!(put(&mut rig, &name(3), b"new").is_success(), "no format is in progress");
    assert_eq!(get(&mut rig, &name(1), 64), b"kept");
}
