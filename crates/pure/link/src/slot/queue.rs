// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A queue pair that holds the slots of its commands in flight.

use thiserror::Error;

use super::Slot;
use crate::entry::{CQE_WORDS, Cqe, Sqe, cid, cqe_from_words};
use crate::ring::{HostQueuePair, SqFull};

/// A [`HostQueuePair`] whose commands are identified by slots.
#[derive(Debug)]
pub struct SlotQueue {
    pair: HostQueuePair,
    in_flight: Box<[Option<Slot>]>,
}

/// A completed command: the entry, and its slot with the staging page taken back from the device.
#[derive(Debug)]
pub struct Completion {
    /// The slot the command was submitted with.
    pub slot: Slot,
    words: [u64; CQE_WORDS],
}

impl Completion {
    /// What the device answered.
    #[inline]
    pub fn cqe(&self) -> Cqe {
        cqe_from_words(self.words)
    }
}

/// A command that was not submitted, with its slot.
#[derive(Debug, Error)]
#[error("command not submitted: {reason}")]
pub struct Rejected {
    /// The slot it came with, unchanged.
    pub slot: Slot,
    /// Why.
    pub reason: RejectReason,
}

/// Why a command was not submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RejectReason {
    /// No free entry.
    #[error(transparent)]
    Full(#[from] SqFull),
    /// The slot's index is beyond what the queue was made for, or in flight already with the slot of another pool.
    #[error("the command identifier is not free in this queue")]
    Identifier,
}

/// A completion that answers no command of ours: the controller is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CompletionError {
    /// No command with this identifier is in flight: it is unknown, or was completed before.
    #[error("completion for command identifier {0}, which is not in flight")]
    NotInFlight(u16),
}

impl SlotQueue {
    /// Takes over `pair` for commands with identifiers below `slots`.
    pub fn new(pair: HostQueuePair, slots: u16) -> Self {
        Self { pair, in_flight: (0..slots).map(|_| None).collect() }
    }

    /// Submits `sqe` with the identifier of `slot` and keeps the slot; [`ring`](Self::ring) announces it.
    ///
    /// # Errors
    /// [`Rejected`] gives the slot back.
    #[inline(always)]
    pub fn submit(&mut self, mut slot: Slot, sqe: &Sqe) -> Result<(), Rejected> {
        let Some(place) = self.in_flight.get_mut(usize::from(slot.index())).filter(|place| place.is_none())
        else {
            return Err(Rejected { slot, reason: RejectReason::Identifier });
        };
        if let Err(full) = self.pair.submit_as(sqe, slot.index()) {
            return Err(Rejected { slot, reason: full.into() });
        }
        // The device may not look before the doorbell; if it does, it finds nothing mapped.
        slot.depart();
        *place = Some(slot);
        debug_assert!(
            self.pair.in_flight() as usize <= self.in_flight.len(),
            "a command in flight has a slot of its own"
        );
        Ok(())
    }

    /// [`submit`](Self::submit) with `payload` in the entries behind it, 64 bytes each, zero-padded; all or nothing.
    ///
    /// # Errors
    /// [`Rejected`] gives the slot back.
    #[inline]
    pub fn submit_with(&mut self, slot: Slot, sqe: &Sqe, payload: &[u8]) -> Result<(), Rejected> {
        if payload.len().div_ceil(Sqe::BYTES) >= self.pair.free_entries() as usize {
            return Err(Rejected { slot, reason: SqFull.into() });
        }
        self.submit(slot, sqe)?;
        for part in payload.chunks(Sqe::BYTES) {
            let pushed = self.pair.submit_part(part);
            debug_assert!(pushed.is_ok(), "room was checked above");
        }
        Ok(())
    }

    /// Whether the command of the slot with that index is in flight.
    #[inline]
    pub fn holds(&self, index: u16) -> bool {
        self.in_flight.get(usize::from(index)).is_some_and(Option::is_some)
    }

    /// Says what contradicts itself, if anything does. It looks at every slot.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn check(&self) -> Result<(), String> {
        let held = (0u16..).zip(&self.in_flight).filter_map(|(n, slot)| Some((n, slot.as_ref()?)));
        if let Some((n, slot)) = held.clone().find(|(n, slot)| slot.index() != *n) {
            return Err(format!("slot {} is in flight as command {n}", slot.index()));
        }
        let (slots, commands) = (held.count(), self.pair.in_flight());
        // Fewer where the controller has completed what it was not asked for.
        if commands as usize > slots {
            return Err(format!("{commands} commands are in flight, with {slots} slots"));
        }
        Ok(())
    }

    /// Announces everything submitted to the controller.
    #[inline]
    pub fn ring(&self) {
        self.pair.ring();
    }

    /// Takes the next completion, if there is one.
    ///
    /// # Errors
    /// [`CompletionError`] for an entry that answers no command in flight; the entry is consumed.
    #[inline(always)]
    pub fn poll(&mut self) -> Option<Result<Completion, CompletionError>> {
        let words = self.pair.poll_words()?;
        let cid = cid(words[1]);
        let slot = self.in_flight.get_mut(usize::from(cid)).and_then(Option::take);
        let Some(mut slot) = slot else { return Some(Err(CompletionError::NotInFlight(cid))) };
        slot.arrive();
        Some(Ok(Completion { slot, words }))
    }

    /// Gives the entries of all completions taken back to the controller.
    #[inline]
    pub fn ring_cq(&self) {
        self.pair.ring_cq();
    }

    /// Takes back the slots of all commands in flight and the queue pair, as after a controller reset. Their pages are
    /// closed to the device, even if it goes on working on them.
    pub fn abandon(self) -> (HostQueuePair, impl Iterator<Item = Slot>) {
        let slots = self.in_flight.into_iter().flatten().map(|mut slot| {
            slot.arrive();
            slot
        });
        (self.pair, slots)
    }

    /// The queue pair: its state, addresses and payload entries.
    #[inline]
    pub fn pair(&self) -> &HostQueuePair {
        &self.pair
    }

    /// The queue pair, to submit payload entries.
    #[inline]
    pub fn pair_mut(&mut self) -> &mut HostQueuePair {
        &mut self.pair
    }
}
