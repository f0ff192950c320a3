// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What waits of one host.

use std::collections::VecDeque;

use saker_sim::{Instant, earliest};

use super::COMMAND_COST;
use super::gate::{Gate, Rate};
use super::namespaces::Namespaces;
use super::waits::{Held, Limit, Waits};
use crate::ConnectionId;

/// A command that waits.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    pub sequence: u64,
    pub connection: ConnectionId,
    pub bytes: u64,
    /// When it came.
    pub at: Instant,
    pub item: T,
}

/// Commands for a namespace, in the order in which they came.
#[derive(Debug)]
pub(super) struct Queue<T> {
    pub nsid: u32,
    pub commands: VecDeque<Waiting<T>>,
    /// Whether the first one waits for its namespace.
    held: Held,
}

/// In which list of turns a flow stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// In none.
    #[default]
    Idle,
    /// Among those that have begun to ask.
    Fresh,
    /// Among those that go on asking.
    Turns,
}

/// What a flow can do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// Nothing waits.
    Empty,
    /// The first command of this queue may go.
    Ready(usize),
    /// Limits hold everything until then.
    Until(Instant),
}

/// What waits of one host, over all its queues and connections.
#[derive(Debug)]
pub(super) struct Flow<T> {
    pub name: String,
    /// Whether it has turns and limits, as those of hosts have.
    pub is_limited: bool,
    pub connections: usize,
    pub gate: Gate,
    pub queues: Vec<Queue<T>>,
    /// What it may still take in this turn; below zero, it has taken of later ones.
    pub deficit: i64,
    /// What of it the device has, in cost.
    pub in_device: u64,
    pub place: Place,
    held: Held,
    /// When limits last held something.
    pub held_at: Option<Instant>,
}

impl<T> Flow<T> {
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            is_limited: true,
            connections: 0,
            gate: Gate::default(),
            queues: Vec::new(),
            deficit: 0,
            in_device: 0,
            place: Place::Idle,
            held: Held::default(),
            held_at: None,
        }
    }

    /// What is of no host.
    pub fn own() -> Self {
        Self { is_limited: false, ..Self::new("") }
    }

    /// Commands were taken away: where nothing waits, nothing is held.
    pub fn settle(&mut self) {
        self.queues
            .iter_mut()
            .filter(|queue| queue.commands.is_empty())
            .for_each(|q| q.held = Held::default());
        if self.is_empty() {
            self.held = Held::default();
        }
    }

    pub const fn is_over_its_share(&self, share: u64) -> bool {
        self.is_limited && self.in_device >= share
    }

    /// What the first command of a queue costs.
    pub fn cost_of_first(&self, queue: usize) -> u64 {
        let first = self.queues.get(queue).and_then(|queue| queue.commands.front());
        first.map_or(0, |command| COMMAND_COST + command.bytes)
    }

    pub fn queue(&mut self, nsid: u32) -> &mut Queue<T> {
        let at = self.queues.iter().position(|queue| queue.nsid == nsid).unwrap_or_else(|| {
            self.queues.push(Queue { nsid, commands: VecDeque::new(), held: Held::default() });
            self.queues.len() - 1
        });
        &mut self.queues[at]
    }

    pub fn is_empty(&self) -> bool {
        self.queues.iter().all(|queue| queue.commands.is_empty())
    }

    /// Whether nobody needs it any more, but for what its gate remembers.
    pub fn is_left(&self) -> bool {
        self.connections == 0 && self.in_device == 0 && self.is_empty()
    }

    /// What may go next: of the namespaces that are open, what came first.
    pub fn pick(&mut self, namespaces: &mut Namespaces, waits: &mut Waits, now: Instant) -> Pick {
        if self.is_empty() {
            return Pick::Empty;
        }
        if let Some((until, rate)) = self.gate.closed(now) {
            self.hold(rate, waits, now);
            return Pick::Until(until);
        }
        self.held.end(Limit::Host(Rate::Commands), waits, now);
        self.first_open(namespaces, waits, now)
    }

    fn hold(&mut self, rate: Rate, waits: &mut Waits, now: Instant) {
        self.held_at = Some(now);
        if self.held.begin(now) {
            waits.note(&self.name, Limit::Host(rate), now);
        }
    }

    fn first_open(&mut self, namespaces: &mut Namespaces, waits: &mut Waits, now: Instant) -> Pick {
        let (mut first, mut until): (Option<(u64, usize)>, Option<Instant>) = (None, None);
        for (n, queue) in self.queues.iter_mut().enumerate() {
            let Some(command) = queue.commands.front() else { continue };
            let closed = self.is_limited.then(|| namespaces.closed(queue.nsid, now)).flatten();
            match closed {
                None => first = Some(first.map_or((command.sequence, n), |f| f.min((command.sequence, n)))),
                Some((at, rate)) => {
                    self.held_at = Some(now);
                    until = earliest(until, Some(at));
                    if queue.held.begin(now) {
                        waits.note(&self.name, Limit::Namespace(queue.nsid, rate), now);
                    }
                }
            }
        }
        match (first, until) {
            (Some((_, n)), _) => Pick::Ready(n),
            (None, until) => Pick::Until(until.unwrap_or(Instant::FAR)),
        }
    }

    /// Takes the first command of a queue.
    pub fn take(&mut self, queue: usize, waits: &mut Waits, now: Instant) -> Option<(u32, Waiting<T>)> {
        let queue = self.queues.get_mut(queue)?;
        queue.held.end(Limit::Namespace(queue.nsid, Rate::Commands), waits, now);
        queue.commands.pop_front().map(|command| (queue.nsid, command))
    }
}
