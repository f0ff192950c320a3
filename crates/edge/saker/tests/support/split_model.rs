// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions in parts by their entries, at any URL, and histories of them that a model follows: parts of several at a time, plain writes, Flush, Format,
//! what is malformed and what is begun anew between them.
#![allow(dead_code, reason = "not every program of tests uses all of it")]

use saker::Raw;
use saker_host::RawData;
use saker_nvme::admin::{FormatNvm, build};
use saker_nvme::group::{Ask, Op, SplitAction, SplitCommand, SplitOutcome, ToAsk, TransactionId, pack_part};
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::{Key, Sqe, Status};
use saker_sim::{Rng, Seed};
use std::collections::{BTreeMap, BTreeSet};

pub type Told = Result<u32, Status>;
pub const DONE: Told = Ok(SplitOutcome::Done as u32);
pub const DONE_BEFORE: Told = Ok(SplitOutcome::DoneBefore as u32);
pub const NOT_DONE: Told = Ok(SplitOutcome::NotDone as u32);
pub const OPEN: Told = Ok(SplitOutcome::Open as u32);
pub const NO_SUCH: Told = Err(Status::NO_SUCH_TRANSACTION);
/// Transactions of a host at a time.
const OPEN_MAX: usize = 16;

pub fn id(host: u8, number: u64) -> TransactionId {
    TransactionId { host: [host; 16], number }
}

/// A namespace that takes entries as they are.
pub struct Parts {
    pub raw: Raw,
    /// DW0 of the last answer.
    place: u32,
}

impl Parts {
    pub fn open(url: &str) -> Self {
        Self { raw: Raw::open(url).unwrap_or_else(|e| panic!("{url}: {e}")), place: 0 }
    }

    fn io(&mut self, sqe: Sqe, data: RawData<'_>) -> Told {
        let ended = self.raw.io(std::iter::once((sqe, data)), |done| (done.status, done.result));
        let (status, dw0) = ended.expect("an answer")[0];
        self.place = dw0;
        if status.is_success() { Ok(dw0) } else { Err(status) }
    }

    /// A part of those entries.
    pub fn part(&mut self, id: TransactionId, flags: (bool, bool), entries: &[ToAsk<'_>]) -> Told {
        self.payload(id, flags, &pack_part(entries.iter().copied()).expect("good keys"))
    }

    fn payload(&mut self, id: TransactionId, (begins, commits): (bool, bool), bytes: &[u8]) -> Told {
        let command = SplitCommand::Part { id, bytes: bytes.len() as u32, begins, commits };
        self.io(command.encode(self.raw.nsid()), RawData::ToDevice(bytes))
    }

    pub fn control(&mut self, id: TransactionId, action: SplitAction) -> Told {
        self.io(SplitCommand::Control { id, action }.encode(self.raw.nsid()), RawData::Untouched)
    }

    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Told {
        let key = Key::new(key).expect("a short key");
        let sqe = kv::store(self.raw.nsid(), &key, value.len() as u32, StoreOptions::default());
        self.io(sqe, RawData::ToDevice(value))
    }

    pub fn get(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        let (key, room) = (Key::new(key).expect("a short key"), self.raw.transfer_bytes_max());
        let read = (kv::retrieve(self.raw.nsid(), &key, room), RawData::ValueFromDevice(room));
        let ended = self.raw.io(std::iter::once(read), |done| (done.status, done.into_vec()));
        let (status, value) = ended.expect("an answer").remove(0);
        assert!(status.is_success() || status.is(Status::KEY_DOES_NOT_EXIST), "{status}");
        status.is_success().then_some(value)
    }

    pub fn flush(&mut self) {
        assert!(self.io(kv::flush(self.raw.nsid()), RawData::Untouched).is_ok());
    }

    pub fn format(&mut self) {
        let command = FormatNvm { nsid: self.raw.nsid(), format_index: 0, secure_erase: 0 };
        let (status, ..) = self.raw.admin(build::format_nvm(&command), 0).expect("an answer");
        assert!(status.is_success(), "{status}");
    }
}

type Entry = (Ask, Vec<u8>, Vec<u8>);

pub fn lent(entries: &[Entry]) -> Vec<ToAsk<'_>> {
    entries.iter().map(|(ask, key, value)| (*ask, &key[..], &value[..])).collect()
}

/// What there is.
pub struct Model {
    pairs: BTreeMap<Vec<u8>, Vec<u8>>,
    open: BTreeMap<TransactionId, Vec<Entry>>,
    done: BTreeSet<TransactionId>,
    rng: Rng,
    /// The first of the hosts: one that was lost may have left something at the target for a while.
    host: u8,
    judge: u64,
    /// How many commits were carried out, and how many were refused.
    pub ended: (u64, u64),
    /// The entry that has refused a commit.
    place: Option<u32>,
}

impl Model {
    pub fn new(seed: u64) -> Self {
        let (pairs, open, done) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Self { pairs, open, done, rng: Seed(seed).rng(), host: 1, judge: 0, ended: (0, 0), place: None }
    }

    fn key(&mut self) -> Vec<u8> {
        let n = self.rng.below(10);
        let text = format!("key {n}");
        text.bytes()
            .chain(std::iter::repeat(b'.'))
            .take(if n < 3 { 17 + 20 * n as usize } else { 6 })
            .collect()
    }

    fn value(&mut self) -> Vec<u8> {
        let mut value = vec![0; self.rng.below(400) as usize];
        self.rng.fill(&mut value);
        value
    }

    fn entry(&mut self) -> Entry {
        let key = self.key();
        match self.rng.below(12) {
            0..6 => (Ask::Op(Op::Store), key, self.value()),
            6..8 => (Ask::Op(Op::Delete), key, vec![]),
            8 => (Ask::Absent, key, vec![]),
            9 => (Ask::Present, key, vec![]),
            _ => {
                let value = self.pairs.get(&key).cloned().unwrap_or_default();
                (Ask::Value, key, value)
            }
        }
    }

    fn id(&mut self) -> TransactionId {
        id(self.host + self.rng.below(2) as u8, self.rng.below(20))
    }

    /// What a commit of these entries is told; on success it is carried out.
    fn judge(&self, entries: &[Entry]) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, (Status, u32)> {
        let (mut after, mut written) = (self.pairs.clone(), BTreeSet::new());
        for ((ask, key, value), n) in entries.iter().zip(0..) {
            let stored = self.pairs.get(key);
            let holds = match ask {
                Ask::Absent => stored.is_none(),
                Ask::Present => stored.is_some(),
                Ask::Value => stored == Some(value),
                _ => true,
            };
            if !holds {
                return Err((Status::PRECONDITION_FAILED, n));
            }
            if !ask.is_write() {
                continue;
            }
            if !written.insert(key) {
                return Err((Status::WRITTEN_TWICE, n));
            }
            if *ask == Ask::Op(Op::Store) {
                after.insert(key.clone(), value.clone());
            } else if after.remove(key).is_none() {
                return Err((Status::KEY_DOES_NOT_EXIST, n));
            }
        }
        Ok(after)
    }

    fn commit(&mut self, id: TransactionId) -> Told {
        let open = self.open.remove(&id);
        if self.done.contains(&id) {
            return DONE_BEFORE;
        }
        match self.judge(&open.ok_or(Status::NO_SUCH_TRANSACTION)?) {
            Ok(after) => {
                self.pairs = after;
                self.done.insert(id);
                self.ended.0 += 1;
                DONE
            }
            Err((status, place)) => {
                self.ended.1 += 1;
                self.place = Some(place);
                Err(status)
            }
        }
    }

    /// What a part is told.
    fn part(&mut self, id: TransactionId, (begins, commits): (bool, bool), entries: Vec<Entry>) -> Told {
        if begins {
            self.open.remove(&id);
            if self.open.keys().filter(|open| open.host == id.host).count() >= OPEN_MAX {
                return Err(Status::CAPACITY_EXCEEDED);
            }
            self.open.insert(id, Vec::new());
        }
        let open = self.open.get_mut(&id).ok_or(Status::NO_SUCH_TRANSACTION)?;
        open.extend(entries);
        let there = open.len() as u32;
        if commits { self.commit(id) } else { Ok(there) }
    }

    /// One step, at the device and here.
    pub fn step(&mut self, parts: &mut Parts, what: &str) {
        self.place = None;
        let id = self.id();
        let step = self.rng.below(100);
        let (told, expected) = match step {
            0..60 => {
                let entries: Vec<_> = (0..1 + self.rng.below(3)).map(|_| self.entry()).collect();
                let flags = (self.rng.below(3) == 0, self.rng.below(4) == 0);
                (parts.part(id, flags, &lent(&entries)), self.part(id, flags, entries))
            }
            60..75 => (parts.control(id, SplitAction::Commit), self.commit(id)),
            75..79 => {
                self.open.remove(&id);
                (parts.control(id, SplitAction::Abort), Ok(0))
            }
            79..88 => {
                let is_open = self.open.contains_key(&id);
                let expected = if self.done.contains(&id) { DONE_BEFORE } else { NOT_DONE };
                let expected = if is_open && expected == NOT_DONE { OPEN } else { expected };
                (parts.control(id, SplitAction::Outcome), expected)
            }
            88..94 => {
                let (key, value) = (format!("key {}", 3 + self.rng.below(7)).into_bytes(), self.value());
                let told = parts.put(&key, &value).map(|_| 0);
                self.pairs.insert(key, value);
                (told, Ok(0))
            }
            94..96 => {
                parts.flush();
                return;
            }
            96..98 => {
                // Bytes behind the last entry.
                let mut bytes = pack_part(lent(&[self.entry()]).into_iter()).expect("a good key");
                bytes.extend([0; 4]);
                // Of one that is not open a target says that first.
                let begins = self.open.remove(&id).is_none();
                (parts.payload(id, (begins, true), &bytes), Err(Status::INVALID_FIELD))
            }
            98 if self.rng.below(8) == 0 => {
                parts.format();
                (self.pairs, self.open, self.done) = Default::default();
                return;
            }
            _ => return self.look(parts, what),
        };
        assert_eq!(told, expected, "{what}: step {step} of {id:?}");
        assert!(self.place.is_none_or(|place| place == parts.place), "{what}: {told:?}, {}", parts.place);
    }

    /// All pairs are what they are said to be.
    pub fn look(&mut self, parts: &mut Parts, what: &str) {
        let mut entries: Vec<Entry> = Vec::new();
        for n in 0..10_usize {
            let text = format!("key {n}");
            let bytes = if n < 3 { 17 + 20 * n } else { 6 };
            let key: Vec<u8> = text.bytes().chain(std::iter::repeat(b'.')).take(bytes).collect();
            let stored = self.pairs.get(&key).cloned();
            if n >= 3 {
                assert_eq!(parts.get(&key), stored, "{what}: {text}");
            }
            entries.push(match stored {
                Some(value) => (Ask::Value, key, value),
                None => (Ask::Absent, key, vec![]),
            });
        }
        self.judge += 1;
        assert_eq!(parts.part(id(250, self.judge), (true, true), &lent(&entries)), DONE, "{what}");
        for done in &self.done {
            assert_eq!(parts.control(*done, SplitAction::Outcome), DONE_BEFORE, "{what}: {done:?}");
        }
    }

    /// The device was opened anew: what was open has ended.
    pub fn opened(&mut self) {
        self.open.clear();
    }

    /// The connection was opened anew: the target may not have seen yet that the other one is gone.
    pub fn connected(&mut self) {
        self.opened();
        self.host += 2;
    }
}
