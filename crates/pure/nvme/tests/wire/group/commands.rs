// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The entries that carry groups.

use saker_nvme::group::{Form, GroupCommand, Op};
use saker_nvme::sqe::Direction;
use saker_nvme::vendor_specific::opcode;
use saker_nvme::{Key, Sqe, Status};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

fn id() -> Key {
    Key::new(b"identification16").unwrap()
}

fn all() -> [GroupCommand; 8] {
    [
        GroupCommand::OneWay { id: None, form: Form::All(Op::Store), bytes: 608 },
        GroupCommand::OneWay { id: Some(id()), form: Form::Mixed, bytes: 40 },
        GroupCommand::BothWays { form: Form::All(Op::Retrieve), bytes: 44, buffer_bytes: 4096 },
        GroupCommand::Results { id: Key::new(b"x").unwrap(), buffer_bytes: 8192 },
        GroupCommand::Prefetch { id: id(), bytes: 100 },
        GroupCommand::Vector { pages: false, bytes: 56 },
        GroupCommand::Vector { pages: true, bytes: 80 },
        GroupCommand::Bulk { bytes: 3196 },
    ]
}

#[test]
fn round_trips() {
    for command in all() {
        assert_eq!(GroupCommand::decode(&command.encode(7)), Ok(command));
    }
}

#[test]
fn golden_bytes() {
    let sqe = GroupCommand::OneWay { id: Some(id()), form: Form::Mixed, bytes: 0x0102_0304 }.encode(9);
    let mut drawn = [0_u8; 64];
    (drawn[0], drawn[4]) = (0xC5, 9);
    drawn[8..16].copy_from_slice(b"identifi");
    drawn[40..44].copy_from_slice(&[4, 3, 2, 1]);
    (drawn[44], drawn[48]) = (16, 5);
    drawn[56..64].copy_from_slice(b"cation16");
    assert_eq!(sqe.as_bytes(), drawn);
}

#[test]
fn opcodes_tell_the_direction() {
    let expected = [
        (opcode::GROUP, Direction::HostToController),
        (opcode::GROUP_BOTH_WAYS, Direction::Bidirectional),
        (opcode::GROUP_RESULTS, Direction::ControllerToHost),
        (opcode::GROUP_PREFETCH, Direction::HostToController),
        (opcode::GROUP_VECTOR, Direction::HostToController),
        (opcode::BULK_PUT, Direction::HostToController),
    ];
    for (opcode, direction) in expected {
        assert_eq!(Direction::of(opcode), direction);
    }
}

#[test]
fn refused_entries() {
    let good = all()[1].encode(1);
    let with = |change: fn(&mut Sqe)| {
        let mut sqe = good;
        change(&mut sqe);
        GroupCommand::decode(&sqe)
    };
    let refused: [fn(&mut Sqe); 8] = [
        |s| s.nsid = U32::new(u32::MAX),
        |s| s.flags = 1,
        |s| s.flags = 0x40,
        |s| s.cdw12 = U32::new(0),
        |s| s.cdw12 = U32::new(6),
        |s| s.cdw12 = U32::new(0x0105),
        |s| s.cdw11 = U32::new(0x0110),
        |s| s.cdw11 = U32::new(17),
    ];
    for change in refused {
        assert_eq!(with(change), Err(Status::INVALID_FIELD));
    }
    // Reads without a name, results without one, a buffer shorter than the payload.
    let unnamed = GroupCommand::OneWay { id: None, form: Form::All(Op::Exist), bytes: 12 };
    assert_eq!(GroupCommand::decode(&unnamed.encode(1)), Err(Status::INVALID_FIELD));
    let short = GroupCommand::BothWays { form: Form::Mixed, bytes: 12, buffer_bytes: 11 };
    assert_eq!(GroupCommand::decode(&short.encode(1)), Err(Status::INVALID_FIELD));
    let mut results = all()[3].encode(1);
    results.cdw11 = U32::new(0);
    assert_eq!(GroupCommand::decode(&results), Err(Status::INVALID_FIELD));
    assert_eq!(GroupCommand::decode(&Sqe::new(1, 1)), Err(Status::INVALID_OPCODE));
}

#[test]
fn comparators_have_no_name_and_few_flags() {
    let vector = GroupCommand::Vector { pages: true, bytes: 80 }.encode(1);
    let bulk = GroupCommand::Bulk { bytes: 80 }.encode(1);
    assert_eq!((vector.opcode, vector.cdw12.get()), (0xD1, 1));
    assert_eq!((bulk.opcode, bulk.cdw12.get()), (0xD5, 0));
    let flags = |sqe: Sqe, flags: u32| GroupCommand::decode(&Sqe { cdw12: U32::new(flags), ..sqe });
    assert_eq!(flags(vector, 2), Err(Status::INVALID_FIELD));
    assert_eq!(flags(bulk, 1), Err(Status::INVALID_FIELD));
    for sqe in [vector, bulk] {
        assert_eq!(GroupCommand::decode(&sqe.with_key(&id())), Err(Status::INVALID_FIELD));
    }
}
