// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Registers, doorbells, vectors, memory for values.

use saker_link::{BarError, DoorbellKind, offset};
use saker_pcie::Effect;
use saker_pcie::bar::{BAR0_BYTES, BAR2_BYTES, VECTORS, region};

use crate::support::Rig;

const BAR0: u32 = region::BAR0;
const BAR2: u32 = region::BAR2;

#[test]
fn registers_of_the_controller_are_its_own() {
    let mut rig = Rig::new();
    rig.registers.publish_u64(offset::CAP, 0x1122_3344_5566_7788).unwrap();
    rig.registers.publish_u32(offset::VS, 0x0002_0000).unwrap();
    rig.registers.publish_u32(offset::CSTS, 1).unwrap();
    for at in [0, 4, 8, 0x18, 0x38, 0x3C, 0x40, 0xFFC] {
        assert_eq!(rig.function.write(BAR0, at, &[0xFF; 4]).unwrap(), Effect::Look);
    }
    // Bit 4 of CSTS is cleared by writing 1; without it a write changes nothing.
    rig.function.write(BAR0, 0x1C, &[0xEF, 0xFF, 0xFF, 0xFF]).unwrap();
    assert_eq!(u64::from_le_bytes(rig.read(BAR0, 0)), 0x1122_3344_5566_7788);
    assert_eq!((rig.word(BAR0, 8), rig.word(BAR0, 0x1C), rig.word(BAR0, 0x38)), (0x0002_0000, 1, 0));
    assert_eq!(rig.registers.changes(), 0);
    rig.function.write(BAR0, 0x1C, &0x10_u32.to_le_bytes()).unwrap();
    assert_eq!(rig.registers.changes(), 1);
}

#[test]
fn registers_of_the_driver_reach_the_controller_in_words_of_either_size() {
    let mut rig = Rig::new();
    rig.function.write(BAR0, 0x24, &0x001F_001F_u32.to_le_bytes()).unwrap();
    rig.function.write(BAR0, 0x28, &0x1234_5678_9ABC_D000_u64.to_le_bytes()).unwrap();
    rig.function.write(BAR0, 0x30, &[0, 0x10, 0, 0]).unwrap();
    rig.function.write(BAR0, 0x34, &[7, 0, 0, 0]).unwrap();
    assert_eq!(rig.registers.load_u64(offset::ASQ), Ok(0x1234_5678_9ABC_D000));
    assert_eq!(rig.registers.load_u64(offset::ACQ), Ok(0x7_0000_1000));
    assert_eq!(rig.registers.load_u32(offset::AQA), Ok(0x001F_001F));
    for (at, bytes) in [(0x14, &[1][..]), (0x15, &[1; 4]), (0x14, &[1; 3]), (0x10, &[0; 12])] {
        assert!(rig.function.write(BAR0, at, bytes).is_err(), "{} bytes at {at:#x}", bytes.len());
    }
    assert_eq!(rig.read::<3>(BAR0, 0x29), [0xD0, 0xBC, 0x9A], "reads may have any size");
}

#[test]
fn interrupt_masks_of_pins_are_set_and_cleared() {
    let mut rig = Rig::new();
    rig.function.write(BAR0, 0x0C, &[0x0F, 0, 0, 0]).unwrap();
    rig.function.write(BAR0, 0x10, &[0x03, 0, 0, 0]).unwrap();
    assert_eq!((rig.word(BAR0, 0x0C), rig.word(BAR0, 0x10)), (0x0C, 0x0C));
}

#[test]
fn doorbells_are_four_bytes_apart_and_end_somewhere() {
    let mut rig = Rig::new();
    rig.function.write(BAR0, 0x1000, &[5, 0, 0, 0]).unwrap();
    rig.function.write(BAR0, 0x1004, &[6, 0, 0, 0]).unwrap();
    rig.function.write(BAR0, 0x1000 + 64 * 8, &[7, 0, 0, 0]).unwrap();
    let read = |kind, queue| rig.doorbells.read(kind, queue).unwrap();
    assert_eq!((read(DoorbellKind::SqTail, 0), read(DoorbellKind::CqHead, 0)), (5, 6));
    assert_eq!(read(DoorbellKind::SqTail, 64), 7);
    assert!(rig.function.write(BAR0, 0x1000 + 65 * 8, &[0; 4]).is_err());
    assert!(rig.function.write(BAR0, 0x1FFC, &[0; 4]).is_err());
    assert_eq!(rig.word(BAR0, 0x1000), 0, "they are written only");
}

#[test]
fn vectors_are_masked_until_a_driver_says_otherwise() {
    let mut rig = Rig::new();
    let last = 0x2000 + u64::from(VECTORS - 1) * 16;
    assert_eq!((rig.word(BAR0, 0x200C), rig.word(BAR0, last + 12), rig.word(BAR0, last + 16)), (1, 1, 0));
    rig.function.write(BAR0, last, &[9; 16]).unwrap();
    assert_eq!(rig.read::<16>(BAR0, last), [9; 16]);
    rig.function.write(BAR0, last + 16, &[9; 16]).unwrap();
    assert_eq!(rig.read::<16>(BAR0, last + 16), [0; 16], "there is nothing behind the table");
    rig.function.set_pending(64);
    rig.function.set_pending(65);
    rig.function.set_pending(u16::MAX);
    assert_eq!(rig.read::<16>(BAR0, 0x3000), [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    rig.function.write(BAR0, 0x3000, &[0xFF; 8]).unwrap();
    assert!(rig.function.take_pending(64) && !rig.function.take_pending(64) && !rig.function.take_pending(0));
}

#[test]
fn values_are_stored_in_lines_or_in_words_that_make_a_line() {
    let mut rig = Rig::new();
    let (value, mut taken) = ((0..128).collect::<Vec<u8>>(), Vec::new());
    // Two lines at once for queue 2; then word by word for queue 1.
    rig.function.write(BAR2, 0x2000 + 64, &value).unwrap();
    rig.values.take(2, 64, 128, &mut taken).unwrap();
    assert_eq!(taken, value);
    for (n, word) in value[..64].chunks(8).enumerate() {
        assert_eq!(rig.values.written_lines(1), 0, "before word {n}");
        rig.function.write(BAR2, n as u64 * 8, word).unwrap();
    }
    taken.clear();
    rig.values.take(1, 0, 64, &mut taken).unwrap();
    assert_eq!(taken, value[..64]);
    // A line that is interrupted is not stored, and what comes in its midst begins none.
    rig.function.write(BAR2, 0, &[1; 32]).unwrap();
    rig.function.write(BAR2, 128, &[2; 32]).unwrap();
    rig.function.write(BAR2, 32, &[1; 32]).unwrap();
    rig.function.write(BAR2, 8, &[3; 56]).unwrap();
    assert_eq!(rig.values.take(1, 0, 64, &mut taken), Err(BarError::Missing));
    assert_eq!(rig.word(BAR2, 0), 0, "what is stored is the device's");
}

#[test]
fn what_is_beyond_a_region_is_refused() {
    let mut rig = Rig::new();
    for (index, bytes) in
        [(BAR0, BAR0_BYTES), (BAR2, BAR2_BYTES), (region::CONFIG, 4096), (1, 0), (u32::MAX, 0)]
    {
        for at in [bytes, bytes.wrapping_sub(3), u64::MAX, u64::MAX - 3] {
            assert!(rig.function.read(index, at, &mut [0; 4]).is_err(), "{index} {at:#x}");
            assert!(rig.function.write(index, at, &[0; 4]).is_err(), "{index} {at:#x}");
        }
        assert!(rig.function.read(index, 0, &mut []).is_err());
    }
}

#[test]
fn a_reset_takes_the_queues_of_the_admin_away() {
    let mut rig = Rig::new();
    for at in [0x14, 0x24, 0x28, 0x2C, 0x30, 0x34] {
        rig.function.write(BAR0, at, &[1; 4]).unwrap();
    }
    rig.function.write(BAR2, 0, &[1; 64]).unwrap();
    let before = rig.registers.changes();
    rig.function.reset();
    assert!(rig.registers.changes() > before, "the controller has to look");
    assert_eq!(rig.read::<44>(BAR0, 0x14), [0; 44]);
    assert_eq!(rig.values.written_lines(1), 0);
}
