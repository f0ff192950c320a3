// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Logical block commands.

use proptest::prelude::*;
use saker_nvme::nvm::{self, BlockRange, CopyCommand, CopyRange, CountError, DsmRange, NvmCommand};
use saker_nvme::{NSID_ALL, Sqe, Status};
use zerocopy::{FromBytes, IntoBytes};

const RANGE: BlockRange = BlockRange { slba: 0x0807_0605_0403_0201, blocks: 0x0B0B };

#[test]
fn golden_entries() {
    let lba = [1, 2, 3, 4, 5, 6, 7, 8];
    let image = |opcode, fua| {
        crate::golden::image(64, &[(0, &[opcode]), (4, &[9]), (40, &lba), (48, &[0x0A, 0x0B, 0, fua])])
    };
    assert_eq!(nvm::write(9, RANGE, true).unwrap().as_bytes(), image(1, 0x40));
    assert_eq!(nvm::read(9, RANGE, false).unwrap().as_bytes(), image(2, 0));
    let trim = crate::golden::image(64, &[(0, &[9]), (4, &[9]), (40, &[255]), (44, &[4])]);
    assert_eq!(nvm::deallocate(9, 256).unwrap().as_bytes(), trim);
    assert_eq!(nvm::compare(9, RANGE, true).unwrap().as_bytes(), image(5, 0x40));
    assert_eq!(nvm::verify(9, RANGE).unwrap().as_bytes(), image(0x0C, 0));
    // DEAC is bit 25, FUA bit 30.
    assert_eq!(nvm::write_zeroes(9, RANGE, true, true).unwrap().as_bytes(), image(8, 0x42));
    assert_eq!(nvm::write_zeroes(9, RANGE, false, false).unwrap().as_bytes(), image(8, 0));
    let command = CopyCommand { to: RANGE.slba, ranges: 256, format: 2, force_unit_access: true };
    let copy = crate::golden::image(64, &[(0, &[0x19]), (4, &[9]), (40, &lba), (48, &[255, 2, 0, 0x40])]);
    assert_eq!(nvm::copy(9, command).unwrap().as_bytes(), copy);
    assert_eq!(nvm::flush(9).as_bytes(), crate::golden::image(64, &[(4, &[9])]));
    let range = DsmRange {
        attributes: 0x0403_0201.into(),
        blocks: 0x0807_0605.into(),
        slba: 0x100F_0E0D_0C0B_0A09.into(),
    };
    assert_eq!(range.as_bytes(), (1..=16).collect::<Vec<u8>>());
    let range = CopyRange {
        reserved_0: [1, 2, 3, 4, 5, 6, 7, 8],
        slba: 0x100F_0E0D_0C0B_0A09.into(),
        nlb: 0x1211.into(),
        reserved_18: [0x13, 0x14, 0x15, 0x16, 0x17, 0x18],
        reference_tag: 0x1C1B_1A19.into(),
        application_tag_mask: 0x1E1D.into(),
        application_tag: 0x201F.into(),
    };
    assert_eq!(range.as_bytes(), (1..=32).collect::<Vec<u8>>());
    let three = CopyRange::new(BlockRange { slba: 2, blocks: 3 }).unwrap();
    assert_eq!(three.as_bytes(), crate::golden::image(32, &[(8, &[2]), (16, &[2])]));
    assert_eq!(DsmRange::new(3, 2).as_bytes(), [0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn counts_are_checked() {
    for blocks in [0, 65_537] {
        let range = BlockRange { slba: 0, blocks };
        assert_eq!(nvm::read(1, range, false), Err(CountError { count: blocks, max: 65_536 }));
    }
    assert_eq!(nvm::deallocate(1, 257), Err(CountError { count: 257, max: 256 }));
    for ranges in [0, 257] {
        let command = CopyCommand { to: 0, ranges, format: 0, force_unit_access: false };
        assert_eq!(nvm::copy(1, command), Err(CountError { count: ranges, max: 256 }));
    }
    let blocks = 65_537;
    let long = CopyRange::new(BlockRange { slba: 0, blocks });
    assert_eq!(long, Err(CountError { count: blocks, max: 65_536 }));
    assert_eq!(nvm::deallocate(1, 0), Err(CountError { count: 0, max: 256 }));
}

#[test]
fn refusals() {
    assert_eq!(NvmCommand::decode(&Sqe::new(0x04, 1)), Err(Status::INVALID_OPCODE));
    let mut all = nvm::read(NSID_ALL, RANGE, false).unwrap();
    assert_eq!(NvmCommand::decode(&all), Err(Status::INVALID_FIELD));
    all = nvm::flush(NSID_ALL);
    assert_eq!(NvmCommand::decode(&all), Ok(NvmCommand::Flush));
    all.flags = 1;
    assert_eq!(NvmCommand::decode(&all), Err(Status::INVALID_FIELD));
}

proptest! {
    #[test]
    fn round_trips(slba: u64, blocks in 1_u32..=65_536, force_unit_access: bool, ranges in 1_u32..=256) {
        let range = BlockRange { slba, blocks };
        let read = nvm::read(1, range, force_unit_access).unwrap();
        prop_assert_eq!(NvmCommand::decode(&read), Ok(NvmCommand::Read { range, force_unit_access }));
        let write = nvm::write(1, range, force_unit_access).unwrap();
        prop_assert_eq!(NvmCommand::decode(&write), Ok(NvmCommand::Write { range, force_unit_access }));
        let compare = nvm::compare(1, range, force_unit_access).unwrap();
        prop_assert_eq!(NvmCommand::decode(&compare), Ok(NvmCommand::Compare { range, force_unit_access }));
        let verify = nvm::verify(1, range).unwrap();
        prop_assert_eq!(NvmCommand::decode(&verify), Ok(NvmCommand::Verify { range, force_unit_access: false }));
        for deallocate in [false, true] {
            let zero = nvm::write_zeroes(1, range, force_unit_access, deallocate).unwrap();
            let decoded = NvmCommand::WriteZeroes { range, force_unit_access, deallocate };
            prop_assert_eq!(NvmCommand::decode(&zero), Ok(decoded));
        }
        let command = CopyCommand { to: slba, ranges, format: (blocks & 15) as u8, force_unit_access };
        prop_assert_eq!(NvmCommand::decode(&nvm::copy(1, command).unwrap()), Ok(NvmCommand::Copy(command)));
        prop_assert_eq!(CopyRange::new(range).unwrap().range(), range);
        let trim = nvm::deallocate(1, ranges).unwrap();
        prop_assert_eq!(NvmCommand::decode(&trim), Ok(NvmCommand::DatasetManagement { ranges, deallocate: true }));
    }

    #[test]
    fn hostile_entries_never_panic(head: [u8; 32], tail: [u8; 32]) {
        let sqe = Sqe::read_from_bytes(&[head, tail].concat()).unwrap();
        if let Ok(NvmCommand::Read { range, .. }) = NvmCommand::decode(&sqe) {
            prop_assert!((1..=65_536).contains(&range.blocks));
        }
    }
}
