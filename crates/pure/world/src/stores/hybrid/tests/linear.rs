// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Histories of operations that meet on the same keys are linearizable: some order in which each happens at one moment between its call and its
//! end gives all answers. Batches and scans are of all keys at one moment.

use super::histories::{Pairs, Planted, all_terms, key, value};
use super::rig::{Rig, Terms, terms};
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

/// The number of the write whose value each key has.
type State = [Option<u64>; KEYS];

#[derive(Clone, Debug)]
enum Call {
    Write(Vec<(usize, Option<u64>)>),
    Delete(usize),
    Get(usize),
    Exists(usize),
    Scan,
}

#[derive(Clone, Debug, PartialEq)]
enum Heard {
    Done,
    Missing,
    Value(u64),
    All(State),
    /// Nothing has changed.
    Full,
}

#[derive(Clone, Debug)]
struct Event {
    call: Call,
    heard: Heard,
    began: u64,
    ended: u64,
}

/// The state behind it, if it may happen in this one.
fn step(mut state: State, event: &Event) -> Option<State> {
    let is_right = match (&event.call, &event.heard) {
        (Call::Write(_) | Call::Delete(_), Heard::Full) => true,
        (Call::Write(writes), Heard::Done) => {
            writes.iter().for_each(|(key, number)| state[*key] = *number);
            true
        }
        (Call::Delete(key), Heard::Done) => state[*key].take().is_some(),
        (Call::Exists(key), Heard::Done) => state[*key].is_some(),
        (Call::Get(key) | Call::Exists(key) | Call::Delete(key), Heard::Missing) => state[*key].is_none(),
        (Call::Get(key), Heard::Value(number)) => state[*key] == Some(*number),
        (Call::Scan, Heard::All(all)) => state == *all,
        _ => false,
    };
    is_right.then_some(state)
}

/// States in which these events may leave the store, which was in one of those before; none: the history is not linearizable.
fn linearize(events: &[Event], before: &BTreeSet<State>) -> BTreeSet<State> {
    assert!(events.len() <= 64, "each has a bit");
    let all = u64::MAX.checked_shr(64 - events.len() as u32).unwrap_or(0);
    let mut todo: Vec<(u64, State)> = before.iter().map(|state| (0, *state)).collect();
    let (mut seen, mut after) = (BTreeSet::new(), BTreeSet::new());
    while let Some((done, state)) = todo.pop() {
        if done == all {
            after.insert(state);
        }
        let left = || (0..events.len()).filter(|n| done & 1 << n == 0);
        // Whoever has ended happens before whoever began later.
        let Some(first_end) = left().map(|n| events[n].ended).min() else { continue };
        for n in left().filter(|n| events[*n].began < first_end) {
            if let Some(next) = step(state, &events[n])
                && seen.insert((done | 1 << n, next))
            {
                todo.push((done | 1 << n, next));
            }
        }
    }
    after
}

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
                let (from, entries, snapshot) = (Vec::new(), KEYS as u32 + 1, None);
                (Op::Scan { from, entries, snapshot }, Call::Scan)
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
    for terms in all_terms() {
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

#[test]
fn what_is_planted_is_not_linearizable() {
    let usual = terms(Detector::Exact, Rollback::Eager);
    for fault in [Fault::LostTombstone, Fault::StaleCopy, Fault::DroppedEarly] {
        let found = (1..=40).find_map(|seed| {
            let _planted = Planted::new(fault);
            history(&usual, seed, 12).err().map(|_| seed)
        });
        println!("{fault:?}: seed {found:?}");
        let seed = found.unwrap_or_else(|| panic!("{fault:?} shows in none"));
        history(&usual, seed, 12).map(drop).unwrap_or_else(|why| panic!("seed {seed} without it: {why}"));
    }
}

/// What the checker is for: each of these histories has one answer that no order gives.
#[test]
fn the_checker_rejects_what_no_order_gives() {
    let event = |call: Call, heard: Heard, (began, ended): (u64, u64)| Event { call, heard, began, ended };
    let put = |key, number, when| event(Call::Write(vec![(key, Some(number))]), Heard::Done, when);
    let get = |key, number, when| event(Call::Get(key), Heard::Value(number), when);
    let both = || event(Call::Write(vec![(0, Some(1)), (1, Some(1))]), Heard::Done, (1, 10));
    let all =
        |state: [Option<u64>; 2], when| event(Call::Scan, Heard::All([state[0], state[1], None, None]), when);
    let start = BTreeSet::from([State::default()]);
    let good = [
        vec![put(0, 1, (1, 4)), get(0, 1, (2, 3))],
        vec![put(0, 1, (1, 4)), event(Call::Get(0), Heard::Missing, (2, 3))],
        vec![put(0, 1, (1, 6)), put(0, 2, (2, 5)), get(0, 1, (7, 8))],
        vec![both(), all([Some(1), Some(1)], (2, 3)), get(1, 1, (4, 5))],
        vec![event(Call::Delete(0), Heard::Missing, (1, 2)), put(0, 1, (3, 4))],
        vec![
            event(Call::Write(vec![(0, Some(1))]), Heard::Full, (1, 2)),
            event(Call::Exists(0), Heard::Missing, (3, 4)),
        ],
    ];
    for (n, events) in good.iter().enumerate() {
        assert!(!linearize(events, &start).is_empty(), "good history {n}");
    }
    let bad = [
        // A read behind a write does not see it.
        vec![put(0, 1, (1, 2)), event(Call::Get(0), Heard::Missing, (3, 4))],
        // An old value comes back.
        vec![put(0, 1, (1, 2)), put(0, 2, (3, 4)), get(0, 1, (5, 6))],
        // Two reads see two writes in an order in which neither was.
        vec![put(0, 1, (1, 2)), put(0, 2, (3, 9)), get(0, 2, (4, 5)), get(0, 1, (6, 7))],
        // A batch is seen by half.
        vec![both(), all([Some(1), None], (2, 3))],
        // A batch that was seen is not there any more.
        vec![both(), get(0, 1, (2, 3)), event(Call::Get(1), Heard::Missing, (4, 5))],
        // A deleted pair is there.
        vec![put(0, 1, (1, 2)), event(Call::Delete(0), Heard::Done, (3, 4)), get(0, 1, (5, 6))],
        // A delete of nothing succeeds.
        vec![event(Call::Delete(0), Heard::Done, (1, 2))],
        // What was refused is there.
        vec![event(Call::Write(vec![(0, Some(1))]), Heard::Full, (1, 2)), get(0, 1, (3, 4))],
    ];
    for (n, events) in bad.iter().enumerate() {
        assert_eq!(linearize(events, &start), BTreeSet::new(), "bad history {n}");
    }
}
