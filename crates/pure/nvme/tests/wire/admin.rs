// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Admin commands: golden entries, refusals, round trips.

use proptest::prelude::*;
use saker_nvme::admin::{
    AdminCommand, CreateCq, CreateSq, FormatNvm, GetFeatures, GetLogPage, Identify, SetFeatures,
};
use saker_nvme::admin::{FeatureSelect, build, event};
use saker_nvme::{PointerRule, Sqe, Status};
use zerocopy::{FromBytes, IntoBytes};

/// An entry of zeros but for opcode, NSID and the runs given.
#[track_caller]
fn check(sqe: Sqe, opcode: u8, runs: &[(usize, &[u8])], command: AdminCommand) {
    let head: (usize, &[u8]) = (0, &[opcode]);
    crate::golden::assert_image(sqe.as_bytes(), &[&[head], runs].concat());
    assert_eq!(AdminCommand::decode(&sqe), Ok(command));
}

#[test]
fn queue_commands_golden() {
    let sq = CreateSq {
        qid: 0x0201,
        entries: 0x0404,
        contiguous: true,
        priority: 3,
        cqid: 0x0605,
        base: 0x0A09_0807,
    };
    let runs: &[(usize, &[u8])] = &[(24, &[7, 8, 9, 10]), (40, &[1, 2, 3, 4]), (44, &[7, 0, 5, 6])];
    check(build::create_sq(&sq), 0x01, runs, AdminCommand::CreateSq(sq));
    let cq = CreateCq {
        qid: 0x0201,
        entries: 65_536,
        contiguous: false,
        interrupts_enabled: true,
        interrupt_vector: 0x0605,
        base: 0x1000,
    };
    let runs: &[(usize, &[u8])] = &[(24, &[0, 0x10]), (40, &[1, 2, 255, 255]), (44, &[2, 0, 5, 6])];
    check(build::create_cq(&cq), 0x05, runs, AdminCommand::CreateCq(cq));
    let qid: &[(usize, &[u8])] = &[(40, &[1, 2])];
    check(build::delete_sq(0x0201), 0x00, qid, AdminCommand::DeleteSq { qid: 0x0201 });
    check(build::delete_cq(0x0201), 0x04, qid, AdminCommand::DeleteCq { qid: 0x0201 });
    let abort: &[(usize, &[u8])] = &[(40, &[1, 2, 3, 4])];
    check(build::abort(0x0201, 0x0403), 0x08, abort, AdminCommand::Abort { sqid: 0x0201, cid: 0x0403 });
}

#[test]
fn get_log_page_golden() {
    let log = GetLogPage {
        nsid: 0xFFFF_FFFF,
        lid: 0x05,
        lsp: 0x55,
        retain_event: true,
        bytes: (0x0403_0201 + 1) * 4,
        lsi: 0x0605,
        offset: 0x0807_0605_0403_0204,
        offset_is_index: false,
        uuid_index: 0x7F,
        csi: 0x01,
    };
    let runs: &[(usize, &[u8])] = &[
        (4, &[255; 4]),
        (40, &[5, 0xD5, 1, 2, 3, 4, 5, 6]),
        (48, &[4, 2, 3, 4, 5, 6, 7, 8]),
        (56, &[0x7F, 0, 0, 1]),
    ];
    check(build::get_log_page(&log), 0x02, runs, AdminCommand::GetLogPage(log));
    let indexed = GetLogPage { offset: 3, offset_is_index: true, ..log };
    assert_eq!(AdminCommand::decode(&build::get_log_page(&indexed)), Ok(AdminCommand::GetLogPage(indexed)));
    let unaligned = GetLogPage { offset: 3, ..log };
    assert_eq!(AdminCommand::decode(&build::get_log_page(&unaligned)), Err(Status::INVALID_FIELD));
}

#[test]
fn identify_golden() {
    let identify =
        Identify { nsid: 0x0403_0201, cns: 0x05, cntid: 0x0807, specific_id: 0x0A09, csi: 1, uuid_index: 3 };
    let runs: &[(usize, &[u8])] =
        &[(4, &[1, 2, 3, 4]), (40, &[5, 0, 7, 8]), (44, &[9, 10, 0, 1]), (56, &[3])];
    check(build::identify(&identify), 0x06, runs, AdminCommand::Identify(identify));
}

#[test]
fn features_golden() {
    let set = SetFeatures { nsid: 7, fid: 0x20, save: true, cdw11: 0x0403_0201 };
    let runs: &[(usize, &[u8])] = &[(4, &[7]), (40, &[0x20, 0, 0, 0x80]), (44, &[1, 2, 3, 4])];
    check(build::set_features(&set), 0x09, runs, AdminCommand::SetFeatures(set));
    let get = GetFeatures { nsid: 7, fid: 0x19, select: FeatureSelect::Supported, cdw11: 9 };
    let runs: &[(usize, &[u8])] = &[(4, &[7]), (40, &[0x19, 3]), (44, &[9])];
    check(build::get_features(&get), 0x0A, runs, AdminCommand::GetFeatures(get));
    let mut reserved = build::get_features(&get);
    reserved.cdw10 = 0x0419.into();
    assert_eq!(AdminCommand::decode(&reserved), Err(Status::INVALID_FIELD));
}

#[test]
fn short_commands_golden() {
    check(build::async_event_request(), 0x0C, &[], AdminCommand::AsyncEventRequest);
    check(build::keep_alive(), 0x18, &[], AdminCommand::KeepAlive);
    let format = FormatNvm { nsid: 7, format_index: 0x2A, secure_erase: 1 };
    let runs: &[(usize, &[u8])] = &[(4, &[7]), (40, &[0x0A, 0x22])];
    check(build::format_nvm(&format), 0x80, runs, AdminCommand::FormatNvm(format));
}

#[test]
fn event_dw0() {
    assert_eq!(event::dw0(event::EventType::Notice, event::NOTICE_NAMESPACE_CHANGED, 0x04), 0x0004_0002);
    assert_eq!(event::dw0(event::EventType::Smart, 0x12, 0x02), 0x0002_1201);
}

#[test]
fn refusals() {
    let known = [0, 1, 2, 4, 5, 6, 8, 9, 0x0A, 0x0C, 0x18, 0x80];
    for opcode in 0..=255 {
        let mut sqe = Sqe::new(opcode, 0);
        sqe.flags = 0x01;
        let expected = if known.contains(&opcode) { Status::INVALID_FIELD } else { Status::INVALID_OPCODE };
        assert_eq!(AdminCommand::decode(&sqe), Err(expected), "{opcode:#x}");
    }
    let mut fabrics = build::keep_alive();
    fabrics.flags = 0x40;
    assert_eq!(AdminCommand::decode(&fabrics), Err(Status::INVALID_FIELD));
    assert_eq!(AdminCommand::decode_with(&fabrics, PointerRule::Sgl), Ok(AdminCommand::KeepAlive));
}

fn encode(command: &AdminCommand) -> Sqe {
    match command {
        AdminCommand::DeleteSq { qid } => build::delete_sq(*qid),
        AdminCommand::CreateSq(command) => build::create_sq(command),
        AdminCommand::GetLogPage(command) => build::get_log_page(command),
        AdminCommand::DeleteCq { qid } => build::delete_cq(*qid),
        AdminCommand::CreateCq(command) => build::create_cq(command),
        AdminCommand::Identify(command) => build::identify(command),
        AdminCommand::Abort { sqid, cid } => build::abort(*sqid, *cid),
        AdminCommand::SetFeatures(command) => build::set_features(command),
        AdminCommand::GetFeatures(command) => build::get_features(command),
        AdminCommand::AsyncEventRequest => build::async_event_request(),
        AdminCommand::KeepAlive => build::keep_alive(),
        AdminCommand::FormatNvm(command) => build::format_nvm(command),
    }
}

proptest! {
    /// Random entries of known opcodes: never a panic, and what decodes encodes to an entry that decodes alike.
    #[test]
    fn decode_encode_decode(
        head: [u8; 32], tail: [u8; 32],
        opcode in proptest::sample::select(vec![0_u8, 1, 2, 4, 5, 6, 8, 9, 0x0A, 0x0C, 0x18, 0x80]),
    ) {
        let mut sqe = Sqe::read_from_bytes(&[head, tail].concat()).unwrap();
        sqe.opcode = opcode;
        sqe.flags &= 0x3C;
        if let Ok(command) = AdminCommand::decode(&sqe) {
            prop_assert_eq!(AdminCommand::decode(&encode(&command)), Ok(command));
        }
    }
}
