//! The commands of one queue pair: submitted and polled, never waited for. Every timing uses this code, virtual time too.
//!
//! Data of up to 4 KiB travels through the slot's staging page, one PRP entry, and without allocation. Longer data is
//! either an owned `Vec`, which the queue lends to the device and gives back, or memory that the caller mapped.

mod bar_ring;
mod commands;
mod error;
mod group;
mod indirect;
mod loan;
mod methods;
mod stats;
mod ticket;
mod train;

pub use commands::{Mapped, RawData};
pub use error::{Returned, SubmitError};
pub use group::OpenGroup;
pub use stats::QueueStats;
pub use ticket::{Done, Ticket};

use std::sync::Arc;

use saker_link::{
    BarBuffer, Completion, CompletionError, Cqe, DmaRegion, DmaSpace, HostQueuePair, PAGE_BYTES, PoolError,
    Rejected, Slot, SlotPool, SlotQueue, Sqe, Window,
};

use crate::transfer::{Available, Method, TransferOptions, TransferPolicy};
use bar_ring::BarRing;
use loan::Loan;
use saker_nvme::Status;
use saker_nvme::vendor::cq_slots;
use ticket::Bytes;
use train::Train;

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
    bar: Option<Arc<BarBuffer>>,
    bar_ring: BarRing,
    /// A value whose commands are not all submitted.
    train: Option<Train>,
    /// Completions of last commands whose parts are still out.
    held: Vec<Completion>,
    /// Completion queue entries that commands in flight may fill with payload.
    cq_promised: u32,
    /// Where keys lie that are too long for entries, once there was one.
    keys: Option<DmaRegion>,
}

/// What is known of a slot's command, or of the next one.
#[derive(Clone, Copy, Debug)]
struct Flight {
    generation: u32,
    /// Bytes of the buffer.
    bytes: u32,
    /// Where the buffer begins in its first page.
    offset: u32,
    place: Place,
    shape: Shape,
    /// The slot of the last command of the value that this command is a part of.
    part_of: Option<u16>,
    /// Parts of its value that have not completed.
    parts_out: u32,
    /// How the first part that failed ended.
    first_error: Option<Status>,
}

/// Where a command's data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// There is none, or it is in memory of the caller.
    Elsewhere,
    Staging,
    Owned,
    /// In the BAR.
    Bar,
    /// In DW1 of the completion.
    Dword,
    /// In the entries behind the completion.
    Behind,
}

/// What a successful completion leaves in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Nothing for the host.
    ToDevice,
    /// As much of a value of DW0 bytes as fits.
    Value,
    /// A full buffer, as far as one can tell.
    Whole,
    /// DW1 bytes.
    Results,
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
        let flight = Flight {
            generation: 0,
            bytes: 0,
            offset: 0,
            place: Place::Elsewhere,
            shape: Shape::ToDevice,
            part_of: None,
            parts_out: 0,
            first_error: None,
        };
        Ok(Self {
            pool: SlotPool::new(space, slots)?,
            flights: vec![flight; usize::from(slots)].into(),
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
            bar: None,
            bar_ring: BarRing::default(),
            train: None,
            held: Vec::new(),
            cq_promised: 0,
            keys: None,
            queue: SlotQueue::new(pair, slots),
        })
    }

    /// How values are sent from now on, on a device with those methods. Without this call: by PRPs.
    pub fn set_transfer(&mut self, options: TransferOptions, available: Available) {
        self.only_prps = options.policy == TransferPolicy::Fixed(Method::Prp);
        (self.transfer, self.available) = (options, available);
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

    /// Announces everything submitted to the device.
    #[inline]
    pub fn ring(&mut self) {
        self.queue.ring();
        self.stats.sq_doorbells += 1;
    }

    /// Takes the next completion, if there is one, shows it to `visit` and releases its slot. The completion queue's
    /// doorbell is rung when nothing is left to take, or a quarter of the queue has been taken.
    ///
    /// # Errors
    /// [`CompletionError`] for an entry that answers no command in flight: the device is broken. It is consumed.
    #[inline]
    pub fn poll<R>(&mut self, visit: impl FnOnce(Done<'_>) -> R) -> Option<Result<R, CompletionError>> {
        loop {
            let Some(polled) = self.queue.poll() else {
                self.report_taken(1);
                return None;
            };
            self.cq_unreported += 1;
            self.stats.completions += 1;
            let completion = match polled {
                Ok(completion) => completion,
                Err(error) => {
                    self.report_taken(self.cq_unreported_max);
                    return Some(Err(error));
                }
            };
            let flight = &self.flights[usize::from(completion.slot.index())];
            let whole = match flight.part_of {
                None if flight.parts_out == 0 => Some(completion),
                None => {
                    self.held.push(completion);
                    None
                }
                Some(last) => self.absorb(completion, last),
            };
            let Some(whole) = whole else {
                self.report_taken(self.cq_unreported_max);
                continue;
            };
            let answer = self.finish(whole, visit);
            self.report_taken(self.cq_unreported_max);
            return Some(Ok(answer));
        }
    }

    #[inline]
    fn report_taken(&mut self, at_least: u32) {
        if self.cq_unreported >= at_least {
            self.queue.ring_cq();
            self.stats.cq_doorbells += 1;
            self.cq_unreported = 0;
        }
    }

    #[inline]
    fn finish<R>(&mut self, Completion { slot, cqe }: Completion, visit: impl FnOnce(Done<'_>) -> R) -> R {
        let index = usize::from(slot.index());
        let flight = self.flights[index];
        self.flights[index].generation = flight.generation.wrapping_add(1);
        let bytes = flight.visible_bytes(&cqe);
        if matches!(flight.place, Place::Staging | Place::Owned) {
            self.stats.page_bytes_from_device += pages_bytes(flight.offset, bytes);
        }
        let done = |bytes| Done {
            ticket: Ticket { slot: slot.index(), generation: flight.generation },
            status: flight.first_error.unwrap_or(cqe.status()),
            result: cqe.result_dw0(),
            result_high: cqe.dw1.get(),
            bytes,
        };
        let answer = match flight.place {
            Place::Owned => {
                let (mut buffer, start) = self.end_loan(index);
                visit(done(Bytes::Owned(&mut buffer, start..start + bytes)))
            }
            Place::Staging => visit(done(Bytes::Staged(&slot.staging()[..bytes]))),
            Place::Elsewhere => visit(done(Bytes::Staged(&[]))),
            Place::Bar => {
                self.bar_ring.release(slot.index());
                visit(done(Bytes::Staged(&[])))
            }
            Place::Dword => {
                let dword = cqe.dw1.get().to_le_bytes();
                let bytes = if cqe.result_dw0() as usize <= dword.len() { bytes } else { 0 };
                visit(done(Bytes::Staged(&dword[..bytes])))
            }
            Place::Behind => visit(done(Bytes::Staged(&self.take_payload(flight.bytes, bytes)))),
        };
        self.pool.release(slot);
        answer
    }

    /// The payload behind a completion.
    fn take_payload(&mut self, capacity: u32, bytes: usize) -> Vec<u8> {
        let mut payload = vec![0; bytes];
        self.queue.pair_mut().take_payload(&mut payload);
        self.cq_unreported += cq_slots(bytes as u32);
        self.cq_promised -= cq_slots(capacity);
        payload
    }

    #[inline]
    fn take_slot(&mut self) -> Result<Slot, SubmitError> {
        // Nothing may come between the parts of a value.
        if self.train.is_some() {
            return Err(SubmitError::Full);
        }
        self.pool.acquire().ok_or(SubmitError::Full)
    }

    /// Submits `sqe`. A loan for the slot is in place already.
    #[inline]
    fn launch(
        &mut self,
        slot: Slot,
        sqe: &Sqe,
        place: Place,
        shape: Shape,
        bytes: u32,
    ) -> Result<Ticket, SubmitError> {
        let index = slot.index();
        let flight = &mut self.flights[usize::from(index)];
        (flight.place, flight.shape, flight.bytes) = (place, shape, bytes);
        flight.offset = sqe.prp1.get() as u32 % PAGE_BYTES as u32;
        flight.first_error = None;
        let (generation, offset) = (flight.generation, flight.offset);
        match self.queue.submit(slot, sqe) {
            Ok(()) => {
                self.stats.commands += 1;
                if shape == Shape::ToDevice && bytes > 0 {
                    self.stats.page_bytes_to_device += pages_bytes(offset, bytes as usize);
                }
                Ok(Ticket { slot: index, generation })
            }
            Err(rejected) => Err(self.take_back(rejected)),
        }
    }

    /// Submits `sqe` with `payload` in the entries behind it.
    fn depart(&mut self, slot: Slot, sqe: &Sqe, payload: &[u8]) -> Result<Ticket, SubmitError> {
        let ticket = self.ticket_of(&slot);
        self.prepare(&slot, Place::Elsewhere, 0);
        match self.queue.submit_with(slot, sqe, payload) {
            Ok(()) => {
                self.stats.commands += 1;
                Ok(ticket)
            }
            Err(rejected) => Err(self.take_back(rejected)),
        }
    }

    /// Payload entries have filled the queue.
    #[cold]
    fn take_back(&mut self, rejected: Rejected) -> SubmitError {
        let slot = rejected.slot;
        let index = usize::from(slot.index());
        match self.flights[index].place {
            Place::Bar => self.bar_ring.release(slot.index()),
            Place::Behind => self.cq_promised -= cq_slots(self.flights[index].bytes),
            _ => {}
        }
        self.pool.release(slot);
        SubmitError::Full
    }

    /// Commands that can be submitted before the queue is full.
    #[inline]
    pub fn free_slots(&self) -> usize {
        self.pool.free()
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

impl Flight {
    #[inline]
    fn visible_bytes(&self, cqe: &Cqe) -> usize {
        if !cqe.status().is_success() {
            return 0;
        }
        match self.shape {
            Shape::ToDevice => 0,
            Shape::Value => self.bytes.min(cqe.result_dw0()) as usize,
            Shape::Whole => self.bytes as usize,
            Shape::Results => self.bytes.min(cqe.dw1.get()) as usize,
        }
    }
}

/// Bytes of the pages that `bytes` bytes at `offset` of a page touch.
#[inline]
const fn pages_bytes(offset: u32, bytes: usize) -> u64 {
    if bytes == 0 { 0 } else { (offset as usize + bytes).next_multiple_of(PAGE_BYTES) as u64 }
}
