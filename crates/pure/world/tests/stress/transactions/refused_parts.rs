// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parts that are refused: the transaction has ended, whatever was wrong, and its memory is free.

use super::splits::{FIRST, LAST, NEXT, control, good, id, part, payload, refused, store, value};
use super::{ENGINES, RETRIEVE};
use crate::stress::groups::{end, roomy, small_with};
use crate::stress::rig::{KV, Machine, Rig};
use crate::stress::tier;
use saker_assembly::Build;
use saker_host::RawData;
use saker_nvme::Status;
use saker_nvme::group::{
    Ask, COUNT_BYTES, SPLIT_BYTES_MAX, SplitAction, SplitCommand, SplitOutcome, TransactionId,
};
use saker_sim::{Rng, Seed};
use saker_world::{Clocked, Inline};

/// What can be wrong with a part, and its status.
fn wrong() -> Vec<(&'static str, Vec<u8>, Status)> {
    let good = payload(&[store(b"key", b"value")]);
    let patched = |at: usize, number: u32| {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        bytes
    };
    let (invalid, key) = (Status::INVALID_FIELD, Status::INVALID_KEY_SIZE);
    vec![
        ("no entry", vec![0; 4], invalid),
        ("more entries than there are", patched(0, 2), invalid),
        ("a count whose sums overflow", patched(0, u32::MAX), invalid),
        ("an unknown type", patched(4, 99), invalid),
        ("a read", payload(&[(RETRIEVE, b"key".to_vec(), vec![])]), invalid),
        ("no key", patched(8, 0), key),
        ("a key of 256 bytes", patched(8, 256), key),
        ("a key whose end overflows", patched(8, u32::MAX), key),
        ("a value whose end overflows", patched(16, u32::MAX), invalid),
        ("padding that is not zero", patched(12, u32::MAX), invalid),
        ("bytes behind", [&good[..], &[0; 4]].concat(), invalid),
        ("a version of another length", payload(&[(Ask::Version, b"key".to_vec(), vec![0; 23])]), invalid),
    ]
}

fn send<D: Machine>(
    rig: &mut Rig<D>,
    id: TransactionId,
    (begins, commits): (bool, bool),
    bytes: &[u8],
) -> Status {
    let ticket = rig.kv.transaction_part(id, begins, commits, bytes).expect("room");
    end(rig, ticket).0
}

/// Far more transactions than a host may have, and each has ended by its refused part, wherever that comes.
#[test]
fn a_malformed_part_ends_it() {
    for engine in ENGINES.iter().copied() {
        let mut rig = Rig::<Inline>::new(&small_with(engine, true, 21));
        let mut number = 0;
        for (what, bytes, status) in wrong() {
            for flags in [FIRST, NEXT, LAST, (true, true)] {
                number += 1;
                good(part(&mut rig, id(1, number), FIRST, &[store(b"before", b"1")]));
                let told = send(&mut rig, id(1, number), flags, &bytes);
                assert!(told.is(status), "{engine:?}: {what}: {told}");
                let again = part(&mut rig, id(1, number), NEXT, &[store(b"behind", b"1")]);
                refused(again, Status::NO_SUCH_TRANSACTION);
                refused(control(&mut rig, id(1, number), SplitAction::Commit), Status::NO_SUCH_TRANSACTION);
                let outcome = good(control(&mut rig, id(1, number), SplitAction::Outcome));
                assert_eq!(outcome, SplitOutcome::NotDone as u32, "{engine:?}: {what}");
            }
        }
        assert_eq!(value(&mut rig, b"before"), None, "{engine:?}");
        assert!(number > 2 * 16);
    }
}

/// One whose data cannot be reached is refused before anybody has looked at it, and ends it too.
fn nowhere<D: Machine>(build: &Build) {
    let mut rig = Rig::<D>::new(build);
    let mut number = 0;
    let too_many = SPLIT_BYTES_MAX as u32 + 4;
    for (bytes, prp) in [(too_many, 0), (64, 3), (64, 1 << 60), (8 << 12, 4)] {
        for (begins, commits) in [FIRST, NEXT, LAST] {
            number += 1;
            let id = id(1, number);
            good(part(&mut rig, id, FIRST, &[store(b"before", b"1")]));
            let sqe = SplitCommand::Part { id, bytes, begins, commits }.encode(KV).with_prp(prp, 0);
            let told = rig.call(KV, sqe, RawData::Untouched).status;
            assert!(!told.is_success() && !told.is(Status::NO_SUCH_TRANSACTION), "{told}");
            refused(part(&mut rig, id, LAST, &[store(b"behind", b"1")]), Status::NO_SUCH_TRANSACTION);
            let outcome = good(control(&mut rig, id, SplitAction::Outcome));
            assert_eq!(outcome, SplitOutcome::NotDone as u32, "{bytes} bytes at {prp}");
        }
    }
    assert_eq!((value(&mut rig, b"before"), value(&mut rig, b"behind")), (None, None));
}

#[test]
fn one_whose_data_is_nowhere_ends() {
    for engine in ENGINES.iter().copied() {
        nowhere::<Inline>(&small_with(engine, true, 24));
        nowhere::<Clocked>(&small_with(engine, true, 25));
    }
}

/// One that takes more memory than one may have is given back at once: so many of them leave room for the host's others.
#[test]
fn one_that_is_too_long_ends() {
    let mut rig = Rig::<Inline>::new(&roomy(true, 22));
    let absent = |n: u16| (Ask::Absent, n.to_be_bytes().to_vec(), vec![]);
    let asks: Vec<_> = (0..1000).map(absent).collect();
    let part_bytes = payload(&asks).len() - COUNT_BYTES;
    for number in 1..=5 {
        let fit = SPLIT_BYTES_MAX / part_bytes;
        for n in 0..fit {
            good(part(&mut rig, id(1, number), if n == 0 { FIRST } else { NEXT }, &asks));
        }
        refused(part(&mut rig, id(1, number), NEXT, &asks), Status::CAPACITY_EXCEEDED);
        refused(part(&mut rig, id(1, number), LAST, &asks[..1]), Status::NO_SUCH_TRANSACTION);
    }
    assert_eq!(good(part(&mut rig, id(1, 6), (true, true), &asks)), SplitOutcome::Done as u32);
}

/// Random bytes in sound parts: whatever is told, a host is never out of room, and nothing is carried out but what was sound.
#[test]
fn any_bytes() {
    for engine in ENGINES.iter().copied() {
        let mut rig = Rig::<Inline>::new(&small_with(engine, true, 23));
        let mut rng: Rng = Seed(23).rng();
        let (mut done, mut ended) = (0, 0);
        for number in 1..=tier(300_u64, 20_000) {
            let key = [&b"k"[..], &number.to_be_bytes()[4..]].concat();
            good(part(&mut rig, id(1, number), FIRST, &[store(&key, b"1")]));
            let mut bytes = payload(&[store(b"other", &[7; 9]), (Ask::Absent, b"none".to_vec(), vec![])]);
            for _ in 0..rng.below(3) {
                let at = rng.below(bytes.len() as u64) as usize;
                bytes[at] = rng.below(256) as u8;
            }
            bytes.truncate(bytes.len() - rng.below(2) as usize * 4);
            let told = send(&mut rig, id(1, number), LAST, &bytes);
            let outcome = good(control(&mut rig, id(1, number), SplitAction::Outcome));
            let is_done = outcome == SplitOutcome::DoneBefore as u32;
            assert_eq!(is_done, told.is_success(), "{engine:?}, {number}: {told}");
            assert!(is_done || outcome == SplitOutcome::NotDone as u32, "{engine:?}, {number}: {outcome}");
            assert_eq!(value(&mut rig, &key).is_some(), is_done, "{engine:?}, {number}: {told}");
            *(if is_done { &mut done } else { &mut ended }) += 1;
            if is_done {
                let delete = super::DELETE;
                super::transact(&mut rig, &[(delete, key, vec![])]).expect("it is there");
            }
        }
        assert!(done > 30 && ended > 30, "{engine:?}: {done} carried out, {ended} refused");
    }
}
