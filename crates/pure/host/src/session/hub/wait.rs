// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What callers come back for: syncs, durable writes, answers, flushes.

use saker_nvme::Key;
use saker_sim::Meter;
use std::task::Waker;

use super::super::calls::{CallId, Reply};
use super::super::flusher::FlushStep;
use super::super::ticket::Ticket;
use super::super::wire::{Command, Wire};
use super::{Hub, Refusal, release};
use crate::error::HostError;
use crate::kv_queue::SubmitError;

/// What a sync waits for.
#[derive(Clone, Debug, Default)]
pub struct Sync {
    tickets: Vec<Ticket>,
}

impl<W: Wire> Hub<W> {
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

    /// A name for a group that is called over lane `n`; `None` where the device takes none.
    pub(in crate::session) fn name_group(&self, n: usize) -> Option<Key> {
        self.lanes[n].lock().book.name_group()
    }

    /// The device takes no groups, whatever it says.
    pub(in crate::session) fn has_no_groups(&self, n: usize) {
        self.lanes[n].lock().book.has_no_groups();
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
        match flusher.next_step(wanted) {
            FlushStep::Over(outcome) => return Some(outcome),
            FlushStep::Wait => return None,
            FlushStep::Submit => {}
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
