// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether what a queue remembers agrees with itself.

use saker_link::Slot;
use saker_log::ensure;
use saker_nvme::vendor_specific::cq_slots;

use super::KvQueue;
use super::flight::{DataPlace, Flight};

impl KvQueue {
    /// Says what contradicts itself, if anything does. It looks at every slot: tests ask now and then, and debug builds after
    /// some of the doorbells.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn check(&self) -> Result<(), String> {
        self.pool.check()?;
        self.queue.check()?;
        self.check_slots()?;
        self.check_value()?;
        self.check_parts()?;
        (0..self.slots() as u16).try_for_each(|index| self.check_flight(index))?;
        self.bar_ring.check()?;
        let promised: u32 =
            self.answers().filter(|f| f.place == DataPlace::Behind).map(|f| cq_slots(f.bytes)).sum();
        let noted = self.cq_promised;
        ensure(promised == noted, || format!("{promised} entries are promised to payload, noted: {noted}"))?;
        let (taken, entries) = (self.cq_unreported, self.queue.pair().cq_entries());
        ensure(taken < entries, || format!("{taken} completions are taken of a queue of {entries}"))
    }

    /// # Panics
    /// If something contradicts itself.
    #[cold]
    pub(super) fn assert_sound(&self) {
        self.check().unwrap_or_else(|e| panic!("queue {}: {e}", self.queue.pair().queue()));
    }

    /// Each slot is in one place.
    fn check_slots(&self) -> Result<(), String> {
        let out = (0..self.slots() as u16).filter(|index| self.is_out(*index)).count();
        let (free, open) = (self.pool.free(), usize::from(self.open_groups));
        ensure(free + out + open == self.slots(), || {
            format!("of {} slots {free} are free, {out} are out and {open} are in open groups", self.slots())
        })
    }

    /// In flight, or kept until a value is complete.
    fn is_out(&self, index: u16) -> bool {
        let is_home = self.train.as_ref().is_some_and(|train| train.is_home() && train.last() == index);
        is_home || self.queue.holds(index) || self.held.iter().any(|c| c.slot.index() == index)
    }

    /// Flights of commands in flight whose completions are answers.
    fn answers(&self) -> impl Iterator<Item = &Flight> {
        let flights = (0u16..).zip(&self.flights);
        flights.filter(|(n, f)| self.queue.holds(*n) && f.part_of.is_none()).map(|(_, flight)| flight)
    }

    /// A value that is being sent has commands left, and its last slot is here or out with a part of it.
    fn check_value(&self) -> Result<(), String> {
        let Some(train) = &self.train else { return Ok(()) };
        let last = train.last();
        ensure(!train.entries.is_empty(), || format!("nothing is left to send of the value of slot {last}"))?;
        let is_part = self.queue.holds(last) && self.flights[usize::from(last)].part_of == Some(last);
        ensure(is_part != train.is_home(), || {
            format!("slot {last} is kept for the end of its value, and out")
        })
    }

    /// Each value knows how many parts of it are out.
    fn check_parts(&self) -> Result<(), String> {
        let mut parts = 0;
        for (index, flight) in (0u16..).zip(&self.flights) {
            if flight.part_of.is_some() {
                ensure(self.queue.holds(index), || {
                    format!("slot {index} is a part of a value, and not out")
                })?;
                parts += 1;
            }
        }
        // Few slots are the last of a value.
        let mut known = 0;
        for (last, flight) in (0u16..).zip(&self.flights).filter(|(_, flight)| flight.parts_out > 0) {
            let out = self.flights.iter().filter(|part| part.part_of == Some(last)).count();
            ensure(flight.parts_out as usize == out, || {
                format!("{out} parts of the value of slot {last} are out, noted: {}", flight.parts_out)
            })?;
            known += out;
        }
        ensure(known == parts, || format!("of {parts} parts that are out {known} are known to their values"))
    }

    fn check_flight(&self, index: u16) -> Result<(), String> {
        let flight = &self.flights[usize::from(index)];
        let is_out = self.is_out(index);
        let is_part = flight.part_of.is_some();
        let is_held = self.held.iter().any(|c| c.slot.index() == index);
        ensure(!is_held || flight.parts_out > 0, || {
            format!("slot {index} has completed, and is held for no part")
        })?;
        // Of a part nothing is known but whose it is.
        let has_place = is_out && (!is_part || flight.part_of == Some(index));
        let lends = has_place && flight.place == DataPlace::Owned;
        let is_lent = self.loans[usize::from(index)].is_some();
        ensure(lends == is_lent, || format!("slot {index} lends a buffer: {lends}, noted: {is_lent}"))?;
        let is_stored = has_place && flight.place == DataPlace::Bar;
        let is_kept = self.bar_ring.holds(index);
        ensure(is_stored == is_kept, || {
            format!("slot {index} has a value in the BAR: {is_stored}, noted: {is_kept}")
        })
    }

    /// Whether nothing is left of the last command of a slot.
    pub(super) fn is_at_rest(&self, slot: &Slot) -> bool {
        let flight = &self.flights[usize::from(slot.index())];
        flight.is_alone() && !self.queue.holds(slot.index())
    }
}

#[cfg(test)]
mod tests;
