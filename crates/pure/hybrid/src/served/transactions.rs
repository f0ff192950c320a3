// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions: entries are judged by the newest records of both trees, and what is written is one batch of the store. Nothing else is on its
//! way meanwhile, so no write comes between the two.
//!
//! A pair's version is the number of its write, which no other write of the opening has; a copy that goes back keeps it. Format begins
//! with small numbers again, so a version tells the opening and the Format, too.

use super::Served;
use super::groups::{Given, Refused, malformed};
use super::io::status_of;
use super::results::Results;
use crate::main_tree::MainTree;
use crate::record::Stamp;
use crate::store::scan::behind;
use saker_engine::transaction::{Ask, Found, Part, State, Write};
use saker_engine::{KvError, NotDone, PairVersion, transact};
use saker_host::Driver;
use saker_host::host_kv::{Answer, Op};
use saker_nvme::group::{
    self, Asked, COUNT_BYTES, CountedRange, Op as GroupOp, TransactionResult, pairs_of, parse_transaction,
    result_bytes, write_transaction_results,
};
use saker_nvme::{Key, Status};
use saker_segment_store::{Reads, Step};
use std::collections::BTreeMap;

/// Keys of a range that are counted at once.
const COUNTED_AT_ONCE: u32 = 256;

/// A pair: its version and value; `None`: there is none.
type Pair = Result<Option<(PairVersion, Vec<u8>)>, KvError>;

/// A first key, and the one behind the last; `None`: there is none.
type Bounds = (Vec<u8>, Option<Vec<u8>>);

/// What both trees have of all that a transaction names.
struct Looked<'g> {
    pairs: BTreeMap<&'g [u8], Pair>,
    counts: BTreeMap<Bounds, Result<u32, KvError>>,
    longest: usize,
}

impl State for Looked<'_> {
    fn version(&mut self, key: &[u8]) -> Step<Result<Option<PairVersion>, KvError>> {
        let pair = self.pairs.get(key).cloned().unwrap_or(Err(KvError::KeySize));
        Step::Done(pair.map(|pair| pair.map(|(version, _)| version)))
    }

    fn read(&mut self, key: &[u8]) -> Step<Pair> {
        Step::Done(self.pairs.get(key).cloned().unwrap_or(Err(KvError::KeySize)))
    }

    fn count(&mut self, from: &[u8], to: Option<&[u8]>, _: u32) -> Step<Result<u32, KvError>> {
        let range = (from.to_vec(), to.map(<[u8]>::to_vec));
        Step::Done(self.counts.get(&range).cloned().unwrap_or(Err(KvError::Transfer)))
    }

    /// The batch follows; here it is seen whether one of the writes keeps all from being carried out.
    fn write(&mut self, writes: &[Write<'_>]) -> Step<Result<(), NotDone>> {
        let is_long = |write: &&Write<'_>| write.value.is_some_and(|value| value.len() > self.longest);
        Step::Done(match writes.iter().find(is_long) {
            Some(write) => Err(NotDone::Member(write.place, KvError::ValueSize)),
            None => Ok(()),
        })
    }
}

impl<T: Driver, M: MainTree> Served<T, M> {
    /// DW0 and DW1 of a transaction that was carried out.
    pub(super) fn transact(&mut self, given: Given) -> Result<u64, Refused> {
        let mut entries = Vec::new();
        parse_transaction(given.form, &given.payload, |e| entries.push(e)).map_err(malformed)?;
        given.check_keys(&entries)?;
        let heads = COUNT_BYTES + entries.len() * result_bytes(given.mode);
        let wants_results = !matches!(given.results, Results::Nowhere);
        if wants_results && heads > given.results.room() as usize {
            return Err((Status::INVALID_FIELD, 0));
        }
        self.settle();
        let life = self.life;
        let mut looked = self.look(&given, &entries);
        let parts: Vec<_> = entries.iter().map(|entry| part(&given, entry, life)).collect();
        let found = match transact(&parts, &mut Reads::new(), &mut looked) {
            Step::Done(found) => found.map_err(not_done)?,
            // What was looked at is all here.
            Step::Need(_) | Step::Blocked(_) => return Err((Status::INTERNAL_ERROR, 0)),
        };
        if let Some(op) = given.batch(entries.iter().filter(|entry| entry.ask.is_write())) {
            self.write(op)?;
        }
        if !wants_results {
            return Ok(0);
        }
        let told: Vec<_> =
            entries.iter().zip(&found).map(|(entry, found)| told(entry, found, life)).collect();
        let room = given.results.room() as usize;
        let results = write_transaction_results(given.mode, &told, room).unwrap_or_default();
        self.tell_results(given.results, results, true).map(|bytes| u64::from(bytes) << 32)
    }

    fn look<'g>(&mut self, given: &'g Given, entries: &[Asked]) -> Looked<'g> {
        let looks = |entry: &&Asked| !matches!(entry.ask, group::Ask::Op(GroupOp::Store) | group::Ask::Range);
        let mut pairs: BTreeMap<&'g [u8], Pair> =
            entries.iter().filter(looks).map(|entry| (given.bytes(&entry.key), Ok(None))).collect();
        let keys: Vec<Key> = pairs.keys().filter_map(|key| Key::new(key).ok()).collect();
        let records = self.records(keys.into_iter());
        for (pair, record) in pairs.values_mut().zip(records) {
            *pair = match record {
                Ok(Answer::Value(record)) => split(&record).map(Some),
                Ok(_) => Err(KvError::Corrupt),
                Err(KvError::NotFound) => Ok(None),
                Err(why) => Err(why),
            };
        }
        let mut counts = BTreeMap::new();
        for entry in entries.iter().filter(|entry| entry.ask == group::Ask::Range) {
            let Some(range) = CountedRange::decode(given.bytes(&entry.value)) else { continue };
            let (from, to) = (given.bytes(&entry.key).to_vec(), Some(range.to).filter(|to| !to.is_empty()));
            let count = self.count(&from, to, range.count);
            counts.insert((from, to.map(<[u8]>::to_vec)), count);
        }
        Looked { pairs, counts, longest: self.store.value_bytes_max() as usize }
    }

    /// How many keys there are from one on and before another, up to one more than `most`.
    fn count(&mut self, from: &[u8], to: Option<&[u8]>, most: u32) -> Result<u32, KvError> {
        let (mut count, mut next) = (0, Some(from.to_vec()));
        while let Some(from) = next.take().filter(|_| count <= most) {
            let scan = Op::Scan { from, backwards: false, entries: COUNTED_AT_ONCE, snapshot: None };
            let shown = self.ask_all(std::iter::once(scan)).pop().unwrap_or(Err(KvError::Transfer))?;
            let Answer::Pairs(payload) = shown else { return Err(KvError::Corrupt) };
            let pairs = pairs_of(&payload);
            let inside = pairs.iter().take_while(|(key, _)| to.is_none_or(|to| *key < to)).count();
            count += inside as u32;
            let is_over = inside < COUNTED_AT_ONCE as usize;
            next = pairs.last().filter(|_| !is_over).and_then(|(key, _)| behind(key));
        }
        Ok(count)
    }
}

fn split(record: &[u8]) -> Result<(PairVersion, Vec<u8>), KvError> {
    let (stamp, value) = Stamp::split(record).ok_or(KvError::Corrupt)?;
    Ok((PairVersion(stamp.sequence.into()), value.to_vec()))
}

/// What an entry asks for.
fn part<'g>(given: &'g Given, entry: &Asked, life: u64) -> Part<'g> {
    let value = given.bytes(&entry.value);
    let ask = match entry.ask {
        group::Ask::Op(GroupOp::Store) => Ask::Store(value),
        group::Ask::Op(GroupOp::Delete) => Ask::Delete,
        group::Ask::Op(GroupOp::Retrieve) => Ask::Retrieve,
        group::Ask::Op(GroupOp::Exist) => Ask::Exist,
        group::Ask::Absent => Ask::Absent,
        group::Ask::Present => Ask::Present,
        group::Ask::Value => Ask::Value(value),
        group::Ask::Version => Ask::Version(wanted(value, life)),
        group::Ask::Range => {
            let range = CountedRange::decode(value).unwrap_or(CountedRange { count: 0, to: &[] });
            Ask::Range(range.count, Some(range.to).filter(|to| !to.is_empty()))
        }
    };
    Part { key: given.bytes(&entry.key), ask }
}

/// The version that a host asks for: none has one of before a Format.
fn wanted(bytes: &[u8], life: u64) -> Option<PairVersion> {
    let number = bytes.last_chunk().map_or(0, |number| u128::from_le_bytes(*number));
    match group::PairVersion::from_slice(bytes) {
        Some(version) if version.is_absent() => None,
        Some(version) if version == group::PairVersion::new(life, number) => Some(PairVersion(number)),
        _ => Some(PairVersion::NEVER),
    }
}

/// What an entry is answered.
fn told<'f>(entry: &Asked, found: &'f Found, life: u64) -> TransactionResult<'f> {
    let reads = matches!(entry.ask, group::Ask::Op(GroupOp::Retrieve | GroupOp::Exist));
    let is_missing = reads && found.version.is_none();
    let retrieves = entry.ask == group::Ask::Op(GroupOp::Retrieve);
    let value = found.value.as_deref().filter(|_| retrieves).unwrap_or_default();
    let version = found.version.filter(|_| reads);
    TransactionResult {
        status: if is_missing { Status::KEY_DOES_NOT_EXIST } else { Status::SUCCESS },
        bytes: value.len() as u32,
        version: version.map(|version| group::PairVersion::new(life, version.0)),
        value: Some(value),
    }
}

fn not_done(refused: NotDone) -> Refused {
    match refused {
        NotDone::Condition(place) => (Status::PRECONDITION_FAILED, place),
        NotDone::Member(place, why) => (status_of(why), place),
        NotDone::WrittenTwice(place) => (Status::WRITTEN_TWICE, place),
        NotDone::TooLong | NotDone::CapacityExceeded => (Status::CAPACITY_EXCEEDED, 0),
        NotDone::Unsupported(_) => (Status::NO_TRANSACTIONS, 0),
        NotDone::NoOrder(place) => (Status::NO_RANGES, place),
    }
}
