// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands whose key is elsewhere.

use proptest::prelude::*;
use saker_nvme::kv::StoreOptions;
use saker_nvme::sqe::Direction;
use saker_nvme::vendor_specific::{IndirectCommand, IndirectOp, is_indirect};
use saker_nvme::{NSID_ALL, Sqe, Status};
use zerocopy::IntoBytes;

fn store() -> IndirectCommand {
    let op = IndirectOp::Store { value_bytes: 0x0102_0304, options: StoreOptions::MUST_EXIST };
    IndirectCommand { op, key_address: 0x1122_3344_5566_7788, key_bytes: 23 }
}

#[test]
fn golden_bytes() {
    let mut drawn = [0_u8; 64];
    (drawn[0], drawn[4]) = (0xCD, 9);
    drawn[8..16].copy_from_slice(&[0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]);
    drawn[40..44].copy_from_slice(&[4, 3, 2, 1]);
    drawn[44..46].copy_from_slice(&[23, 1]);
    assert_eq!(store().encode(9).as_bytes(), drawn);
}

#[test]
fn opcodes_tell_the_direction() {
    let expected = [
        (0xCD, Direction::HostToController),
        (0xCE, Direction::ControllerToHost),
        (0xDC, Direction::None),
        (0xE0, Direction::None),
    ];
    for (code, direction) in expected {
        assert!(is_indirect(code) && Direction::of(code) == direction);
    }
    assert_eq!((0..=255).filter(|code| is_indirect(*code)).count(), 4);
}

#[test]
fn what_is_reserved_or_too_short_is_refused() {
    let good = store().encode(1);
    assert_eq!(IndirectCommand::decode(&good), Ok(store()));
    let (field, size) = (Status::INVALID_FIELD, Status::INVALID_KEY_SIZE);
    let cdw11 = |cdw11: u32| Sqe { cdw11: cdw11.into(), ..good };
    for (sqe, status) in [
        (Sqe { nsid: NSID_ALL.into(), ..good }, field),
        (Sqe { flags: 1, ..good }, field),
        (Sqe { flags: 0x40, ..good }, field),
        (Sqe { cdw14: 1.into(), ..good }, field),
        (Sqe { cdw15: 1.into(), ..good }, field),
        (cdw11(1 << 16 | 23), field),
        (cdw11(0x0300 | 23), field),
        (cdw11(16), size),
        (cdw11(0), size),
        (Sqe { opcode: 0x01, ..good }, Status::INVALID_OPCODE),
    ] {
        assert_eq!(IndirectCommand::decode(&sqe), Err(status), "{sqe:?}");
    }
}

proptest! {
    #[test]
    fn round_trips(key_address: u64, key_bytes in 17_u8.., bytes: u32, which in 0..4) {
        let op = match which {
            0 => IndirectOp::Store { value_bytes: bytes, options: StoreOptions::MUST_NOT_EXIST },
            1 => IndirectOp::Retrieve { buffer_bytes: bytes },
            2 => IndirectOp::Delete,
            _ => IndirectOp::Exist,
        };
        let command = IndirectCommand { op, key_address, key_bytes };
        prop_assert_eq!(IndirectCommand::decode(&command.encode(3)), Ok(command));
        prop_assert_eq!(command.data_bytes(), if which < 2 { bytes } else { 0 });
    }
}
