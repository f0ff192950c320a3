// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions in parts: golden entries and outcomes, round trips, what is refused, and parts of any bytes.

use crate::golden::image;
use proptest::prelude::*;
use saker_nvme::group::outcomes::{Known, OUTCOME_PLACES, Outcomes};
use saker_nvme::group::{
    Ask, OUTCOMES_KEPT, Op, SplitAction, SplitCommand, SplitOutcome, ToAsk, TransactionId, is_outcome_key,
    pack_part, parse_part,
};
use saker_nvme::{NSID_ALL, Sqe, Status};
use zerocopy::IntoBytes;

const ID: TransactionId = TransactionId { host: *b"0123456789ABCDEF", number: 0x0807_0605_0403_0201 };

fn part(begins: bool, commits: bool) -> SplitCommand {
    SplitCommand::Part { id: ID, bytes: 0x1234, begins, commits }
}

fn commands() -> Vec<SplitCommand> {
    let actions = [SplitAction::Begin, SplitAction::Commit, SplitAction::Abort, SplitAction::Outcome];
    let control = actions.map(|action| SplitCommand::Control { id: ID, action });
    [part(false, false), part(true, false), part(false, true), part(true, true)]
        .into_iter()
        .chain(control)
        .collect()
}

#[test]
fn golden_entries() {
    for (n, command) in commands().into_iter().enumerate() {
        let (code, flags) = if n < 4 { (0xDD, n as u8) } else { (0xE8, n as u8 - 3) };
        let bytes: &[u8] = if n < 4 { &[0x34, 0x12] } else { &[] };
        let fields: &[(usize, &[u8])] = &[
            (0, &[code]),
            (4, &[7]),
            (8, b"01234567"),
            (40, bytes),
            (44, &[16, flags]),
            (48, &[1, 2, 3, 4, 5, 6, 7, 8]),
            (56, b"89ABCDEF"),
        ];
        let entry = command.encode(7);
        assert_eq!(entry.as_bytes(), image(64, fields), "{command:?}");
        assert_eq!(SplitCommand::decode(&entry), Ok(command));
        assert_eq!(SplitCommand::decode(&command.encode(NSID_ALL)), Err(Status::INVALID_FIELD));
    }
}

#[test]
fn what_is_reserved_is_refused() {
    let changed = |command: &SplitCommand, change: &dyn Fn(&mut Sqe)| {
        let mut sqe = command.encode(1);
        change(&mut sqe);
        SplitCommand::decode(&sqe)
    };
    for command in commands() {
        for bit in 12..32 {
            let flag = |sqe: &mut Sqe| sqe.cdw11.set(sqe.cdw11.get() | 1 << bit);
            assert_eq!(changed(&command, &flag), Err(Status::INVALID_FIELD), "{command:?} {bit}");
        }
        for length in [0, 15, 17, 255] {
            let short = |sqe: &mut Sqe| sqe.cdw11.set(sqe.cdw11.get() & !0xFF | length);
            assert_eq!(changed(&command, &short), Err(Status::INVALID_FIELD), "{command:?} {length}");
        }
        assert_eq!(changed(&command, &|sqe| sqe.opcode = 0xE4), Err(Status::INVALID_OPCODE));
        assert_eq!(changed(&command, &|sqe| sqe.flags = 1), Err(Status::INVALID_FIELD), "fused");
    }
    assert_eq!(changed(&part(true, true), &|sqe| sqe.cdw10 = 0.into()), Err(Status::INVALID_FIELD));
    assert_eq!(changed(&part(true, true), &|sqe| sqe.cdw11 = 0x410.into()), Err(Status::INVALID_FIELD));
    let control = SplitCommand::Control { id: ID, action: SplitAction::Commit };
    assert_eq!(changed(&control, &|sqe| sqe.cdw10 = 4.into()), Err(Status::INVALID_FIELD));
    for unknown in [0, 5, 6, 15] {
        let action = |sqe: &mut Sqe| sqe.cdw11 = (unknown << 8 | 16).into();
        assert_eq!(changed(&control, &action), Err(Status::INVALID_FIELD), "{unknown}");
    }
}

#[test]
fn golden_outcomes() {
    let done = Outcomes::with(&[], ID);
    let block = (ID.number / 256).to_le_bytes();
    let fields: &[(usize, &[u8])] = &[(0, b"SKTO"), (4, &[1]), (8, &ID.host), (24, &block), (32, &[0b10])];
    assert_eq!(done.as_bytes(), image(64, fields));
    let next = TransactionId { number: ID.number + 8, ..ID };
    let both = Outcomes::with(done.as_bytes(), next);
    assert_eq!(both.done[..2], [0b10, 0b10]);
    let known = |id| Outcomes::look(both.as_bytes(), id);
    assert_eq!((known(ID), known(next)), (Known::Done, Known::Done));
    assert_eq!(known(TransactionId { number: ID.number + 1, ..ID }), Known::NotDone);
    let round = u64::from(OUTCOME_PLACES) * 256;
    assert_eq!(known(TransactionId { number: ID.number - round, ..ID }), Known::TooOld);
    assert_eq!(known(TransactionId { number: ID.number + round, ..ID }), Known::NotDone);
    assert_eq!(known(TransactionId { host: [0; 16], ..ID }), Known::Strange);
    assert_eq!(Outcomes::look(&[], ID), Known::NotDone);
    for length in 1..64 {
        assert_eq!(Outcomes::look(&both.as_bytes()[..length], ID), Known::Strange);
    }
    let mut other = both;
    other.version.set(2);
    assert_eq!(Outcomes::look(other.as_bytes(), ID), Known::Strange);
    for number in [0, 1, 4, u32::MAX] {
        assert_eq!(SplitOutcome::from_number(number).map(|o| o as u32), Some(number).filter(|n| *n < 4));
    }
    assert!(is_outcome_key(b"\xFFTSKRX0123456789") && !is_outcome_key(b"\xFFTSKRX012345678"));
}

/// The last 4,096 numbers are in pairs of their own, wherever they begin.
#[test]
fn the_last_numbers_do_not_meet() {
    for last in [OUTCOMES_KEPT, OUTCOMES_KEPT + 255, OUTCOMES_KEPT + 256, 1_000_003] {
        let mut blocks = [None; OUTCOME_PLACES as usize];
        for number in last - OUTCOMES_KEPT + 1..=last {
            let place = usize::from(Outcomes::place(TransactionId { number, ..ID }));
            assert_eq!(*blocks[place].get_or_insert(number / 256), number / 256, "up to {last}");
        }
    }
}

#[test]
fn parts_have_no_reads() {
    let (store, version) = (Ask::Op(Op::Store), [7; 24]);
    let good: [ToAsk<'_>; 4] = [
        (store, b"key", b"value"),
        (Ask::Op(Op::Delete), b"other", b""),
        (Ask::Version, b"third", &version),
        (Ask::Absent, b"x", b""),
    ];
    let payload = pack_part(good.into_iter()).expect("keys");
    let mut asked = Vec::new();
    assert_eq!(parse_part(&payload, |e| asked.push(e.ask)), Ok(4));
    assert_eq!(asked, good.map(|(ask, ..)| ask));
    // Of form mixed, though all entries are of one kind.
    assert_eq!(pack_part(good[..1].iter().copied()).expect("a key")[4..8], [1, 0, 0, 0]);
    for read in [Op::Retrieve, Op::Exist] {
        let entries = [good[0], (Ask::Op(read), b"read", b""), good[1]];
        let payload = pack_part(entries.into_iter()).expect("keys");
        let malformed = parse_part(&payload, |_| {}).expect_err("a read");
        assert_eq!((malformed.status(), malformed.at), (Status::INVALID_FIELD, 4 + 4 + 8 + 12));
        // What is wrong before it is told first, what is wrong behind it is not.
        let mut cut = payload.clone();
        cut.truncate(cut.len() - 4);
        assert_eq!(parse_part(&cut, |_| {}).expect_err("a read").at, malformed.at);
        cut[8] = 0;
        assert_eq!(parse_part(&cut, |_| {}).expect_err("a key").at, 8);
    }
}

proptest! {
    #[test]
    fn entries_decode_what_they_encode(host: [u8; 16], number: u64, bytes in 1..u32::MAX, flags in 0..4_u8) {
        let id = TransactionId { host, number };
        let command = SplitCommand::Part { id, bytes, begins: flags & 1 != 0, commits: flags & 2 != 0 };
        prop_assert_eq!(SplitCommand::decode(&command.encode(1)), Ok(command));
    }

    #[test]
    fn parts_of_any_bytes_are_read_or_refused(words in proptest::collection::vec(0..24_u32, 0..40), tail in 0..4_usize) {
        let mut payload: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        payload.truncate(payload.len().saturating_sub(tail));
        let mut seen = 0;
        let read = parse_part(&payload, |asked| {
            assert!(asked.key.end as usize <= payload.len() && asked.value.end as usize <= payload.len());
            seen += 1;
        });
        match read {
            Ok(count) => prop_assert_eq!(count, seen),
            Err(malformed) => prop_assert!(malformed.at as usize <= payload.len()),
        }
    }

    #[test]
    fn outcomes_of_any_bytes_are_none(bytes in proptest::collection::vec(any::<u8>(), 0..80), number: u64) {
        let id = TransactionId { number, ..ID };
        prop_assert!(matches!(Outcomes::look(&bytes, id), Known::Strange | Known::NotDone));
        prop_assert_eq!(Outcomes::look(Outcomes::with(&bytes, id).as_bytes(), id), Known::Done);
    }
}
