// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Submission and completion queue entries.

use proptest::prelude::*;
use saker_nvme::sqe::{Direction, Psdt};
use saker_nvme::{Cqe, PointerRule, Sqe, Status};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, IntoBytes};

#[test]
fn sqe_has_each_field_at_its_place() {
    let sqe = Sqe {
        opcode: 0x01,
        flags: 0x02,
        cid: U16::new(0x0403),
        nsid: U32::new(0x0807_0605),
        cdw2: U32::new(0x0C0B_0A09),
        cdw3: U32::new(0x100F_0E0D),
        mptr: U64::new(0x1817_1615_1413_1211),
        prp1: U64::new(0x201F_1E1D_1C1B_1A19),
        prp2: U64::new(0x2827_2625_2423_2221),
        cdw10: U32::new(0x2C2B_2A29),
        cdw11: U32::new(0x302F_2E2D),
        cdw12: U32::new(0x3433_3231),
        cdw13: U32::new(0x3837_3635),
        cdw14: U32::new(0x3C3B_3A39),
        cdw15: U32::new(0x403F_3E3D),
    };
    let expected: Vec<u8> = (1..=64).collect();
    assert_eq!(sqe.as_bytes(), expected);
}

#[test]
fn sqe_builder_writes_nothing_else() {
    let sqe = Sqe::new(0x7F, 0x0102_0304).with_cid(0xBEEF).with_prp(0x1000, 0x2000);
    crate::golden::assert_image(
        sqe.as_bytes(),
        &[(0, &[0x7F, 0, 0xEF, 0xBE, 4, 3, 2, 1]), (25, &[0x10]), (33, &[0x20])],
    );
}

#[test]
fn flags_are_split_and_judged() {
    let cases = [
        (0x00, Psdt::Prp, 0, true, false, true),
        (0x40, Psdt::Sgl, 0, false, true, true),
        (0x80, Psdt::SglMetadataSgl, 0, false, true, true),
        (0xC0, Psdt::Reserved, 0, false, false, false),
        (0x01, Psdt::Prp, 1, false, false, false),
        (0x42, Psdt::Sgl, 2, false, false, false),
        (0x3C, Psdt::Prp, 0, true, false, true),
    ];
    for (flags, psdt, fuse, prp, sgl, any) in cases {
        let mut sqe = Sqe::new(0, 1);
        sqe.flags = flags;
        assert_eq!((sqe.psdt(), sqe.fuse()), (psdt, fuse), "{flags:#x}");
        for (rule, admitted) in [(PointerRule::Prp, prp), (PointerRule::Sgl, sgl), (PointerRule::Any, any)] {
            let expected = if admitted { Ok(()) } else { Err(Status::INVALID_FIELD) };
            assert_eq!(sqe.check_flags(rule), expected, "{flags:#x} {rule:?}");
        }
    }
}

#[test]
fn opcode_tells_direction() {
    use Direction::{Bidirectional, ControllerToHost, HostToController, None};
    let cases = [(0x10, None), (0x14, None), (0x01, HostToController), (0x09, HostToController)];
    let more = [(0x02, ControllerToHost), (0x06, ControllerToHost), (0x7F, Bidirectional)];
    for (opcode, direction) in cases.into_iter().chain(more) {
        assert_eq!(Direction::of(opcode), direction, "{opcode:#x}");
    }
}

#[test]
fn cqe_golden() {
    let cqe = Cqe::new(0x0807_0605_0403_0201, 0x0A09, 0x0C0B, 0x0E0D, Status::KEY_DOES_NOT_EXIST);
    let mut expected = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0x0E, 0x81];
    assert_eq!(cqe.as_bytes(), expected);
    expected[14] = 0x0F;
    assert_eq!(cqe.with_phase(true).as_bytes(), expected);
    assert_eq!(cqe.result_dw0(), 0x0403_0201);
    assert_eq!(cqe.result(), 0x0807_0605_0403_0201);
}

proptest! {
    #[test]
    fn sqe_is_lossless(bytes: [u8; 32], tail: [u8; 32]) {
        let bytes = [bytes, tail].concat();
        prop_assert_eq!(crate::golden::reencoded::<Sqe>(&bytes), &bytes[..]);
    }

    #[test]
    fn cqe_is_lossless_and_phase_is_apart(bytes: [u8; 16], phase: bool) {
        let cqe = Cqe::read_from_bytes(&bytes).unwrap();
        prop_assert_eq!(cqe.as_bytes(), bytes);
        let rebuilt = Cqe::new(cqe.result(), cqe.sqhd.get(), cqe.sqid.get(), cqe.cid.get(), cqe.status());
        prop_assert_eq!(rebuilt.with_phase(cqe.phase()), cqe);
        prop_assert_eq!(cqe.with_phase(phase).status(), cqe.status());
        prop_assert_eq!(cqe.with_phase(phase).phase(), phase);
    }
}
