//! The lanes of a client and the index they share. Nothing here waits: what cannot be done now is answered so, and the
//! caller comes again after a completion. Blocking calls, futures and virtual time are loops around this.
//!
//! Locks are taken in the order lane, stripe, ticket or counter, never two of one kind, and held for a few dozen
//! instructions. So no thread ever waits for what another does with its session.

use std::task::Waker;

use saker_link::{Held, ShortLock};
use saker_nvme::Key;
use saker_sim::{Meter, Unit};

use super::calls::{CallId, Reply};
use super::container::Write;
use super::flusher::{Flusher, Turn};
use super::index::{Entry, Index, PARKED_BYTES, Parked};
use super::lane::{Lane, LaneStats};
use super::options::Options;
use super::shared::Shared;
use super::ticket::Ticket;
use super::wire::{Command, Wire};
use crate::error::HostError;
use crate::kv_queue::SubmitError;

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

/// What a sync waits for.
#[derive(Clone, Debug, Default)]
pub struct Sync {
    tickets: Vec<Ticket>,
}

/// All sessions of a client on one namespace.
#[derive(Debug)]
pub struct Hub<W> {
    lanes: Box<[ShortLock<Lane<W>>]>,
    shared: Shared,
}

impl<W: Wire> Hub<W> {
    /// One lane over each queue pair of `wires`.
    pub fn new(wires: Vec<W>, options: Options) -> Self {
        let slots = wires.iter().map(Wire::slots).max().unwrap_or(1);
        let shared = Shared {
            index: Index::new(options.stripes_for(wires.len(), slots)),
            parked_bytes: ShortLock::new(0),
            flusher: ShortLock::new(Flusher::default()),
            options,
        };
        let lane = |(n, wire)| ShortLock::new(Lane::new(wire, n as u16, &shared));
        Self { lanes: wires.into_iter().enumerate().map(lane).collect(), shared }
    }

    /// Lanes.
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// How writes are gathered.
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// Buffers a write in lane `n`. Every reader sees it from now on, until a newer one; the device ends with the newest.
    ///
    /// # Errors
    /// [`Refusal`]: nothing has happened.
    #[inline]
    pub fn write(
        &self,
        n: usize,
        key: &Key,
        write: Write<'_>,
        cover: Cover<'_>,
        meter: &mut impl Meter,
    ) -> Result<(), Refusal> {
        self.write_if(n, key, write, cover, None, meter)
    }

    /// As [`write`](Self::write); with `version` only if nothing has changed in the key's stripe since
    /// [`look`](Self::look) gave it. [`Refusal::Changed`] tells that something has.
    ///
    /// # Errors
    /// [`Refusal`]: nothing has happened.
    #[inline]
    pub fn write_if(
        &self,
        n: usize,
        key: &Key,
        write: Write<'_>,
        cover: Cover<'_>,
        version: Option<u64>,
        meter: &mut impl Meter,
    ) -> Result<(), Refusal> {
        let mut held = self.lanes[n].lock();
        let lane = &mut *held;
        if lane.book.broken.is_some() || !lane.book.has_room(&self.shared) {
            self.make_room(lane)?;
        }
        let stripe_number = self.shared.index.stripe_of(key);
        let mut stripe = self.shared.index.lock(stripe_number);
        if version.is_some_and(|version| version != stripe.version) {
            return Err(Refusal::Changed);
        }
        if let Some(entry) = stripe.find(key) {
            self.write_again(lane, entry, write, cover)?;
            stripe.version += 1;
            drop(stripe);
        } else {
            let packed = lane.book.pack(&self.shared, stripe_number, key, write);
            stripe.insert(*key, packed.place);
            drop(stripe);
            lane.book.cover(packed, cover);
        }
        meter.work(Unit::Lock, 2);
        meter.work(Unit::Probe, 1);
        meter.work(Unit::Encode, 1);
        meter.work(Unit::CopyByte, (key.len() + write.map_or(0, <[u8]>::len)) as u64);
        lane.book.close_if_full(&self.shared);
        if lane.book.has_closed() {
            self.dispatch(lane);
        }
        release(held);
        Ok(())
    }

    /// Tries to send what is closed, so that another write can be packed.
    #[cold]
    fn make_room(&self, lane: &mut Lane<W>) -> Result<(), Refusal> {
        if let Some(error) = &lane.book.broken {
            return Err(Refusal::Broken(error.clone()));
        }
        self.dispatch(lane);
        if lane.book.has_room(&self.shared) { Ok(()) } else { Err(Refusal::Busy) }
    }

    /// Sends what is closed.
    fn dispatch(&self, lane: &mut Lane<W>) {
        lane.send(&self.shared);
        if self.shared.options.eager {
            lane.ring();
            lane.poll(&self.shared);
        }
    }

    /// A write of a key of which one has not come to its end.
    fn write_again(
        &self,
        lane: &mut Lane<W>,
        entry: &mut Entry,
        write: Write<'_>,
        cover: Cover<'_>,
    ) -> Result<(), Refusal> {
        if entry.parked.is_none()
            && let Some(place) = entry.place
            && lane.book.is_open(place)
        {
            if lane.book.open.replace(place.piece, write).is_ok() {
                lane.book.cover_again(place, cover);
                return Ok(());
            }
            // What is to follow it waits for it: the sooner it goes the better.
            lane.book.close_open(&self.shared);
        }
        self.park(lane, entry, write, cover)
    }

    /// Leaves the newest write of a key with its entry; it replaces one that is there.
    fn park(
        &self,
        lane: &mut Lane<W>,
        entry: &mut Entry,
        write: Write<'_>,
        cover: Cover<'_>,
    ) -> Result<(), Refusal> {
        let old = entry.parked.as_ref().map_or(0, |parked| parked.bytes());
        let new = PARKED_BYTES + write.map_or(0, <[u8]>::len);
        {
            let mut bytes = self.shared.parked_bytes.lock();
            let with_it = *bytes - old + new;
            if with_it > self.shared.options.parked_bytes_max && *bytes > old {
                return Err(Refusal::Busy);
            }
            *bytes = with_it;
        }
        lane.book.stats.parked += 1;
        let parked =
            entry.parked.get_or_insert_with(|| Box::new(Parked { value: None, tickets: Vec::new() }));
        parked.value = write.map(Into::into);
        let ticket = lane.book.ticket(cover);
        if !parked.tickets.iter().any(|other| other.is(&ticket)) {
            ticket.open();
            parked.tickets.push(ticket);
        }
        Ok(())
    }

    /// Shows the newest write of a key that the device may not have yet; otherwise the version of the key's stripe: the
    /// device's answer is current as long as that stays.
    ///
    /// # Errors
    /// The version.
    pub fn look<R>(
        &self,
        key: &Key,
        meter: &mut impl Meter,
        read: impl FnOnce(Write<'_>) -> R,
    ) -> Result<R, u64> {
        let stripe_number = self.shared.index.stripe_of(key);
        loop {
            meter.work(Unit::Lock, 1);
            meter.work(Unit::Probe, 1);
            let mut stripe = self.shared.index.lock(stripe_number);
            let Some(entry) = stripe.find(key) else { return Err(stripe.version) };
            if let Some(parked) = &entry.parked {
                return Ok(read(parked.write()));
            }
            let place = entry.place.expect("an entry has a place or a parked write");
            // Lanes come before stripes, so the stripe is let go first. By then the write may have come to its end.
            drop(stripe);
            let lane = self.lanes[usize::from(place.lane)].lock();
            if let Some(container) = lane.book.find(place.container) {
                return Ok(read(container.write(place.piece)));
            }
        }
    }

    /// Keys of writes that have not come to their end, a stripe after the other.
    pub fn pending(&self) -> Vec<Key> {
        let mut keys = Vec::new();
        for n in 0..self.shared.index.len() {
            keys.extend(self.shared.index.lock(n).entries().iter().map(|entry| entry.key));
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

    /// Begins to wait for all writes of lane `n` so far.
    pub fn begin_sync(&self, n: usize) -> Sync {
        let mut lane = self.lanes[n].lock();
        lane.book.close_open(&self.shared);
        let tickets = lane.book.next_epoch();
        lane.send(&self.shared);
        if self.shared.options.eager {
            lane.ring();
        }
        release(lane);
        Sync { tickets }
    }

    /// Whether all of them have come to their end. Otherwise does what it takes: also sends containers of other lanes and
    /// takes their completions, where writes of this one wait behind theirs.
    pub fn poll_sync(&self, n: usize, sync: &Sync, meter: &mut impl Meter) -> bool {
        self.advance(n, meter);
        sync.is_done() || {
            self.help(n, &sync.tickets, meter);
            sync.is_done()
        }
    }

    /// Whether the writes of `ticket`, made over lane `n`, have come to their end. A container of the lane leaves as soon
    /// as none is in flight, so that those who write at the same time share the next.
    pub fn poll_commit(&self, n: usize, ticket: &Ticket, meter: &mut impl Meter) -> bool {
        self.advance(n, meter);
        if ticket.is_done() {
            return true;
        }
        if self.containers(n) == 0 {
            self.push_out(n);
            self.help(n, std::slice::from_ref(ticket), meter);
        }
        ticket.is_done()
    }

    /// What of these is not in flight in lane `n` waits behind the containers of others, or in the open one: sends them.
    fn help(&self, n: usize, tickets: &[Ticket], meter: &mut impl Meter) {
        let open: Vec<_> = tickets.iter().filter(|ticket| !ticket.is_done()).collect();
        let is_out = self.lanes[n].lock().book.carries_closed(&open);
        if !is_out {
            self.push_out_all(meter);
        }
    }

    /// Sends every open container and takes completions everywhere.
    pub fn push_out_all(&self, meter: &mut impl Meter) {
        for n in 0..self.lanes() {
            self.push_out(n);
            self.advance(n, meter);
        }
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

    /// Submits a command over lane `n` for its answer.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn call(&self, n: usize, command: Command<'_>) -> Result<CallId, Refusal> {
        let mut held = self.lanes[n].lock();
        let lane = &mut *held;
        if let Some(error) = &lane.book.broken {
            return Err(Refusal::Broken(error.clone()));
        }
        let slot = lane.wire.submit(command).map_err(|error| match error {
            SubmitError::Full | SubmitError::Windows => Refusal::Busy,
            other => Refusal::Broken(other.into()),
        })?;
        let id = lane.book.calls.begin();
        lane.book.calling(slot, Some(id));
        if self.shared.options.eager {
            lane.ring();
        }
        Ok(id)
    }

    /// The answer to a call over lane `n`, if it is there.
    pub fn poll_call<R>(
        &self,
        n: usize,
        id: CallId,
        read: impl FnOnce(&Reply) -> R,
    ) -> Option<Result<R, HostError>> {
        let mut lane = self.lanes[n].lock();
        lane.advance(&self.shared);
        let answer = lane.book.calls.take(id, read);
        release(lane);
        answer
    }

    /// The same without looking for completions.
    pub fn take_call<R>(
        &self,
        n: usize,
        id: CallId,
        read: impl FnOnce(&Reply) -> R,
    ) -> Option<Result<R, HostError>> {
        self.lanes[n].lock().book.calls.take(id, read)
    }

    /// Nobody will ask for the answer.
    pub fn abandon(&self, n: usize, id: CallId) {
        self.lanes[n].lock().book.calls.abandon(id);
    }

    /// Number of the Flush that covers everything that has completed by now.
    pub fn wanted_flush(&self) -> u64 {
        self.shared.flusher.lock().wanted()
    }

    /// Whether that Flush has ended, and how. Submits it over lane `n` if it is its turn.
    pub fn poll_flush(&self, n: usize, wanted: u64) -> Option<Result<(), HostError>> {
        let mut held = self.lanes[n].lock();
        let lane = &mut *held;
        let mut flusher = self.shared.flusher.lock();
        match flusher.turn(wanted) {
            Turn::Over(outcome) => return Some(outcome),
            Turn::Wait => return None,
            Turn::Submit => {}
        }
        if let Some(error) = &lane.book.broken {
            return Some(Err(error.clone()));
        }
        if let Ok(slot) = lane.wire.submit(Command::Flush) {
            flusher.submitted();
            drop(flusher);
            lane.book.calling(slot, None);
            if self.shared.options.eager {
                lane.ring();
            }
        }
        None
    }

    /// Flushes so far.
    pub fn flushes(&self) -> u64 {
        self.shared.flusher.lock().count()
    }

    /// The queue pair of lane `n`, for a moment.
    pub fn with_wire<R>(&self, n: usize, with: impl FnOnce(&mut W) -> R) -> R {
        with(&mut self.lanes[n].lock().wire)
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
    open: Vec<Option<u32>>,
}

impl Sync {
    /// Whether all writes have come to their end.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.tickets.iter().all(Ticket::is_done)
    }

    /// The writes that failed, once.
    #[must_use]
    pub fn take_failures(&self) -> Vec<(Key, HostError)> {
        self.tickets.iter().flat_map(Ticket::take_failures).collect()
    }

    /// Wakes `waker` when a part of it is done.
    pub fn wake_when_done(&self, waker: &Waker) {
        match self.tickets.iter().find(|ticket| !ticket.is_done()) {
            Some(ticket) => ticket.wake_when_done(waker),
            None => waker.wake_by_ref(),
        }
    }
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
