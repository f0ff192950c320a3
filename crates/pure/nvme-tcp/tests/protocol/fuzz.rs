// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Damaged streams: both ends survive whatever comes, in bounded memory, and a target that goes on stays correct.
//!
//! The corpus is made from sound conversations, which are mutated a fixed number of times, and for more than ten minutes with
//! `SAKER_TIER=soak`. The n-th case is the same everywhere.

#![expect(
    clippy::disallowed_types,
    reason = "how long the soak goes on is a time of the clock; no case depends on it"
)]

use saker_nvme::sgl::{SglDescriptor, kind};
use saker_nvme::tcp::{DataPdu, IcReq, IcResp, R2t, flag};
use saker_nvme::{Cqe, Sqe, Status};
use saker_nvme_tcp::initiator::Data;
use saker_nvme_tcp::{Digests, Initiator, InitiatorOptions, Target, TargetLimits};
use std::time::{Duration, Instant};
use zerocopy::IntoBytes;

use crate::support::{capsule, transport};

const LIMITS: TargetLimits =
    TargetLimits { capsule_data_max: 8192, h2c_data_max: 4096, transfer_max: 65_536, memory_max: 131_072 };
const ENTRIES: u16 = 32;
const CASES_CHECK: u64 = 60_000;
/// How long damaged streams go on in the soak.
const SOAK: Duration = Duration::from_secs(605);

/// A small generator: the same stream of cases everywhere.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        // Xorshift64* (Vigna, 2016).
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Sound streams from a host: without digests, in-capsule data, R2T data, reads, termination.
fn host_streams() -> Vec<Vec<u8>> {
    let inline = |n: u32| SglDescriptor::new(kind::DATA_BLOCK_IN_CAPSULE, 0, n);
    let data = |cid, ttag, offset, bytes: u32, last| {
        let mut pdu = DataPdu::h2c(cid, ttag, offset, bytes);
        pdu.ch.flags = if last { flag::LAST } else { 0 };
        (pdu.ch.pdo, pdu.ch.plen) = (24, (24 + bytes).into());
        [pdu.as_bytes(), &vec![3; bytes as usize]].concat()
    };
    let store = |cid| Sqe::new(1, 1).with_cid(cid);
    let request = IcReq::new(0).as_bytes().to_vec();
    vec![
        [request.clone(), capsule(store(1), inline(16), &[5; 16])].concat(),
        [
            request.clone(),
            capsule(store(1), transport(5000), &[]),
            data(1, 0, 0, 4096, false),
            data(1, 0, 4096, 904, true),
        ]
        .concat(),
        [request.clone(), capsule(Sqe::new(2, 1).with_cid(9), transport(3000), &[])].concat(),
        [IcReq::new(3).as_bytes().to_vec(), vec![4; 200]].concat(),
        [request.clone(), capsule(store(1), transport(0), &[]), vec![2, 0, 24, 0, 24, 0, 0, 0], vec![0; 16]]
            .concat(),
        [request, capsule(Sqe::new(0x7F, 1).with_cid(2), inline(1024), &[0; 1024])].concat(),
    ]
}

/// Sound streams from a controller to a host with a read of 3000 bytes (CID 0) and a write of 5000 (CID 1).
fn controller_streams() -> Vec<Vec<u8>> {
    let response = |cid| {
        let cqe = Cqe::new(0, 1, 0, cid, Status::SUCCESS);
        saker_nvme::tcp::CapsuleResp::new(cqe).as_bytes().to_vec()
    };
    let mut data = DataPdu::c2h(0, 0, 3000);
    (data.ch.flags, data.ch.pdo, data.ch.plen) = (flag::LAST, 24, 3024.into());
    let read = [data.as_bytes(), &[1; 3000], &response(0)].concat();
    let write = [R2t::new(1, 7, 0, 5000).as_bytes(), &response(1)].concat();
    let hello = IcResp::new(0, 4096).as_bytes().to_vec();
    vec![[hello.clone(), read.clone(), write.clone()].concat(), [hello.clone(), write, read].concat(), hello]
}

fn mutate(stream: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..1 + rng.below(4) {
        let at = rng.below(stream.len());
        match rng.below(6) {
            0 => stream[at] ^= 1 << rng.below(8),
            1 => stream[at] = [0, 1, 0x7F, 0x80, 0xFF, 4, 6, 9][rng.below(8)],
            2 => stream.truncate(at.max(1)),
            3 => drop(stream.splice(at..at, (0..rng.below(64)).map(|n| n as u8))),
            4 => {
                let end = (at + rng.below(200)).min(stream.len());
                let piece = stream[at..end].to_vec();
                stream.extend_from_slice(&piece);
            }
            _ => {
                // A header field: the first 128 bytes are the handshake.
                let at = (128 + rng.below(40)).min(stream.len() - 1);
                stream[at] = rng.next() as u8;
            }
        }
    }
}

/// Feeds in random pieces.
fn feed(stream: &[u8], rng: &mut Rng, mut sink: impl FnMut(&[u8])) {
    let mut rest = stream;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at((1 + rng.below(4000)).min(rest.len()));
        sink(piece);
        rest = after;
    }
}

fn attack_target(stream: &[u8], rng: &mut Rng) {
    let mut target = Target::new(LIMITS);
    target.set_entries(ENTRIES);
    let bound = LIMITS.memory_max + usize::from(ENTRIES) * (LIMITS.capsule_data_max as usize + 64) + 4096;
    let mut held = Vec::new();
    let chance = rng.below(3);
    feed(stream, &mut Rng(rng.next() | 1), |piece| {
        target.feed(piece);
        while let Some(command) = target.next_command() {
            assert!(command.data.len() <= LIMITS.transfer_max as usize);
            held.push((command.token, command.room));
        }
        assert!(target.memory() <= bound, "{} bytes", target.memory());
        if chance == 0 {
            for (token, room) in held.drain(..) {
                target.complete(token, Status::SUCCESS, 0, vec![0; room as usize]);
            }
        }
        target.sent(if chance == 1 { 0 } else { target.output().pending() });
    });
    for (token, room) in held {
        target.complete(token, Status::SUCCESS, 0, vec![0; room as usize]);
    }
    target.sent(target.output().pending());
    assert!(target.memory() <= bound);
}

fn attack_host(stream: &[u8], rng: &mut Rng) {
    let mut host = Initiator::new(InitiatorOptions { digests: Digests::default() });
    let mut is_submitted = false;
    feed(stream, rng, |piece| {
        host.feed(piece);
        if host.is_open() && !is_submitted {
            is_submitted = true;
            assert!(host.submit(Sqe::new(2, 1).with_cid(0), Data::Receive(3000), 0));
            assert!(host.submit(Sqe::new(1, 1).with_cid(1), Data::Send(vec![2; 5000]), 0));
        }
        while let Some(answer) = host.next_answer() {
            assert!(answer.data.len() <= 3000);
        }
        assert!(host.output().pending() < 20_000, "no more is sent than was asked for once");
        host.sent(host.output().pending());
    });
}

/// Whether there is another damaged stream after so many: the soak goes on for a time, since a case takes longer on one machine
/// than on another.
fn goes_on(begun: Instant, cases: u64) -> bool {
    cases < CASES_CHECK || saker_testing::is_soak() && (!cases.is_multiple_of(1024) || begun.elapsed() < SOAK)
}

#[test]
fn mutated_streams() {
    let (hosts, controllers) = (host_streams(), controller_streams());
    let begun = Instant::now();
    for case in (0..).take_while(|cases| goes_on(begun, *cases)) {
        let mut rng = Rng(case.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let side = rng.below(2);
        let streams = if side == 0 { &hosts } else { &controllers };
        let mut stream = streams[rng.below(streams.len())].clone();
        mutate(&mut stream, &mut rng);
        if side == 0 { attack_target(&stream, &mut rng) } else { attack_host(&stream, &mut rng) }
    }
}

#[test]
fn the_corpus_itself_is_sound() {
    for (n, stream) in host_streams().iter().enumerate().filter(|(n, _)| *n != 3) {
        let mut target = Target::new(LIMITS);
        target.set_entries(ENTRIES);
        target.feed(stream);
        assert_eq!(target.error(), None, "stream {n}");
        let commands = std::iter::from_fn(|| target.next_command()).count();
        assert_eq!(commands, usize::from(n != 4), "stream {n}: {commands} commands");
    }
}
