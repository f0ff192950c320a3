// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The order in which commands of hosts go to the device: hosts in turn, each within its limits.
//!
//! Turns are deficit round robin (M. Shreedhar, G. Varghese, "Efficient Fair Queuing using Deficit Round Robin", 1995), by the cost of
//! commands: their bytes, and a fixed part. All queues, connections and controllers of a host are one flow, so more of them are not
//! more turns. A host that begins to ask comes before those that go on asking, once, as in FQ-CoDel (RFC 8290, section 4.2): one
//! that has one command under way at a time does not wait for the turns of others.
//!
//! Rates are token buckets of hosts and of namespaces. What is over a rate waits here; it holds up nothing else of its host but what
//! is over the same rate. Nothing in here knows the time: it is told.

mod answers;
mod bucket;
mod flow;
mod gate;
mod namespaces;
mod round;
mod turns;
mod waits;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use saker_sim::{Instant, earliest};

use crate::ConnectionId;
use answers::Answers;
use flow::{Flow, Pick, Place, Waiting};
pub use gate::{Rate, Rates};
pub use namespaces::NamespaceRates;
use namespaces::Namespaces;
use round::Round;
use turns::Turns;
use waits::Waits;
pub use waits::{Limit, Waited};

/// Names a host among those that ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostId(u32);

impl HostId {
    /// Commands of the target's own: before all others, without limits.
    pub const OWN: Self = Self(0);
}

/// What a command costs beside its bytes: as many bytes as are moved in the time of a small one.
const COMMAND_COST: u64 = 4 << 10;
/// What a host may take in a turn.
const QUANTUM: i64 = 16 << 10;
/// Hosts that have gone, whose buckets are kept so that nobody comes back to full ones.
const GONE_MAX: usize = 256;

/// A command on its way to the device, and what it was charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    host: HostId,
    nsid: u32,
    bytes: u64,
    connection: ConnectionId,
    came_at: Instant,
    /// Whether limits held it or what was before it.
    pub was_held: bool,
}

impl Charge {
    /// Its bytes, and what each command costs.
    #[must_use]
    pub const fn cost(&self) -> u64 {
        COMMAND_COST + self.bytes
    }
}

/// Commands that wait for the device.
#[derive(Debug)]
pub struct Traffic<T> {
    flows: BTreeMap<HostId, Flow<T>>,
    names: BTreeMap<String, HostId>,
    namespaces: Namespaces,
    turns: Turns,
    round: Round,
    answers: Answers,
    waits: Waits,
    waiting: usize,
    waiting_bytes: u64,
    sequence: u64,
    last_host: u32,
    deadline: Option<Instant>,
    window: Window,
    /// What the device has, in cost.
    in_device: u64,
}

/// How much the device has at once; what is more waits here, where hosts have turns. In [`Charge::cost`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Of all hosts together. What is below takes one more command, however large it is.
    pub all: u64,
    /// Of one host while another one is there, too.
    pub each: u64,
    /// A command of this or more begins behind the answer of another host, or when no other host is expected to ask soon.
    pub long: u64,
}

impl Window {
    /// No limits.
    pub const OPEN: Self = Self { all: u64::MAX, each: u64::MAX, long: u64::MAX };
}

impl<T> Default for Traffic<T> {
    fn default() -> Self {
        Self {
            flows: BTreeMap::from([(HostId::OWN, Flow::own())]),
            names: BTreeMap::new(),
            namespaces: Namespaces::default(),
            turns: Turns::default(),
            round: Round::default(),
            answers: Answers::default(),
            waits: Waits::default(),
            waiting: 0,
            waiting_bytes: 0,
            sequence: 0,
            last_host: 0,
            deadline: None,
            window: Window::OPEN,
            in_device: 0,
        }
    }
}

impl<T> Traffic<T> {
    /// A connection of a host, with the rates that hold for the host from now on.
    pub fn join(&mut self, host: &str, rates: Rates, now: Instant) -> HostId {
        let id = self.names.get(host).copied().unwrap_or_else(|| self.enter(host));
        if let Some(flow) = self.flows.get_mut(&id) {
            flow.connections += 1;
            flow.gate.set(rates, now);
        }
        id
    }

    fn enter(&mut self, host: &str) -> HostId {
        loop {
            self.last_host = self.last_host.wrapping_add(1);
            if let Entry::Vacant(place) = self.flows.entry(HostId(self.last_host)) {
                let id = *place.key();
                place.insert(Flow::new(host));
                self.names.insert(host.to_owned(), id);
                return id;
            }
        }
    }

    /// A connection of a host is gone, and what waited of it; how many commands that were.
    pub fn leave(&mut self, host: HostId, connection: ConnectionId, now: Instant) -> usize {
        let before = self.waiting;
        for id in [HostId::OWN, host] {
            let Some(flow) = self.flows.get_mut(&id) else { continue };
            for queue in &mut flow.queues {
                queue.commands.retain(|command| {
                    let stays = command.connection != connection;
                    self.waiting -= usize::from(!stays);
                    self.waiting_bytes -= if stays { 0 } else { command.bytes };
                    stays
                });
            }
        }
        if let Some(flow) = self.flows.get_mut(&host) {
            flow.connections = flow.connections.saturating_sub(1);
            flow.settle();
            if flow.is_left() {
                self.turns.remove(host, flow);
            }
        }
        self.forget(host, now);
        before - self.waiting
    }

    /// Forgets a host that has gone, unless it would come back to more than it has left.
    fn forget(&mut self, host: HostId, now: Instant) {
        let is_left = |flow: &Flow<T>| flow.is_left() && flow.place == Place::Idle;
        let Some(flow) = self.flows.get_mut(&host).filter(|flow| is_left(flow)) else { return };
        if host == HostId::OWN {
            return;
        }
        if flow.gate.is_full(now) {
            return self.remove(host);
        }
        let gone = self.flows.iter_mut().filter(|(id, flow)| **id != HostId::OWN && is_left(flow));
        let mut debts: Vec<(u64, HostId)> = gone.map(|(id, flow)| (flow.gate.debt_nanos(now), *id)).collect();
        if debts.len() > GONE_MAX {
            debts.sort_unstable();
            debts.iter().take(debts.len() - GONE_MAX).for_each(|(_, id)| self.remove(*id));
        }
    }

    fn remove(&mut self, host: HostId) {
        if let Some(flow) = self.flows.remove(&host) {
            self.names.remove(&flow.name);
        }
    }

    /// Other rates from now on.
    pub fn set_rates(
        &mut self,
        of_host: impl Fn(&str) -> Rates,
        of_namespaces: &NamespaceRates,
        now: Instant,
    ) {
        for (_, flow) in self.flows.iter_mut().filter(|(id, _)| **id != HostId::OWN) {
            let rates = of_host(&flow.name);
            flow.gate.set(rates, now);
        }
        self.namespaces.set(of_namespaces, now);
    }

    /// A command that brings or asks for so many bytes.
    pub fn push(
        &mut self,
        (host, connection): (HostId, ConnectionId),
        (nsid, bytes): (u32, u64),
        item: T,
        now: Instant,
    ) {
        self.sequence += 1;
        let sequence = self.sequence;
        let Some(flow) = self.flows.get_mut(&host) else { return };
        let waiting = Waiting { sequence, connection, bytes, at: now, item };
        flow.queue(self.namespaces.line_of(nsid)).commands.push_back(waiting);
        self.turns.note(host, now);
        self.turns.enter(host, flow);
        self.waiting += 1;
        self.waiting_bytes += bytes;
    }

    /// Gives the device no more than this at once from now on.
    pub const fn set_window(&mut self, window: Window) {
        self.window = window;
    }

    /// Hosts that are known: those that are connected, and some of those that have gone.
    #[must_use]
    pub fn hosts(&self) -> usize {
        self.flows.len() - 1
    }

    /// Commands that wait.
    #[must_use]
    pub const fn waiting(&self) -> usize {
        self.waiting
    }

    /// Bytes that these bring or ask for.
    #[must_use]
    pub const fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// Whether several hosts have asked for something in the last tenth of a second.
    #[must_use]
    pub fn is_shared(&self, now: Instant) -> bool {
        self.turns.is_shared(now)
    }

    /// When limits let something through, if nothing was left but what they hold when [`Traffic::next`] was last asked.
    #[must_use]
    pub const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The device has carried out what it had of a device without time, or takes more of one that keeps time. To be called before
    /// [`Traffic::next`] is asked for what goes now.
    pub const fn begin_round(&mut self) {
        self.round.begin();
        self.answers.begin_round();
    }

    /// What goes to the device next; `None` if nothing more waits or may go in this round.
    pub fn next(&mut self, now: Instant) -> Option<(Charge, T)> {
        self.deadline = None;
        if self.waiting == 0 || self.in_device >= self.window.all {
            return None;
        }
        // Each host once round, and those again that have to save for what they ask.
        let (mut held, mut is_expecting) = (0, false);
        while held < self.turns.len() {
            let host = self.turns.front()?;
            let flow = self.flows.get_mut(&host)?;
            if !self.round.has_place(flow.place) {
                self.deadline = None;
                return None;
            }
            match flow.pick(&mut self.namespaces, &mut self.waits, now) {
                Pick::Empty => self.turns.end(flow),
                Pick::Until(at) => {
                    held += 1;
                    self.deadline = earliest(self.deadline, Some(at));
                    self.turns.rotate(flow);
                }
                Pick::Ready(_)
                    if flow.is_over_its_share(self.window.each) && self.turns.has_others(host, now) =>
                {
                    held += 1;
                    self.turns.rotate(flow);
                }
                Pick::Ready(queue)
                    if flow.cost_of_first(queue) >= self.window.long
                        && self.answers.expects_another(host, now) =>
                {
                    (held, is_expecting) = (held + 1, true);
                    self.turns.rotate(flow);
                }
                Pick::Ready(_) if flow.deficit <= 0 && flow.is_limited && held + 1 < self.turns.len() => {
                    held = 0;
                    flow.deficit += QUANTUM;
                    self.turns.rotate(flow);
                }
                Pick::Ready(queue) => return self.go(host, queue, now),
            }
        }
        if is_expecting {
            // It is a matter of microseconds.
            self.deadline = None;
        }
        None
    }

    fn go(&mut self, host: HostId, queue: usize, now: Instant) -> Option<(Charge, T)> {
        let flow = self.flows.get_mut(&host)?;
        self.round.note(flow.place);
        let (nsid, Waiting { connection, bytes, at, item, .. }) = flow.take(queue, &mut self.waits, now)?;
        let was_held = flow.held_at.is_some_and(|held| held >= at);
        // Nobody else could have gone: what is owed to others is owed to nobody.
        flow.deficit = if flow.deficit <= 0 { QUANTUM } else { flow.deficit };
        let charge = Charge { host, nsid, bytes, connection, came_at: at, was_held };
        flow.deficit -= charge.cost() as i64;
        flow.in_device += charge.cost();
        self.in_device += charge.cost();
        if flow.is_limited {
            flow.gate.pass(bytes);
            self.namespaces.pass(nsid, bytes);
        }
        self.waiting -= 1;
        self.waiting_bytes -= bytes;
        self.deadline = None;
        Some((charge, item))
    }

    /// The device has no place for what [`Traffic::next`] gave: it is the first of its host again.
    pub fn put_back(&mut self, charge: Charge, item: T) {
        let Charge { host, nsid, bytes, connection, came_at, .. } = charge;
        let Some(flow) = self.flows.get_mut(&host) else { return };
        flow.deficit += charge.cost() as i64;
        flow.in_device -= charge.cost();
        self.in_device -= charge.cost();
        if flow.is_limited {
            flow.gate.undo(bytes);
            self.namespaces.undo(nsid, bytes);
        }
        let waiting = Waiting { sequence: 0, connection, bytes, at: came_at, item };
        flow.queue(nsid).commands.push_front(waiting);
        self.turns.enter(host, flow);
        self.waiting += 1;
        self.waiting_bytes += bytes;
    }

    /// The device has carried out a command, which moved so many bytes.
    pub fn finished(&mut self, charge: Charge, moved: u64, now: Instant) {
        let spared = charge.bytes.saturating_sub(moved);
        self.in_device -= charge.cost();
        if charge.host != HostId::OWN && charge.cost() < self.window.long {
            self.answers.note(charge.host, now);
        }
        let Some(flow) = self.flows.get_mut(&charge.host) else { return };
        flow.in_device -= charge.cost();
        flow.gate.spare(spared);
        self.namespaces.spare(charge.nsid, spared);
        // What was not moved was no work; a turn's worth is the most that is saved.
        flow.deficit = (flow.deficit + spared as i64).min(QUANTUM);
        if flow.is_left() {
            self.turns.remove(charge.host, flow);
            self.forget(charge.host, now);
        }
    }

    /// How often and how long commands waited for limits: of hosts, and of each namespace.
    pub fn waited(&self) -> (Waited, impl Iterator<Item = (u32, Waited)>) {
        (self.waits.hosts, self.waits.namespaces.iter().map(|(nsid, waited)| (*nsid, *waited)))
    }

    /// Who has begun to wait for a limit since this was last asked: names of hosts, as they gave them.
    pub fn news(&mut self) -> Vec<(String, Limit)> {
        std::mem::take(&mut self.waits.news)
    }
}
