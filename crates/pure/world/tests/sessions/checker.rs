// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Judges histories of sessions, key by key.
//!
//! What must hold of a key: every call takes place at one moment between its beginning and its end; a
//! read finds the newest write that has taken place and has not failed; at a cut the key becomes some write that is not
//! older than its newest acknowledged one. A scan reads every key at some moment while it goes on: a key that is there
//! throughout is found, with a value that was current meanwhile.
//!
//! The search is a depth-first one over the orders that the calls' times allow (after Wing and Gong, 1993, with Lowe's
//! memory of states seen), and gives up after [`NODES_MAX`] states. Giving up is no verdict.

use std::collections::BTreeSet;

/// States that are looked at for one key.
pub const NODES_MAX: usize = 200_000;

/// A moment; every call and every return has its own.
pub type Time = u32;

/// What a call did to the key, or found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Stored the value of that number.
    Put(u16),
    /// Removed it; deletes are numbered, too.
    Delete(u16),
    /// Stored because the key was not there.
    PutIfAbsent(u16),
    /// Found that value, or none.
    Read(Option<u16>),
    /// Found that it is there, or not.
    Exists(bool),
    /// Power was cut, or the process was killed.
    Cut,
}

/// One call on one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub from: Time,
    /// `None`: it never returned.
    pub to: Option<Time>,
    pub act: Act,
    /// Writes: when it was told that it is durable.
    pub acknowledged: Option<Time>,
    /// Writes: until when it may fail. `Some(0)`: it cannot.
    pub fails_until: Option<Time>,
}

impl Event {
    /// A call that returned.
    pub fn new(from: Time, to: Time, act: Act) -> Self {
        Self { from, to: Some(to), act, acknowledged: None, fails_until: Some(0) }
    }

    fn write(&self) -> Option<u16> {
        match self.act {
            Act::Put(n) | Act::Delete(n) | Act::PutIfAbsent(n) => Some(n),
            Act::Read(_) | Act::Exists(_) | Act::Cut => None,
        }
    }
}

/// What the search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is an order that explains everything.
    Good,
    /// There is none.
    Bad,
    /// The search gave up.
    Undecided,
}

/// When an event may take its place in an order.
#[derive(Clone, Copy, Debug)]
struct Step {
    from: Time,
    to: Time,
    /// It may be left out.
    optional: bool,
}

/// The writes that have taken place, as numbers of events, the oldest first; what is below is not there. A write that
/// fails is taken out when that matters: when a read shows what is below it.
type Stack = Vec<u8>;

struct Search<'a> {
    events: &'a [Event],
    steps: Vec<Step>,
    seen: BTreeSet<(u128, Stack)>,
}

/// Judges what happened to one key, which was not there in the beginning.
pub fn check(events: &[Event]) -> Verdict {
    assert!(events.len() <= 128, "{} events of one key are too many", events.len());
    let mut search = Search { events, steps: steps(events), seen: BTreeSet::new() };
    match search.run(0, Vec::new(), 0) {
        Some(true) => Verdict::Good,
        Some(false) => Verdict::Bad,
        None => Verdict::Undecided,
    }
}

fn steps(events: &[Event]) -> Vec<Step> {
    let cuts: Vec<Time> = events.iter().filter(|e| e.act == Act::Cut).map(|e| e.from).collect();
    let cut_after = |t: Time| cuts.iter().copied().filter(|cut| *cut > t).min().unwrap_or(Time::MAX);
    let step = |e: &Event| Step {
        from: e.from,
        to: e.to.unwrap_or_else(|| cut_after(e.from)),
        optional: e.to.is_none(),
    };
    events.iter().map(step).collect()
}

impl Search<'_> {
    /// `None`: gave up.
    fn run(&mut self, done: u128, stack: Stack, latest: Time) -> Option<bool> {
        let left: Vec<usize> = (0..self.steps.len()).filter(|n| done & (1 << n) == 0).collect();
        let bound = left.iter().filter(|n| !self.steps[**n].optional).map(|n| self.steps[*n].to).min();
        let Some(bound) = bound else { return Some(true) };
        if self.seen.len() >= NODES_MAX {
            return None;
        }
        if !self.seen.insert((done, stack.clone())) {
            return Some(false);
        }
        let may = |n: &usize| self.steps[*n].from <= bound && self.steps[*n].to >= latest;
        let mut next: Vec<usize> = left.into_iter().filter(may).collect();
        next.sort_by_key(|n| self.steps[*n].to);
        if let Some(read) = self.safe_read(&next, &stack, latest) {
            next = vec![read];
        }
        for n in next {
            let after = latest.max(self.steps[n].from);
            for stack in self.after(n, &stack, latest) {
                if self.run(done | 1 << n, stack, after)? {
                    return Some(true);
                }
            }
        }
        Some(false)
    }

    /// A read that is right as things stand changes nothing, so it needs no choice; unless it would be too late afterwards
    /// for a call that never returned, or for the newest write to fail.
    fn safe_read(&self, next: &[usize], stack: &Stack, latest: Time) -> Option<usize> {
        let optional = next.iter().filter(|n| self.steps[**n].optional).map(|n| self.steps[*n].to);
        let newest = stack.last().and_then(|w| self.events[usize::from(*w)].fails_until);
        let until = optional.chain(newest.filter(|until| *until >= latest)).min().unwrap_or(Time::MAX);
        let is_safe = |n: &&usize| self.steps[**n].from <= until && self.reads_right(**n, stack);
        next.iter().find(is_safe).copied()
    }

    fn reads_right(&self, n: usize, stack: &Stack) -> bool {
        match self.events[n].act {
            Act::Read(found) => self.visible(stack) == found,
            Act::Exists(found) => self.visible(stack).is_some() == found,
            _ => false,
        }
    }

    fn visible(&self, stack: &Stack) -> Option<u16> {
        let newest = self.events[usize::from(*stack.last()?)];
        match newest.act {
            Act::Delete(_) => None,
            _ => newest.write(),
        }
    }

    /// The stacks that event `n` can leave; none if it cannot take place now.
    fn after(&self, n: usize, stack: &Stack, latest: Time) -> Vec<Stack> {
        let with_it = |stack: Stack| stack.into_iter().chain([n as u8]).collect::<Stack>();
        match self.events[n].act {
            Act::Put(_) | Act::Delete(_) => vec![self.without_buried(with_it(stack.clone()))],
            Act::Cut => self.after_cut(self.events[n].from, stack),
            Act::PutIfAbsent(_) => {
                let failed = self.failures(stack, latest).into_iter();
                failed.filter(|stack| self.visible(stack).is_none()).map(with_it).collect()
            }
            Act::Read(_) | Act::Exists(_) => {
                let failed = self.failures(stack, latest).into_iter();
                failed.filter(|stack| self.reads_right(n, stack)).collect()
            }
        }
    }

    /// What the stack may be after `latest`: as it is, or after its newest writes have failed. One that is not the newest
    /// can have failed unseen.
    fn failures(&self, stack: &Stack, latest: Time) -> Vec<Stack> {
        let mut all = vec![stack.clone()];
        let mut rest = stack.clone();
        while let Some(newest) = rest.pop() {
            let until = self.events[usize::from(newest)].fails_until.unwrap_or(Time::MAX);
            let in_time = if all.len() == 1 { until >= latest } else { until > 0 };
            if !in_time || until == 0 {
                break;
            }
            all.push(rest.clone());
        }
        all
    }

    /// Nothing below a write that is told to be durable comes to light again.
    fn without_buried(&self, mut stack: Stack) -> Stack {
        let is_firm = |w: &u8| {
            let event = &self.events[usize::from(*w)];
            event.acknowledged.is_some() && event.fails_until == Some(0)
        };
        let firm = stack.iter().rposition(is_firm).unwrap_or(0);
        stack.drain(..firm);
        stack
    }

    /// Any write that is not older than the newest acknowledged one.
    fn after_cut(&self, at: Time, stack: &Stack) -> Vec<Stack> {
        let is_durable =
            |w: &u8| self.events[usize::from(*w)].acknowledged.is_some_and(|acknowledged| acknowledged < at);
        let newest = stack.iter().rposition(is_durable);
        let mut left: Vec<Stack> = (newest.unwrap_or(0)..stack.len()).map(|n| vec![stack[n]]).collect();
        if newest.is_none() {
            // Nothing is known to be durable, unless it survived an earlier cut.
            left.push(Vec::new());
        }
        // The newest first: mostly it is still there.
        left.reverse();
        left
    }
}
