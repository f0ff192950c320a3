// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whose turn it is.

use std::collections::VecDeque;

use saker_sim::Instant;

use super::flow::{Flow, Place};
use super::{HostId, QUANTUM};

/// The hosts that ask, in two lists: those that have begun to ask come first.
#[derive(Debug, Default)]
pub(super) struct Turns {
    fresh: VecDeque<HostId>,
    turns: VecDeque<HostId>,
    /// The last two hosts that asked for something, and when.
    last: Option<(HostId, Instant)>,
    other: Option<(HostId, Instant)>,
}

/// How long a host that has asked counts as one that is there.
const THERE_FOR_NANOS: u64 = 100_000_000;

impl Turns {
    pub fn len(&self) -> usize {
        self.fresh.len() + self.turns.len()
    }

    pub fn front(&self) -> Option<HostId> {
        self.fresh.front().or_else(|| self.turns.front()).copied()
    }

    /// A host asks for something.
    pub fn note(&mut self, host: HostId, now: Instant) {
        if host == HostId::OWN {
            return;
        }
        if self.last.is_some_and(|(last, _)| last != host) {
            self.other = self.last;
        }
        self.last = Some((host, now));
    }

    /// Whether two hosts are there.
    pub fn is_shared(&self, now: Instant) -> bool {
        self.last.is_some_and(|(host, _)| self.has_others(host, now))
    }

    /// Whether another host is there.
    pub fn has_others(&self, host: HostId, now: Instant) -> bool {
        let others = [self.last, self.other].into_iter().flatten().filter(|(id, _)| *id != host);
        others.into_iter().any(|(_, at)| now.since(at).as_nanos() < THERE_FOR_NANOS)
    }

    /// A flow has something that waits.
    pub fn enter<T>(&mut self, host: HostId, flow: &mut Flow<T>) {
        if flow.place == Place::Idle {
            flow.place = Place::Fresh;
            // As for a turn: it comes back to this list only behind one of everybody's.
            flow.deficit = (flow.deficit + QUANTUM).min(QUANTUM);
            if host == HostId::OWN { self.fresh.push_front(host) } else { self.fresh.push_back(host) }
        }
    }

    fn take<T>(&mut self, flow: &Flow<T>) -> Option<HostId> {
        if flow.place == Place::Fresh { self.fresh.pop_front() } else { self.turns.pop_front() }
    }

    /// The flow in front goes behind those that go on asking.
    pub fn rotate<T>(&mut self, flow: &mut Flow<T>) {
        if let Some(host) = self.take(flow) {
            flow.place = Place::Turns;
            self.turns.push_back(host);
        }
    }

    /// The flow in front has nothing more. One that has just begun to ask stays among the others for a turn: otherwise it could
    /// begin again and again.
    pub fn end<T>(&mut self, flow: &mut Flow<T>) {
        if flow.place == Place::Fresh && !self.turns.is_empty() {
            return self.rotate(flow);
        }
        self.take(flow);
        flow.place = Place::Idle;
        flow.deficit = flow.deficit.min(0);
    }

    /// A flow that has nothing and needs no turn any more, wherever it stands.
    pub fn remove<T>(&mut self, host: HostId, flow: &mut Flow<T>) {
        let list = if flow.place == Place::Fresh { &mut self.fresh } else { &mut self.turns };
        list.retain(|other| *other != host);
        flow.place = Place::Idle;
    }
}
