// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The memory of all connections together: who may hold how much, who waits for his turn, who has to go.
//!
//! Each connection has a seat. A seat has a floor that is always there, enough for commands with little data. What goes beyond
//! comes out of a total:
//!
//! - The first command above the floor gets what is free. If that is not enough the seat waits, and seats are served in the
//!   order in which they began to wait. So a host that has little in flight gets on, whatever others do.
//! - More than one command at once is held only out of a quarter of the total, and by no seat more than is left of that quarter.
//!   So who is greedy takes less the more there are, and nothing that first commands need.
//! - Nobody is served out of turn: while seats wait, nobody takes more than he has.
//!
//! A host may have a limit of its own for all its connections. What waits for that holds up nobody else.
//!
//! A host that holds memory and neither reads nor sends keeps it. That harms nobody until others wait; then, after a while, such
//! connections are closed, those first that have stood still for the longest.

mod hosts;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use saker_target::ConnectionId;
use tokio::sync::Notify;
use tokio::time::Instant;

use hosts::{HostMemory, Hosts};

/// Bytes that every connection may hold, whatever the others do: eight capsules full of data.
pub(crate) const FLOOR_BYTES: usize = 64 << 10;
/// The part of the total that is for more than one command of a connection: one in so many.
const MORE_THAN_ONE: usize = 4;
/// A host that has taken or sent fewer bytes than this meanwhile stands still.
const MOVED_BYTES_MIN: u64 = 64 << 10;
/// How long it may, while others wait.
pub(crate) const STANDSTILL: Duration = Duration::from_secs(3);

/// What a connection is told, and tells, without the lock.
#[derive(Debug, Default)]
struct Signals {
    /// The turn has come.
    granted: Notify,
    /// The connection is to make room.
    cut: Notify,
    /// Bytes that have gone either way, and as many as matter for each answer of the device.
    moved: AtomicU64,
    /// Commands that the subsystem has not answered: as long as there are any, it is not the host that stands still.
    owed: AtomicUsize,
}

#[derive(Debug)]
struct Member {
    /// Bytes it may hold, the floor included.
    allowed: usize,
    /// Bytes that it waits to be allowed; 0 if it does not wait.
    wants: usize,
    signals: Arc<Signals>,
    /// That of its host, once it is known.
    host: Option<Arc<HostMemory>>,
    /// What had moved when others began to wait, or when it last moved enough.
    seen: Option<(u64, Instant)>,
}

impl Member {
    fn above_floor(&self) -> usize {
        self.allowed - FLOOR_BYTES
    }

    fn lacks(&self) -> usize {
        self.wants.saturating_sub(self.allowed)
    }

    /// Whether its host may hold so many bytes more.
    fn host_has(&self, bytes: usize) -> bool {
        self.host.as_ref().is_none_or(|host| bytes <= host.free())
    }

    fn is_of(&self, host: &Arc<HostMemory>) -> bool {
        self.host.as_ref().is_some_and(|own| Arc::ptr_eq(own, host))
    }

    /// Since when it has stood still, if that is too long.
    fn stands_still(&mut self, now: Instant, standstill: Duration) -> Option<Instant> {
        let moved = self.signals.moved.load(Ordering::Relaxed);
        let is_owed = self.signals.owed.load(Ordering::Relaxed) > 0;
        match self.seen {
            Some((before, since)) if !is_owed && moved - before < MOVED_BYTES_MIN => {
                (now - since >= standstill).then_some(since)
            }
            _ => {
                self.seen = Some((moved, now));
                None
            }
        }
    }
}

#[derive(Debug)]
struct Accounts {
    /// Bytes above the floors that may be held, and that are.
    total: usize,
    used: usize,
    members: BTreeMap<ConnectionId, Member>,
    /// Those that wait, in the order in which they are served.
    queue: VecDeque<ConnectionId>,
}

impl Accounts {
    fn free(&self) -> usize {
        self.total.saturating_sub(self.used)
    }

    fn free_for_more(&self) -> usize {
        (self.total / MORE_THAN_ONE).saturating_sub(self.used)
    }

    fn set(&mut self, id: ConnectionId, allowed: usize) {
        if let Some(member) = self.members.get_mut(&id) {
            self.used = self.used + allowed - member.allowed;
            if let Some(host) = &member.host {
                host.change(member.allowed, allowed);
            }
            member.allowed = allowed;
        }
    }

    /// Whether the member may hold `to` bytes from now on. If not, it waits for its turn unless it holds something.
    fn raise(&mut self, id: ConnectionId, to: usize) -> Raised {
        let (free, free_for_more) = (self.free(), self.free_for_more());
        let Some(member) = self.members.get(&id).filter(|member| member.wants == 0) else {
            return Raised::No;
        };
        let is_first = member.allowed == FLOOR_BYTES;
        let fits = if is_first { to - FLOOR_BYTES <= free } else { to - FLOOR_BYTES <= free_for_more };
        let host_has = member.host_has(to.saturating_sub(member.allowed));
        if fits && host_has && !self.is_behind_others(member) {
            self.set(id, to);
            return Raised::Yes;
        }
        if let Some(member) = self.members.get_mut(&id).filter(|_| is_first) {
            member.wants = to;
            self.queue.push_back(id);
        }
        if is_first && !host_has { Raised::HostWaits } else { Raised::No }
    }

    /// Whether somebody waits who comes before: of the same host, or for what all share.
    fn is_behind_others(&self, member: &Member) -> bool {
        self.queue.iter().filter_map(|id| self.members.get(id)).any(|other| {
            other.host_has(other.lacks()) || member.host.as_ref().is_some_and(|host| other.is_of(host))
        })
    }

    /// Serves those that wait as far as what is free goes. What waits for its own host holds up nobody else.
    fn serve(&mut self) {
        let (mut at, mut held): (usize, Vec<Arc<HostMemory>>) = (0, Vec::new());
        while let Some(id) = self.queue.get(at).copied() {
            let free = self.free();
            if let Some(member) = self.members.get_mut(&id) {
                let is_behind = held.iter().any(|host| member.is_of(host));
                if is_behind || !member.host_has(member.lacks()) {
                    held.extend(member.host.clone().filter(|_| !is_behind));
                    at += 1;
                    continue;
                }
                if member.lacks() > free {
                    return;
                }
                let to = std::mem::take(&mut member.wants).max(member.allowed);
                member.signals.granted.notify_one();
                self.set(id, to);
            }
            self.queue.remove(at);
        }
    }

    /// From now on the connection is one of a host.
    fn enter_host(&mut self, id: ConnectionId, host: &Arc<HostMemory>) {
        if let Some(member) = self.members.get_mut(&id).filter(|member| member.host.is_none()) {
            host.change(FLOOR_BYTES, member.allowed);
            member.host = Some(Arc::clone(host));
        }
    }

    fn leave(&mut self, id: ConnectionId) {
        self.set(id, FLOOR_BYTES);
        self.members.remove(&id);
        self.queue.retain(|other| *other != id);
        self.serve();
    }

    /// Closes connections that stand still until those that wait can be served. How many.
    fn cut(&mut self, now: Instant, standstill: Duration) -> usize {
        let waiting = self.queue.iter().filter_map(|id| self.members.get(id));
        let lacking: usize =
            waiting.filter(|member| member.host_has(member.lacks())).map(Member::lacks).sum();
        if lacking == 0 {
            self.members.values_mut().for_each(|member| member.seen = None);
            return 0;
        }
        let free = self.free();
        let mut still = Vec::new();
        for member in self.members.values_mut().filter(|member| member.above_floor() > 0) {
            if let Some(since) = member.stands_still(now, standstill) {
                still.push((since, member));
            }
        }
        still.sort_by_key(|(since, _)| *since);
        let enough = still.iter().scan(free, |found, (_, member)| {
            let before = *found;
            *found += member.above_floor();
            (before < lacking).then_some(member)
        });
        enough.map(|member| member.signals.cut.notify_one()).count()
    }
}

/// What becomes of a wish for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Raised {
    Yes,
    /// It waits, or asks again later.
    No,
    /// It waits for its own host.
    HostWaits,
}

/// The memory of a server's connections.
#[derive(Debug)]
pub(crate) struct Memory {
    accounts: Mutex<Accounts>,
    /// [`Accounts::free_for_more`] as it was last.
    free_for_more: AtomicUsize,
    /// Whether somebody waits.
    is_waited_for: AtomicBool,
    /// The most that was used since it was last asked for.
    most_used: AtomicUsize,
    hosts: Hosts,
}

impl Memory {
    /// `total` bytes for `connections` connections.
    pub fn new(total: usize, connections: usize) -> Arc<Self> {
        let total = total.saturating_sub(connections.saturating_mul(FLOOR_BYTES));
        let accounts = Accounts { total, used: 0, members: BTreeMap::new(), queue: VecDeque::new() };
        Arc::new(Self {
            free_for_more: accounts.free_for_more().into(),
            accounts: accounts.into(),
            is_waited_for: AtomicBool::new(false),
            most_used: AtomicUsize::new(0),
            hosts: Hosts::default(),
        })
    }

    fn accounts(&self) -> MutexGuard<'_, Accounts> {
        // Nothing in here panics between two steps that belong together.
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Accounts) -> T) -> T {
        let mut accounts = self.accounts();
        let result = change(&mut accounts);
        self.free_for_more.store(accounts.free_for_more(), Ordering::Relaxed);
        self.is_waited_for.store(!accounts.queue.is_empty(), Ordering::Relaxed);
        self.most_used.fetch_max(accounts.used, Ordering::Relaxed);
        result
    }

    /// A place for a connection.
    pub fn seat(self: &Arc<Self>, id: ConnectionId) -> Seat {
        let signals = Arc::new(Signals::default());
        let member =
            Member { allowed: FLOOR_BYTES, wants: 0, signals: Arc::clone(&signals), host: None, seen: None };
        self.change(|accounts| accounts.members.insert(id, member));
        Seat { id, memory: Arc::clone(self), signals, host: None, allowed: FLOOR_BYTES, waits: false }
    }

    /// Closes connections that have stood still for `standstill` while others wait. To be called now and then.
    pub fn cut(&self, standstill: Duration) -> usize {
        self.change(|accounts| accounts.cut(Instant::now(), standstill))
    }

    /// Bytes that connections may hold now beyond what each has for itself.
    pub fn used(&self) -> usize {
        self.accounts().used
    }

    /// Commands that waited because their host held as much as it may.
    pub fn host_waits(&self) -> u64 {
        self.hosts.waits.load(Ordering::Relaxed)
    }

    /// The most bytes that were used since the last call, those used now included.
    pub fn most_used(&self) -> usize {
        let used = self.used();
        self.most_used.swap(used, Ordering::Relaxed).max(used)
    }
}

/// A connection's place, given back when dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    id: ConnectionId,
    memory: Arc<Memory>,
    signals: Arc<Signals>,
    host: Option<Arc<HostMemory>>,
    allowed: usize,
    waits: bool,
}

impl Seat {
    /// Bytes that the connection may hold.
    pub const fn allowed(&self) -> usize {
        self.allowed
    }

    /// Asks for `bytes` more than the connection holds. If the answer is no, [`Seat::drive`] tells when to ask again, or an
    /// end of what the connection has in hand.
    pub fn raise(&mut self, held: usize, bytes: usize) -> bool {
        let to = held.max(FLOOR_BYTES) + bytes;
        if self.waits {
            return false;
        }
        if to <= self.allowed {
            return true;
        }
        let raised = self.memory.change(|accounts| accounts.raise(self.id, to));
        if raised == Raised::HostWaits {
            self.memory.hosts.waits.fetch_add(1, Ordering::Relaxed);
        }
        self.refresh();
        raised == Raised::Yes
    }

    /// Whose connection it is, and what all connections of that host may hold.
    pub fn enter_host(&mut self, subsystem: &str, host: &str, max: Option<usize>) {
        let of_host = self.memory.hosts.of(subsystem, host);
        self.memory.change(|accounts| accounts.enter_host(self.id, &of_host));
        self.host = Some(of_host);
        self.limit_host(max);
    }

    /// What all connections of its host may hold from now on.
    pub fn limit_host(&self, max: Option<usize>) {
        if let Some(host) = &self.host {
            host.set_max(max);
            self.memory.change(Accounts::serve);
        }
    }

    /// Whether it waits because its host holds as much as it may.
    pub fn waits_for_host(&self) -> bool {
        self.waits && self.memory.accounts().members.get(&self.id).is_some_and(|m| !m.host_has(m.lacks()))
    }

    /// Gives back what is more than `held` needs, and enters what is held beyond what was allowed.
    pub fn keep(&mut self, held: usize) {
        let held = held.max(FLOOR_BYTES);
        let is_much = held == FLOOR_BYTES || held <= self.allowed / 2;
        let is_wanted = self.memory.is_waited_for.load(Ordering::Relaxed);
        if held > self.allowed || held < self.allowed && (is_much || is_wanted) {
            self.memory.change(|accounts| {
                accounts.set(self.id, held);
                accounts.serve();
            });
            self.allowed = held;
        }
    }

    /// Looks whether the turn has come. True if it has just come.
    pub fn refresh(&mut self) -> bool {
        let accounts = self.memory.accounts();
        let member = accounts.members.get(&self.id);
        let (allowed, waits) =
            member.map_or((FLOOR_BYTES, false), |member| (member.allowed, member.wants > 0));
        let has_come = self.waits && !waits;
        (self.allowed, self.waits) = (allowed, waits);
        has_come
    }

    /// Whether the connection waits for its turn.
    pub const fn waits(&self) -> bool {
        self.waits
    }

    /// What the connection may have under way, if it is not to take what others need.
    pub fn share(&self) -> usize {
        let of_host = self.host.as_ref().map_or(usize::MAX, |host| host.free());
        self.memory.free_for_more.load(Ordering::Relaxed).min(of_host).max(FLOOR_BYTES)
    }

    /// So many bytes have gone one way or the other.
    pub fn moved(&self, bytes: usize) {
        self.signals.moved.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// So many commands are with the subsystem.
    pub fn asked(&self, commands: usize) {
        self.signals.owed.fetch_add(commands, Ordering::Relaxed);
    }

    /// So many of them are answered.
    pub fn has_answers(&self, commands: usize) {
        self.signals.owed.fetch_sub(commands, Ordering::Relaxed);
    }

    /// The device has answered: the host cannot have done more meanwhile than wait.
    pub fn answered(&self) {
        self.signals.moved.fetch_add(MOVED_BYTES_MIN, Ordering::Relaxed);
    }

    /// Waits until the turn has come.
    pub async fn drive(&self) {
        self.signals.granted.notified().await;
    }

    /// Waits until the connection is to make room.
    pub async fn cut(&self) {
        self.signals.cut.notified().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.memory.change(|accounts| accounts.leave(self.id));
    }
}
