// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The reads that are not waited for. An answer is copied out of its slot when it comes, so that slots are free for other calls however long a
//! caller takes to look at it.

use std::sync::Arc;

use saker_link::STAGING_BYTES;
use saker_nvme::Status;

use crate::error::HostError;
use crate::kv_queue::{Done, SubmitError, Ticket};

/// No read: no place has this number, because there are at most as many as slots.
const NONE: u16 = u16::MAX;

/// A read that was queued by [`KvClient::get_queued`](super::KvClient::get_queued). Whoever has it takes its answer; if it is dropped, the
/// answer is thrown away.
#[derive(Debug)]
#[must_use = "the answer of a queued get that is dropped is thrown away"]
pub struct QueuedGet {
    pub(super) place: u16,
    /// Shared with the place alone.
    held: Arc<()>,
}

/// The queued reads whose answers nobody has taken.
#[derive(Debug)]
pub(super) struct QueuedGets {
    /// Made when they are first needed, then used again.
    places: Vec<Place>,
    free: Vec<u16>,
    /// The place of the read in each slot. Empty before the first read.
    of_slot: Box<[u16]>,
    slots: usize,
    in_flight: usize,
}

#[derive(Debug)]
pub(super) struct Place {
    pub(super) state: State,
    held: Arc<()>,
    /// Up to 255 bytes: a value that did not fit its slot is read again.
    pub(super) key: Vec<u8>,
    /// As much of the value as came.
    pub(super) value: Vec<u8>,
    /// Bytes of the whole value.
    pub(super) bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Free,
    InFlight(Ticket),
    Answered(Status),
}

impl Place {
    fn new() -> Self {
        Self { state: State::Free, held: Arc::new(()), key: Vec::new(), value: Vec::new(), bytes: 0 }
    }

    fn is_dropped(&self) -> bool {
        Arc::strong_count(&self.held) == 1
    }
}

impl QueuedGets {
    pub(super) fn new(slots: usize) -> Self {
        let (places, free, of_slot) = (Vec::new(), Vec::new(), Box::default());
        Self { places, free, of_slot, slots, in_flight: 0 }
    }

    /// Reads that have not been answered.
    #[inline]
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Keeps the answer if it is one of a queued read.
    pub(super) fn completed(&mut self, done: &Done<'_>) -> bool {
        let Some(of_slot) = self.of_slot.get_mut(usize::from(done.ticket.slot())) else { return false };
        let at = *of_slot;
        let Some(place) = self.places.get_mut(usize::from(at)) else { return false };
        if place.state != State::InFlight(done.ticket) {
            return false;
        }
        *of_slot = NONE;
        self.in_flight -= 1;
        if place.is_dropped() {
            self.release(at);
            return true;
        }
        place.state = State::Answered(done.status);
        place.bytes = done.result as usize;
        place.value.extend_from_slice(done.data());
        true
    }

    /// Whether one more can be queued now; if not, whether it can be once others have been answered.
    pub(super) fn has_place(&mut self) -> Result<bool, HostError> {
        if self.free.is_empty() && self.places.len() < self.slots {
            self.free.push(self.places.len() as u16);
            self.places.push(Place::new());
        }
        if self.free.is_empty() {
            self.reclaim();
        }
        let in_flight = |place: &Place| matches!(place.state, State::InFlight(_));
        if self.free.is_empty() && !self.places.iter().any(|place| in_flight(place) && place.is_dropped()) {
            return Err(SubmitError::QueuedGets { gets_max: self.slots }.into());
        }
        Ok(!self.free.is_empty())
    }

    /// Frees the places of answers that nobody will take.
    #[cold]
    fn reclaim(&mut self) {
        for at in 0..self.places.len() {
            let place = &self.places[at];
            if matches!(place.state, State::Answered(_)) && place.is_dropped() {
                self.release(at as u16);
            }
        }
    }

    /// Takes a place, which [`has_place`](Self::has_place) has said to be there.
    pub(super) fn take(&mut self, key: &[u8], state: State) -> Option<QueuedGet> {
        let at = self.free.pop()?;
        let place = &mut self.places[usize::from(at)];
        debug_assert!(place.state == State::Free && place.is_dropped() && place.value.is_empty());
        place.state = state;
        place.key.clear();
        place.key.extend_from_slice(key);
        Some(QueuedGet { place: at, held: Arc::clone(&place.held) })
    }

    pub(super) fn submitted(&mut self, ticket: Ticket, key: &[u8]) -> Option<QueuedGet> {
        if self.of_slot.is_empty() {
            self.of_slot = vec![NONE; self.slots].into();
        }
        let get = self.take(key, State::InFlight(ticket))?;
        self.of_slot[usize::from(ticket.slot())] = get.place;
        self.in_flight += 1;
        Some(get)
    }

    pub(super) fn release(&mut self, at: u16) {
        let place = &mut self.places[usize::from(at)];
        place.state = State::Free;
        place.value.clear();
        // Long values came from elsewhere than a slot, and are rare: their memory is given back.
        place.value.shrink_to(STAGING_BYTES);
        self.free.push(at);
    }

    pub(super) fn has_free_place(&self) -> bool {
        !self.free.is_empty()
    }

    /// The place of a read that [`place`](Self::place) has found.
    pub(super) fn place_mut(&mut self, get: &QueuedGet) -> &mut Place {
        &mut self.places[usize::from(get.place)]
    }

    /// # Errors
    /// The read is another client's.
    pub(super) fn place(&self, get: &QueuedGet) -> Result<&Place, HostError> {
        let place = self.places.get(usize::from(get.place));
        place
            .filter(|place| Arc::ptr_eq(&place.held, &get.held))
            .ok_or(HostError::Submit(SubmitError::ForeignGet))
    }

    pub(super) fn is_answered(&self, get: &QueuedGet) -> bool {
        self.place(get).is_ok_and(|place| matches!(place.state, State::Answered(_)))
    }
}
