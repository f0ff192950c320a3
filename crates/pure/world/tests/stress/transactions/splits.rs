// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions in parts, on every engine: what they answer and when they end, and that a cut leaves what they wrote with what tells
//! of it, or neither.

use super::{DELETE, ENGINES, Entry, RETRIEVE, STORE, marked, transact};
use crate::stress::groups::{end, roomy, small_with};
use crate::stress::rig::{KV, Machine, Rig, power_on};
use crate::stress::tier;
use saker_assembly::Build;
use saker_engine::EngineKind;
use saker_flash::PowerCut;
use saker_host::{Driver, RawData, Ticket};
use saker_nvme::group::outcomes::{OUTCOME_PLACES, Outcomes};
use saker_nvme::group::{Ask, SplitAction, SplitOutcome, ToAsk, TransactionId, pack_part};
use saker_nvme::vendor_specific::IteratorCommand;
use saker_nvme::{Sqe, Status};
use saker_segment_store::PowerHistory;
use saker_sim::{Rng, Seed};
use saker_world::{Clocked, Inline};

const DONE: u32 = SplitOutcome::Done as u32;
const BEFORE: u32 = SplitOutcome::DoneBefore as u32;
const NOT: u32 = SplitOutcome::NotDone as u32;
const OPEN: u32 = SplitOutcome::Open as u32;

pub fn id(host: u8, number: u64) -> TransactionId {
    TransactionId { host: [host; 16], number }
}

pub fn payload(entries: &[Entry]) -> Vec<u8> {
    pack_part(entries.iter().map(|(ask, key, rest)| -> ToAsk<'_> { (*ask, key, rest) })).expect("keys")
}

pub fn store(key: &[u8], value: &[u8]) -> Entry {
    (STORE, key.to_vec(), value.to_vec())
}

fn send<D: Machine>(rig: &mut Rig<D>, id: TransactionId, flags: (bool, bool), entries: &[Entry]) -> Ticket {
    rig.kv.transaction_part(id, flags.0, flags.1, &payload(entries)).expect("room")
}

/// Status and DW0 of a part.
pub fn part<D: Machine>(
    rig: &mut Rig<D>,
    id: TransactionId,
    flags: (bool, bool),
    entries: &[Entry],
) -> (Status, u32) {
    let ticket = send(rig, id, flags, entries);
    let (status, dw0, ..) = end(rig, ticket);
    (status, dw0)
}

pub fn control<D: Machine>(rig: &mut Rig<D>, id: TransactionId, action: SplitAction) -> (Status, u32) {
    let ticket = rig.kv.transaction_control(id, action).expect("room");
    let (status, dw0, ..) = end(rig, ticket);
    (status, dw0)
}

pub const FIRST: (bool, bool) = (true, false);
pub const NEXT: (bool, bool) = (false, false);
pub const LAST: (bool, bool) = (false, true);
const ALONE: (bool, bool) = (true, true);

pub fn good(answer: (Status, u32)) -> u32 {
    assert!(answer.0.is_success(), "{} {}", answer.0, answer.1);
    answer.1
}

pub fn refused((status, dw0): (Status, u32), expected: Status) -> u32 {
    assert!(status.is(expected), "{status}, not {expected}");
    dw0
}

pub fn value<D: Machine>(rig: &mut Rig<D>, key: &[u8]) -> Option<Vec<u8>> {
    let found = transact(rig, &[(RETRIEVE, key.to_vec(), vec![])]).expect("a read");
    (!found[0].1.is_absent()).then(|| found[0].2.clone())
}

fn whole<D: Machine>(build: &Build) {
    let mut rig = Rig::<D>::new(build);
    let long = vec![b'l'; 40];
    good(part(&mut rig, id(1, 1), ALONE, &[store(b"a", b"1"), store(&long, b"2")]));
    assert_eq!((value(&mut rig, b"a"), value(&mut rig, &long)), (Some(b"1".into()), Some(b"2".into())));
    // Nothing is judged or seen before the commit, and then all of it is.
    assert_eq!(good(control(&mut rig, id(1, 2), SplitAction::Begin)), 0);
    assert_eq!(good(part(&mut rig, id(1, 2), NEXT, &[store(b"b", b"1"), (DELETE, long.clone(), vec![])])), 2);
    assert_eq!(good(part(&mut rig, id(1, 2), NEXT, &[(Ask::Value, b"a".to_vec(), b"9".to_vec())])), 3);
    assert_eq!(good(control(&mut rig, id(1, 2), SplitAction::Outcome)), OPEN);
    assert_eq!(value(&mut rig, b"b"), None);
    good(part(&mut rig, id(2, 2), ALONE, &[store(b"a", b"9")]));
    assert_eq!(good(control(&mut rig, id(1, 2), SplitAction::Commit)), DONE, "another host has made it true");
    assert_eq!((value(&mut rig, b"b"), value(&mut rig, &long)), (Some(b"1".into()), None));
    // It is carried out once, however it is asked again.
    good(part(&mut rig, id(2, 3), ALONE, &[store(b"b", b"2")]));
    for again in 0..3 {
        let answer = match again {
            0 => control(&mut rig, id(1, 2), SplitAction::Commit),
            1 => part(&mut rig, id(1, 2), ALONE, &[store(b"b", b"3")]),
            _ => control(&mut rig, id(1, 2), SplitAction::Outcome),
        };
        assert_eq!(good(answer), BEFORE);
    }
    assert_eq!(value(&mut rig, b"b"), Some(b"2".to_vec()));
    // The entry that refuses is counted over all parts, and what was refused is not there, nor open.
    good(part(&mut rig, id(1, 3), FIRST, &[store(b"c", b"1"), store(b"d", b"1")]));
    let present = (Ask::Present, b"never".to_vec(), vec![]);
    let answer = part(&mut rig, id(1, 3), LAST, &[store(b"e", b"1"), present]);
    assert_eq!(refused(answer, Status::PRECONDITION_FAILED), 3);
    assert_eq!(good(control(&mut rig, id(1, 3), SplitAction::Outcome)), NOT);
    refused(control(&mut rig, id(1, 3), SplitAction::Commit), Status::NO_SUCH_TRANSACTION);
    good(part(&mut rig, id(1, 4), FIRST, &[store(b"c", b"1")]));
    assert_eq!(refused(part(&mut rig, id(1, 4), LAST, &[store(b"c", b"2")]), Status::WRITTEN_TWICE), 1);
    // Given up, and begun anew.
    good(part(&mut rig, id(1, 5), FIRST, &[store(b"c", b"1")]));
    good(control(&mut rig, id(1, 5), SplitAction::Abort));
    refused(part(&mut rig, id(1, 5), NEXT, &[store(b"c", b"1")]), Status::NO_SUCH_TRANSACTION);
    good(part(&mut rig, id(1, 5), FIRST, &[store(b"c", b"1")]));
    good(part(&mut rig, id(1, 5), ALONE, &[store(b"f", b"1")]));
    assert_eq!((value(&mut rig, b"c"), value(&mut rig, b"f")), (None, Some(b"1".to_vec())));
    // One of no entries has an outcome, too.
    good(control(&mut rig, id(1, 6), SplitAction::Begin));
    assert_eq!(good(control(&mut rig, id(1, 6), SplitAction::Commit)), DONE);
    assert_eq!(good(control(&mut rig, id(1, 6), SplitAction::Outcome)), BEFORE);
    // A malformed part ends it, so that nobody commits a part of what was wanted.
    good(part(&mut rig, id(1, 7), FIRST, &[store(b"g", b"1")]));
    let read = (RETRIEVE, b"a".to_vec(), vec![]);
    assert_eq!(refused(part(&mut rig, id(1, 7), LAST, &[read]), Status::INVALID_FIELD), 4);
    refused(part(&mut rig, id(1, 7), LAST, &[store(b"h", b"1")]), Status::NO_SUCH_TRANSACTION);
    refused(control(&mut rig, id(1, 7), SplitAction::Commit), Status::NO_SUCH_TRANSACTION);
    assert_eq!(good(control(&mut rig, id(1, 7), SplitAction::Outcome)), NOT);
    assert_eq!((value(&mut rig, b"g"), value(&mut rig, b"h")), (None, None));
    assert_eq!(good(part(&mut rig, id(1, 7), ALONE, &[store(b"h", b"1")])), DONE, "it may begin anew");
    rig.machine.check().expect("all agrees");
}

#[test]
fn all_or_nothing_and_once() {
    for engine in ENGINES.iter().copied() {
        whole::<Inline>(&small_with(engine, true, 1));
        whole::<Clocked>(&small_with(engine, true, 2));
    }
}

/// What a transaction writes may be as long as a record; what it asks may be longer.
#[test]
fn longer_than_a_command() {
    let mut rig = Rig::<Inline>::new(&roomy(true, 1));
    let absent = |n: u16| (Ask::Absent, n.to_be_bytes().to_vec(), vec![]);
    let flags = |n| if n == 0 { FIRST } else { NEXT };
    for n in 0..40_u16 {
        let asks: Vec<_> = (0..400).map(|m| absent(n * 400 + m)).collect();
        assert_eq!(good(part(&mut rig, id(1, 1), flags(n), &asks)), u32::from(n + 1) * 400);
    }
    assert_eq!(good(part(&mut rig, id(1, 1), LAST, &[store(&7_u16.to_be_bytes(), b"1")])), DONE);
    let mut writes = 0;
    while good(part(&mut rig, id(1, 2), flags(writes), &[store(&writes.to_be_bytes(), &[1; 900])])) < 40 {
        writes += 1;
    }
    refused(control(&mut rig, id(1, 2), SplitAction::Commit), Status::WRITES_TOO_LONG);
    assert_eq!(value(&mut rig, &writes.to_be_bytes()), None);
}

/// Everything that ends a namespace's or a host's life ends open transactions, and gives their memory back.
#[test]
fn what_ends_them() {
    for engine in ENGINES.iter().copied() {
        let mut rig = Rig::<Inline>::new(&small_with(engine, true, 3));
        good(part(&mut rig, id(1, 1), ALONE, &[store(b"a", b"1")]));
        good(part(&mut rig, id(1, 2), FIRST, &[store(b"b", b"1")]));
        rig.connection.format(&mut rig.machine, KV).expect("formats");
        refused(part(&mut rig, id(1, 2), LAST, &[store(b"c", b"1")]), Status::NO_SUCH_TRANSACTION);
        assert_eq!(good(control(&mut rig, id(1, 1), SplitAction::Outcome)), NOT, "Format forgets outcomes");
        assert_eq!(good(part(&mut rig, id(1, 1), ALONE, &[store(b"a", b"2")])), DONE);
        // So many at a time, and those that nobody goes on with make way.
        let opened = (10..).take_while(|n| {
            let (status, _) = part(&mut rig, id(3, *n), FIRST, &[store(b"x", b"1")]);
            assert!(status.is_success() || status.is(Status::CAPACITY_EXCEEDED), "{status}");
            status.is_success()
        });
        assert_eq!(opened.count(), 16, "{engine:?}");
        good(part(&mut rig, id(4, 1), FIRST, &[store(b"x", b"1")]));
        for _ in 0..=1 << 16 {
            good(control(&mut rig, id(4, 2), SplitAction::Abort));
        }
        refused(control(&mut rig, id(4, 1), SplitAction::Commit), Status::NO_SUCH_TRANSACTION);
        good(part(&mut rig, id(3, 99), FIRST, &[store(b"x", b"1")]));
        if engine != EngineKind::HASH_STORE && tier(true, false) {
            continue;
        }
        // By what is written, too.
        for n in 0..2000_u32 {
            transact(&mut rig, &[(STORE, (n % 8).to_be_bytes().to_vec(), vec![7; 200])]).expect("room");
        }
        refused(control(&mut rig, id(3, 99), SplitAction::Commit), Status::NO_SUCH_TRANSACTION);
    }
}

/// A controller reset ends what is open; what was committed is known.
#[test]
fn a_reset_ends_those_that_are_open() {
    for engine in ENGINES.iter().copied() {
        let mut rig = Rig::<Inline>::reset_after(&small_with(engine, true, 6), |rig| {
            good(part(rig, id(1, 1), ALONE, &[store(b"a", b"1")]));
            good(part(rig, id(1, 2), FIRST, &[store(b"b", b"1")]));
        });
        refused(part(&mut rig, id(1, 2), LAST, &[store(b"c", b"1")]), Status::NO_SUCH_TRANSACTION);
        assert_eq!(good(control(&mut rig, id(1, 1), SplitAction::Outcome)), BEFORE, "{engine:?}");
        assert_eq!(good(control(&mut rig, id(1, 2), SplitAction::Outcome)), NOT, "{engine:?}");
        let values = [b"a", b"b", b"c"].map(|key| value(&mut rig, key));
        assert_eq!(values, [Some(b"1".to_vec()), None, None], "{engine:?}");
    }
}

/// The last 4,096 numbers of a host are known, those behind them are not, and other hosts' have nothing to do with them.
#[test]
fn outcomes_are_kept_for_so_many() {
    for engine in ENGINES.iter().copied() {
        let mut rig = Rig::<Inline>::new(&small_with(engine, true, 4));
        let last = tier(4700, 9000);
        good(part(&mut rig, id(2, 5), ALONE, &[store(b"other", b"1")]));
        for number in (0..=last).filter(|number| number % 3 != 1) {
            assert_eq!(
                good(part(&mut rig, id(1, number), ALONE, &[store(b"a", &number.to_le_bytes())])),
                DONE
            );
        }
        for number in 0..=last {
            let answer = control(&mut rig, id(1, number), SplitAction::Outcome);
            if number / 256 + u64::from(OUTCOME_PLACES) <= last / 256 {
                assert!(number + 4096 <= last);
                refused(answer, Status::OUTCOME_UNKNOWN);
                refused(
                    part(&mut rig, id(1, number), ALONE, &[store(b"a", b"old")]),
                    Status::OUTCOME_UNKNOWN,
                );
            } else {
                assert_eq!(good(answer), if number % 3 == 1 { NOT } else { BEFORE }, "{engine:?} {number}");
            }
        }
        assert_eq!(good(control(&mut rig, id(2, 5), SplitAction::Outcome)), BEFORE);
        let written = if last % 3 == 1 { last - 1 } else { last };
        assert_eq!(value(&mut rig, b"a"), Some(written.to_le_bytes().to_vec()));
    }
}

/// A full device refuses the commit and keeps all that is there; what was refused is not open any more.
#[test]
fn on_a_full_device() {
    for engine in ENGINES.iter().copied() {
        let mut rig = Rig::<Inline>::new(&small_with(engine, true, 5));
        good(part(&mut rig, id(1, 1), ALONE, &[store(b"first", b"1")]));
        let full = (2..).find(|n: &u64| {
            let pair = store(&n.to_be_bytes(), &[*n as u8; 800]);
            let (status, _) = part(&mut rig, id(1, *n), ALONE, &[pair]);
            assert!(status.is_success() || status.is(Status::CAPACITY_EXCEEDED), "{engine:?}: {status}");
            !status.is_success()
        });
        let full = full.expect("it is full at some time");
        assert_eq!(good(control(&mut rig, id(1, full), SplitAction::Outcome)), NOT);
        assert_eq!(value(&mut rig, &full.to_be_bytes()), None);
        for number in [1, full - 1] {
            assert_eq!(good(control(&mut rig, id(1, number), SplitAction::Outcome)), BEFORE, "{engine:?}");
        }
        // What frees room is carried out.
        for n in 2..full.min(30) {
            let gone = (DELETE, n.to_be_bytes().to_vec(), vec![]);
            good(part(&mut rig, id(1, full + n), ALONE, &[gone]));
        }
        rig.machine.rest();
        good(part(&mut rig, id(1, 2 * full), ALONE, &[store(b"again", b"1")]));
        assert_eq!(value(&mut rig, b"again"), Some(b"1".to_vec()));
    }
}

/// An iterator reads its moment while a transaction in parts is sent and carried out.
#[test]
fn beside_a_snapshot() {
    for engine in [EngineKind::LSM, EngineKind::TREE] {
        let mut rig = Rig::<Inline>::new(&small_with(engine, true, 6));
        good(part(&mut rig, id(1, 1), ALONE, &[store(b"k1", b"old"), store(b"k2", b"old")]));
        good(part(&mut rig, id(1, 2), FIRST, &[store(b"k1", b"new"), (DELETE, b"k2".to_vec(), vec![])]));
        let range = saker_nvme::vendor_specific::IteratorRange::new(b"k", b"l", b"").expect("short");
        let open = IteratorCommand::Open { keys_only: false, beside: None }.encode(KV);
        let opened = rig.call(KV, open, RawData::ToDevice(zerocopy::IntoBytes::as_bytes(&range)));
        assert!(opened.status.is_success());
        assert_eq!(good(part(&mut rig, id(1, 2), LAST, &[store(b"k3", b"new")])), DONE);
        let next = IteratorCommand::Next {
            iterator: opened.dw0,
            buffer_bytes: 1024,
            pairs_max: 0,
            backwards: false,
            seek: None,
        };
        let read = rig.call(KV, next.encode(KV), RawData::ValueFromDevice(1024));
        assert!(read.status.is_success());
        let shown = read.data.windows(3).filter(|window| *window == b"old").count();
        assert_eq!((shown, read.data[0]), (2, 2), "{engine:?}: both as they were");
        assert_eq!((value(&mut rig, b"k1"), value(&mut rig, b"k2")), (Some(b"new".to_vec()), None));
    }
}

/// What the client of a history of cuts has been told, and what is on its way.
struct Client {
    rng: Rng,
    /// The number of the transaction that is on its way, and the ticket of its commit once that is sent.
    number: u64,
    commit: Option<Ticket>,
    /// Transactions that were acknowledged.
    told: u64,
}

const WRITTEN: u64 = 5;

fn key(n: u64) -> Vec<u8> {
    let mut key = format!("key {n}").into_bytes();
    key.resize(if n == 2 { 30 } else { 8 }, b'.');
    if n == 1 { marked(n) } else { key }
}

/// Transaction `number` writes its number under each key.
fn entry(number: u64, n: u64) -> Entry {
    let mut value = number.to_le_bytes().to_vec();
    value.resize(8 + (number * 37 % 150) as usize, 7);
    (STORE, key(n), value)
}

impl Client {
    fn go_on(&mut self, rig: &mut Rig<Clocked>) {
        if self.commit.is_some() {
            return;
        }
        let parts = 1 + self.rng.below(3);
        for n in 0..parts {
            let entries: Vec<_> =
                (0..WRITTEN).filter(|key| key % parts == n).map(|key| entry(self.number, key)).collect();
            let ticket = send(rig, id(1, self.number), (n == 0, n + 1 == parts), &entries);
            if n + 1 == parts {
                self.commit = Some(ticket);
            } else {
                good((end(rig, ticket).0, 0));
            }
        }
    }

    fn poll(&mut self, rig: &mut Rig<Clocked>) {
        if let Some(polled) = rig.kv.poll(|d| (d.ticket, d.status, d.result)) {
            let (ticket, status, dw0) = polled.expect("an answer");
            assert!(self.commit.take() == Some(ticket) && status.is_success() && dw0 == DONE, "{status}");
            self.told = self.number;
            self.number += 1;
        }
    }

    /// What is there after a cut: all of one transaction, and its outcome, and of all before it.
    fn check(&self, rig: &mut Rig<Clocked>, kept: bool, at: u64) -> u64 {
        let found: Vec<u64> = (0..WRITTEN)
            .map(|n| {
                value(rig, &key(n)).and_then(|v| v.first_chunk().map(|c| u64::from_le_bytes(*c))).unwrap_or(0)
            })
            .collect();
        let last = found[0];
        assert!(found.iter().all(|number| *number == last), "event {at}: {found:?}");
        assert!(
            last <= self.number && (!kept || last >= self.told),
            "event {at}: {last}, told {}",
            self.told
        );
        for number in self.told.saturating_sub(3).max(1)..=self.number {
            let expected = if number <= last { BEFORE } else { NOT };
            let outcome = good(control(rig, id(1, number), SplitAction::Outcome));
            assert_eq!(outcome, expected, "event {at}: {number}, with {last} there");
        }
        last
    }
}

/// Power goes at so many events; what is left is looked at, and every so often cut again while it recovers.
fn cuts(engine: EngineKind, capacitor: bool, seed: u64) -> u64 {
    let build = small_with(engine, capacitor, seed);
    let mut rig = Rig::<Clocked>::new(&build);
    let mut client = Client { rng: Seed(seed).rng(), number: 1, commit: None, told: 0 };
    let (mut events, mut states) = (0_u64, 0);
    let every = tier(7, 1);
    while client.told < tier(60, 600) {
        client.go_on(&mut rig);
        rig.kv.ring();
        rig.machine.drive();
        events += 1;
        client.poll(&mut rig);
        if !events.is_multiple_of(every) {
            continue;
        }
        let ring_kept = capacitor || events.is_multiple_of(2);
        let history = match (capacitor, ring_kept) {
            (false, true) => PowerHistory::Killed,
            _ => PowerHistory::Cut { ring_kept },
        };
        let cut = |seed| PowerCut { seed, ring_kept };
        let (mut media, ring) = rig.machine.0.flash().cut(cut(Seed(seed).index(events).0));
        media.set_history(history);
        let (mut again, mut steps, stop) = (None, 0, 1 + events % 40);
        let mut left = power_on(&build, media, &ring, |device| {
            steps += 1;
            if steps == stop {
                again = Some(device.flash().cut(cut(events)));
            }
        });
        let found = client.check(&mut left, ring_kept, events);
        states += 1;
        if let Some((mut media, ring)) = again {
            media.set_history(history);
            let mut left = power_on(&build, media, &ring, |_| {});
            assert_eq!(client.check(&mut left, ring_kept, events), found, "event {events}: recovery was cut");
            states += 1;
        }
        // What is sent again has one effect.
        let entries: Vec<_> = (0..WRITTEN).map(|n| entry(client.number, n)).collect();
        let answer = good(part(&mut left, id(1, client.number), ALONE, &entries));
        assert_eq!(answer, if found == client.number { BEFORE } else { DONE }, "event {events}");
        for n in 0..WRITTEN {
            assert_eq!(value(&mut left, &key(n)), Some(entry(client.number, n).2), "event {events}");
        }
        assert_eq!(good(control(&mut left, id(1, client.number), SplitAction::Outcome)), BEFORE);
    }
    states
}

#[test]
fn a_cut_leaves_writes_and_outcome_or_neither() {
    for engine in ENGINES.iter().copied() {
        let states: Vec<_> = [true, false].iter().map(|capacitor| cuts(engine, *capacitor, 7)).collect();
        println!("{engine:?}: {states:?} states");
        assert!(states.iter().all(|states| *states > 10), "{engine:?}: {states:?}");
    }
}

/// What tells of a transaction takes the room of one more write in the same record: of its own it would have a head of its own, and a cut could
/// come between.
#[test]
fn an_outcome_is_in_the_record_of_its_writes() {
    for engine in ENGINES.iter().copied() {
        let appended = |rig: &mut Rig<Inline>| rig.machine.stats().namespaces[0].log.bytes_appended;
        let writes = [store(b"a", &[1; 100]), store(b"b", &[2; 30])];
        let mut with_id = Rig::<Inline>::new(&small_with(engine, true, 8));
        good(part(&mut with_id, id(1, 1), ALONE, &writes));
        let mut plain = Rig::<Inline>::new(&small_with(engine, true, 8));
        let pair_of_outcomes = store(&[b'o'; 16], &[0; size_of::<Outcomes>()]);
        transact(&mut plain, &[&writes[..], &[pair_of_outcomes]].concat()).expect("room");
        let expected = appended(&mut plain);
        assert_eq!(appended(&mut with_id), expected, "{engine:?}");
        assert!(expected.iter().sum::<u64>() > 130, "{engine:?}");
    }
}

/// A device without the bit of the log page knows no such commands.
#[test]
fn a_device_without_them_says_so() {
    let mut build = roomy(true, 1);
    build.config.methods = build.config.methods.with_split_transactions(false);
    let mut rig = Rig::<Inline>::new(&build);
    refused(part(&mut rig, id(1, 1), ALONE, &[store(b"a", b"1")]), Status::INVALID_OPCODE);
    let flushed = rig.call(KV, Sqe::new(0, KV), RawData::Untouched);
    assert!(flushed.status.is_success());
}
