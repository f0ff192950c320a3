// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Log page C2h as hosts read it: of a device that tells, of one that does not, and of one that tells nonsense.

use saker_engine::write_gate::{Hold, RECENT, WriteControl};
use saker_engine::{WriteCondition, WriteStallCause};
use saker_nvme::log::{SupportedLogs, lid};
use saker_nvme::vendor_specific::{
    LID_WRITE_STALLS, WriteStallEntry, WriteStallSum, WriteStallsHead, WriteState,
};
use saker_sim::Seed;
use zerocopy::IntoBytes;

use crate::fake::{Fake, NSID};

fn sum(periods: u64) -> WriteStallSum {
    WriteStallSum { periods: periods.into(), nanos: (periods * 10).into(), writes: (periods * 100).into() }
}

fn entry(state: u8, cause: u8, begin: u64) -> WriteStallEntry {
    let (nanos, writes) = (7.into(), 3.into());
    WriteStallEntry { state, cause, reserved_2: [0; 6], begin: begin.into(), nanos, writes }
}

fn page(head: &WriteStallsHead, entries: &[WriteStallEntry]) -> Vec<u8> {
    let mut page = head.as_bytes().to_vec();
    entries.iter().for_each(|entry| page.extend_from_slice(entry.as_bytes()));
    page
}

/// What a host makes of a page.
fn read(page: Vec<u8>) -> Option<WriteControl> {
    let mut fake = Fake::new();
    let supported = SupportedLogs::new(&[lid::SUPPORTED, LID_WRITE_STALLS]).as_bytes().to_vec();
    fake.behaviour.logs.extend([(lid::SUPPORTED, supported), (LID_WRITE_STALLS, page)]);
    let mut connection = fake.connect();
    connection.write_control(&mut fake, NSID).expect("the device answers")
}

#[test]
fn a_page_is_taken_apart() {
    let head = WriteStallsHead {
        state: WriteState::Delayed as u8,
        cause: 1,
        rate: 5000.into(),
        delay: 3.into(),
        now: 99.into(),
        delayed: [1, 2, 3].map(sum),
        stopped: [4, 5, 6].map(sum),
        ..WriteStallsHead::new(2)
    };
    let told = read(page(&head, &[entry(2, 0, 10), entry(1, 2, 20)])).expect("a page");
    let cause = WriteStallCause::L0FileCountLimit;
    assert_eq!(told.condition, WriteCondition::Delayed { cause, rate: 5000, delay: 3 });
    assert_eq!(told.now.as_nanos(), 99);
    for (hold, first) in [(Hold::Delayed, 1), (Hold::Stopped, 4)] {
        for (cause, periods) in WriteStallCause::ALL.into_iter().zip(first..) {
            let held = told.stalls.of(hold, cause);
            assert_eq!(
                (held.periods, held.time.as_nanos(), held.writes),
                (periods, periods * 10, periods * 100)
            );
        }
    }
    let periods: Vec<_> = told.stalls.recent.iter().map(|p| (p.hold, p.cause, p.begin.as_nanos())).collect();
    let first = (Hold::Stopped, WriteStallCause::MemtableLimit, 10);
    assert_eq!(periods, [first, (Hold::Delayed, WriteStallCause::PendingCompactionBytes, 20)]);
    assert_eq!((told.stalls.recent[0].length.as_nanos(), told.stalls.recent[0].writes), (7, 3));
    assert_eq!(told.stalls.gone(), 19);
}

#[test]
fn stopped_and_normal_are_told() {
    for (state, cause, expected) in [
        (0, 0, WriteCondition::Normal),
        (2, 0, WriteCondition::Stopped { cause: WriteStallCause::MemtableLimit }),
        (2, 2, WriteCondition::Stopped { cause: WriteStallCause::PendingCompactionBytes }),
        // Of a later device.
        (2, 3, WriteCondition::Normal),
        (3, 0, WriteCondition::Normal),
    ] {
        let head = WriteStallsHead { state, cause, ..WriteStallsHead::new(0) };
        assert_eq!(read(page(&head, &[])).expect("a page").condition, expected);
    }
}

#[test]
fn other_pages_are_none() {
    let head = WriteStallsHead::new(0);
    assert!(read(page(&WriteStallsHead { signature: *b"SKRS", ..head }, &[])).is_none());
    assert!(read(page(&WriteStallsHead { version: 2.into(), ..head }, &[])).is_none());
    assert!(read(page(&WriteStallsHead { entry_bytes: 0.into(), ..head }, &[])).is_none());
    let mut fake = Fake::new();
    let supported = SupportedLogs::new(&[lid::SUPPORTED]).as_bytes().to_vec();
    fake.behaviour.logs.insert(lid::SUPPORTED, supported);
    let mut connection = fake.connect();
    assert_eq!(connection.write_control(&mut fake, NSID), Ok(None));
    assert!(fake.seen.iter().all(|sqe| sqe.cdw10.get() as u8 != LID_WRITE_STALLS), "it is not asked for");
}

/// Whatever a device tells, sums of it and differences are formed.
#[test]
fn nonsense_is_believed_as_far_as_it_goes() {
    let mut rng = Seed(1).child("nonsense").rng();
    for round in 0..200 {
        let mut nonsense = vec![0; 208 + 32 * 80];
        rng.fill(&mut nonsense);
        nonsense[..12].copy_from_slice(&WriteStallsHead::new(0).as_bytes()[..12]);
        (nonsense[6], nonsense[7]) = (round as u8, if round % 3 == 0 { 0xFF } else { 0 });
        nonsense[208..]
            .chunks_exact_mut(32)
            .for_each(|entry| (entry[0], entry[1]) = (entry[0] % 4, entry[1] % 4));
        let told = read(nonsense).expect("a page").stalls;
        assert!(told.recent.len() <= RECENT);
        let none = told.since(&told);
        assert!(none.is_empty() && none.all(Hold::Stopped).periods == 0, "round {round}");
        let all = Hold::ALL.map(|hold| told.all(hold).periods);
        assert!(all.iter().all(|n| *n > 0) && told.gone() > 0, "round {round}");
    }
}
