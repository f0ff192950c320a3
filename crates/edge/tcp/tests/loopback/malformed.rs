// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Strangers who break the protocol are refused and disturb nobody.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use saker::Kv;
use saker_nvme::fabrics;
use saker_nvme::tcp::{CapsuleCmd, DataPdu, IcReq, flag};
use saker_nvme::{Sqe, Status, admin, kv};
use saker_nvme_tcp::initiator::Data;
use saker_tcp::Server;
use zerocopy::IntoBytes;

use crate::loopback::raw::{RawQueue, dial, last_words, shaken};
use crate::loopback::support::{DEVICE, count, serve, url, value};

/// A host that works all the while and checks what it reads; how much it did.
struct Bystander {
    over: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<u32>,
}

impl Bystander {
    fn start(server: &Server) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (url, seen) = (url(server, "reconnect=0"), Arc::clone(&over));
        let thread = std::thread::spawn(move || {
            let mut kv = Kv::open(&url).expect("open");
            let mut n = 0;
            while !seen.load(Ordering::Relaxed) || n < 100 {
                let key = [b"bystander-000".as_slice(), &[n as u8]].concat();
                kv.put(&key, &value(n, 7, 3_000)).expect("undisturbed");
                assert!(kv.get(&key).expect("undisturbed") == Some(value(n, 7, 3_000)));
                n += 1;
            }
            n
        });
        Self { over, thread }
    }

    fn stop(self) {
        self.over.store(true, Ordering::Relaxed);
        assert!(self.thread.join().expect("undisturbed") >= 100);
    }
}

fn capsule(spoil: impl FnOnce(&mut CapsuleCmd)) -> Vec<u8> {
    let mut pdu = CapsuleCmd::new(Sqe::new(0, 1));
    pdu.sqe.flags = 0x40;
    spoil(&mut pdu);
    pdu.as_bytes().to_vec()
}

/// What follows the handshake, and FES of the answer.
fn faults() -> Vec<(Vec<u8>, u16)> {
    let data = |ttag, bytes: u32, plen: u32| {
        let mut pdu = DataPdu::h2c(3, ttag, 0, bytes);
        (pdu.ch.flags, pdu.ch.pdo, pdu.ch.plen) = (flag::LAST, 24, plen.into());
        [pdu.as_bytes(), &vec![0; bytes as usize]].concat()
    };
    vec![
        (IcReq::new(0).as_bytes().to_vec(), 2),
        (capsule(|pdu| pdu.ch.hlen = 255), 1),
        (capsule(|pdu| pdu.ch.hlen = 0), 1),
        (capsule(|pdu| pdu.ch.plen.set(u32::MAX)), 1),
        (capsule(|pdu| pdu.ch.plen.set(71)), 1),
        (capsule(|pdu| (pdu.ch.pdo, pdu.ch.plen) = (72, (72 + 8193).into())), 1),
        (capsule(|pdu| pdu.ch.flags = flag::HEADER_DIGEST), 1),
        (capsule(|pdu| pdu.ch.flags = flag::DATA_DIGEST), 1),
        (capsule(|pdu| pdu.ch.pdu_type = 5), 1),
        (capsule(|pdu| pdu.ch.pdu_type = 0x99), 1),
        (data(0, 64, 88), 1),
        (data(0xFFFF, 64, 88), 1),
        (data(0, 4, (2 << 20) + 28), 5),
    ]
}

/// Breaks the protocol once on a connection of its own.
fn break_it(address: SocketAddr, fault: &[u8]) -> Vec<u8> {
    let mut stream = shaken(address);
    // The server may close before it has read everything.
    let _ = stream.write_all(fault);
    last_words(&mut stream)
}

#[test]
fn malformed_pdus_are_answered_with_the_right_words() {
    let server = serve(DEVICE);
    let bystander = Bystander::start(&server);
    let (address, faults) = (server.addresses()[0], faults());
    for n in 0..count(100_000) {
        let (fault, fes) = &faults[n % faults.len()];
        let words = break_it(address, fault);
        if words.len() < 24 {
            panic!("fault {} is answered with {words:?}", n % faults.len());
        }
        // CapsuleResp is a PDU of the other direction: a sequence error or a wrong length.
        let told = u16::from_le_bytes([words[8], words[9]]);
        assert!(words[0] == 3 && (told == *fes || told == 2), "fault {}: {words:?}", n % faults.len());
    }
    bystander.stop();
    server.stop().expect("stopped");
}

#[test]
fn noise_is_not_answered_with_commands() {
    let server = serve(DEVICE);
    let bystander = Bystander::start(&server);
    let mut state = 1_u64;
    for _ in 0..count(5_000) {
        let mut noise = vec![0; 300];
        for byte in &mut noise {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (state >> 56) as u8;
        }
        let mut stream = dial(server.addresses()[0]);
        let _ = stream.write_all(&noise);
        let words = last_words(&mut stream);
        assert!(words.is_empty() || words[0] == 3, "{words:?}");
    }
    bystander.stop();
    server.stop().expect("stopped");
}

#[test]
fn nothing_but_connect_opens_a_queue() {
    let server = serve(DEVICE);
    let (address, nqn) = (server.addresses()[0], server.names()[0].clone());
    let any = fabrics::ConnectData::ANY_CONTROLLER;
    let refused = |result: Result<(RawQueue, u16), Status>| result.map(|_| ()).expect_err("refused");
    let (mut admin, cntlid) = RawQueue::admin(address, &nqn);
    let again = fabrics::Connect { sqsize: 31, ..fabrics::Connect::default() };
    let data = Data::Send(fabrics::ConnectData::empty().as_bytes().to_vec());
    let status = admin.execute(again.encode(), data).cqe.status();
    assert_eq!(status, Status::CONNECT_CONTROLLER_BUSY, "a second Connect");
    let invalid = Status::CONNECT_INVALID_PARAMETERS;
    assert_eq!(refused(RawQueue::connect(address, "nqn.2026-11.dev.saker:none", any, (0, 32))), invalid);
    assert_eq!(refused(RawQueue::connect(address, &nqn, 7, (0, 32))), invalid, "a CNTLID for an admin queue");
    assert_eq!(refused(RawQueue::connect(address, &nqn, any, (0, 1))), invalid, "SQSIZE 0");
    assert_eq!(refused(RawQueue::connect(address, &nqn, any, (0, 2000))), invalid, "SQSIZE too large");
    assert_eq!(refused(RawQueue::connect(address, &nqn, cntlid + 1, (1, 32))), invalid, "another controller");
    assert_eq!(refused(RawQueue::connect(address, &nqn, cntlid, (65, 32))), invalid, "a QID beyond the last");
    let (queue, _) = RawQueue::connect(address, &nqn, cntlid, (64, 32)).expect("the last QID");
    let twice = RawQueue::connect(address, &nqn, cntlid, (64, 32));
    assert_eq!(refused(twice), Status::COMMAND_SEQUENCE_ERROR, "a QID in use");
    drop(queue);
    server.stop().expect("stopped");
}

#[test]
fn capsules_before_connect_are_refused_without_a_device() {
    let server = serve(DEVICE);
    for opcode in [kv::opcode::FLUSH, admin::opcode::IDENTIFY, admin::opcode::KEEP_ALIVE, 0xFF] {
        let mut stream = shaken(server.addresses()[0]);
        stream.write_all(&capsule(|pdu| pdu.sqe.opcode = opcode)).expect("sent");
        let mut response = [0; 24];
        std::io::Read::read_exact(&mut stream, &mut response).expect("answered");
        let status = Status::from_word(u16::from_le_bytes([response[22], response[23]]));
        assert_eq!((response[0], status), (5, Status::COMMAND_SEQUENCE_ERROR));
    }
    server.stop().expect("stopped");
}

#[test]
fn queues_before_the_controller_is_enabled() {
    let server = serve(DEVICE);
    let (address, nqn) = (server.addresses()[0], server.names()[0].clone());
    let any = fabrics::ConnectData::ANY_CONTROLLER;
    let (mut admin, cntlid) = RawQueue::connect(address, &nqn, any, (0, 32)).expect("connected");
    let identify = Sqe::new(admin::opcode::IDENTIFY, 0);
    let status = admin.execute(identify, Data::Receive(4096)).cqe.status();
    assert_eq!(status, Status::COMMAND_SEQUENCE_ERROR, "CC.EN is 0");
    let io = RawQueue::connect(address, &nqn, cntlid, (1, 32)).map(|_| ()).expect_err("refused");
    assert_eq!(io, Status::COMMAND_SEQUENCE_ERROR);
    server.stop().expect("stopped");
}

#[test]
fn malformed_commands_are_each_answered_and_harm_nothing() {
    const DEPTH: u16 = 32;
    let server = serve(DEVICE);
    let bystander = Bystander::start(&server);
    let (address, nqn) = (server.addresses()[0], server.names()[0].clone());
    let (_admin, cntlid) = RawQueue::admin(address, &nqn);
    let (mut queue, _) = RawQueue::connect(address, &nqn, cntlid, (1, DEPTH + 1)).expect("connected");
    let (mut state, mut sent, mut answered, mut failed) = (9_u64, 0, 0, 0);
    let mut free: Vec<u16> = (0..DEPTH).collect();
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 32) as u32
    };
    let commands = count(1_000_000);
    while answered < commands {
        while let Some(cid) = free.pop() {
            if sent == commands {
                break;
            }
            let (sqe, data) = random_command(&mut random);
            assert!(queue.protocol.submit(sqe.with_cid(cid), data, 4096));
            sent += 1;
        }
        queue.step();
        while let Some(answer) = queue.protocol.next_answer() {
            free.push(answer.cqe.cid.get());
            failed += usize::from(!answer.cqe.status().is_success());
            answered += 1;
        }
    }
    assert!(failed > commands / 2 && failed < commands, "{failed} of {commands} commands are refused");
    bystander.stop();
    server.stop().expect("stopped");
}

/// Any opcode but those of Fabrics, mostly those that exist; lengths that fit, and others.
fn random_command(random: &mut impl FnMut() -> u32) -> (Sqe, Data) {
    const KNOWN: [u8; 6] = [0x00, 0x01, 0x02, 0x06, 0x10, 0x14];
    let opcode =
        if random().is_multiple_of(4) { random() as u8 & 0x7E } else { KNOWN[random() as usize % 6] };
    let mut sqe = Sqe::new(opcode, if random().is_multiple_of(3) { random() % 4 } else { 1 });
    let bytes = random() % 6_000;
    // Keys of 8 bytes and more: no random one is the bystander's.
    let key_bytes = if random().is_multiple_of(4) { random() % 40 } else { 8 + random() % 9 };
    sqe.cdw2.set(random() | 0x8000_0000);
    sqe.cdw3.set(random());
    sqe.cdw10.set(match random() % 8 {
        0 => random(),
        1 => bytes + 1 + random() % 100,
        _ => bytes,
    });
    sqe.cdw11.set(key_bytes | (random() % 16) << 8);
    (sqe.cdw14, sqe.cdw15) = (random().into(), random().into());
    let data = match opcode & 3 {
        1 if bytes > 0 => Data::Send(vec![random() as u8; bytes as usize]),
        2 if bytes > 0 => Data::Receive(bytes),
        _ => Data::None,
    };
    (sqe, data)
}
