//! Logical block commands.

use proptest::prelude::*;
use saker_nvme::nvm::{self, BlockRange, CountError, DsmRange, NvmCommand};
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
    assert_eq!(nvm::flush(9).as_bytes(), crate::golden::image(64, &[(4, &[9])]));
    let range = DsmRange {
        attributes: 0x0403_0201.into(),
        blocks: 0x0807_0605.into(),
        slba: 0x100F_0E0D_0C0B_0A09.into(),
    };
    assert_eq!(range.as_bytes(), (1..=16).collect::<Vec<u8>>());
    assert_eq!(DsmRange::new(3, 2).as_bytes(), [0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn counts_are_checked() {
    for blocks in [0, 65_537] {
        let range = BlockRange { slba: 0, blocks };
        assert_eq!(nvm::read(1, range, false), Err(CountError { count: blocks, max: 65_536 }));
    }
    assert_eq!(nvm::deallocate(1, 257), Err(CountError { count: 257, max: 256 }));
    assert_eq!(nvm::deallocate(1, 0), Err(CountError { count: 0, max: 256 }));
}

#[test]
fn refusals() {
    assert_eq!(NvmCommand::decode(&Sqe::new(0x05, 1)), Err(Status::INVALID_OPCODE));
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
