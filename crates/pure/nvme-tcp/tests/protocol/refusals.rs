// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every kind of malformed PDU ends the connection with the right words (NVMe/TCP 1.0, sections 3.1 and 3.3.2), and
//! every malformed data pointer ends only its command.

use saker_nvme::sgl::{SglDescriptor, kind};
use saker_nvme::tcp::{CapsuleCmd, DataPdu, IcReq, TermReq, flag};
use saker_nvme::vendor_specific::opcode;
use saker_nvme::{Cqe, Sqe, Status};
use saker_nvme_tcp::{Target, TargetLimits, crc32c};
use zerocopy::{FromBytes, IntoBytes};

use crate::support::{capsule, drain, header, open_target, termination, transport};

/// Feeds `bytes` and returns FES and FEI of the answer.
#[track_caller]
fn fatal(target: &mut Target, bytes: &[u8]) -> (u16, u32) {
    target.feed(bytes);
    assert!(target.has_ended() && target.error().is_some());
    let (kind, fes, fei) = termination(&drain(target.output(), usize::MAX));
    assert_eq!(kind, 3, "C2HTermReq");
    assert_eq!(target.memory(), target.output().pending(), "no command's memory is kept");
    (fes, fei)
}

#[test]
fn the_handshake_comes_first_and_once() {
    let mut target = Target::new(TargetLimits::default());
    assert_eq!(fatal(&mut target, &capsule(Sqe::new(1, 1), transport(0), &[])), (2, 0));
    let mut target = open_target(0, 8);
    assert_eq!(fatal(&mut target, IcReq::new(0).as_bytes()), (2, 0));
}

#[test]
fn bad_handshakes() {
    type Spoil = fn(&mut IcReq);
    let cases: [(Spoil, (u16, u32)); 7] = [
        (|r| r.ch.hlen = 255, (1, 2)),
        (|r| r.ch.plen.set(129), (1, 4)),
        (|r| r.ch.plen.set(u32::MAX), (1, 4)),
        (|r| r.ch.flags = 1, (1, 1)),
        (|r| r.pfv.set(1), (6, 8)),
        (|r| r.hpda = 32, (1, 10)),
        (|r| r.dgst = 4, (1, 11)),
    ];
    for (spoil, expected) in cases {
        let mut target = Target::new(TargetLimits::default());
        let mut request = IcReq::new(0);
        spoil(&mut request);
        assert_eq!(fatal(&mut target, request.as_bytes()), expected);
    }
}

#[test]
fn bad_common_headers() {
    let cases = [
        (header(0x08, 0, 24, 0, 24), (1, 0)),
        (header(0xFF, 0, 24, 0, 24), (1, 0)),
        (header(4, 0, 255, 0, 255), (1, 2)),
        (header(4, 0, 0, 0, 0), (1, 2)),
        (header(4, 0, 72, 0, 0), (1, 3)),
        (header(4, 0, 72, 72, 71), (1, 4)),
        (header(4, 0, 72, 72, u32::MAX), (1, 4)),
        (header(4, 0, 72, 72, 72 + 8193), (1, 4)),
        (header(4, 0, 72, 71, 80), (1, 3)),
        (header(4, 0, 72, 73, 80), (1, 3)),
        (header(4, flag::HEADER_DIGEST, 72, 0, 72), (1, 1)),
        (header(4, flag::DATA_DIGEST, 72, 0, 72), (1, 1)),
        (header(4, flag::DATA_DIGEST, 72, 72, 80), (1, 1)),
        (header(6, 0, 24, 24, 24 + TargetLimits::default().h2c_data_max + 1), (5, 0)),
        (header(6, 0, 24, 25, 32), (1, 3)),
    ];
    for (bytes, expected) in cases {
        assert_eq!(fatal(&mut open_target(0, 8), &bytes), expected, "{bytes:?}");
    }
    // PDUs of the other direction.
    for pdu_type in [1, 3, 5, 7, 9] {
        let bytes = header(pdu_type, 0, if pdu_type == 1 { 128 } else { 24 }, 0, 24);
        assert_eq!(fatal(&mut open_target(0, 8), &bytes), (2, 0), "type {pdu_type}");
    }
}

#[test]
fn a_wrong_header_digest_is_told_back() {
    let mut target = open_target(1, 8);
    let mut pdu = CapsuleCmd::new(Sqe::new(0, 1).with_sgl(&transport(0)));
    (pdu.ch.flags, pdu.ch.plen) = (1, 76.into());
    let good = [pdu.as_bytes(), &crc32c(pdu.as_bytes()).to_le_bytes()].concat();
    target.feed(&good);
    assert!(target.next_command().is_some());
    let mut bad = good;
    bad[9] ^= 1;
    let digest = u32::from_le_bytes(bad[72..].try_into().unwrap());
    assert_eq!(fatal(&mut target, &bad), (3, digest));
    let sent = drain(target.output(), usize::MAX);
    assert_eq!(sent[24..], bad[..], "the offending header comes back, its digest included");
}

#[test]
fn more_commands_than_entries() {
    let mut target = open_target(0, 4);
    for cid in 0..4 {
        target.feed(&capsule(Sqe::new(0, 1).with_cid(cid), transport(0), &[]));
    }
    assert_eq!(target.in_flight(), 4);
    assert_eq!(fatal(&mut target, &capsule(Sqe::new(0, 1).with_cid(9), transport(0), &[])), (2, 0));
}

/// A Store of 100 bytes has been asked for its data: TTAG 0.
fn receiving() -> Target {
    let mut target = open_target(0, 8);
    target.feed(&capsule(Sqe::new(1, 1).with_cid(5), transport(100), &[]));
    let r2t = drain(target.output(), usize::MAX);
    assert_eq!(r2t, [9, 0, 24, 0, 24, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0]);
    target.sent(r2t.len());
    target
}

fn h2c(cid: u16, ttag: u16, offset: u32, bytes: u32, last: bool) -> Vec<u8> {
    let mut pdu = DataPdu::h2c(cid, ttag, offset, bytes);
    pdu.ch.flags = if last { flag::LAST } else { 0 };
    (pdu.ch.pdo, pdu.ch.plen) = (24, (24 + bytes).into());
    [pdu.as_bytes(), &vec![7; bytes as usize]].concat()
}

#[test]
fn data_nobody_asked_for() {
    assert_eq!(fatal(&mut open_target(0, 8), &h2c(5, 0, 0, 100, true)), (1, 10), "before any command");
    assert_eq!(fatal(&mut receiving(), &h2c(5, 1, 0, 100, true)), (1, 10), "unknown TTAG");
    assert_eq!(fatal(&mut receiving(), &h2c(6, 0, 0, 100, true)), (1, 8), "another command's CID");
    assert_eq!(fatal(&mut receiving(), &h2c(5, 0, 4, 96, true)), (2, 0), "a gap");
    assert_eq!(fatal(&mut receiving(), &h2c(5, 0, 0, 101, true)), (4, 0), "beyond the end");
    assert_eq!(fatal(&mut receiving(), &h2c(5, 0, u32::MAX, 100, true)), (4, 0), "far beyond the end");
    assert_eq!(fatal(&mut receiving(), &h2c(5, 0, 0, 96, true)), (2, 0), "LAST_PDU too early");
    assert_eq!(fatal(&mut receiving(), &h2c(5, 0, 0, 100, false)), (2, 0), "no LAST_PDU");
    let mut wrong = h2c(5, 0, 0, 100, true);
    wrong[16] = 96;
    assert_eq!(fatal(&mut receiving(), &wrong), (1, 16), "DATAL is not what PLEN says");
    let mut twice = receiving();
    twice.feed(&h2c(5, 0, 0, 60, false));
    assert_eq!(fatal(&mut twice, &h2c(5, 0, 0, 60, false)), (2, 0), "the same data again");
    let mut done = receiving();
    done.feed(&h2c(5, 0, 0, 100, true));
    assert_eq!(done.next_command().unwrap().data, [7; 100]);
    assert_eq!(fatal(&mut done, &h2c(5, 0, 0, 100, true)), (1, 10), "after the end of the data");
}

/// Status of the response in the output.
fn refused(target: &Target) -> Status {
    let bytes = drain(target.output(), usize::MAX);
    assert_eq!((bytes[0], bytes.len()), (5, 24), "CapsuleResp");
    Cqe::read_from_bytes(&bytes[8..]).unwrap().status()
}

#[test]
fn bad_data_pointers_end_only_their_command() {
    let descriptor = SglDescriptor::new;
    let cases: [(SglDescriptor, &[u8], Status); 9] = [
        (descriptor(kind::DATA_BLOCK, 4096, 4), &[], Status::SGL_DESCRIPTOR_TYPE_INVALID),
        (descriptor(kind::LAST_SEGMENT, 4096, 16), &[], Status::SGL_DESCRIPTOR_TYPE_INVALID),
        (descriptor(0x40, 4096, 16), &[], Status::SGL_DESCRIPTOR_TYPE_INVALID),
        (descriptor(kind::DATA_BLOCK_IN_CAPSULE, 4, 4), &[1; 8], Status::SGL_OFFSET_INVALID),
        (descriptor(kind::DATA_BLOCK_IN_CAPSULE, 0, 4), &[1; 8], Status::DATA_SGL_LENGTH_INVALID),
        (descriptor(kind::DATA_BLOCK_IN_CAPSULE, 0, 9), &[1; 8], Status::DATA_SGL_LENGTH_INVALID),
        (descriptor(kind::DATA_BLOCK_IN_CAPSULE, 0, 9), &[], Status::DATA_SGL_LENGTH_INVALID),
        (transport((2 << 20) + 1), &[], Status::DATA_SGL_LENGTH_INVALID),
        (transport(8), &[1; 8], Status::DATA_SGL_LENGTH_INVALID),
    ];
    for (descriptor, data, expected) in cases {
        let mut target = open_target(0, 8);
        target.feed(&capsule(Sqe::new(1, 1), descriptor, data));
        assert_eq!(refused(&target), expected, "{descriptor:?}");
        assert!(target.is_open() && target.next_command().is_none() && target.in_flight() == 0);
    }
    let mut target = open_target(0, 8);
    target.feed(CapsuleCmd::new(Sqe::new(1, 1).with_prp(4096, 0)).as_bytes());
    assert_eq!(refused(&target), Status::INVALID_FIELD, "PRPs");
}

#[test]
fn an_identifier_in_use_is_refused_and_its_command_goes_on() {
    let mut target = receiving();
    target.feed(&capsule(Sqe::new(0, 1).with_cid(5), transport(0), &[]));
    assert_eq!(refused(&target), Status::COMMAND_ID_CONFLICT);
    target.feed(&h2c(5, 0, 0, 100, true));
    assert_eq!(target.next_command().unwrap().data.len(), 100);
}

/// As SPDK does when it shuts a controller down: the identifier of a held request for events names another command.
#[test]
fn a_request_for_events_makes_way_for_a_command_with_its_identifier() {
    let mut target = open_target(0, 8);
    let request = Sqe::new(0x0C, 0).with_cid(5);
    target.feed(&capsule(request, transport(0), &[]));
    let held = target.next_command().unwrap();
    let alive = Sqe::new(0x18, 0).with_cid(5);
    target.feed(&capsule(alive, transport(0), &[]));
    let command = target.next_command().unwrap();
    assert_eq!((command.sqe.opcode, target.in_flight()), (0x18, 2));
    target.feed(&capsule(alive, transport(0), &[]));
    assert_eq!(refused(&target), Status::COMMAND_ID_CONFLICT, "that one is waited for");
    let sent = |target: &Target| drain(target.output(), usize::MAX).len();
    let before = sent(&target);
    target.complete(held.token, Status::ABORT_REQUESTED, 0, Vec::new());
    assert_eq!((sent(&target), target.in_flight()), (before, 1), "nobody waits for the request");
    target.complete(command.token, Status::SUCCESS, 0, Vec::new());
    assert!(sent(&target) > before && target.in_flight() == 0);
    target.feed(&capsule(request, transport(0), &[]));
    assert_eq!(target.next_command().unwrap().sqe.opcode, 0x0C, "its identifier is free again");
    // Verify of an I/O queue has the same opcode, and a namespace.
    let mut target = open_target(0, 8);
    let verify = Sqe::new(0x0C, 1).with_cid(5);
    target.feed(&[capsule(verify, transport(0), &[]), capsule(verify, transport(0), &[])].concat());
    assert_eq!(refused(&target), Status::COMMAND_ID_CONFLICT);
}

#[test]
fn wrong_data_digests_end_only_their_command() {
    let mut target = open_target(2, 8);
    let descriptor = SglDescriptor::new(kind::DATA_BLOCK_IN_CAPSULE, 0, 4);
    let mut pdu = CapsuleCmd::new(Sqe::new(1, 1).with_sgl(&descriptor));
    (pdu.ch.flags, pdu.ch.pdo, pdu.ch.plen) = (flag::DATA_DIGEST, 72, 80.into());
    target.feed(&[pdu.as_bytes(), b"abcd", &[0; 4]].concat());
    assert_eq!(refused(&target), Status::TRANSIENT_TRANSPORT_ERROR);
    target.sent(24);
    target.feed(&[pdu.as_bytes(), b"abcd", &crc32c(b"abcd").to_le_bytes()].concat());
    assert_eq!(target.next_command().unwrap().data, b"abcd");
}

/// Who keeps a transaction in parts is told of a part that was refused here, in capsules and in transfers, and of nothing else.
#[test]
fn parts_of_transactions_that_are_refused_are_told() {
    let mut target = open_target(2, 8);
    let mut spoil = |code, is_inline| {
        let kind = if is_inline { kind::DATA_BLOCK_IN_CAPSULE } else { kind::TRANSPORT_DATA_BLOCK };
        let sqe = Sqe::new(code, 1).with_cid(7).with_sgl(&SglDescriptor::new(kind, 0, 4));
        let mut pdu = CapsuleCmd::new(sqe);
        if is_inline {
            (pdu.ch.flags, pdu.ch.pdo, pdu.ch.plen) = (flag::DATA_DIGEST, 72, 80.into());
            target.feed(&[pdu.as_bytes(), b"abcd", &[0; 4]].concat());
        } else {
            target.feed(pdu.as_bytes());
            let mut data = DataPdu::h2c(7, 0, 0, 4);
            data.ch.flags = flag::DATA_DIGEST | flag::LAST;
            (data.ch.pdo, data.ch.plen) = (24, 32.into());
            target.feed(&[data.as_bytes(), b"abcd", &[0; 4]].concat());
        }
        assert!(!target.has_ended() && target.next_command().is_none());
        target.take_refused().iter().map(|sqe| (sqe.opcode, sqe.cid.get())).collect::<Vec<_>>()
    };
    for is_inline in [true, false] {
        assert_eq!(spoil(opcode::TRANSACTION_PART, is_inline), [(opcode::TRANSACTION_PART, 7)]);
        assert_eq!(spoil(1, is_inline), []);
    }
}

#[test]
fn the_host_may_end_the_connection() {
    let mut target = receiving();
    let mut request = TermReq::from_host(saker_nvme::tcp::FatalError::Sequence, 8);
    request.ch.plen.set(32);
    target.feed(&[request.as_bytes(), &[0; 8]].concat());
    assert!(target.has_ended() && target.error().is_none() && target.output().is_empty());
    assert_eq!(target.memory(), 0);
    for plen in [23, 153] {
        request.ch.plen.set(plen);
        let mut target = receiving();
        target.feed(request.as_bytes());
        assert!(target.has_ended(), "a length that no termination request has");
    }
}
