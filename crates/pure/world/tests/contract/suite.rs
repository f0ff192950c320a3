// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What every store owes its driver, clause by clause.

use crate::contract::noted::{Note, Noted, ended};
use crate::contract::{DEPTH, views};
use saker_sim::{Digest, Rng, Seed};
use saker_store::{
    Completed, Drain, KvStore, Lane, Op, Outcome, Refusal, Share, SnapshotId, Submitted, Ticket,
};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What is known of a store beside the trait.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Writes that nobody waits for fill it at some time.
    pub stalls: bool,
}

/// A clause that a store does not keep.
#[derive(Debug, PartialEq, Eq)]
pub struct Broken {
    pub clause: &'static str,
    pub why: String,
}

pub type Kept<T = ()> = Result<T, Broken>;

macro_rules! ensure {
    ($holds:expr, $clause:expr, $($why:tt)+) => {
        if !$holds {
            return Err($crate::contract::suite::Broken { clause: $clause, why: format!($($why)+) });
        }
    };
}

pub(crate) use ensure;

/// Turns after which nothing more is expected.
const TURNS_MAX: u32 = 200_000;
/// Bursts of operations of the random part.
const BURSTS: usize = 250;
const KEYS: u64 = 40;

/// Checks all clauses; the same seed checks the same operations.
///
/// # Errors
/// The first clause that is broken.
pub fn check<S: KvStore>(open: impl Fn() -> S, terms: Terms, seed: u64) -> Kept {
    lanes_are_counted(open())?;
    capabilities_are_true(open())?;
    keys_of_no_store(open())?;
    let first = operations(open(), seed)?;
    let again = operations(open(), seed)?;
    ensure!(first == again, "repeats", "digest {first:016x}, then {again:016x}");
    stalls_change_nothing(open(), terms)?;
    views::check(open, seed)
}

/// What an operation is to come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    Done,
    Value(Vec<u8>),
    Absent,
    /// So many operations of a command find nothing.
    Missing(u32),
    /// Whoever asked judges it.
    Told(Note),
}

/// A ticket on its way: of which keys, and what it is to come to.
pub struct Flight {
    ticket: Ticket,
    keys: Vec<u64>,
    expected: Expected,
}

/// A store with its lanes, and what it should have.
pub struct Subject<S: KvStore> {
    pub store: S,
    pub lanes: Vec<S::Lane>,
    flights: Vec<BTreeMap<u32, Flight>>,
    pub model: BTreeMap<u64, Vec<u8>>,
    /// Keys of operations on their way.
    busy: BTreeSet<u64>,
    seen: Digest,
}

pub fn key(n: u64) -> Vec<u8> {
    Seed(9).index(n).0.to_le_bytes().to_vec()
}

impl<S: KvStore> Subject<S> {
    pub fn new(mut store: S) -> Self {
        let mut lanes = Vec::new();
        while let Ok(lane) = store.open_lane() {
            lanes.push(lane);
        }
        let flights = lanes.iter().map(|_| BTreeMap::new()).collect();
        let (model, busy, seen) = (BTreeMap::new(), BTreeSet::new(), Digest::default());
        Self { store, lanes, flights, model, busy, seen }
    }

    pub fn has(&self, name: &str) -> bool {
        self.store.capabilities().contains(&name)
    }

    /// Announces what was submitted, lets the next thing happen, takes what has ended.
    pub fn drive(&mut self) -> Kept {
        self.lanes.iter_mut().for_each(Lane::ring);
        self.store.drive();
        let now = self.store.now();
        let mut begun = Vec::new();
        self.store.begin_jobs(&mut |_, job| begun.push(job.id));
        for job in begun {
            if self.store.quantum(job, now) {
                self.store.rest(job);
            }
        }
        for n in 0..self.lanes.len() {
            if !self.lanes[n].look(now) {
                continue;
            }
            let (flights, seen, busy) = (&mut self.flights, &mut self.seen, &mut self.busy);
            let mut visit = |completed: Completed<'_>| -> Kept {
                seen.number(now.as_nanos());
                seen.bytes(completed.outcome.data());
                let Completed { lane, ticket, outcome } = completed;
                let flight = flights[lane].remove(&ticket.slot);
                let known = flight.ok_or_else(|| Broken {
                    clause: "an outcome for each ticket",
                    why: format!("{ticket:?} of lane {lane} is not on its way"),
                })?;
                ensure!(
                    ticket == known.ticket,
                    "an outcome for each ticket",
                    "{ticket:?}, not {:?}",
                    known.ticket
                );
                known.keys.iter().for_each(|key| _ = busy.remove(key));
                judge(&outcome, &known.expected)
            };
            while let Some(kept) = self.lanes[n].poll(now, &mut visit).unwrap_or(None) {
                kept?;
            }
            let (told, counted) = (self.flights[n].len(), self.lanes[n].in_flight());
            ensure!(told == counted, "depth", "{told} tickets on their way, {counted} counted");
        }
        Ok(())
    }

    /// Turns until `done`.
    fn turn_until(&mut self, clause: &'static str, done: impl Fn(&Self) -> bool) -> Kept {
        for _ in 0..TURNS_MAX {
            if done(self) {
                return Ok(());
            }
            self.drive()?;
        }
        ensure!(done(self), clause, "still {} tickets on their way", self.in_flight());
        Ok(())
    }

    fn in_flight(&self) -> usize {
        self.flights.iter().map(BTreeMap::len).sum()
    }

    pub fn settle(&mut self) -> Kept {
        self.turn_until("an outcome for each ticket", |subject| subject.in_flight() == 0)
    }

    /// Submits operations of one kind and waits where they stall. `expected` tells what the first so many come to.
    pub fn submit(
        &mut self,
        n: usize,
        all: &[Op],
        keys: &[u64],
        expected: impl Fn(&[u64]) -> Expected,
    ) -> Kept {
        let mut done = 0;
        while done < all.len() {
            self.turn_until("an outcome for each ticket", |subject| subject.flights[n].len() < DEPTH)?;
            let mut share = Share::of(all, 0, 1);
            share.skip(done);
            let now = self.store.now();
            let before = self.lanes[n].in_flight();
            let submitted = self.lanes[n].submit(share, now);
            match submitted {
                Submitted::Done(outcome) => {
                    self.seen.bytes(outcome.data());
                    judge(&outcome, &expected(&keys[done..=done]))?;
                    self.busy.remove(&keys[done]);
                    done += 1;
                }
                Submitted::Pending(ticket) => {
                    let count = ticket.operations as usize;
                    ensure!(
                        count >= 1 && done + count <= all.len(),
                        "an outcome for each ticket",
                        "{count} operations of {}",
                        all.len() - done
                    );
                    let keys = keys[done..done + count].to_vec();
                    let flight = Flight { ticket, expected: expected(&keys), keys };
                    let twice = self.flights[n].insert(ticket.slot, flight);
                    ensure!(
                        twice.is_none(),
                        "an outcome for each ticket",
                        "slot {} has two tickets",
                        ticket.slot
                    );
                    let after = self.lanes[n].in_flight();
                    ensure!(after == before + 1, "depth", "{before} in flight, then {after}");
                    done += count;
                }
                Submitted::Stalled(_) => self.drive()?,
                Submitted::Refused(refusal) => {
                    let why = format!("{} refused: {refusal}", all[done].name());
                    return Err(Broken { clause: "capabilities", why });
                }
            }
        }
        Ok(())
    }

    /// One operation, awaited.
    pub fn ask(&mut self, n: usize, op: Op, number: u64, expected: &Expected) -> Kept {
        self.submit(n, &[op], &[number], |_| expected.clone())?;
        self.settle()
    }

    /// Submits one operation whose outcome is noted.
    pub fn begin(&mut self, n: usize, op: Op) -> Kept<Note> {
        let note = Note::default();
        self.submit(n, &[op], &[u64::MAX], |_| Expected::Told(Rc::clone(&note)))?;
        Ok(note)
    }

    /// One operation, awaited; how it ended.
    pub fn tell(&mut self, n: usize, op: Op) -> Kept<Noted> {
        let note = self.begin(n, op)?;
        self.settle()?;
        ended(&note)
    }
}

fn judge(outcome: &Outcome<'_>, expected: &Expected) -> Kept {
    if let Expected::Told(note) = expected {
        *note.borrow_mut() = Some(Noted::of(outcome));
        return Ok(());
    }
    let holds = match (outcome, expected) {
        (Outcome::Done { .. }, Expected::Done) | (Outcome::Absent, Expected::Absent) => true,
        (Outcome::Value { data, .. }, Expected::Value(value)) => data == value,
        (Outcome::Group { failed, .. }, Expected::Missing(missing)) => failed == missing,
        (Outcome::Group { failed: 0, .. }, Expected::Done | Expected::Value(_)) => true,
        _ => false,
    };
    ensure!(holds, "read your write", "{outcome:?} instead of {expected:?}");
    Ok(())
}

/// Lanes are opened as many as the store was made for, and no more.
fn lanes_are_counted<S: KvStore>(store: S) -> Kept {
    let mut subject = Subject::new(store);
    ensure!(subject.lanes.len() == crate::contract::LANES, "lanes", "{} lanes", subject.lanes.len());
    let more = subject.store.open_lane().err();
    ensure!(more == Some(Refusal::Lanes), "lanes", "one more: {more:?}");
    Ok(())
}

fn one_of_each() -> [Op; 11] {
    let put = Op::Put(key(1), vec![1]);
    let pair = vec![put.clone(), Op::Put(key(2), vec![2])];
    [
        put,
        Op::Get(key(1)),
        Op::Delete(key(1)),
        Op::Exists(key(1)),
        Op::Batch(pair.clone()),
        Op::Group { operations: pair, flags: 0 },
        Op::Scan { from: key(1), entries: 2, snapshot: None },
        Op::Snapshot,
        Op::Release(SnapshotId(u32::MAX)),
        Op::Flush,
        Op::Wait,
    ]
}

/// What a store lists it takes, and all else it refuses by name.
fn capabilities_are_true<S: KvStore>(store: S) -> Kept {
    let mut subject = Subject::new(store);
    for op in one_of_each() {
        let (name, now) = (op.name(), subject.store.now());
        let before = subject.lanes[0].in_flight();
        let refused = match subject.lanes[0].submit(Share::alone(&op), now) {
            Submitted::Refused(Refusal::Unsupported(what)) => {
                ensure!(what == name, "capabilities", "{name} refused as {what}");
                true
            }
            Submitted::Refused(other) => {
                return Err(Broken { clause: "capabilities", why: format!("{name}: {other}") });
            }
            Submitted::Pending(ticket) => {
                let expected = match op {
                    Op::Get(_) => Expected::Value(vec![1]),
                    Op::Scan { .. } | Op::Snapshot | Op::Release(_) => Expected::Told(Note::default()),
                    _ => Expected::Done,
                };
                let flight = Flight { ticket, keys: Vec::new(), expected };
                subject.flights[0].insert(ticket.slot, flight);
                false
            }
            Submitted::Done(_) | Submitted::Stalled(_) => false,
        };
        ensure!(refused != subject.has(name), "capabilities", "{name}: listed and refused, or neither");
        if refused {
            let after = subject.lanes[0].in_flight();
            ensure!(after == before, "capabilities", "{name} was refused, and {after} are in flight");
        }
        // Deleted by now, and so a key less for what follows.
        if matches!(op, Op::Delete(_)) {
            subject.settle()?;
            subject.ask(0, Op::Put(key(1), vec![1]), 1, &Expected::Done)?;
        }
        subject.settle()?;
    }
    Ok(())
}

/// No bytes are no key.
fn keys_of_no_store<S: KvStore>(store: S) -> Kept {
    let mut subject = Subject::new(store);
    let op = Op::Put(Vec::new(), vec![1]);
    let now = subject.store.now();
    let submitted = subject.lanes[0].submit(Share::alone(&op), now);
    let is_refused =
        matches!(submitted, Submitted::Refused(Refusal::KeyLength(0)) | Submitted::Done(Outcome::Failed(_)));
    ensure!(is_refused, "keys", "a key of no bytes: {submitted:?}");
    Ok(())
}

/// Bursts of operations on all lanes, a Flush now and then, everything read at the end. Returns a digest of what was seen.
fn operations<S: KvStore>(store: S, seed: u64) -> Kept<u64> {
    let mut subject = Subject::new(store);
    let mut rng = Seed(seed).child("contract").rng();
    for burst in 0..BURSTS {
        random(&mut subject, &mut rng)?;
        if burst % 50 == 49 {
            subject.settle()?;
            subject.ask(0, Op::Flush, KEYS, &Expected::Done)?;
        }
    }
    subject.settle()?;
    drain(&mut subject)?;
    for n in 0..KEYS {
        let stored = subject.model.get(&n).cloned();
        let expected = stored.map_or(Expected::Absent, Expected::Value);
        subject.ask(n as usize % crate::contract::LANES, Op::Get(key(n)), n, &expected)?;
    }
    subject.seen.number(subject.store.now().as_nanos());
    Ok(subject.seen.value())
}

fn random<S: KvStore>(subject: &mut Subject<S>, rng: &mut Rng) -> Kept {
    let (lane, count) = (rng.below(subject.lanes.len() as u64) as usize, 1 + rng.below(4));
    let mut keys = BTreeSet::new();
    for _ in 0..count {
        keys.insert(rng.below(KEYS));
    }
    if keys.iter().any(|key| subject.busy.contains(key)) {
        subject.settle()?;
    }
    let keys: Vec<u64> = keys.into_iter().collect();
    subject.busy.extend(&keys);
    let kind = rng.below(8);
    let ops: Vec<Op> = keys.iter().map(|n| operation(kind, *n, rng)).collect();
    let before = subject.model.clone();
    for (n, op) in keys.iter().zip(&ops) {
        match op {
            Op::Put(_, value) => _ = subject.model.insert(*n, value.clone()),
            Op::Delete(_) => _ = subject.model.remove(n),
            _ => {}
        }
    }
    // A delete of what is not there is answered either way: sessions do not ask.
    if kind == 6 {
        let there: Vec<u64> = keys.iter().copied().filter(|n| before.contains_key(n)).collect();
        keys.iter().for_each(|n| _ = subject.busy.remove(n));
        subject.busy.extend(&there);
        let ops: Vec<Op> = there.iter().map(|n| Op::Delete(key(*n))).collect();
        return subject.submit(lane, &ops, &there, |_| Expected::Done);
    }
    let found = |n: &u64| before.get(n);
    subject.submit(lane, &ops, &keys, |part| match (kind, part) {
        (0..=3, _) => Expected::Done,
        (7, [one]) => found(one).map_or(Expected::Absent, |_| Expected::Done),
        (_, [one]) => found(one).map_or(Expected::Absent, |value| Expected::Value(value.clone())),
        (_, many) => Expected::Missing(many.iter().filter(|n| found(n).is_none()).count() as u32),
    })
}

fn operation(kind: u64, n: u64, rng: &mut Rng) -> Op {
    match kind {
        0..=3 => {
            let mut value = vec![0; rng.below(600) as usize];
            rng.fill(&mut value);
            Op::Put(key(n), value)
        }
        6 => Op::Delete(key(n)),
        7 => Op::Exists(key(n)),
        _ => Op::Get(key(n)),
    }
}

/// Every lane brings to its end what it gathered.
fn drain<S: KvStore>(subject: &mut Subject<S>) -> Kept {
    for n in 0..subject.lanes.len() {
        let mut turns = 0;
        loop {
            let now = subject.store.now();
            match subject.lanes[n].drain(now).unwrap_or(Drain::Over) {
                Drain::Over => break,
                Drain::Synced { failed } => {
                    ensure!(failed == 0, "drain", "{failed} writes failed");
                    break;
                }
                Drain::Began | Drain::Waiting | Drain::Announced => subject.drive()?,
            }
            turns += 1;
            ensure!(turns < TURNS_MAX, "drain", "lane {n} does not come to its end");
        }
    }
    Ok(())
}

/// Writes that nobody waits for, until the store stalls: what stalled is not there afterwards, and goes through later.
fn stalls_change_nothing<S: KvStore>(store: S, terms: Terms) -> Kept {
    let mut subject = Subject::new(store);
    let put = |n: u64| Op::Put(key(1000 + n), vec![n as u8; 300]);
    let mut stalled = None;
    for n in 0..400 {
        let (op, now, before) = (put(n), subject.store.now(), subject.lanes[0].in_flight());
        match subject.lanes[0].submit(Share::alone(&op), now) {
            Submitted::Done(outcome) => judge(&outcome, &Expected::Done)?,
            Submitted::Pending(ticket) => {
                let flight = Flight { ticket, keys: Vec::new(), expected: Expected::Done };
                let twice = subject.flights[0].insert(ticket.slot, flight);
                ensure!(
                    twice.is_none(),
                    "an outcome for each ticket",
                    "slot {} has two tickets",
                    ticket.slot
                );
            }
            Submitted::Stalled(_) => {
                let after = subject.lanes[0].in_flight();
                ensure!(before == after, "stall", "{before} in flight, then {after}");
                stalled = Some(n);
                break;
            }
            Submitted::Refused(refusal) => {
                return Err(Broken { clause: "stall", why: format!("refused instead: {refusal}") });
            }
        }
    }
    ensure!(stalled.is_some() == terms.stalls, "stall", "stalled at {stalled:?}");
    let Some(n) = stalled else { return subject.settle() };
    subject.settle()?;
    let (absent, there) = (Expected::Absent, Expected::Value(vec![n as u8; 300]));
    let absent = subject.ask(1, Op::Get(key(1000 + n)), 0, &absent);
    absent.map_err(|broken| Broken { clause: "stall", ..broken })?;
    subject.ask(0, put(n), 0, &Expected::Done)?;
    subject.ask(1, Op::Get(key(1000 + n)), 0, &there)
}
