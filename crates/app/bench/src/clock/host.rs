// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HostKV, and the hybrid of it with a tree in the device: lanes share one store behind a lock, over one queue pair on the block namespace
//! (and one on that of pairs). Whoever has the lock sends, takes what
//! has completed, whosever it is, and does some of the store's background work.

use super::driver::OnClock;
use super::since;
use saker_assembly::Build;
use saker_device::Attachment;
use saker_host::host_kv::{self, HostKv, Work as Metered};
use saker_host::{CacheStats, HostError, Spin};
use saker_hybrid::Hybrid;
use saker_link::Traffic;
use saker_sim::Instant;
use saker_store::{
    Completed, Completions, Doorbells, Drain, KvStore, Lane, Order, Outcome, Refusal, Share, Submitted,
    Ticket, Work,
};
use saker_world::Job;
use saker_world::stores::host_kv::{
    Dual, Hosted, block_depth, capabilities, connect, connect_hybrid, operation, outcome,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant as Clock;

/// Quanta of background work that a thread does for the store each time it looks at it.
const QUANTA: u32 = 4;

/// The slot of a ticket, and how its operation ended.
type Ended = (u32, host_kv::Outcome);

/// The store, whose operations are on their way, and by lane what has ended and was not taken.
struct Shared<K> {
    /// Since when its time runs: jobs have clocks of their own.
    begun: Clock,
    store: K,
    flights: BTreeMap<host_kv::Ticket, (usize, u32)>,
    ended: Vec<VecDeque<Ended>>,
}

impl<K: Hosted> Shared<K> {
    /// Sends what was submitted and takes what has completed, whoever waits for it.
    fn round(&mut self) {
        let Self { begun, store, flights, ended } = self;
        store.set_now(since(*begun));
        store.ring();
        store.advance(Metered::Free, &mut |ticket, outcome| {
            if let Some((lane, slot)) = flights.remove(&ticket) {
                ended[lane].push_back((slot, outcome));
            }
        });
        store.tree_mut().background(QUANTA, Metered::Free);
        store.ring();
    }

    /// Gives a lane what has ended of its operations.
    #[inline]
    fn hand_over(&mut self, lane: usize, ended: &mut VecDeque<Ended>) {
        if !self.ended[lane].is_empty() {
            ended.append(&mut self.ended[lane]);
        }
    }
}

fn lock<K>(shared: &Mutex<Shared<K>>) -> MutexGuard<'_, Shared<K>> {
    // A thread that panicked has its panic passed on when it is joined.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A store at the host on a device that has a thread of its own.
pub(super) struct HostOnClock<K = HostKv> {
    shared: Arc<Mutex<Shared<K>>>,
    lanes_max: usize,
}

/// A thread's way into the store.
pub(super) struct HostLane<K> {
    shared: Arc<Mutex<Shared<K>>>,
    number: usize,
    /// Slots of tickets that nothing has, and how many there are.
    free: Vec<u32>,
    slots: u32,
    ended: VecDeque<Ended>,
    /// What came with the last operation has been taken: there is no need to ask again.
    has_looked: bool,
    /// How the last operation ended that was complete at once.
    last: host_kv::Outcome,
}

impl HostOnClock {
    /// Over a device with a block namespace 1, with a lane for each thread of the job.
    pub fn connect(build: &Build, host: &Attachment, job: &Job) -> Result<Self, HostError> {
        Ok(Self::over(connect(build, host, block_depth(job), &mut Spin)?, job))
    }
}

impl HostOnClock<Hybrid> {
    /// The hybrid over a device with both namespaces, which is of the build `device`.
    pub fn hybrid(
        (build, device): (&Build, &Build),
        dual: &Dual,
        host: &Attachment,
        job: &Job,
    ) -> Result<Self, HostError> {
        let store = connect_hybrid(build, device, host, (block_depth(job), dual), &mut Spin)?;
        Ok(Self::over(store, job))
    }
}

impl<K> HostOnClock<K> {
    fn over(store: K, job: &Job) -> Self {
        let shared = Shared { begun: Clock::now(), store, flights: BTreeMap::new(), ended: Vec::new() };
        Self { shared: Arc::new(Mutex::new(shared)), lanes_max: job.threads.max(1) }
    }
}

impl<K: Hosted> KvStore for HostOnClock<K> {
    type Lane = HostLane<K>;

    fn open_lane(&mut self) -> Result<HostLane<K>, Refusal> {
        let ended = &mut lock(&self.shared).ended;
        if ended.len() == self.lanes_max {
            return Err(Refusal::Lanes);
        }
        ended.push(VecDeque::new());
        Ok(HostLane {
            shared: Arc::clone(&self.shared),
            number: ended.len() - 1,
            free: Vec::new(),
            slots: 0,
            ended: VecDeque::new(),
            has_looked: false,
            last: Ok(host_kv::Answer::Done),
        })
    }

    fn capabilities(&self) -> Vec<&'static str> {
        capabilities(&lock(&self.shared).store)
    }

    fn order(&self) -> Order {
        Order { doorbells: Doorbells::OfStore, completions: Completions::Shared }
    }

    fn stats(&self) -> Vec<(&'static str, u64)> {
        lock(&self.shared).store.counters()
    }
}

impl<K: Hosted + Send> OnClock for HostOnClock<K> {
    fn traffic(&self, _: &[&HostLane<K>]) -> Traffic {
        lock(&self.shared).store.traffic()
    }

    fn cache(&self) -> CacheStats {
        lock(&self.shared).store.caches().1
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.stats()
    }
}

impl<K: Hosted> Lane for HostLane<K> {
    type Error = HostError;

    /// Submits, and looks around while the lock is held.
    fn submit(&mut self, share: Share<'_>, _: Instant) -> Submitted<'_> {
        let Self { shared, number, free, slots, ended, last, has_looked } = self;
        let mut shared = lock(shared);
        let op = match operation(share.first(), &shared.store) {
            Ok(Some(op)) => op,
            Ok(None) => return Submitted::Done(Outcome::DONE),
            Err(refusal) => return Submitted::Refused(refusal),
        };
        *has_looked = true;
        let now = since(shared.begun);
        shared.store.set_now(now);
        let submitted = shared.store.submit(op, Metered::Free).map_err(|ticket| {
            let slot = free.pop().unwrap_or_else(|| {
                *slots += 1;
                *slots - 1
            });
            shared.flights.insert(ticket, (*number, slot));
            Ticket { slot, operations: 1 }
        });
        shared.round();
        shared.hand_over(*number, ended);
        drop(shared);
        match submitted {
            Ok(done) => {
                *last = done;
                Submitted::Done(outcome(last))
            }
            Err(ticket) => Submitted::Pending(ticket),
        }
    }

    fn look(&mut self, _: Instant) -> bool {
        if self.ended.is_empty() && !std::mem::take(&mut self.has_looked) {
            let mut shared = lock(&self.shared);
            shared.round();
            shared.hand_over(self.number, &mut self.ended);
        }
        !self.ended.is_empty()
    }

    fn poll<R>(
        &mut self,
        _: Instant,
        visit: impl FnOnce(Completed<'_>) -> R,
    ) -> Result<Option<R>, HostError> {
        let Some((slot, ended)) = self.ended.pop_front() else { return Ok(None) };
        self.free.push(slot);
        let ticket = Ticket { slot, operations: 1 };
        Ok(Some(visit(Completed { lane: self.number, ticket, outcome: outcome(&ended) })))
    }

    /// Whoever has the lock rings.
    fn ring(&mut self) {}

    fn work(&mut self) -> Work {
        Work::default()
    }

    fn in_flight(&self) -> usize {
        self.slots as usize - self.free.len()
    }

    fn drain(&mut self, _: Instant) -> Result<Drain, HostError> {
        Ok(Drain::Over)
    }
}
