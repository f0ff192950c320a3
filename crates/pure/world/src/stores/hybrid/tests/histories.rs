// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random histories: what the store answers is what a map of pairs would.

use super::rig::{Rig, Terms, sweeping, terms};
use super::shown::{Way, shows};
use saker_engine::KvError;
use saker_host::WriteBatch;
use saker_host::host_kv::{Answer, Batch, Op, Outcome, Ticket};
use saker_hybrid::planted::{Fault, plant};
use saker_hybrid::{Detector, Objective, Options, Rollback};
use saker_sim::{Duration, Rng, Seed};
use saker_testing::tier;
use std::collections::{BTreeMap, BTreeSet};

pub const KEYS: u64 = 30;
/// Turns after which what is on its way never ends.
const TURNS_MAX: u32 = 100_000;
/// Operations on their way at one time.
const DEPTH: usize = 6;

pub type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

pub fn key(n: u64) -> Vec<u8> {
    let bytes = Seed(5).index(n).0.to_be_bytes();
    // Of every length from 1 on, and none twice.
    [&[n as u8 + 1][..], &bytes[..(n % 8) as usize], &bytes[..(n % 7) as usize]].concat()
}

pub fn value(rng: &mut Rng, number: u64, longest: u64) -> Vec<u8> {
    let most = if rng.below(8) == 0 { longest } else { longest / 10 };
    let mut value = vec![number as u8; 8 + rng.below(most) as usize];
    value[..8].copy_from_slice(&number.to_le_bytes());
    value
}

/// What an operation on its way is to come to.
enum Expected {
    /// It is carried out; these keys have these values then.
    Written(Vec<(Vec<u8>, Option<Vec<u8>>)>),
    Found(Vec<u8>, Option<Vec<u8>>),
    Exists(Vec<u8>, bool),
    /// A delete of what is not there.
    Missing(Vec<u8>),
    Done,
    Snapshot(Pairs, BTreeSet<Vec<u8>>),
    /// The pairs of a way as they were; of those of these keys nothing is known.
    Shown {
        way: Way,
        pairs: Pairs,
        unknown: BTreeSet<Vec<u8>>,
        /// Of now: keys written since. It may wait before it begins, or begin again, and is of a later moment then.
        later: Option<BTreeSet<Vec<u8>>>,
    },
}

/// A history.
pub struct History {
    pub rig: Rig,
    rng: Rng,
    pub model: Pairs,
    busy: BTreeSet<Vec<u8>>,
    flights: BTreeMap<Ticket, Expected>,
    snapshots: Vec<(u32, Pairs, BTreeSet<Vec<u8>>)>,
    number: u64,
    longest: u64,
}

/// What went wrong, in words.
pub type Kept = Result<(), String>;

impl History {
    pub fn new(terms: &Terms, seed: u64) -> Self {
        Self {
            rig: Rig::new(terms, seed, 0),
            rng: Seed(seed).child("hybrid").rng(),
            model: Pairs::new(),
            busy: BTreeSet::new(),
            flights: BTreeMap::new(),
            snapshots: Vec::new(),
            number: 0,
            longest: terms.longest,
        }
    }

    /// A key that no operation on its way names.
    fn free_key(&mut self) -> Option<Vec<u8>> {
        let key = key(self.rng.below(KEYS));
        (!self.busy.contains(&key)).then_some(key)
    }

    fn operation(&mut self) -> Option<(Op, Expected, Vec<Vec<u8>>)> {
        self.number += 1;
        let number = self.number;
        Some(match self.rng.below(100) {
            0..45 => {
                let key = self.free_key()?;
                let value = value(&mut self.rng, number, self.longest);
                let written = Expected::Written(vec![(key.clone(), Some(value.clone()))]);
                (Op::Put(key.clone(), value), written, vec![key])
            }
            45..57 => {
                let key = self.free_key()?;
                let expected = match self.model.contains_key(&key) {
                    true => Expected::Written(vec![(key.clone(), None)]),
                    false => Expected::Missing(key.clone()),
                };
                (Op::Delete(key.clone()), expected, vec![key])
            }
            57..75 => {
                let key = self.free_key()?;
                let found = self.model.get(&key).cloned();
                (Op::Get(key.clone()), Expected::Found(key.clone(), found), vec![key])
            }
            75..79 => {
                let key = self.free_key()?;
                let is_there = self.model.contains_key(&key);
                (Op::Exists(key.clone()), Expected::Exists(key.clone(), is_there), vec![key])
            }
            79..86 => return self.batch(number),
            86..92 => self.scan(),
            92..94 => {
                let taken = Expected::Snapshot(self.model.clone(), self.busy.clone());
                (Op::Snapshot, taken, Vec::new())
            }
            94..97 => {
                let (snapshot, ..) = self.snapshots.pop()?;
                (Op::Release(snapshot), Expected::Done, Vec::new())
            }
            _ => (Op::Flush, Expected::Done, Vec::new()),
        })
    }

    fn batch(&mut self, number: u64) -> Option<(Op, Expected, Vec<Vec<u8>>)> {
        let (mut writes, mut written) = (WriteBatch::new(), BTreeMap::new());
        for _ in 0..1 + self.rng.below(5) {
            let key = self.free_key()?;
            let value = (self.rng.below(4) > 0).then(|| value(&mut self.rng, number, self.longest));
            match &value {
                Some(value) => writes.put(&key, value),
                None => writes.delete(&key),
            };
            written.insert(key, value);
        }
        let keys = written.keys().cloned().collect();
        let batch = Batch::new(writes).expect("keys that are keys");
        Some((Op::Batch(batch), Expected::Written(written.into_iter().collect()), keys))
    }

    fn scan(&mut self) -> (Op, Expected, Vec<Vec<u8>>) {
        let from = if self.rng.below(3) == 0 { Vec::new() } else { key(self.rng.below(KEYS)) };
        let entries = 1 + self.rng.below(KEYS + 10) as u32;
        let which = self.rng.below(self.snapshots.len() as u64 + 2) as usize;
        let (snapshot, pairs, unknown) = match self.snapshots.get(which) {
            Some((number, pairs, unknown)) => (Some(*number), pairs.clone(), unknown.clone()),
            None => (None, self.model.clone(), self.busy.clone()),
        };
        let later = snapshot.is_none().then(BTreeSet::new);
        let way = Way { from: from.clone(), backwards: self.rng.below(3) == 0, entries: entries as usize };
        let backwards = way.backwards;
        let expected = Expected::Shown { way, pairs, unknown, later };
        (Op::Scan { from, backwards, entries, snapshot }, expected, Vec::new())
    }

    /// Keys are being written while scans and snapshots are on their way.
    fn note_later(&mut self, expected: &Expected) {
        let Expected::Written(written) = expected else { return };
        for flight in self.flights.values_mut() {
            if let Expected::Shown { later: Some(keys), .. } | Expected::Snapshot(_, keys) = flight {
                keys.extend(written.iter().map(|(key, _)| key.clone()));
            }
        }
    }

    fn ended(&mut self, outcome: Outcome, expected: Expected) -> Kept {
        let is_right = match (&outcome, expected) {
            (Ok(Answer::Done), Expected::Written(written)) => {
                for (key, value) in written {
                    self.busy.remove(&key);
                    match value {
                        Some(value) => _ = self.model.insert(key, value),
                        None => _ = self.model.remove(&key),
                    }
                }
                true
            }
            // The main tree is full, and nothing has changed.
            (Err(KvError::CapacityExceeded), Expected::Written(written)) => {
                written.iter().for_each(|(key, _)| _ = self.busy.remove(key));
                true
            }
            (Ok(Answer::Value(found)), Expected::Found(key, Some(value))) => {
                self.busy.remove(&key);
                *found == value
            }
            (Err(KvError::NotFound), Expected::Found(key, None) | Expected::Missing(key)) => {
                self.busy.remove(&key)
            }
            (outcome, Expected::Exists(key, is_there)) => {
                self.busy.remove(&key);
                *outcome == if is_there { Ok(Answer::Done) } else { Err(KvError::NotFound) }
            }
            (Ok(Answer::Done), Expected::Done) => true,
            (Ok(Answer::Snapshot(number)), Expected::Snapshot(pairs, unknown)) => {
                self.snapshots.push((*number, pairs, unknown));
                true
            }
            // The device ends a view when much has been written meanwhile.
            (Ok(Answer::NoSnapshot), Expected::Shown { later, .. }) => later.is_none(),
            (Ok(Answer::Pairs(payload)), Expected::Shown { way, pairs, mut unknown, later }) => {
                unknown.extend(later.into_iter().flatten());
                return shows(payload, &way, &pairs, &unknown);
            }
            _ => false,
        };
        if is_right { Ok(()) } else { Err(format!("operation {}: {:?}", self.number, brief(&outcome))) }
    }

    /// Some operations more.
    pub fn go_on(&mut self, operations: u64) -> Kept {
        for _ in 0..operations {
            if self.flights.len() >= DEPTH {
                self.turn_until(|history| history.flights.len() < DEPTH)?;
            }
            if self.rng.below(60) == 0 {
                self.rig.pass(Duration::from_nanos(900_000));
                self.take_ended()?;
            }
            let Some((op, expected, keys)) = self.operation() else { continue };
            // A scan that reads what others write is right if it has what was there before: those are known by then.
            self.busy.extend(keys);
            self.note_later(&expected);
            match self.rig.submit(op) {
                Ok(outcome) => self.ended(outcome, expected)?,
                Err(ticket) => _ = self.flights.insert(ticket, expected),
            }
            for _ in 0..self.rng.below(6) {
                self.turn()?;
            }
        }
        self.drain()
    }

    fn turn(&mut self) -> Kept {
        self.rig.turn();
        self.take_ended()
    }

    fn take_ended(&mut self) -> Kept {
        let tickets: Vec<Ticket> = self.flights.keys().copied().collect();
        for ticket in tickets {
            if let Some(outcome) = self.rig.take(ticket)
                && let Some(expected) = self.flights.remove(&ticket)
            {
                self.ended(outcome, expected)?;
            }
        }
        Ok(())
    }

    fn drain(&mut self) -> Kept {
        self.turn_until(|history| history.flights.is_empty())
    }

    fn turn_until(&mut self, done: impl Fn(&Self) -> bool) -> Kept {
        for _ in 0..TURNS_MAX {
            if done(self) {
                return Ok(());
            }
            self.turn()?;
        }
        Err(format!("{} operations never end: {:?}", self.flights.len(), self.rig.store.counters()))
    }

    /// Every snapshot is released, everything goes back, and each key has its newest value, found by gets and by a scan: AC-kvaccel-rb-3.
    pub fn all_goes_back(&mut self) -> Kept {
        for (snapshot, ..) in std::mem::take(&mut self.snapshots) {
            let released = self.rig.ask(Op::Release(snapshot));
            ensure(released == Some(Ok(Answer::Done)), || format!("release: {released:?}"))?;
        }
        self.rig.settle();
        for name in ["metadata_keys", "metadata_keys_current", "metadata_bytes", "main_tombstones"] {
            let n = self.rig.counter(name);
            ensure(n == 0, || format!("{name} is {n} after everything went back"))?;
        }
        ensure(device_pairs(&mut self.rig) == 0, || "the device's tree is not empty".to_owned())?;
        self.is_whole()
    }

    /// Each key has its newest value, and a scan shows each live key once.
    pub fn is_whole(&mut self) -> Kept {
        for n in 0..KEYS {
            let found = self.rig.ask(Op::Get(key(n))).expect("has power");
            let expected = self.model.get(&key(n));
            let is_right = match (&found, expected) {
                (Ok(Answer::Value(found)), Some(value)) => found == value,
                (Err(KvError::NotFound), None) => true,
                _ => false,
            };
            ensure(is_right, || format!("key {n}: {:?}", brief(&found)))?;
        }
        for backwards in [false, true] {
            let way = Way { from: Vec::new(), backwards, entries: usize::MAX };
            let scan = Op::Scan { from: Vec::new(), backwards, entries: u32::MAX, snapshot: None };
            match self.rig.ask(scan) {
                Some(Ok(Answer::Pairs(payload))) => shows(&payload, &way, &self.model, &BTreeSet::new())?,
                other => return Err(format!("a scan of all: {other:?}")),
            }
        }
        Ok(())
    }
}

pub fn ensure(holds: bool, why: impl FnOnce() -> String) -> Kept {
    if holds { Ok(()) } else { Err(why()) }
}

/// Pairs that the device's tree has.
fn device_pairs(rig: &mut Rig) -> u64 {
    let stats = rig.below.0.stats();
    stats.namespaces.iter().filter(|n| n.kind == "kv").map(|n| n.store.pairs).sum()
}

fn brief(outcome: &Outcome) -> String {
    let text = format!("{outcome:?}");
    text.chars().take(120).collect()
}

/// A history, with everything back now and then.
pub fn history(terms: &Terms, seed: u64, rounds: u64) -> Result<History, String> {
    let mut history = History::new(terms, seed);
    for _ in 0..rounds {
        history.go_on(150)?;
        history.all_goes_back()?;
    }
    Ok(history)
}

/// Six superblocks.
const SMALL_PERMILLE: u32 = 40;
/// Values of which some tens fill them.
const LONG: u64 = 60_000;

/// A small tree in the device, from which nothing goes back while writes come.
fn small_and_lazy() -> Terms {
    Terms { device_permille: SMALL_PERMILLE, ..terms(Detector::Exact, Rollback::Lazy) }
}

/// A small tree in the device that values fill again and again.
fn full(detector: Detector, rollback: Rollback) -> Terms {
    Terms { device_permille: SMALL_PERMILLE, longest: LONG, ..terms(detector, rollback) }
}

/// The terms that histories run under.
pub fn all_terms() -> Vec<Terms> {
    let mut all = Vec::new();
    for detector in Detector::ALL {
        for rollback in Rollback::ALL {
            all.push(terms(detector, rollback));
        }
    }
    let exact = terms(Detector::Exact, Rollback::Eager);
    let blocks = Options { blocks_writers: true, ..exact.options };
    let reads = Options { rollback: Rollback::Adaptive, objective: Objective::Reads, ..exact.options };
    all.push(Terms { options: blocks, ..exact });
    all.push(Terms { options: reads, capacitor: false, ..exact });
    // The device's tree is small: it is full soon, and views there end soon.
    all.push(Terms { device_permille: SMALL_PERMILLE, ..exact });
    all.push(small_and_lazy());
    for rollback in [Rollback::Eager, Rollback::Lazy] {
        for detector in Detector::ALL {
            all.push(full(detector, rollback));
        }
    }
    // Longer values of the main tree are in its value log.
    all.push(Terms { min_blob_size: 5, stop: 2, ..exact });
    for (detector, rollback) in [
        (Detector::Exact, Rollback::Lazy),
        (Detector::Published, Rollback::Lazy),
        (Detector::Exact, Rollback::Eager),
    ] {
        let swept = sweeping(detector, rollback);
        all.push(Terms { capacitor: rollback == Rollback::Eager, ..swept });
        all.push(Terms { device_permille: SMALL_PERMILLE, longest: LONG, ..swept });
    }
    // It decides by itself.
    all.push(Terms { min_blob_size: 15, ..exact });
    all
}

#[test]
fn answers_are_those_of_one_map() {
    let mut sums = BTreeMap::new();
    for terms in all_terms() {
        for seed in saker_testing::seeds(tier(3, 200)) {
            let done = history(&terms, seed, tier(3, 12));
            let history = done.unwrap_or_else(|why| panic!("{terms:?}, SAKER_SEED={seed}: {why}"));
            for (name, n) in history.rig.store.counters() {
                *sums.entry(name).or_insert(0) += n;
            }
        }
    }
    println!("{sums:?}");
    // The histories go everywhere.
    for name in [
        "redirected_writes",
        "redirected_held",
        "device_reads",
        "rollbacks",
        "rollback_moved",
        "rollback_stale",
        "device_emptied",
        "main_tombstones_purged",
        "redirected_turned_back",
        "device_filled",
        "device_scans_again",
        "device_swept",
    ] {
        assert!(sums[name] > 0, "no history has any {name}: {sums:?}");
    }
}

/// Takes a fault out again, also when a test fails.
pub struct Planted;

impl Planted {
    pub fn new(fault: Fault) -> Self {
        plant(Some(fault));
        Self
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        plant(None);
    }
}

/// Histories at most until a planted fault shows.
const HISTORIES: u64 = 40;

#[test]
fn what_is_planted_shows() {
    let usual = terms(Detector::Exact, Rollback::Eager);
    for (fault, terms) in [
        (Fault::LostTombstone, usual),
        (Fault::StaleCopy, usual),
        (Fault::DroppedEarly, usual),
        (Fault::FallsAsItRises, usual),
        (Fault::ViewOver, small_and_lazy()),
        (Fault::TooLong, full(Detector::Exact, Rollback::Eager)),
        (Fault::RefusedIsDone, full(Detector::Exact, Rollback::Lazy)),
    ] {
        let found = (1..=HISTORIES).find_map(|seed| {
            let _planted = Planted::new(fault);
            history(&terms, seed, 3).err().map(|why| (seed, why))
        });
        println!("{fault:?}: {found:?}");
        let (seed, _) = found.unwrap_or_else(|| panic!("{fault:?} shows in none of {HISTORIES} histories"));
        history(&terms, seed, 3).map(drop).unwrap_or_else(|why| panic!("seed {seed} without it: {why}"));
    }
}
