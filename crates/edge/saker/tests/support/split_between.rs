// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What looks at a namespace, copies or ends it while a transaction in parts is open, at any URL. Parts are never seen before their commit, by whatever
//! looks; the commit is whole; and what ends the namespace's life ends them.

use saker::{
    BackupOptions, KeyRange, Kv, RestoreOptions, ScanOptions, ScanOrder, SplitOutcome, back_up_kv, restore_kv,
};
use saker_host::{Driver, Ticket};
use saker_nvme::group::{Ask, Op, SplitAction, TransactionId, pack_part};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::split_model::{DONE, DONE_BEFORE, NO_SUCH, Told, id};

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;
type Write = (Vec<u8>, Option<Vec<u8>>);

/// Where the pairs are.
pub struct Place<'p> {
    /// Opens the device, which nobody else has open.
    pub open: &'p mut dyn FnMut() -> Kv,
    /// What is done to it while nobody has it open.
    pub rest: &'p mut dyn FnMut(),
    /// Whether it is the same device when it is opened again.
    pub lasts: bool,
    pub what: &'p str,
}

/// A device that is sent parts between what else it is asked.
struct Between {
    kv: Kv,
}

impl Between {
    fn ended(&mut self, ticket: Ticket) -> Told {
        let (client, begun) = (self.kv.client(), Instant::now());
        client.queue_mut().ring();
        while begun.elapsed() < Duration::from_secs(60) {
            client.driver_mut().drive();
            if let Some(ended) = client.queue_mut().poll(|done| (done.ticket, done.status, done.result)) {
                let (of, status, dw0) = ended.expect("an answer");
                assert_eq!(of, ticket);
                return if status.is_success() { Ok(dw0) } else { Err(status) };
            }
        }
        panic!("no answer");
    }

    fn part(&mut self, id: TransactionId, (begins, commits): (bool, bool), writes: &[Write]) -> Told {
        let entries = writes.iter().map(|(key, value)| {
            let op = if value.is_some() { Op::Store } else { Op::Delete };
            (Ask::Op(op), &key[..], value.as_deref().unwrap_or_default())
        });
        let payload = pack_part(entries).expect("good keys");
        let sent = self.kv.client().queue_mut().transaction_part(id, begins, commits, &payload);
        self.ended(sent.expect("room"))
    }

    fn control(&mut self, id: TransactionId, action: SplitAction) -> Told {
        let sent = self.kv.client().queue_mut().transaction_control(id, action);
        self.ended(sent.expect("room"))
    }

    /// Sends the first parts and looks behind each that nothing of them is there.
    fn begin(&mut self, id: TransactionId, parts: &[Vec<Write>], pairs: &Pairs, what: &str) {
        let mut entries = 0;
        for (n, part) in parts.iter().enumerate() {
            entries += part.len() as u32;
            assert_eq!(self.part(id, (n == 0, false), part), Ok(entries), "{what}");
            looks(&mut self.kv, pairs, what);
            assert_eq!(
                self.kv.transaction_outcome(id),
                Ok(SplitOutcome::Open),
                "{what}: looking ends nothing"
            );
        }
    }

    /// One more part behind them.
    fn more(&mut self, id: TransactionId, part: &[Write], pairs: &Pairs, what: &str) {
        assert!(self.part(id, (false, false), part).is_ok(), "{what}");
        looks(&mut self.kv, pairs, what);
    }

    /// It has ended, and nothing of it is there; under its ID it is carried out as a whole.
    fn is_gone(&mut self, id: TransactionId, parts: &[Vec<Write>], pairs: &mut Pairs, what: &str) {
        looks(&mut self.kv, pairs, what);
        assert_eq!(self.part(id, (false, true), &parts[0]), NO_SUCH, "{what}");
        assert_eq!(self.control(id, SplitAction::Commit), NO_SUCH, "{what}");
        // A target may not have seen yet that the connection is gone which has begun it.
        let begun = Instant::now();
        let outcome = loop {
            match self.kv.transaction_outcome(id) {
                Ok(SplitOutcome::Open) if begun.elapsed() < Duration::from_secs(60) => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                told => break told,
            }
        };
        assert_eq!(outcome, Ok(SplitOutcome::NotDone), "{what}");
        // Nothing is there to be deleted behind a Format.
        let writes: Vec<Write> = parts
            .concat()
            .into_iter()
            .filter(|(key, value)| value.is_some() || pairs.contains_key(key))
            .collect();
        assert_eq!(self.part(id, (true, true), &writes), DONE, "{what}");
        carry_out(pairs, &writes);
        looks(&mut self.kv, pairs, what);
    }
}

fn carry_out(pairs: &mut Pairs, writes: &[Write]) {
    for (key, value) in writes {
        match value {
            Some(value) => _ = pairs.insert(key.clone(), value.clone()),
            None => assert!(pairs.remove(key).is_some(), "it was there"),
        }
    }
}

fn key(n: u8) -> Vec<u8> {
    let text = format!("key {n:02}").into_bytes();
    let bytes = if n.is_multiple_of(4) { 17 + 8 * usize::from(n) } else { 6 };
    text.into_iter().chain(std::iter::repeat(b'.')).take(bytes).collect()
}

const KEYS: u8 = 24;

fn value(n: u8, round: u8) -> Vec<u8> {
    vec![round; usize::from(n) * 13 % 300]
}

/// Writes of a round, in four parts: of what is there every third pair is deleted.
fn writes(pairs: &Pairs, round: u8) -> Vec<Vec<Write>> {
    let write = |n: u8| {
        let is_deleted = (n + round).is_multiple_of(3) && pairs.contains_key(&key(n));
        (key(n), if is_deleted { None } else { Some(value(n, round)) })
    };
    (0..4).map(|part| (0..KEYS).filter(|n| n % 4 == part).map(write).collect()).collect()
}

/// Everything that looks shows these pairs and nothing else.
fn looks(kv: &mut Kv, pairs: &Pairs, what: &str) {
    let keys: Vec<_> = (0..KEYS).map(key).collect();
    let lent: Vec<_> = keys.iter().map(|key| &key[..]).collect();
    let values: Vec<_> = keys.iter().map(|key| pairs.get(key).cloned()).collect();
    let are_there: Vec<_> = values.iter().map(Option::is_some).collect();
    let got: Result<Vec<_>, _> = lent.iter().map(|key| kv.get(key)).collect();
    assert_eq!(got, Ok(values.clone()), "{what}: get");
    assert_eq!(kv.multi_get(&lent), Ok(values.clone()), "{what}: multi_get");
    assert_eq!(kv.multi_exist(&lent), Ok(are_there), "{what}: multi_exist");
    let listed: Result<BTreeSet<_>, _> = kv.list(None).collect();
    assert_eq!(listed, Ok(pairs.keys().cloned().collect()), "{what}: list");
    let (order, found) = scan(kv, false, what);
    assert_eq!(&found, pairs, "{what}: scan");
    if order == ScanOrder::Bytes {
        assert_eq!(&scan(kv, true, what).1, pairs, "{what}: backwards");
        let mut txn = kv.begin_transaction().expect("it has them");
        let found = txn.scan(&KeyRange::default()).expect("it has an order");
        txn.abort();
        assert_eq!(Pairs::from_iter(found), *pairs, "{what}: scan of a transaction");
    }
    let mut read = kv.begin_read().expect("begins");
    let got: Result<Vec<_>, _> = lent.iter().map(|key| read.get(key)).collect();
    assert_eq!(got, Ok(values), "{what}: read transaction");
    read.end().expect("nobody is between");
    copies(kv, pairs, what);
}

fn scan(kv: &mut Kv, backwards: bool, what: &str) -> (ScanOrder, Pairs) {
    let mut found = Pairs::new();
    let order = kv.scan(&ScanOptions { backwards, ..ScanOptions::default() }, &mut |key, value| {
        assert!(found.insert(key.to_vec(), value.to_vec()).is_none(), "{what}: each once");
        true
    });
    (order.expect("scans"), found)
}

/// A backup has these pairs.
fn copies(kv: &mut Kv, pairs: &Pairs, what: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("a.bak");
    let options = BackupOptions { each: true, ..BackupOptions::default() };
    back_up_kv(kv, &file, &options, &mut |_| {}).expect("backed up");
    let mut copy = Kv::open("mem:?size=4MiB&profile=tiny").expect("opens");
    restore_kv(&[file], &mut copy, &RestoreOptions::default(), &mut |_| {}).expect("restores");
    assert_eq!(&scan(&mut copy, false, what).1, pairs, "{what}: backup");
}

/// An iterator and a scan that were opened between parts, read before the commit and behind it: engines that show moments show that one, the others what is
/// there.
fn looks_across(
    open: &mut Between,
    id: TransactionId,
    last: &[Write],
    before: &Pairs,
    after: &Pairs,
    what: &str,
) {
    let mut iterator = open.kv.open_iterator(&KeyRange::default()).expect("opens");
    let mut cursor = open.kv.open_scan(&ScanOptions::default()).expect("opens");
    let mut shown = Pairs::new();
    let mut next = |kv: &mut Kv, pairs_max| {
        let Some(iterator) = &mut iterator else { return true };
        let batch = kv.next_pairs(iterator, pairs_max, false, None).expect("goes on");
        shown.extend(batch.pairs().map(|(key, value)| (key.to_vec(), value.to_vec())));
        batch.is_last()
    };
    next(&mut open.kv, 3);
    assert_eq!(open.part(id, (false, true), last), DONE, "{what}");
    while !next(&mut open.kv, 5) {}
    if let Some(iterator) = iterator {
        open.kv.close_iterator(iterator).expect("closes");
        // It shows envelopes of long keys and outcomes, too.
        shown.retain(|key, _| key.starts_with(b"key "));
        let expected: Pairs = before.clone().into_iter().filter(|(key, _)| key.len() <= 16).collect();
        assert_eq!(shown, expected, "{what}: an iterator over the commit");
    }
    let mut found = Pairs::new();
    let mut see = |key: &[u8], value: &[u8]| found.insert(key.to_vec(), value.to_vec()).is_none();
    while open.kv.scan_next(&mut cursor, &mut see).expect("goes on") {}
    let expected = if cursor.order() == ScanOrder::Bytes { before } else { after };
    assert_eq!(&found, expected, "{what}: a scan over the commit");
    open.kv.close_scan(cursor).expect("closes");
}

/// All of it, at a place.
pub fn everything(place: &mut Place<'_>) {
    let what = place.what;
    let mut open = Between { kv: (place.open)() };
    let mut pairs: Pairs = (0..KEYS).filter(|n| n % 2 == 0).map(|n| (key(n), value(n, 100))).collect();
    pairs.iter().for_each(|(key, value)| open.kv.put(key, value).expect("room"));
    // It is carried out, by its last part or by a commit of its own.
    for round in 1..=2_u8 {
        let (parts, before, number) = (writes(&pairs, round), pairs.clone(), u64::from(round));
        let what = format!("{what}, commit {round}");
        open.begin(id(1, number), &parts[..3], &before, &what);
        carry_out(&mut pairs, &parts.concat());
        if round == 1 {
            looks_across(&mut open, id(1, number), &parts[3], &before, &pairs, &what);
        } else {
            open.more(id(1, number), &parts[3], &before, &what);
            assert_eq!(open.control(id(1, number), SplitAction::Commit), DONE, "{what}");
        }
        looks(&mut open.kv, &pairs, &what);
        assert_eq!(open.control(id(1, number), SplitAction::Commit), DONE_BEFORE, "{what}");
    }
    // It ends.
    for (round, ends) in (3..).zip(["abort", "close", "rest", "drop", "format", "close", "drop"]) {
        let (parts, id) = (writes(&pairs, round), id(1, u64::from(round)));
        let what = format!("{what}, {round}: {ends}");
        open.begin(id, &parts[..3], &pairs, &what);
        match ends {
            "abort" => assert_eq!(open.control(id, SplitAction::Abort), Ok(0), "{what}"),
            "format" => {
                open.kv.format().expect("formats");
                pairs.clear();
            }
            _ if !place.lasts => {
                looks(&mut open.kv, &pairs, &what);
                assert_eq!(open.control(id, SplitAction::Abort), Ok(0), "{what}");
            }
            "drop" => {
                drop(open);
                open = Between { kv: (place.open)() };
            }
            _ => {
                open.kv.close().expect("closes");
                if ends == "rest" {
                    (place.rest)();
                }
                open = Between { kv: (place.open)() };
            }
        }
        open.is_gone(id, &parts, &mut pairs, &what);
    }
    open.kv.close().expect("closes");
}
