// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Buffering writes.

use saker_nvme::Key;
use saker_sim::{Meter, Unit};

use super::super::container::Write;
use super::super::index::{Entry, PARKED_BYTES, Parked};
use super::super::lane::Lane;
use super::super::wire::Wire;
use super::{Cover, Hub, Refusal, release};

impl<W: Wire> Hub<W> {
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
        if version.is_some_and(|version| version != stripe.version()) {
            return Err(Refusal::Changed);
        }
        if let Some(entry) = stripe.find(key) {
            self.write_again(lane, entry, write, cover)?;
            stripe.changed();
            self.shared.keep_current(key, write, meter);
            drop(stripe);
        } else {
            let packed = lane.book.pack(&self.shared, stripe_number, key, write);
            stripe.insert(*key, packed.place);
            self.shared.keep_current(key, write, meter);
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
}
