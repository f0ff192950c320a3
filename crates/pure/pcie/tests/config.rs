// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Configuration space: its bytes, what a driver may change, resets.

use saker_pcie::Effect;
use saker_pcie::bar::region::CONFIG;

use crate::support::Rig;

/// The first 160 bytes as they are after power-on (PCI Express Base 4.0, sections 7.5.1 and 7.5.3; PCI Local Bus 3.0, 6.8.2).
const GOLDEN: [u8; 160] = {
    let mut bytes = [0; 160];
    let set: [(usize, &[u8]); 13] = [
        (0x00, &[0x56, 0x4E, 0x56, 0x4B]),
        (0x06, &[0x10]),
        (0x08, &[0x01, 0x02, 0x08, 0x01]),
        (0x10, &[0x04]),
        (0x18, &[0x04]),
        (0x2C, &[0x56, 0x4E, 0x56, 0x4B]),
        (0x34, &[0x40]),
        (0x40, &[0x01, 0x50, 0x03, 0x00, 0x08]),
        (0x50, &[0x11, 0x60, 0x40, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00, 0x30]),
        (0x60, &[0x10, 0x00, 0x02, 0x00, 0x00, 0x80, 0x00, 0x10]),
        (0x6C, &[0x43]),
        (0x72, &[0x43]),
        (0x9F, &[0x00]),
    ];
    let mut n = 0;
    while n < set.len() {
        let mut at = 0;
        while at < set[n].1.len() {
            bytes[set[n].0 + at] = set[n].1[at];
            at += 1;
        }
        n += 1;
    }
    bytes
};

#[test]
fn it_begins_as_it_should() {
    let rig = Rig::new();
    assert_eq!(rig.read::<160>(CONFIG, 0), GOLDEN);
    assert_eq!(rig.read::<3936>(CONFIG, 160), [0; 3936], "nothing else, and no extended capability");
}

#[test]
fn a_driver_finds_how_large_bars_are() {
    let mut rig = Rig::new();
    for (bar, size) in [(0x10, 0xFFFF_FFFF_FFFF_C004_u64), (0x18, 0xFFFF_FFFF_FFF8_0004), (0x20, 0)] {
        rig.function.write(CONFIG, bar, &[0xFF; 8]).unwrap();
        assert_eq!(u64::from_le_bytes(rig.read(CONFIG, bar)), size, "BAR at {bar:#x}");
    }
}

#[test]
fn what_is_constant_stays_so() {
    let mut rig = Rig::new();
    for at in (0..4096).filter(|at| !(0x68..0x6A).contains(at)) {
        rig.function.write(CONFIG, at, &[0xFF]).unwrap();
    }
    let after = rig.read::<160>(CONFIG, 0);
    for at in [0x00, 0x02, 0x08, 0x09, 0x34, 0x40, 0x42, 0x50, 0x52, 0x54, 0x58, 0x60, 0x64, 0x6C] {
        assert_eq!(after[at], GOLDEN[at], "byte {at:#x}");
    }
    assert_eq!(after[4], 0x46, "memory, bus master, parity; no I/O space");
    assert_eq!(rig.read::<3936>(CONFIG, 160), [0; 3936]);
}

#[test]
fn a_function_level_reset_is_asked_for_and_puts_everything_back() {
    let mut rig = Rig::new();
    rig.function.write(CONFIG, 4, &[0x06, 0x04]).unwrap();
    rig.function.write(CONFIG, 0x52, &[0xFF, 0xFF]).unwrap();
    assert_eq!(rig.read::<2>(CONFIG, 0x52), [0x40, 0xC0]);
    assert_eq!(rig.function.write(CONFIG, 0x68, &[0xFF, 0x7F]).unwrap(), Effect::None);
    assert_eq!(rig.function.write(CONFIG, 0x68, &[0x00, 0x80]).unwrap(), Effect::Reset);
    assert_eq!(rig.read::<2>(CONFIG, 0x68), [0, 0], "the bit reads as 0");
    rig.function.reset();
    assert_eq!(rig.read::<160>(CONFIG, 0), GOLDEN);
}
