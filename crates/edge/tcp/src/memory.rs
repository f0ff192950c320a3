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
//! A host that holds memory and neither reads nor sends keeps it. That harms nobody until others wait; then, after a while, such
//! connections are closed, those first that have stood still for the longest.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use saker_target::ConnectionId;
use tokio::sync::Notify;
use tokio::time::Instant;

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
}

#[derive(Debug)]
struct Member {
    /// Bytes it may hold, the floor included.
    allowed: usize,
    /// Bytes that it waits to be allowed; 0 if it does not wait.
    wants: usize,
    signals: Arc<Signals>,
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

    /// Since when it has stood still, if that is too long.
    fn stands_still(&mut self, now: Instant, standstill: Duration) -> Option<Instant> {
        let moved = self.signals.moved.load(Ordering::Relaxed);
        match self.seen {
            Some((before, since)) if moved - before < MOVED_BYTES_MIN => {
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
            member.allowed = allowed;
        }
    }

    /// Whether the member may hold `to` bytes from now on. If not, it waits for its turn unless it holds something.
    fn raise(&mut self, id: ConnectionId, to: usize) -> bool {
        let (free, free_for_more) = (self.free(), self.free_for_more());
        let Some(member) = self.members.get_mut(&id).filter(|member| member.wants == 0) else { return false };
        let is_first = member.allowed == FLOOR_BYTES;
        let fits = if is_first { to - FLOOR_BYTES <= free } else { to - FLOOR_BYTES <= free_for_more };
        if fits && self.queue.is_empty() {
            self.set(id, to);
            return true;
        }
        if is_first {
            member.wants = to;
            self.queue.push_back(id);
        }
        false
    }

    /// Serves those that wait as far as what is free goes.
    fn serve(&mut self) {
        while let Some(id) = self.queue.front().copied() {
            let free = self.free();
            if let Some(member) = self.members.get_mut(&id) {
                if member.lacks() > free {
                    return;
                }
                let to = std::mem::take(&mut member.wants).max(member.allowed);
                member.signals.granted.notify_one();
                self.set(id, to);
            }
            self.queue.pop_front();
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
        if self.queue.is_empty() {
            self.members.values_mut().for_each(|member| member.seen = None);
            return 0;
        }
        let lacking: usize = self.queue.iter().filter_map(|id| self.members.get(id)).map(Member::lacks).sum();
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
        let member = Member { allowed: FLOOR_BYTES, wants: 0, signals: Arc::clone(&signals), seen: None };
        self.change(|accounts| accounts.members.insert(id, member));
        Seat { id, memory: Arc::clone(self), signals, allowed: FLOOR_BYTES, waits: false }
    }

    /// Closes connections that have stood still for `standstill` while others wait. To be called now and then.
    pub fn cut(&self, standstill: Duration) -> usize {
        self.change(|accounts| accounts.cut(Instant::now(), standstill))
    }

    /// Bytes that connections may hold now beyond what each has for itself.
    pub fn used(&self) -> usize {
        self.accounts().used
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
        let is_allowed = to <= self.allowed || self.memory.change(|accounts| accounts.raise(self.id, to));
        self.refresh();
        is_allowed
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
        self.memory.free_for_more.load(Ordering::Relaxed).max(FLOOR_BYTES)
    }

    /// So many bytes have gone one way or the other.
    pub fn moved(&self, bytes: usize) {
        self.signals.moved.fetch_add(bytes as u64, Ordering::Relaxed);
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
