// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The commands of one queue pair: submitted and polled, never waited for. Every timing uses this code, virtual time too.
//!
//! Data of up to 4 KiB travels through the slot's staging page, one PRP entry, and without allocation. Longer data is
//! either an owned `Vec`, which the queue lends to the device and gives back, or memory that the caller mapped.

mod bar_ring;
mod check;
mod commands;
mod error;
mod flight;
mod group;
mod indirect;
mod iterator;
mod launch;
mod loan;
mod outbox;
mod poll;
mod stats;
mod ticket;
mod train;

pub use commands::{Mapped, RawData};
pub use error::{Returned, SubmitError};
pub use group::OpenGroup;
pub use indirect::PLACE_BYTES as KEY_PLACE_BYTES;
pub use stats::QueueStats;
pub use ticket::{Done, Ticket};

use std::sync::Arc;

use saker_link::{
    BarBuffer, Completion, DmaRegion, DmaSpace, HostQueuePair, PoolError, SlotPool, SlotQueue, Window,
};

use crate::transfer::{Available, Method, TransferOptions, TransferPolicy, planted};
use bar_ring::BarRing;
use flight::{DataPlace, Flight, Shape};
use loan::Loan;
use train::Train;

/// Of the doorbells that a debug build rings one in so many is followed by a look at all that the queue remembers.
const CHECKED_EVERY: u64 = 61;

/// A queue pair for the commands of one namespace.
#[derive(Debug)]
pub struct KvQueue {
    queue: SlotQueue,
    pool: SlotPool,
    flights: Box<[Flight]>,
    /// Owned buffers of commands in flight, by slot.
    loans: Box<[Option<Loan>]>,
    windows: Vec<Window>,
    space: Arc<DmaSpace>,
    nsid: u32,
    cq_unreported: u32,
    cq_unreported_max: u32,
    stats: QueueStats,
    transfer: TransferOptions,
    available: Available,
    /// The policy never chooses anything else.
    only_prps: bool,
    /// What it chose last, and for how many bytes.
    chosen: (u32, Method),
    bar: Option<Arc<BarBuffer>>,
    bar_ring: BarRing,
    /// A value whose commands are not all submitted.
    train: Option<Train>,
    /// Completions of last commands whose parts are still out.
    held: Vec<Completion>,
    /// Completion queue entries that commands in flight may fill with payload.
    cq_promised: u32,
    /// Groups that are open: each holds a slot.
    open_groups: u16,
    /// Where keys lie that are too long for entries, once there was one.
    keys: Option<DmaRegion>,
}

impl KvQueue {
    /// Takes over `pair` for up to `slots` commands in flight to namespace `nsid`. Fewer slots serve if the submission
    /// queue has fewer entries. A slot takes a window and a page of `space`; owned buffers take a window each.
    ///
    /// # Errors
    /// [`PoolError`] if `space` has too little left.
    pub fn new(space: &Arc<DmaSpace>, pair: HostQueuePair, slots: u16, nsid: u32) -> Result<Self, PoolError> {
        // A queue holds one command less than it has entries; with no more slots than that it is never full.
        let slots = slots.min((pair.sq_entries() - 1).min(u32::from(u16::MAX)) as u16);
        Ok(Self {
            pool: SlotPool::new(space, slots)?,
            flights: vec![Flight::NONE; usize::from(slots)].into(),
            loans: (0..slots).map(|_| None).collect(),
            windows: Vec::new(),
            space: Arc::clone(space),
            nsid,
            cq_unreported: 0,
            cq_unreported_max: (pair.cq_entries() / 4).max(1),
            stats: QueueStats::default(),
            transfer: TransferOptions::default(),
            available: Available::default(),
            only_prps: true,
            chosen: (0, Method::Prp),
            bar: None,
            bar_ring: BarRing::default(),
            train: None,
            held: Vec::new(),
            cq_promised: 0,
            open_groups: 0,
            keys: None,
            queue: SlotQueue::new(pair, slots),
        })
    }

    /// How values are sent from now on, on a device with those methods. Without this call: by PRPs.
    pub fn set_transfer(&mut self, options: TransferOptions, available: Available) {
        let is_free = planted::forced().is_none();
        self.only_prps = is_free && options.policy == TransferPolicy::Fixed(Method::Prp);
        (self.transfer, self.available) = (options, available);
        self.chosen = (0, self.method_for(0));
    }

    /// The BAR of the device, for values that are stored there.
    pub fn set_bar(&mut self, bar: Arc<BarBuffer>) {
        self.bar = Some(bar);
    }

    /// What the device can do, as far as it was asked.
    #[must_use]
    pub fn available(&self) -> &Available {
        &self.available
    }

    /// The method that a value of `bytes` bytes would take.
    #[inline]
    #[must_use]
    pub fn method_for(&self, bytes: u32) -> Method {
        self.transfer.policy.choose(bytes, &self.available)
    }

    /// [`method_for`](Self::method_for), which repeats itself where values have one size.
    #[inline]
    fn choose(&mut self, bytes: u32) -> Method {
        if self.chosen.0 != bytes {
            self.chosen = (bytes, self.method_for(bytes));
        }
        self.chosen.1
    }

    /// Announces everything submitted to the device.
    #[inline]
    pub fn ring(&mut self) {
        self.queue.ring();
        self.stats.sq_doorbells += 1;
        if cfg!(debug_assertions) && self.stats.sq_doorbells.is_multiple_of(CHECKED_EVERY) {
            self.assert_sound();
        }
    }

    /// Commands that can be submitted before the queue is full.
    #[inline]
    pub fn free_slots(&self) -> usize {
        self.pool.free()
    }

    /// Completions that are still to come.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.queue.pair().in_flight()
    }

    /// Whether the `n`th of them (1 is the next) has come: see [`HostQueuePair::has_completed`].
    #[inline]
    pub fn has_completed(&self, n: u32) -> bool {
        self.queue.pair().has_completed(n)
    }

    /// Commands submitted and not completed.
    #[inline]
    pub fn in_flight(&self) -> usize {
        self.slots() - self.pool.free()
    }

    /// The most commands that can be in flight.
    #[inline]
    pub fn slots(&self) -> usize {
        self.flights.len()
    }

    /// The namespace of the commands.
    pub fn nsid(&self) -> u32 {
        self.nsid
    }

    /// What went over the link so far.
    pub fn stats(&self) -> QueueStats {
        self.stats
    }

    /// The queue pair: its identifier, sizes and addresses.
    pub fn pair(&self) -> &HostQueuePair {
        self.queue.pair()
    }

    /// The memory the queue's buffers are in.
    pub fn space(&self) -> &Arc<DmaSpace> {
        &self.space
    }
}
