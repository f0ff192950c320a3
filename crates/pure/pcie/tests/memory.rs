// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The controller memory buffer: its registers, its BAR, and where the device is to reach it.

use std::sync::Arc;

use saker_link::ForeignMemory;
use saker_pcie::Effect;
use saker_pcie::bar::region::{BAR0, BAR4, CONFIG};

use crate::support::Rig;

/// Memory of that many bytes.
pub fn pages(bytes: u64) -> Arc<ForeignMemory> {
    ForeignMemory::zeroed(bytes as usize)
}

const CMBMSC: u64 = 0x50;
const AT: u64 = 0x12_3450_0000;

#[test]
fn a_function_without_a_buffer_has_no_sign_of_it() {
    let mut rig = Rig::new();
    for at in [0x04, 0x38, 0x3C, 0x50, 0x54, 0x58] {
        assert_eq!(rig.word(BAR0, at), 0, "{at:#x}");
    }
    assert_eq!(rig.function.write(BAR0, CMBMSC, &3_u32.to_le_bytes()), Ok(Effect::Look));
    assert!(rig.function.read(BAR4, 0, &mut [0; 4]).is_err() && rig.function.memory_buffer().is_none());
}

/// NVMe Base 2.0, sections 3.1.3.11 to 3.1.3.14: nothing is told before CRE, and nothing reached before CMSE.
#[test]
fn a_driver_finds_the_buffer_and_says_where_it_is() {
    let mut rig = Rig::with_memory();
    assert_eq!(rig.word(BAR0, 4), 1 << 25, "CAP.CMBS");
    assert_eq!((rig.word(BAR0, 0x38), rig.word(BAR0, 0x3C)), (0, 0));
    let window = |rig: &Rig| rig.function.memory_buffer().and_then(|buffer| buffer.window());
    assert_eq!(rig.function.write(BAR0, CMBMSC, &1_u32.to_le_bytes()), Ok(Effect::Memory));
    // BAR 4, mixtures allowed; all kinds of use, 2 units of 1 MiB.
    assert_eq!((rig.word(BAR0, 0x38), rig.word(BAR0, 0x3C)), (0x1FC, 0x221F));
    assert_eq!(window(&rig), None);
    // As Linux writes it: the upper half first.
    let value = AT | 3;
    rig.function.write(BAR0, CMBMSC + 4, &((value >> 32) as u32).to_le_bytes()).unwrap();
    rig.function.write(BAR0, CMBMSC, &(value as u32).to_le_bytes()).unwrap();
    assert_eq!((window(&rig), rig.word(BAR0, 0x58)), (Some(AT), 0));
    // Reserved bits stay 0; beyond the end of the address space it is nowhere, and CBAI says so.
    rig.function.write(BAR0, CMBMSC, &u64::MAX.to_le_bytes()).unwrap();
    assert_eq!(rig.read::<8>(BAR0, CMBMSC), (u64::MAX - 0xFFC).to_le_bytes());
    assert_eq!((window(&rig), rig.word(BAR0, 0x58)), (None, 1));
    rig.function.write(BAR0, CMBMSC, &value.to_le_bytes()).unwrap();
    // CC.EN leaves it alone, a function-level reset does not.
    rig.function.write(BAR0, 0x14, &[0; 4]).unwrap();
    assert_eq!(window(&rig), Some(AT));
    rig.function.reset();
    assert_eq!((window(&rig), rig.word(BAR0, 0x38), rig.word(BAR0, 4)), (None, 0, 1 << 25));
}

#[test]
fn the_buffer_is_a_bar_of_its_own() {
    let mut rig = Rig::with_memory();
    assert_eq!(rig.word(CONFIG, 0x20), 0xC, "64 bits, prefetchable");
    rig.function.write(CONFIG, 0x20, &[0xFF; 8]).unwrap();
    assert_eq!(u64::from_le_bytes(rig.read(CONFIG, 0x20)), 0xFFFF_FFFF_FFE0_000C);
    for (at, bytes) in [(0, 8), (3, 100), ((2 << 20) - 5, 5)] {
        let data: Vec<u8> = (0..bytes).map(|n| (n * 3 + 1) as u8).collect();
        assert_eq!(rig.function.write(BAR4, at, &data), Ok(Effect::None));
        let mut back = vec![0; data.len()];
        rig.function.read(BAR4, at, &mut back).unwrap();
        assert_eq!(back, data);
    }
    assert!(rig.function.read(BAR4, (2 << 20) - 4, &mut [0; 5]).is_err());
    rig.function.reset();
    assert_eq!(rig.word(CONFIG, 0x20), 0xC);
}
