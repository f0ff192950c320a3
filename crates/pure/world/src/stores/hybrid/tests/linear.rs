// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Histories of operations that meet on the same keys are linearizable: some order in which each happens at one moment between its call and its
//! end gives all answers. Batches and scans are of all keys at one moment.

mod checker;

use super::histories::{Pairs, Planted, all_terms, key, value};
use super::rig::{Rig, Terms, sweeping, terms};
use checker::{Call, Event, Heard, State, linearize};
use saker_engine::KvError;
use saker_host::WriteBatch;
use saker_host::host_kv::{Answer, Batch, Op, Outcome, Ticket};
use saker_hybrid::planted::Fault;
use saker_hybrid::{Detector, Rollback};
use saker_nvme::group::pairs_of;
use saker_sim::{Duration, Rng, Seed};
use saker_testing::tier;
use std::collections::{BTreeMap, BTreeSet};

/// So few that operations meet.
const KEYS: usize = 4;
/// Operations on their way at one time.
const DEPTH: usize = 6;
/// Operations between two moments at which none is on its way.
const OPERATIONS: usize = 24;
const TURNS_MAX: u32 = 100_000;

struct Run {
    rig: Rig,
    rng: Rng,
    longest: u64,
    clock: u64,
    number: u64,
    /// By key what each write's value is.
    written: BTreeMap<u64, Vec<u8>>,
    flights: BTreeMap<Ticket, (Call, u64)>,
    events: Vec<Event>,
    met: u64,
}

impl Run {
    fn new(terms: &Terms, seed: u64) -> Self {
        Self {
            rig: Rig::new(terms, seed, 0),
            rng: Seed(seed).child("linear").rng(),
            longest: terms.longest,
            clock: 0,
            number: 0,
            written: BTreeMap::new(),
            flights: BTreeMap::new(),
            events: Vec::new(),
            met: 0,
        }
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn value(&mut self) -> (u64, Vec<u8>) {
        self.number += 1;
        let value = value(&mut self.rng, self.number, self.longest);
        self.written.insert(self.number, value.clone());
        (self.number, value)
    }

    fn operation(&mut self) -> (Op, Call) {
        let at = self.rng.below(KEYS as u64) as usize;
        let name = key(at as u64);
        match self.rng.below(100) {
            0..40 => {
                let (number, value) = self.value();
                (Op::Put(name, value), Call::Write(vec![(at, Some(number))]))
            }
            40..52 => (Op::Delete(name), Call::Delete(at)),
            52..75 => (Op::Get(name), Call::Get(at)),
            75..80 => (Op::Exists(name), Call::Exists(at)),
            80..90 => self.batch(),
            _ => {
                let (from, backwards) = (Vec::new(), self.rng.below(2) == 0);
                (Op::Scan { from, backwards, entries: KEYS as u32 + 1, snapshot: None }, Call::Scan)
            }
        }
    }

    fn batch(&mut self) -> (Op, Call) {
        let (mut writes, mut call) = (WriteBatch::new(), Vec::new());
        for at in 0..KEYS {
            match self.rng.below(3) {
                // At least one.
                n if n == 0 || at == KEYS - 1 && call.is_empty() => {
                    let (number, value) = self.value();
                    writes.put(&key(at as u64), &value);
                    call.push((at, Some(number)));
                }
                1 => {
                    writes.delete(&key(at as u64));
                    call.push((at, None));
                }
                _ => {}
            }
        }
        (Op::Batch(Batch::new(writes).expect("keys that are keys")), Call::Write(call))
    }

    /// The number of the write whose whole value this is.
    fn number_of(&self, value: &[u8]) -> Result<u64, String> {
        let number = value.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let number = number.ok_or_else(|| format!("a value of {} bytes", value.len()))?;
        let is_whole = self.written.get(&number).is_some_and(|written| written == value);
        if is_whole { Ok(number) } else { Err(format!("write {number} is not as it was written")) }
    }

    fn heard(&self, outcome: &Outcome) -> Result<Heard, String> {
        Ok(match outcome {
            Ok(Answer::Done) => Heard::Done,
            Ok(Answer::Value(value)) => Heard::Value(self.number_of(value)?),
            Ok(Answer::Pairs(payload)) => Heard::All(self.state_of(payload)?),
            Err(KvError::NotFound) => Heard::Missing,
            Err(KvError::CapacityExceeded) => Heard::Full,
            other => return Err(format!("{other:?}")),
        })
    }

    fn state_of(&self, payload: &[u8]) -> Result<State, String> {
        let shown = pairs_of(payload);
        let pairs: Pairs = shown.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
        if pairs.len() != shown.len() {
            return Err("a scan shows a key twice".to_owned());
        }
        let mut state = State::default();
        for (at, number) in state.iter_mut().enumerate() {
            *number = pairs.get(&key(at as u64)).map(|value| self.number_of(value)).transpose()?;
        }
        Ok(state)
    }

    fn note(&mut self, (call, began): (Call, u64), outcome: &Outcome) -> Result<(), String> {
        let (heard, ended) = (self.heard(outcome)?, self.tick());
        self.events.push(Event { call, heard, began, ended });
        Ok(())
    }

    fn turn(&mut self) -> Result<(), String> {
        self.rig.turn();
        let tickets: Vec<Ticket> = self.flights.keys().copied().collect();
        for ticket in tickets {
            if let Some(outcome) = self.rig.take(ticket)
                && let Some(flight) = self.flights.remove(&ticket)
            {
                self.note(flight, &outcome)?;
            }
        }
        Ok(())
    }

    fn turn_until(&mut self, most: usize) -> Result<(), String> {
        for _ in 0..TURNS_MAX {
            if self.flights.len() <= most {
                return Ok(());
            }
            self.turn()?;
        }
        Err("operations never end".to_owned())
    }

    /// Some operations that meet, until none is on its way.
    fn round(&mut self) -> Result<(), String> {
        for _ in 0..OPERATIONS {
            self.turn_until(DEPTH - 1)?;
            let (op, call) = self.operation();
            self.met += u64::from(!self.flights.is_empty());
            let began = self.tick();
            match self.rig.submit(op) {
                Ok(outcome) => self.note((call, began), &outcome)?,
                Err(ticket) => _ = self.flights.insert(ticket, (call, began)),
            }
            for _ in 0..self.rng.below(4) {
                self.turn()?;
            }
        }
        self.turn_until(0)
    }
}

type Counters = Vec<(&'static str, u64)>;

/// Counters of a history, and operations that met others.
fn history(terms: &Terms, seed: u64, rounds: u64) -> Result<(Counters, u64), String> {
    let mut run = Run::new(terms, seed);
    let mut states = BTreeSet::from([State::default()]);
    for round in 0..rounds {
        run.round()?;
        let events = std::mem::take(&mut run.events);
        states = linearize(&events, &states);
        if states.is_empty() {
            return Err(format!("round {round} is not linearizable: {events:#?}"));
        }
        // Copies go back in the middle of some rounds, and between others.
        if run.rng.below(3) == 0 {
            run.rig.pass(Duration::from_nanos(900_000));
        }
    }
    Ok((run.rig.store.counters(), run.met))
}

#[test]
fn operations_that_meet_happen_at_one_moment() {
    let (mut sums, mut met) = (BTreeMap::new(), 0);
    for terms in all_terms().into_iter().chain([slow(12_000), slow(20_000)]) {
        for seed in saker_testing::seeds(tier(2, 120)) {
            let done = history(&terms, seed, tier(6, 12));
            let (counters, more) = done.unwrap_or_else(|why| panic!("{terms:?}, SAKER_SEED={seed}: {why}"));
            counters.into_iter().for_each(|(name, n)| *sums.entry(name).or_insert(0) += n);
            met += more;
        }
    }
    println!("{met} met others; {sums:?}");
    assert!(met > 1000, "{met} operations met others");
    for name in ["redirected_writes", "device_reads", "rollback_moved", "rollback_stale", "device_emptied"] {
        assert!(sums[name] > 0, "no history has any {name}: {sums:?}");
    }
}

/// Operations of the flash that take longer than others, so that much happens while one is on its way.
fn slow(longest: u64) -> Terms {
    Terms { spike_ns: 20_000_000, longest, ..sweeping(Detector::Exact, Rollback::Lazy) }
}

#[test]
fn what_is_planted_is_not_linearizable() {
    let usual = terms(Detector::Exact, Rollback::Eager);
    let told = terms(Detector::Published, Rollback::Eager);
    // Two show seldom: they are looked for where they do.
    for (fault, usual, first) in [
        (Fault::LostTombstone, usual, 1),
        (Fault::StaleCopy, usual, 1),
        (Fault::DroppedEarly, usual, 1),
        (Fault::ViewAmidWrites, told, 1),
        (Fault::SweptIsMissing, slow(20_000), 660),
        (Fault::TombstoneIsPair, slow(20_000), 1190),
    ] {
        let found = (first..first + 40).find_map(|seed| {
            let _planted = Planted::new(fault);
            history(&usual, seed, 12).err().map(|_| seed)
        });
        println!("{fault:?}: seed {found:?}");
        let seed = found.unwrap_or_else(|| panic!("{fault:?} shows in none"));
        history(&usual, seed, 12).map(drop).unwrap_or_else(|why| panic!("seed {seed} without it: {why}"));
    }
}
