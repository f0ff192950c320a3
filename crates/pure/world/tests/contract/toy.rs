// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store in memory, with faults to plant.

use saker_nvme::group::PairList;
use saker_sim::Instant;
use saker_store::{
    Completed, Completions, Doorbells, Failure, KvStore, Lane, Op, Order, Outcome, Prices, Refusal, Share,
    SnapshotId, Stall, StallCause, Submitted, Ticket, Work,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::rc::Rc;

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    LosesTicket,
    AnswersTwice,
    SharesSlot,
    ListsWhatItLacks,
    TakesWhatItLacks,
    RefusesByAnotherName,
    WritesWhenStalled,
    KeepsTicketWhenStalled,
    ReadsOldValues,
    ForgetsDeletes,
    MiscountsDepth,
    NeverTheSame,
    OpensLanesForever,
    TakesEmptyKeys,
    BatchStopsHalfway,
    BatchForgetsDeletes,
    BatchIsSeenInParts,
    ScanLeavesOneOut,
    ScanIsOutOfOrder,
    ScanSeesOldValues,
    SnapshotGoesOn,
    SnapshotLosesDeleted,
    SnapshotNeverEnds,
}

impl Fault {
    /// With the clause that finds it.
    pub const ALL: [(Self, &'static str); 23] = [
        (Self::LosesTicket, "an outcome for each ticket"),
        (Self::AnswersTwice, "an outcome for each ticket"),
        (Self::SharesSlot, "an outcome for each ticket"),
        (Self::ListsWhatItLacks, "capabilities"),
        (Self::TakesWhatItLacks, "capabilities"),
        (Self::RefusesByAnotherName, "capabilities"),
        (Self::WritesWhenStalled, "stall"),
        (Self::KeepsTicketWhenStalled, "stall"),
        (Self::ReadsOldValues, "read your write"),
        (Self::ForgetsDeletes, "read your write"),
        (Self::MiscountsDepth, "depth"),
        (Self::NeverTheSame, "repeats"),
        (Self::OpensLanesForever, "lanes"),
        (Self::TakesEmptyKeys, "keys"),
        (Self::BatchStopsHalfway, "batch"),
        (Self::BatchForgetsDeletes, "batch"),
        (Self::BatchIsSeenInParts, "batch"),
        (Self::ScanLeavesOneOut, "scan"),
        (Self::ScanIsOutOfOrder, "scan"),
        (Self::ScanSeesOldValues, "scan"),
        (Self::SnapshotGoesOn, "snapshot"),
        (Self::SnapshotLosesDeleted, "snapshot"),
        (Self::SnapshotNeverEnds, "snapshot"),
    ];
}

#[derive(Default)]
struct Pairs {
    now: BTreeMap<Vec<u8>, Vec<u8>>,
    before: BTreeMap<Vec<u8>, Vec<u8>>,
    snapshots: BTreeMap<u32, BTreeMap<Vec<u8>, Vec<u8>>>,
    taken: u32,
    /// The rest of a batch that was carried out in parts.
    rest: Vec<Op>,
    /// Operations carried out.
    count: u64,
}

/// The store.
pub struct Toy {
    pairs: Rc<RefCell<Pairs>>,
    time: u64,
    lanes_left: usize,
    lanes: usize,
    depth: usize,
    fault: Option<(Fault, u64)>,
}

/// A lane: what was submitted is carried out when it was announced and the lane looks.
pub struct ToyLane {
    pairs: Rc<RefCell<Pairs>>,
    number: usize,
    depth: usize,
    fault: Option<Fault>,
    submitted: VecDeque<(u32, Op)>,
    announced: usize,
    ready: VecDeque<(u32, Answer)>,
    slots: Vec<u32>,
    lost: usize,
}

#[derive(Clone)]
enum Answer {
    Done,
    Absent,
    Value(Vec<u8>),
    Pairs(Vec<u8>),
    Snapshot(u32),
    NoSnapshot,
}

impl Answer {
    fn outcome(&self) -> Outcome<'_> {
        match self {
            Self::Done => Outcome::DONE,
            Self::Absent => Outcome::Absent,
            Self::Value(value) => Outcome::value(value),
            Self::Pairs(data) => Outcome::Pairs { data },
            Self::Snapshot(n) => Outcome::Snapshot(SnapshotId(*n)),
            Self::NoSnapshot => Outcome::Failed(Failure::NoSnapshot),
        }
    }
}

impl Toy {
    /// With a fault, and how often a store was opened before: for one that is different every time.
    pub fn new(lanes: usize, depth: usize, fault: Option<(Fault, u64)>) -> Self {
        Self { pairs: Rc::default(), time: 0, lanes_left: lanes, lanes: 0, depth, fault }
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault.is_some_and(|(planted, _)| planted == fault)
    }
}

impl KvStore for Toy {
    type Lane = ToyLane;

    fn open_lane(&mut self) -> Result<ToyLane, Refusal> {
        if self.lanes_left == 0 && !(self.is(Fault::OpensLanesForever) && self.lanes < 10) {
            return Err(Refusal::Lanes);
        }
        self.lanes_left = self.lanes_left.saturating_sub(1);
        self.lanes += 1;
        Ok(ToyLane {
            pairs: Rc::clone(&self.pairs),
            number: self.lanes - 1,
            depth: self.depth,
            fault: self.fault.map(|(fault, _)| fault),
            submitted: VecDeque::new(),
            announced: 0,
            ready: VecDeque::new(),
            slots: (0..self.depth as u32).collect(),
            lost: 0,
        })
    }

    fn capabilities(&self) -> Vec<&'static str> {
        let mut all = vec!["put", "get", "delete", "exists", "flush", "batch", "scan", "snapshot", "release"];
        if self.is(Fault::ListsWhatItLacks) {
            all.push("group");
        }
        all
    }

    fn order(&self) -> Order {
        Order { doorbells: Doorbells::OfLane { looks_first: true }, completions: Completions::EachEnds }
    }

    fn prices(&self) -> Prices {
        Prices::default()
    }

    fn stats(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(self.time)
    }

    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    fn advance(&mut self, now: Instant) -> bool {
        self.time = self.time.max(now.as_nanos());
        false
    }

    fn go_on(&mut self, _: Instant) -> Option<Instant> {
        None
    }

    fn drive(&mut self) {
        let opened = self.fault.filter(|(fault, _)| *fault == Fault::NeverTheSame).map_or(0, |(_, n)| n);
        self.time += 10 + opened;
    }
}

impl ToyLane {
    fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn carry_out(&self, op: &Op) -> Answer {
        let Pairs { now, before, count, .. } = &mut *self.pairs.borrow_mut();
        *count += 1;
        let is_odd = count.is_multiple_of(17);
        match op {
            Op::Put(key, value) => {
                if let Some(old) = now.insert(key.clone(), value.clone()) {
                    before.insert(key.clone(), old);
                }
                Answer::Done
            }
            Op::Get(key) if self.is(Fault::ReadsOldValues) && before.contains_key(key) => {
                Answer::Value(before[key].clone())
            }
            Op::Get(key) => now.get(key).map_or(Answer::Absent, |value| Answer::Value(value.clone())),
            Op::Delete(_) if self.is(Fault::ForgetsDeletes) && is_odd => Answer::Done,
            Op::Delete(key) => now.remove(key).map_or(Answer::Absent, |_| Answer::Done),
            Op::Exists(key) => now.get(key).map_or(Answer::Absent, |_| Answer::Done),
            _ => Answer::Done,
        }
    }

    fn batch(&self, writes: &[Op]) -> Answer {
        let mut parts: Vec<Op> = writes.to_vec();
        if self.is(Fault::BatchForgetsDeletes) {
            parts.retain(|op| !matches!(op, Op::Delete(_)));
        }
        let half = parts.len().div_ceil(2);
        if self.is(Fault::BatchStopsHalfway) {
            parts.truncate(half);
        }
        if self.is(Fault::BatchIsSeenInParts) && half > 3 {
            self.pairs.borrow_mut().rest = parts.split_off(half);
        }
        parts.iter().for_each(|op| _ = self.carry_out(op));
        Answer::Done
    }

    fn scan(&self, from: &[u8], entries: u32, snapshot: Option<u32>) -> Answer {
        let rest = {
            let Pairs { now, before, snapshots, rest, count, .. } = &mut *self.pairs.borrow_mut();
            *count += 1;
            let of = match snapshot {
                Some(_) if self.is(Fault::SnapshotGoesOn) => &*now,
                Some(n) => match snapshots.get(&n) {
                    Some(pairs) => pairs,
                    None if self.is(Fault::SnapshotNeverEnds) => &*now,
                    None => return Answer::NoSnapshot,
                },
                None => &*now,
            };
            let mut found: Vec<_> = of.range(from.to_vec()..).take(entries as usize).collect();
            if self.is(Fault::ScanLeavesOneOut) && found.len() > 7 {
                found.remove(5);
            }
            if self.is(Fault::ScanIsOutOfOrder) && found.len() > 7 {
                found.swap(3, 4);
            }
            if self.is(Fault::SnapshotLosesDeleted) && snapshot.is_some() {
                found.retain(|(key, _)| now.contains_key(*key));
            }
            let mut list = PairList::default();
            for (key, value) in found {
                let is_old = self.is(Fault::ScanSeesOldValues) && count.is_multiple_of(17);
                list.push(key, before.get(key).filter(|_| is_old).unwrap_or(value));
            }
            (list.finish(), std::mem::take(rest))
        };
        rest.1.iter().for_each(|op| _ = self.carry_out(op));
        Answer::Pairs(rest.0)
    }

    /// What is carried out beside single pairs.
    fn answer(&self, op: &Op) -> Answer {
        match op {
            Op::Batch(writes) => self.batch(writes),
            Op::Scan { from, entries, snapshot } => self.scan(from, *entries, snapshot.map(|id| id.0)),
            Op::Snapshot => {
                let Pairs { now, snapshots, taken, .. } = &mut *self.pairs.borrow_mut();
                *taken += 1;
                snapshots.insert(*taken, now.clone());
                Answer::Snapshot(*taken)
            }
            Op::Release(id) => {
                let was_there = self.pairs.borrow_mut().snapshots.remove(&id.0).is_some();
                if was_there || self.is(Fault::SnapshotNeverEnds) { Answer::Done } else { Answer::NoSnapshot }
            }
            single => self.carry_out(single),
        }
    }

    fn refusal(&self, op: &Op) -> Option<Refusal> {
        match op {
            Op::Put(key, _) if key.is_empty() && !self.is(Fault::TakesEmptyKeys) => {
                Some(Refusal::KeyLength(0))
            }
            Op::Put(..) | Op::Get(_) | Op::Delete(_) | Op::Exists(_) | Op::Flush => None,
            Op::Batch(_) | Op::Scan { .. } | Op::Snapshot | Op::Release(_) => None,
            Op::Group { .. } if self.is(Fault::TakesWhatItLacks) => None,
            Op::Group { .. } if self.is(Fault::RefusesByAnotherName) => Some(Refusal::Unsupported("scan")),
            other => Some(Refusal::Unsupported(other.name())),
        }
    }
}

impl Lane for ToyLane {
    type Error = Infallible;

    fn submit(&mut self, share: Share<'_>, _: Instant) -> Submitted<'_> {
        let Some(op) = share.first() else { return Submitted::Refused(Refusal::Unsupported("nothing")) };
        if let Some(refusal) = self.refusal(op) {
            return Submitted::Refused(refusal);
        }
        if self.slots.is_empty() {
            if self.is(Fault::WritesWhenStalled) {
                self.answer(op);
            }
            if self.is(Fault::KeepsTicketWhenStalled) {
                self.submitted.push_back((self.depth as u32, op.clone()));
            }
            return Submitted::Stalled(Stall::until_completion(StallCause::Queue));
        }
        let slot = self.slots.pop().unwrap_or(0);
        let shown = if self.is(Fault::SharesSlot) { 0 } else { slot };
        self.submitted.push_back((slot, op.clone()));
        Submitted::Pending(Ticket { slot: shown, operations: 1 })
    }

    fn look(&mut self, _: Instant) -> bool {
        for _ in 0..std::mem::take(&mut self.announced) {
            let Some((slot, op)) = self.submitted.pop_front() else { break };
            let answer = self.answer(&op);
            let count = self.pairs.borrow().count;
            if self.is(Fault::LosesTicket) && count.is_multiple_of(31) {
                self.lost += 1;
                continue;
            }
            if self.is(Fault::AnswersTwice) && count.is_multiple_of(31) {
                self.ready.push_back((slot, answer.clone()));
            }
            self.ready.push_back((slot, answer));
        }
        !self.ready.is_empty()
    }

    fn poll<R>(
        &mut self,
        _: Instant,
        visit: impl FnOnce(Completed<'_>) -> R,
    ) -> Result<Option<R>, Infallible> {
        let Some((slot, answer)) = self.ready.pop_front() else { return Ok(None) };
        if !self.slots.contains(&slot) {
            self.slots.push(slot);
        }
        let slot = if self.is(Fault::SharesSlot) { 0 } else { slot };
        let ticket = Ticket { slot, operations: 1 };
        Ok(Some(visit(Completed { lane: self.number, ticket, outcome: answer.outcome() })))
    }

    fn ring(&mut self) {
        self.announced = self.submitted.len();
    }

    fn work(&mut self) -> Work {
        Work::default()
    }

    fn in_flight(&self) -> usize {
        if self.is(Fault::MiscountsDepth) {
            return 0;
        }
        self.submitted.len() + self.ready.len() + self.lost
    }
}
