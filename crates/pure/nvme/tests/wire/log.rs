// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Log pages.

use proptest::collection::vec;
use proptest::prelude::*;
use saker_nvme::log::{CommandEffects, EffectsLog, ErrorEntry, FirmwareSlots, Smart, SupportedLogs, lid};
use saker_nvme::{Status, csi};
use zerocopy::little_endian::U32;
use zerocopy::{FromZeros, IntoBytes};

use crate::golden::assert_image;

const ADMIN: [(usize, &[u8]); 12] = [
    (0x00, &[1]),
    (0x04, &[1]),
    (0x08, &[1]),
    (0x10, &[1]),
    (0x14, &[1]),
    (0x18, &[1]),
    (0x20, &[1]),
    (0x24, &[1]),
    (0x28, &[1]),
    (0x30, &[1]),
    (0x60, &[1]),
    (0x200, &[7, 0, 1, 0]),
];

#[test]
fn effects_of_the_command_sets_golden() {
    let kv: [(usize, &[u8]); 6] =
        [(1024, &[1]), (1028, &[3]), (1032, &[1]), (1048, &[1]), (1088, &[3]), (1104, &[1])];
    assert_image(EffectsLog::for_csi(csi::KV).as_bytes(), &[&ADMIN[..], &kv].concat());
    let nvm: [(usize, &[u8]); 8] = [
        (1024, &[1]),
        (1028, &[3]),
        (1032, &[1]),
        (1044, &[1]),
        (1056, &[3]),
        (1060, &[3]),
        (1072, &[1]),
        (1124, &[3]),
    ];
    assert_image(EffectsLog::for_csi(csi::NVM).as_bytes(), &[&ADMIN[..], &nvm].concat());
    assert_image(EffectsLog::for_csi(0x77).as_bytes(), &ADMIN);
    let fabrics: [(usize, &[u8]); 2] = [(0x7F * 4, &[1]), (1024 + 0x7F * 4, &[1])];
    let queues = [0x00, 0x04, 0x10, 0x14];
    let admin: Vec<_> = ADMIN.into_iter().filter(|(at, _)| !queues.contains(at)).collect();
    assert_image(EffectsLog::for_csi(0x77).over_fabrics().as_bytes(), &[&admin[..], &fabrics].concat());
}

#[test]
fn effects_can_be_added_and_taken_away() {
    let mut log = EffectsLog::for_csi(csi::KV);
    log.set_io(0xC1, CommandEffects::CHANGES_CONTENT);
    log.set_admin(0x80, CommandEffects::default());
    assert_eq!((log.io(0xC1).0, log.admin(0x80).0), (3, 0));
    assert_eq!(log.as_bytes()[1024 + 4 * 0xC1], 3);
}

#[test]
fn effects_bits() {
    let none = CommandEffects::default();
    let words = [
        none.with_supported(true).0,
        none.with_content_change(true).0,
        none.with_namespace_change(true).0,
        none.with_inventory_change(true).0,
        none.with_controller_change(true).0,
        none.with_submission(7).0,
        none.with_uuid(true).0,
        none.with_scope(0xFFF).0,
    ];
    assert_eq!(words, [1, 2, 4, 8, 0x10, 0x7_0000, 0x8_0000, 0xFFF0_0000]);
}

#[test]
fn effects_layout_golden() {
    let mut log = EffectsLog::new_zeroed();
    log.admin[255] = U32::new(0x0403_0201);
    log.io[0] = U32::new(0x0807_0605);
    log.reserved_2048 = [0xA1; 2048];
    assert_image(log.as_bytes(), &[(1020, &[1, 2, 3, 4, 5, 6, 7, 8]), (2048, &[0xA1; 2048])]);
}

#[test]
fn supported_logs_golden() {
    let log = SupportedLogs::new(&[lid::SUPPORTED, lid::EFFECTS, 0xFF]);
    assert_image(log.as_bytes(), &[(0, &[1]), (20, &[1]), (1020, &[1])]);
    assert!(log.contains(lid::EFFECTS) && !log.contains(lid::SMART));
}

#[test]
fn error_entry_golden() {
    let mut entry = ErrorEntry::new_zeroed();
    entry.error_count = 0x0807_0605_0403_0201.into();
    entry.sqid = 0x0A09.into();
    entry.cid = 0x0C0B.into();
    entry.status_word = 0x0E0D.into();
    entry.parameter_location = 0x100F.into();
    entry.lba = 0x1817_1615_1413_1211.into();
    entry.nsid = 0x1C1B_1A19.into();
    (entry.vendor, entry.trtype, entry.csi, entry.opcode) = (0x1D, 0x1E, 0x1F, 0x20);
    entry.command_specific = 0x2827_2625_2423_2221.into();
    entry.transport_specific = 0x2A29.into();
    entry.reserved_42 = core::array::from_fn(|index| 0x2B + index as u8);
    entry.version = 0x40;
    assert_eq!(entry.as_bytes(), (1..=64).collect::<Vec<u8>>());
    let new = ErrorEntry::new(1, 2, 3, 4, Status::KEY_DOES_NOT_EXIST);
    assert_image(new.as_bytes(), &[(0, &[1]), (8, &[2, 0, 3, 0, 0x0E, 0x81, 0xFF, 0xFF]), (24, &[4])]);
}

#[test]
fn smart_golden() {
    let mut log = Smart::new_zeroed();
    log.critical_warning = 0x01;
    log.temperature_kelvin = 0x0302.into();
    (log.spare_percent, log.spare_threshold_percent, log.used_percent, log.endurance_warning) = (4, 5, 6, 7);
    log.reserved_7 = [0xA1; 25];
    log.data_units_read = 0x100F_0E0D_0C0B_0A09_0807_0605_0403_0201.into();
    log.data_units_written = 0x12.into();
    log.read_commands = 0x13.into();
    log.write_commands = 0x14.into();
    log.busy_minutes = 0x15.into();
    log.power_cycles = 0x16.into();
    log.power_on_hours = 0x17.into();
    log.unsafe_shutdowns = 0x18.into();
    log.media_errors = 0x19.into();
    log.error_entries = 0x1A.into();
    log.warning_minutes = 0x1B.into();
    log.critical_minutes = 0x1C.into();
    log.sensors_kelvin = [0x0201.into(); 8];
    log.thermal_management = [0x0403_0201.into(); 4];
    log.reserved_232 = [0xA2; 280];
    let units: Vec<u8> = (1..=16).collect();
    assert_image(
        log.as_bytes(),
        &[
            (0, &[1, 2, 3, 4, 5, 6, 7]),
            (7, &[0xA1; 25]),
            (32, &units),
            (48, &[0x12]),
            (64, &[0x13]),
            (80, &[0x14]),
            (96, &[0x15]),
            (112, &[0x16]),
            (128, &[0x17]),
            (144, &[0x18]),
            (160, &[0x19]),
            (176, &[0x1A]),
            (192, &[0x1B, 0, 0, 0, 0x1C]),
            (200, &[1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2]),
            (216, &[1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4]),
            (232, &[0xA2; 280]),
        ],
    );
    assert_eq!([0, 1, 512_000, 512_001].map(Smart::data_units), [0, 1, 1, 2]);
}

#[test]
fn firmware_golden() {
    let log = FirmwareSlots::single(*b"SKR 0.1 ");
    assert_image(log.as_bytes(), &[(0, &[1]), (8, b"SKR 0.1 ")]);
    let mut all = FirmwareSlots::new_zeroed();
    all.reserved_1 = [0xA1; 7];
    all.revisions[6] = [0x37; 8];
    all.reserved_64 = [0xA2; 448];
    assert_image(all.as_bytes(), &[(1, &[0xA1; 7]), (56, &[0x37; 8]), (64, &[0xA2; 448])]);
}

proptest! {
    #[test]
    fn pages_are_lossless(bytes in vec(any::<u8>(), 512)) {
        prop_assert_eq!(crate::golden::reencoded::<Smart>(&bytes), &bytes[..]);
        prop_assert_eq!(crate::golden::reencoded::<FirmwareSlots>(&bytes), &bytes[..]);
        prop_assert_eq!(crate::golden::reencoded::<ErrorEntry>(&bytes[..64]), &bytes[..64]);
    }
}
