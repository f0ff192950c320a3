// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lanes of a client and the index they share. Nothing here waits: what cannot be done now is answered so, and the
//! caller comes again after a completion. Blocking calls, futures and virtual time are loops around this.
//!
//! Locks are taken in the order lane, stripe, ticket or counter, never two of one kind, and held for a few dozen
//! instructions. So no thread ever waits for what another does with its session.

mod read;
mod wait;
mod write;

pub use wait::Sync;

use std::num::NonZeroU32;
use std::task::Waker;

use saker_link::{Held, ShortLock};
use saker_nvme::Key;
use saker_sim::{Meter, Unit};

use super::flusher::Flusher;
use super::index::Index;
use super::lane::{Lane, LaneStats};
use super::options::Options;
use super::shared::Shared;
use super::ticket::Ticket;
use super::wire::Wire;
use crate::cache::ReadCache;
use crate::error::HostError;

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Not now: after a completion.
    Busy,
    /// The stripe has changed.
    Changed,
    /// Never.
    Broken(HostError),
}

/// Who is told how a write ends.
#[derive(Clone, Copy, Debug)]
pub enum Cover<'a> {
    /// The session whose lane it is, at its next sync.
    Session,
    /// This ticket.
    Ticket(&'a Ticket),
}

/// All sessions of a client on one namespace.
#[derive(Debug)]
pub struct Hub<W> {
    lanes: Box<[ShortLock<Lane<W>>]>,
    has_iterators: bool,
    shared: Shared,
}

impl<W: Wire> Hub<W> {
    /// One lane over each queue pair of `wires`.
    pub fn new(wires: Vec<W>, mut options: Options) -> Self {
        // A container that no group of the device can carry would go one by one.
        let groups = wires.iter().map(Wire::group_bytes_max).filter(|bytes| *bytes > 0);
        options.container_bytes = groups.min().unwrap_or(usize::MAX).min(options.container_bytes);
        let slots = wires.iter().map(Wire::slots).max().unwrap_or(1);
        let shared = Shared {
            index: Index::new(options.stripes_for(wires.len(), slots)),
            parked_bytes: ShortLock::new(0),
            flusher: ShortLock::new(Flusher::default()),
            cache: ReadCache::new(options.cache),
            options,
        };
        let has_iterators = wires.iter().all(Wire::has_iterators);
        let lane = |(n, wire)| ShortLock::new(Lane::new(wire, n as u16, &shared));
        Self { lanes: wires.into_iter().enumerate().map(lane).collect(), has_iterators, shared }
    }

    /// Lanes.
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Whether the device knows iterators.
    pub fn has_iterators(&self) -> bool {
        self.has_iterators
    }

    /// How writes are gathered.
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// Keys of writes that have not come to their end, a stripe after the other.
    pub fn pending(&self) -> Vec<Key> {
        let mut keys = Vec::new();
        for n in 0..self.shared.index.len() {
            keys.extend(self.shared.index.lock(n).entries().map(|entry| entry.key));
        }
        keys
    }

    /// Takes completions of lane `n` and sends what can be sent.
    pub fn advance(&self, n: usize, meter: &mut impl Meter) {
        let mut lane = self.lanes[n].lock();
        let before = lane.book.stats;
        lane.advance(&self.shared);
        note_work(&before, &lane.book.stats, meter);
        release(lane);
    }

    /// The same without announcing anything; [`ring`](Self::ring) follows.
    pub fn advance_quietly(&self, n: usize, meter: &mut impl Meter) {
        let mut lane = self.lanes[n].lock();
        let before = lane.book.stats;
        lane.poll(&self.shared);
        lane.send(&self.shared);
        note_work(&before, &lane.book.stats, meter);
        release(lane);
    }

    /// Closes the open container of lane `n` and sends what can be sent.
    pub fn push_out(&self, n: usize) {
        let mut lane = self.lanes[n].lock();
        lane.book.close_open(&self.shared);
        lane.send(&self.shared);
        if self.shared.options.eager {
            lane.ring();
        }
        release(lane);
    }

    /// Announces what lane `n` has submitted; false if there is nothing.
    pub fn ring(&self, n: usize) -> bool {
        let mut lane = self.lanes[n].lock();
        let unrung = lane.book.unrung;
        lane.ring();
        unrung
    }

    /// Nothing of lane `n` is in flight or about to be.
    pub fn is_idle(&self, n: usize) -> bool {
        self.lanes[n].lock().book.is_idle()
    }

    /// Containers of lane `n` that are closed and have not come to their end.
    pub fn containers(&self, n: usize) -> usize {
        self.lanes[n].lock().book.containers()
    }

    /// What lane `n` has done so far.
    pub fn stats(&self, n: usize) -> LaneStats {
        self.lanes[n].lock().book.stats
    }

    /// Memory of parked writes, in bytes.
    pub fn parked_bytes(&self) -> usize {
        *self.shared.parked_bytes.lock()
    }

    /// The queue pair of lane `n`, for a moment.
    pub fn with_wire<R>(&self, n: usize, with: impl FnOnce(&mut W) -> R) -> R {
        with(&mut self.lanes[n].lock().wire)
    }

    /// The device is gone: everything on its way fails with `error`, and so does every later call.
    pub fn shut(&self, error: &HostError) {
        for lane in &self.lanes {
            let mut lane = lane.lock();
            lane.book.break_down(&self.shared, error);
            release(lane);
        }
    }

    /// Sends what has lain in an open container since the last call with the same `seen`: the pump's work. So nothing
    /// stays longer than twice the time between calls, and `put` reads no clock.
    pub fn pump(&self, seen: &mut Pump, meter: &mut impl Meter) {
        seen.open.resize(self.lanes(), None);
        for (n, seen) in seen.open.iter_mut().enumerate() {
            let now = self.lanes[n].lock().book.open_name();
            if now.is_some() && now == *seen {
                self.push_out(n);
            }
            self.advance(n, meter);
            *seen = self.lanes[n].lock().book.open_name();
        }
    }
}

/// What a pump has seen.
#[derive(Clone, Debug, Default)]
pub struct Pump {
    open: Vec<Option<NonZeroU32>>,
}

/// CPU work that completions were.
fn note_work(before: &LaneStats, after: &LaneStats, meter: &mut impl Meter) {
    let retired = after.retired - before.retired;
    meter.work(Unit::Lock, retired);
    // The entry was touched when the write was buffered: it is in the cache.
    meter.work(Unit::Compare, retired);
}

/// Lets a lane go, then wakes whom it has to.
#[inline]
fn release<W>(mut lane: Held<'_, Lane<W>>) {
    if lane.book.to_wake.is_empty() {
        return;
    }
    let wakers = std::mem::take(&mut lane.book.to_wake);
    drop(lane);
    wakers.into_iter().for_each(Waker::wake);
}
