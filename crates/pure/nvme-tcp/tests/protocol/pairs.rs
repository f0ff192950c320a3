// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Initiator and target against each other: whatever the splits, every command arrives and is answered.

use proptest::prelude::*;
use saker_nvme::{Sqe, Status};
use saker_nvme_tcp::initiator::{Answer, Data};
use saker_nvme_tcp::{Digests, Initiator, InitiatorOptions, Target, TargetLimits};

use crate::support::exchange;

/// A pattern of `bytes` bytes that tells where it is from.
fn pattern(bytes: usize, seed: u16) -> Vec<u8> {
    (0..bytes).map(|n| (n as u8).wrapping_mul(31) ^ seed as u8).collect()
}

fn open(digests: Digests, limits: TargetLimits, entries: u16) -> (Initiator, Target) {
    let (mut host, mut target) = (Initiator::new(InitiatorOptions { digests }), Target::new(limits));
    exchange(&mut host, &mut target, &mut || 1000, &mut |_| unreachable!("no command yet"));
    assert!(host.is_open() && target.is_open() && target.digests() == digests);
    target.set_entries(entries);
    (host, target)
}

/// Sends writes and reads of these sizes at once, and checks both sides.
fn run(
    digests: Digests,
    limits: TargetLimits,
    sizes: &[usize],
    inline_max: usize,
    split: &mut dyn FnMut() -> usize,
) {
    let (mut host, mut target) = open(digests, limits, sizes.len() as u16 + 1);
    for (cid, bytes) in sizes.iter().enumerate() {
        let is_write = cid % 2 == 0;
        let sqe = Sqe::new(if is_write { 1 } else { 2 }, 1).with_cid(cid as u16);
        let data = match bytes {
            0 => Data::None,
            _ if is_write => Data::Send(pattern(*bytes, cid as u16)),
            _ => Data::Receive(*bytes as u32),
        };
        assert!(host.submit(sqe, data, inline_max));
    }
    let mut seen = 0;
    exchange(&mut host, &mut target, split, &mut |command| {
        let cid = command.sqe.cid.get();
        let bytes = sizes[usize::from(cid)];
        seen += 1;
        if cid % 2 == 0 {
            assert_eq!(command.data, pattern(bytes, cid));
            return (Status::SUCCESS, 0, Vec::new());
        }
        assert_eq!(command.room as usize, bytes);
        // Half of what the host has room for.
        (Status::SUCCESS, bytes as u64, pattern(bytes / 2, cid))
    });
    assert_eq!((host.ended(), target.error()), (None, None));
    assert_eq!((seen, host.in_flight(), target.in_flight(), target.memory()), (sizes.len(), 0, 0, 0));
    let mut answers = vec![None; sizes.len()];
    while let Some(answer) = host.next_answer() {
        let at = usize::from(answer.cqe.cid.get());
        assert!(answers[at].replace(answer).is_none(), "one answer each");
    }
    for (cid, answer) in answers.into_iter().enumerate() {
        let Answer { cqe, data, is_spoilt } = answer.unwrap();
        assert!(cqe.status().is_success() && !is_spoilt);
        let expected = if cid % 2 == 0 { Vec::new() } else { pattern(sizes[cid] / 2, cid as u16) };
        assert!(data == expected, "data of command {cid}");
    }
}

fn all_digests() -> impl Iterator<Item = Digests> {
    (0..4).map(Digests::from_bits)
}

#[test]
fn values_of_1_byte_to_2_mib_whatever_the_digests() {
    let sizes = [1, 1, 3, 3, 4, 4, 8192, 8192, 8193, 8193, 262_144, 262_145, 2 << 20, 2 << 20, 0, 0];
    for digests in all_digests() {
        // One PDU for all data and several; through the framer, and past it (odd splits).
        for (inline_max, h2c_data_max, split) in [(0, 256 << 10, 65_536), (8192, 2 << 20, 65_537)] {
            let limits = TargetLimits { h2c_data_max, ..TargetLimits::default() };
            run(digests, limits, &sizes, inline_max, &mut || split);
        }
    }
}

#[test]
fn a_byte_at_a_time() {
    for digests in all_digests() {
        run(digests, TargetLimits::default(), &[5, 7, 100, 100, 0, 0], 64, &mut || 1);
    }
}

#[test]
fn memory_stays_within_its_limit() {
    let limits = TargetLimits { memory_max: 2 << 20, ..TargetLimits::default() };
    let (mut host, mut target) = open(Digests::default(), limits, 65);
    for cid in 0..64_u16 {
        let (opcode, data) =
            if cid % 2 == 0 { (1, Data::Send(vec![1; 600_000])) } else { (2, Data::Receive(600_000)) };
        assert!(host.submit(Sqe::new(opcode, 1).with_cid(cid), data, 8192));
    }
    let (mut most, mut done) = (0, 0);
    while host.in_flight() > 0 {
        let bytes = crate::support::drain(host.output(), 10_000);
        host.sent(bytes.len());
        target.feed(&bytes);
        most = most.max(target.memory());
        while let Some(command) = target.next_command() {
            done += 1;
            target.complete(command.token, Status::SUCCESS, 0, vec![2; command.room as usize]);
            most = most.max(target.memory());
        }
        let bytes = crate::support::drain(target.output(), 10_000);
        target.sent(bytes.len());
        host.feed(&bytes);
    }
    assert_eq!(done, 64);
    // What is not counted: headers that wait to be sent.
    assert!(most <= (2 << 20) + 64 * 64, "{most} bytes");
    assert!(most > 1 << 20, "the limit is made use of: {most} bytes");
}

#[test]
fn a_failed_read_brings_no_data() {
    let (mut host, mut target) = open(Digests::default(), TargetLimits::default(), 4);
    assert!(host.submit(Sqe::new(2, 1), Data::Receive(100), 0));
    assert!(!host.submit(Sqe::new(2, 1), Data::Receive(100), 0), "the identifier is in flight");
    exchange(&mut host, &mut target, &mut || 64, &mut |_| (Status::KEY_DOES_NOT_EXIST, 7, vec![1; 100]));
    let answer = host.next_answer().unwrap();
    assert_eq!(answer.cqe.status(), Status::KEY_DOES_NOT_EXIST);
    assert!(answer.data.is_empty());
}

#[test]
fn completions_report_the_head_of_the_queue() {
    let (mut host, mut target) = open(Digests::default(), TargetLimits::default(), 3);
    for expected in [1, 2, 0, 1] {
        assert!(host.submit(Sqe::new(0, 1), Data::None, 0));
        exchange(&mut host, &mut target, &mut || 64, &mut |_| (Status::SUCCESS, 0, Vec::new()));
        assert_eq!(host.next_answer().unwrap().cqe.sqhd.get(), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_sizes_in_any_splits(
        bits in 0_u8..4,
        sizes in prop::collection::vec(0_usize..20_000, 1..24),
        splits in prop::collection::vec(1_usize..9_000, 1..50),
        inline_max in 0_usize..=8192,
        memory in 20_000_usize..100_000,
    ) {
        let limits = TargetLimits { transfer_max: 20_000, h2c_data_max: 4096, memory_max: memory, ..TargetLimits::default() };
        let mut next = splits.iter().cycle();
        run(Digests::from_bits(bits), limits, &sizes, inline_max, &mut || *next.next().unwrap());
    }
}
