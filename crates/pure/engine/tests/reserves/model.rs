// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Activities as an abstract state machine, explored whole. It knows only what the tables say: what each takes, what each
//! leaves, who is above whom.
//!
//! Segments: a store or a delete takes one for good. A collection takes one where its stream's is full, which is every second
//! time, and gives one back; it begins when a store waits, for then one gains something. Work, such as a flush or a merge, takes
//! its segments, and what it replaces comes back with the next checkpoint, which gives its predecessor's back as well. While a
//! failed program waits for its repair nothing is given back, and collections are given up. There is one failure. Its
//! repair fits what a collection has left of its segment, or else begins one, the rest of which is the next collection's.
//!
//! Slots: what a step takes comes back when its programs end, or stays: until repairs begin, any program can fail.

use saker_log::reserve::{Activity, Claim, leaves};
use std::collections::{BTreeMap, BTreeSet};

/// What an activity does with the segments that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Keeps them, as stores and deletes do.
    Takes,
    /// Gives one back for each segment that it collects.
    Collects,
    /// Gives back with the next checkpoint.
    Works,
    /// Gives back its predecessor's, and what work has replaced.
    Checkpoints,
    /// Copies what failed; nothing is given back before.
    Repairs,
}

/// An activity of the model.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub name: &'static str,
    pub role: Role,
    pub rank: u8,
    /// Taken beside what others of the rank take.
    pub is_beside: bool,
    /// Most in one step.
    pub most: u32,
    /// Segments until it is through.
    pub job: u32,
    pub leaves: u32,
    pub slack: u32,
}

/// The rows of a table for one resource.
pub fn rows(
    table: &[Activity],
    roles: &[Role],
    resource: impl Fn(&Activity) -> Claim,
    of_slots: bool,
) -> Vec<Row> {
    assert_eq!(table.len(), roles.len(), "a role for each activity");
    let row = |(n, a): (usize, &Activity)| {
        let (claim, left) = (resource(a), leaves(table, n));
        let leaves = if of_slots { u32::from(left.slots) } else { left.segments };
        let most = claim.most;
        let leaves = leaves + claim.asked;
        Row {
            name: a.name,
            role: roles[n],
            rank: claim.rank,
            is_beside: claim.is_beside,
            most,
            job: most,
            leaves,
            slack: claim.slack,
        }
    };
    table.iter().enumerate().map(row).collect()
}

/// What is wrong with a set of reserves.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Something waits, and nothing can step.
    Deadlock(String),
    /// Background work goes on for ever, and a store waits.
    Endless(String),
    /// A step of the first takes what the second, which is below it, could have taken.
    Theft(&'static str, &'static str),
}

impl Fault {
    pub fn is_deadlock(&self) -> bool {
        matches!(self, Self::Deadlock(_) | Self::Endless(_))
    }
}

/// Whether the step of `by`, which takes `taken`, leaves each lower rank less than it could have taken.
fn theft(rows: &[Row], by: &Row, (before, after): (u32, u32), held: &[u32]) -> Option<Fault> {
    let left = |n: usize| rows[n].most.min(rows[n].job - held[n].min(rows[n].job));
    // What is taken beside each other is left to all of them together.
    let together =
        |rank| (0..rows.len()).filter(|n| rows[*n].is_beside && rows[*n].rank == rank).map(left).sum();
    let needs = |n: usize, a: &Row| {
        let most: u32 = if a.is_beside { together(a.rank) } else { left(n) };
        most + a.leaves - a.slack
    };
    let robbed = |(n, a): &(usize, &Row)| {
        a.rank < by.rank && a.job > held[*n] && before >= needs(*n, a) && after < needs(*n, a)
    };
    rows.iter().enumerate().find(robbed).map(|(_, a)| Fault::Theft(by.name, a.name))
}

const ROWS_MAX: usize = 11;
/// Pieces that a store makes due.
const DUE: u8 = 4;
/// Work waits for a checkpoint that gives so much back.
const OWED_MAX: u32 = 4;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Segments {
    free: u32,
    /// Of each activity: what it has taken; of a collection: 1 if it wants a segment, 2 if it has room.
    phase: [u8; ROWS_MAX],
    /// Collections whose stream has room for the next one.
    has_room: [bool; ROWS_MAX],
    /// Pieces of work and checkpoints that the last store has made due.
    due: u8,
    /// What the next checkpoint gives back.
    owed: u32,
    failure: Failure,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Failure {
    #[default]
    None,
    Waits,
    Repaired,
}

/// A step: who, and the state after it.
type Steps<S> = Vec<(usize, S)>;

impl Segments {
    /// So many are free, and nothing is known of anything else.
    pub fn of(free: u32) -> Self {
        Self { free, ..Self::default() }
    }

    /// All of it in a number: there are millions to be told apart.
    fn packed(&self) -> u128 {
        assert!(
            self.free < 1 << 16 && self.owed < 1 << 16 && self.phase.iter().all(|phase| *phase < 16),
            "{self:?}"
        );
        let phases = self.phase.iter().fold(0, |bits, phase| bits << 4 | u128::from(*phase));
        let rooms = self.has_room.iter().fold(phases, |bits, room| bits << 1 | u128::from(*room));
        let counts = [(16, u128::from(self.free)), (16, u128::from(self.owed)), (8, u128::from(self.due))];
        let counted = counts.iter().fold(rooms, |bits, (width, count)| bits << width | count);
        counted << 2 | self.failure as u128
    }

    /// What activities hold of their claims.
    fn held(&self, rows: &[Row]) -> Vec<u32> {
        let of = |(row, phase): (&Row, &u8)| {
            if row.role == Role::Collects { u32::from(*phase == 2) } else { u32::from(*phase) }
        };
        rows.iter().zip(&self.phase).map(of).collect()
    }

    fn take(&self, rows: &[Row], n: usize) -> Option<Self> {
        let is_free = self.free > rows[n].leaves;
        is_free.then(|| Self { free: self.free - 1, ..*self })
    }

    /// Stores and deletes, which others wait out.
    fn above(&self, rows: &[Row]) -> Steps<Self> {
        let takes = (0..rows.len()).filter(|n| rows[*n].role == Role::Takes && rows[*n].most > 0);
        let mut steps: Steps<Self> = takes.filter_map(|n| Some((n, self.take(rows, n)?))).collect();
        for (_, next) in &mut steps {
            next.due = DUE;
        }
        steps
    }

    /// A program fails: collections are given up, and nothing is given back until a repair is through.
    fn failed(&self, rows: &[Row]) -> Option<Self> {
        let can_fail = rows.iter().any(|r| r.role == Role::Repairs && r.most > 0);
        (can_fail && self.failure == Failure::None).then(|| {
            let mut next = Self { failure: Failure::Waits, ..*self };
            let collections = (0..rows.len()).filter(|n| rows[*n].role == Role::Collects);
            collections.for_each(|n| next.phase[n] = 0);
            next
        })
    }

    /// Background work.
    fn below(&self, rows: &[Row], store_leaves: u32) -> Steps<Self> {
        let step = |n: usize| match rows[n].role {
            Role::Takes => None,
            Role::Repairs => self.repair(rows, n),
            Role::Collects => self.collect(rows, n, store_leaves),
            Role::Works | Role::Checkpoints => self.work(rows, n),
        };
        (0..rows.len()).filter_map(|n| Some((n, step(n)?))).collect()
    }

    fn repair(&self, rows: &[Row], n: usize) -> Option<Self> {
        if self.failure != Failure::Waits || rows[n].most == 0 {
            return None;
        }
        let mut collections = (0..rows.len()).filter(|n| rows[*n].role == Role::Collects);
        let next = if collections.any(|n| self.has_room[n]) { *self } else { self.take(rows, n)? };
        // What is left of the segment is the next collection's.
        Some(Self { failure: Failure::Repaired, has_room: [true; ROWS_MAX], ..next })
    }

    fn collect(&self, rows: &[Row], n: usize, store_leaves: u32) -> Option<Self> {
        if self.failure == Failure::Waits {
            return None;
        }
        let mut next = *self;
        match self.phase[n] {
            0 if self.free > store_leaves => return None,
            0 | 1 if self.has_room[n] => (next.phase[n], next.has_room[n]) = (2, false),
            0 => next.phase[n] = 1,
            1 => {
                next = self.take(rows, n)?;
                (next.phase[n], next.has_room[n]) = (2, true);
            }
            _ => (next.phase[n], next.free) = (0, self.free + 1),
        }
        Some(next)
    }

    fn work(&self, rows: &[Row], n: usize) -> Option<Self> {
        let (taken, most) = (u32::from(self.phase[n]), rows[n].job);
        // A checkpoint is due as well when something comes back with it.
        let may_begin = match rows[n].role {
            Role::Checkpoints => self.due > 0 || self.owed > 0,
            _ => self.due > 0 && self.owed < OWED_MAX,
        };
        if most == 0 || taken == 0 && !may_begin {
            return None;
        }
        if taken < most {
            let mut next = self.take(rows, n)?;
            next.due -= u8::from(taken == 0).min(self.due);
            next.phase[n] += 1;
            return Some(next);
        }
        let mut next = *self;
        next.phase[n] = 0;
        if rows[n].role == Role::Works {
            next.owed += most;
            return Some(next);
        }
        if self.failure == Failure::Waits {
            return None;
        }
        (next.free, next.owed) = (self.free + most + self.owed, 0);
        Some(next)
    }
}

/// States by number, and which states background work makes of each.
#[derive(Default)]
pub struct Graph {
    numbers: BTreeMap<u128, usize>,
    states: Vec<Segments>,
    next: Vec<Vec<usize>>,
}

impl Graph {
    /// The number of a state: a new one if it was not met before.
    pub fn number(&mut self, state: Segments) -> usize {
        *self.numbers.entry(state.packed()).or_insert_with(|| {
            self.states.push(state);
            self.next.push(Vec::new());
            self.states.len() - 1
        })
    }

    /// Background work makes each of those of a state.
    pub fn leads(&mut self, from: Segments, to: impl IntoIterator<Item = Segments>) {
        let next = to.into_iter().map(|state| self.number(state)).collect();
        let from = self.number(from);
        self.next[from] = next;
    }
}

/// Explores the segments of a table: all faults, and the number of states.
pub fn segments(rows: &[Row], free: u32) -> (BTreeSet<Fault>, usize) {
    let store = rows.iter().max_by_key(|r| r.rank).expect("a table has rows");
    let (mut faults, mut graph, mut n) = (BTreeSet::new(), Graph::default(), 0);
    graph.number(Segments::of(free));
    while let Some(state) = graph.states.get(n).copied() {
        n += 1;
        let (above, below) = (state.above(rows), state.below(rows, store.leaves));
        let held = state.held(rows);
        for (by, next) in above.iter().chain(&below).filter(|(_, next)| next.free < state.free) {
            faults.extend(theft(rows, &rows[*by], (state.free, next.free), &held));
        }
        if below.is_empty() && state.free <= store.leaves {
            faults.insert(Fault::Deadlock(format!("{state:?}")));
        }
        for next in above.into_iter().map(|(_, next)| next).chain(state.failed(rows)) {
            graph.number(next);
        }
        graph.leads(state, below.into_iter().map(|(_, next)| next));
    }
    faults.extend(endless(&graph, store.leaves));
    (faults, n)
}

/// A circle of background work while a store waits: what is left when all states are taken away from which none goes out.
pub fn endless(graph: &Graph, store_leaves: u32) -> Option<Fault> {
    let waits = |n: usize| graph.states[n].free <= store_leaves;
    let mut open: Vec<usize> = graph.next.iter().map(Vec::len).collect();
    let mut leads_here = vec![Vec::new(); open.len()];
    for n in (0..open.len()).filter(|n| waits(*n)) {
        graph.next[n].iter().for_each(|next| leads_here[*next].push(n));
    }
    let mut is_done: Vec<bool> = (0..open.len()).map(|n| !waits(n) || open[n] == 0).collect();
    let mut done: Vec<usize> = (0..open.len()).filter(|n| is_done[*n]).collect();
    while let Some(n) = done.pop() {
        for before in std::mem::take(&mut leads_here[n]) {
            open[before] -= 1;
            if open[before] == 0 && !is_done[before] {
                is_done[before] = true;
                done.push(before);
            }
        }
    }
    let left = (0..open.len()).filter(|n| !is_done[*n]).map(|n| graph.states[n]).min();
    left.map(|state| Fault::Endless(format!("{state:?}")))
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Slots {
    free: u32,
    flying: u32,
    failed: u32,
    /// Repairs have begun: nothing fails any more.
    repairs: bool,
}

/// Explores the slots of a table: all faults, and the number of states.
pub fn slots(rows: &[Row], free: u32) -> (BTreeSet<Fault>, usize) {
    let (mut faults, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let mut open = vec![Slots { free, ..Slots::default() }];
    let nothing_held = vec![0; rows.len()];
    while let Some(s) = open.pop() {
        if !seen.insert(s) {
            continue;
        }
        let can = |r: &&Row| r.most > 0 && s.free >= r.most + r.leaves;
        let steps =
            rows.iter().filter(|r| r.role != Role::Repairs && (r.role != Role::Collects || s.failed == 0));
        for row in steps.filter(can) {
            let next = Slots { free: s.free - row.most, flying: s.flying + row.most, ..s };
            faults.extend(theft(rows, row, (s.free, next.free), &nothing_held));
            open.push(next);
        }
        if s.flying > 0 {
            open.push(Slots { free: s.free + 1, flying: s.flying - 1, ..s });
        }
        if s.flying > 0 && !s.repairs {
            open.push(Slots { flying: s.flying - 1, failed: s.failed + 1, ..s });
        }
        if s.failed == 0 {
            continue;
        }
        // The page that failed may be of any kind.
        let mut repairs = rows.iter().filter(|r| r.role == Role::Repairs);
        if repairs.all(|r| can(&r)) {
            open.push(Slots { free: s.free + 1, failed: s.failed - 1, repairs: true, ..s });
        } else if s.flying == 0 {
            faults.insert(Fault::Deadlock(format!("{s:?}")));
        }
    }
    (faults, seen.len())
}
