// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fabrics commands and the discovery log.

use proptest::prelude::*;
use saker_nvme::fabrics::{
    self, Connect, ConnectData, DiscoveryEntry, DiscoveryHeader, FabricsCommand, InvalidParameter,
};
use saker_nvme::{Sqe, Status};
use zerocopy::IntoBytes;

use crate::golden::{assert_image, image, reencoded};

#[test]
fn connect_golden() {
    let connect =
        Connect { record_format: 0, qid: 0x0102, sqsize: 0x7F, no_flow_control: true, keep_alive_ms: 5000 };
    let sqe = connect.encode();
    let runs: [(usize, &[u8]); 4] =
        [(0, &[0x7F, 0x40]), (4, &[1]), (42, &[2, 1, 0x7F, 0, 4]), (48, &[0x88, 0x13])];
    assert_image(sqe.as_bytes(), &runs);
    assert_eq!(FabricsCommand::decode(&sqe), Ok(FabricsCommand::Connect(connect)));
}

#[test]
fn properties_golden() {
    let get = fabrics::property_get(fabrics::property::CAP, true);
    assert_image(get.as_bytes(), &[(0, &[0x7F, 0x40]), (4, &[4]), (40, &[1])]);
    let set = fabrics::property_set(fabrics::property::CC, false, 0x0046_0061);
    assert_image(set.as_bytes(), &[(0, &[0x7F, 0x40]), (44, &[0x14]), (48, &[0x61, 0, 0x46])]);
    let command = FabricsCommand::PropertySet { offset: 0x14, wide: false, value: 0x0046_0061 };
    assert_eq!(FabricsCommand::decode(&set), Ok(command));
    assert_image(fabrics::disconnect().as_bytes(), &[(0, &[0x7F, 0x40]), (4, &[8])]);
}

#[test]
fn refusals() {
    let mut sqe = fabrics::property_get(0, true);
    sqe.cdw10.set(2);
    assert_eq!(FabricsCommand::decode(&sqe), Err(Status::INVALID_FIELD));
    assert_eq!(FabricsCommand::decode(&Sqe::new(0x7F, 4)), Err(Status::INVALID_FIELD), "PRPs");
    for unknown in [0x02, 0x03, 0x07, 0x09, 0xFF] {
        let mut sqe = fabrics::disconnect();
        sqe.nsid.set(unknown);
        assert_eq!(FabricsCommand::decode(&sqe), Err(Status::INVALID_OPCODE));
    }
}

#[test]
fn connect_data_golden() {
    let runs: [(usize, &[u8]); 4] = [(0, &[9; 16]), (16, &[0xFF, 0xFF]), (256, b"nqn.a"), (512, b"nqn.host")];
    let bytes = image(1024, &runs);
    assert_eq!(reencoded::<ConnectData>(&bytes), bytes);
    let mut data = ConnectData::empty();
    (data.hostid, data.cntlid) = ([9; 16], ConnectData::ANY_CONTROLLER.into());
    data.subnqn = fabrics::nqn_field("nqn.a").unwrap();
    data.hostnqn = fabrics::nqn_field("nqn.host").unwrap();
    assert_eq!(data.as_bytes(), bytes);
    assert_eq!(fabrics::nqn_of(&data.subnqn), Some("nqn.a"));
}

#[test]
fn invalid_parameters_point_at_their_field() {
    let dw0 = [InvalidParameter::QID, InvalidParameter::SQSIZE, InvalidParameter::CNTLID].map(|p| p.dw0());
    assert_eq!(dw0, [42, 44, 0x1_0010]);
    assert_eq!([InvalidParameter::SUBNQN.dw0(), InvalidParameter::HOSTNQN.dw0()], [0x1_0100, 0x1_0200]);
}

#[test]
fn discovery_golden() {
    let header = DiscoveryHeader::new(0x0304, 2);
    assert_image(header.as_bytes(), &[(0, &[4, 3]), (8, &[2])]);
    let name = fabrics::nqn_field("nqn.x").unwrap();
    let entry = DiscoveryEntry::tcp(name, false, "127.0.0.1", 4420);
    let runs: [(usize, &[u8]); 5] =
        [(0, &[3, 1, 2]), (6, &[0xFF, 0xFF, 32]), (32, b"4420"), (256, b"nqn.x"), (512, b"127.0.0.1")];
    assert_image(entry.as_bytes(), &runs);
    let entry = DiscoveryEntry::tcp(name, true, "::1", 7);
    assert_eq!(
        (entry.adrfam, &entry.trsvcid[..3], &entry.traddr[..4]),
        (2, b"7\0\0".as_slice(), b"::1\0".as_slice())
    );
}

#[test]
fn names_have_1_to_223_bytes() {
    assert!(fabrics::nqn_field("").is_none() && fabrics::nqn_field(&"x".repeat(224)).is_none());
    let longest = fabrics::nqn_field(&"x".repeat(223)).unwrap();
    assert_eq!(fabrics::nqn_of(&longest).map(str::len), Some(223));
    assert_eq!(fabrics::nqn_of(&[b'x'; 256]), None, "no NUL");
    assert_eq!(fabrics::nqn_of(&[0; 256]), None, "empty");
    let mut bad = longest;
    bad[3] = 0xFF;
    assert_eq!(fabrics::nqn_of(&bad), None, "not UTF-8");
}

proptest! {
    #[test]
    fn any_entry_decodes_or_is_refused(bytes: [u8; 64]) {
        let mut sqe: Sqe = zerocopy::transmute!(bytes);
        sqe.opcode = fabrics::OPCODE;
        match FabricsCommand::decode(&sqe) {
            Ok(FabricsCommand::Connect(connect)) => {
                prop_assert_eq!(FabricsCommand::decode(&connect.encode()), Ok(FabricsCommand::Connect(connect)));
            }
            Ok(FabricsCommand::PropertyGet { offset, wide }) => {
                let again = fabrics::property_get(offset, wide);
                prop_assert_eq!(FabricsCommand::decode(&again), FabricsCommand::decode(&sqe));
            }
            Ok(FabricsCommand::PropertySet { offset, wide, value }) => {
                let again = fabrics::property_set(offset, wide, value);
                prop_assert_eq!(FabricsCommand::decode(&again), FabricsCommand::decode(&sqe));
            }
            Ok(FabricsCommand::Authenticate(command)) => {
                let again = FabricsCommand::decode(&command.encode());
                prop_assert_eq!(again, Ok(FabricsCommand::Authenticate(command)));
            }
            Ok(FabricsCommand::Disconnect) => prop_assert_eq!(sqe.fctype(), 8),
            Err(status) => prop_assert!(status == Status::INVALID_OPCODE || status == Status::INVALID_FIELD),
        }
    }
}
