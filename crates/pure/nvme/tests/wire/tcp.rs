// SPDX-License-Identifier: Apache-2.0 OR MIT
//! PDUs of NVMe/TCP.

use saker_nvme::tcp::{
    CapsuleCmd, CapsuleResp, CommonHeader, DataPdu, FatalError, IcReq, IcResp, R2t, TermReq, pdu_type,
};
use saker_nvme::{Cqe, Sqe, Status};
use zerocopy::IntoBytes;

use crate::golden::{assert_image, reencoded};

#[test]
fn connection_golden() {
    let request = IcReq::new(3);
    assert_image(request.as_bytes(), &[(0, &[0, 0, 128, 0, 128]), (11, &[3])]);
    let response = IcResp::new(1, 0x0002_0000);
    assert_image(response.as_bytes(), &[(0, &[1, 0, 128, 0, 128]), (11, &[1, 0, 0, 2])]);
}

#[test]
fn capsules_golden() {
    let command = CapsuleCmd::new(Sqe::new(0x02, 7).with_cid(0x0201));
    assert_image(command.as_bytes(), &[(0, &[4, 0, 72, 0, 72]), (8, &[2, 0, 1, 2, 7])]);
    let cqe = Cqe::new(0x55, 3, 0, 0x0201, Status::KEY_DOES_NOT_EXIST);
    let response = CapsuleResp::new(cqe);
    let runs: [(usize, &[u8]); 4] =
        [(0, &[5, 0, 24, 0, 24]), (8, &[0x55]), (16, &[3]), (20, &[1, 2, 0x0E, 0x81])];
    assert_image(response.as_bytes(), &runs);
}

#[test]
fn data_golden() {
    let data = DataPdu::h2c(0x0102, 0x0304, 0x0506_0708, 0x090A_0B0C);
    let fields = [2, 1, 4, 3, 8, 7, 6, 5, 12, 11, 10, 9];
    assert_image(data.as_bytes(), &[(0, &[6, 0, 24, 0, 24]), (8, &fields)]);
    let data = DataPdu::c2h(0x0102, 4, 8);
    assert_image(data.as_bytes(), &[(0, &[7, 0, 24, 0, 24]), (8, &[2, 1, 0, 0, 4, 0, 0, 0, 8])]);
    let ready = R2t::new(0x0102, 0x0304, 0x0506_0708, 0x090A_0B0C);
    assert_image(ready.as_bytes(), &[(0, &[9, 0, 24, 0, 24]), (8, &fields)]);
}

#[test]
fn termination_golden() {
    let request = TermReq::from_controller(FatalError::HeaderField(0x0A), 24);
    assert_image(request.as_bytes(), &[(0, &[3, 0, 24, 0, 48]), (8, &[1, 0, 10])]);
    let request = TermReq::from_host(FatalError::HeaderDigest(0x0403_0201), 0);
    assert_image(request.as_bytes(), &[(0, &[2, 0, 24, 0, 24]), (8, &[3, 0, 1, 2, 3, 4])]);
    let fes: Vec<u16> =
        [FatalError::Sequence, FatalError::OutOfRange, FatalError::Limit, FatalError::Unsupported(9)]
            .map(FatalError::fes)
            .to_vec();
    assert_eq!(fes, [2, 4, 5, 6]);
}

#[test]
fn header_lengths_of_types() {
    let lengths: Vec<_> = (0..=10).map(CommonHeader::hlen_of).collect();
    let some = |n| Some(n);
    let expected = [
        some(128),
        some(128),
        some(24),
        some(24),
        some(72),
        some(24),
        some(24),
        some(24),
        None,
        some(24),
        None,
    ];
    assert_eq!(lengths, expected);
    assert_eq!(CommonHeader::hlen_of(pdu_type::CAPSULE_CMD), some(72));
}

#[test]
fn any_bytes_survive() {
    let bytes: Vec<u8> = (0..128).map(|n| n as u8 ^ 0xA5).collect();
    assert_eq!(reencoded::<IcReq>(&bytes), bytes);
    assert_eq!(reencoded::<IcResp>(&bytes), bytes);
    assert_eq!(reencoded::<CapsuleCmd>(&bytes[..72]), &bytes[..72]);
    assert_eq!(reencoded::<DataPdu>(&bytes[..24]), &bytes[..24]);
    assert_eq!(reencoded::<R2t>(&bytes[..24]), &bytes[..24]);
    assert_eq!(reencoded::<TermReq>(&bytes[..24]), &bytes[..24]);
}
