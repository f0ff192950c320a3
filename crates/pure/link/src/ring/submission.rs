// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The controller's side of a submission queue.

use std::sync::Arc;

use super::doorbell::{Doorbell, Watched};
use super::memory::RingMemory;
use super::{DoorbellError, DoorbellKind, Doorbells, RingError, behind, distance, next};
use crate::dma::DmaSpace;
use crate::entry::{SQE_WORDS, Sqe, sqe_from_words};

/// Entries whose cache lines are asked for ahead of the one that is taken.
const AHEAD: u32 = 8;

/// Takes entries from a submission queue.
///
/// An entry is copied before it is looked at, and only entries that a doorbell announced are. A bad doorbell value is
/// reported once; meanwhile the queue goes on with the last good one.
#[derive(Debug)]
pub struct DeviceSq {
    ring: RingMemory<SQE_WORDS>,
    tail: Watched,
    head: u32,
    /// Entries from the head on that are known to be announced.
    known: u32,
}

impl DeviceSq {
    /// The queue `queue` of `entries` entries at `iova`, as in Create I/O Submission Queue or ASQ. Resets its doorbell.
    ///
    /// # Errors
    /// [`RingError`] if the address, the size or the identifier is not possible.
    pub fn new(
        space: &Arc<DmaSpace>,
        doorbells: &Arc<Doorbells>,
        queue: u16,
        iova: u64,
        entries: u32,
    ) -> Result<Self, RingError> {
        let ring = RingMemory::new(space, iova, entries, false)?;
        let tail = Watched::new(Doorbell::new(doorbells, DoorbellKind::SqTail, queue)?);
        Ok(Self { ring, tail, head: 0, known: 0 })
    }

    /// Number of entries announced and not consumed.
    ///
    /// # Errors
    /// [`DoorbellError`] once for each bad value of the tail doorbell.
    #[inline]
    pub fn pending(&mut self) -> Result<u32, DoorbellError> {
        let entries = self.ring.entries();
        let tail = self.tail.refresh(|tail| tail < entries)?;
        let known = distance(self.head, tail, entries);
        debug_assert!(known < entries && self.head < entries, "a queue holds one entry less than it has");
        self.known = known;
        Ok(known)
    }

    /// Consumes one entry, if there is one. Reads the doorbell only when the entries known of are used up.
    ///
    /// # Errors
    /// [`DoorbellError`] once for each bad value of the tail doorbell.
    #[inline]
    pub fn fetch(&mut self) -> Result<Option<Sqe>, DoorbellError> {
        let mut sqe = Sqe::new(0, 0);
        Ok(self.fetch_into(&mut sqe)?.then_some(sqe))
    }

    /// As [`fetch`](Self::fetch), into an entry of the caller's; false if there is none. For polling loops: the entry
    /// stays in place instead of travelling in nested results.
    ///
    /// # Errors
    /// [`DoorbellError`] once for each bad value of the tail doorbell.
    #[inline(always)]
    pub fn fetch_into(&mut self, sqe: &mut Sqe) -> Result<bool, DoorbellError> {
        if self.known == 0 && (self.tail.is_unchanged() || self.look_for_entries()? == 0) {
            return Ok(false);
        }
        *sqe = sqe_from_words(self.ring.load(self.head));
        if self.known > AHEAD {
            self.prefetch(AHEAD);
        }
        self.step();
        Ok(true)
    }

    /// What is announced is on its way from the host's core: its lines are asked for together.
    #[inline(never)]
    fn look_for_entries(&mut self) -> Result<u32, DoorbellError> {
        let known = self.pending()?;
        for n in 1..known.min(AHEAD) {
            self.prefetch(n);
        }
        Ok(known)
    }

    #[inline]
    fn prefetch(&self, n: u32) {
        self.ring.prefetch(self.index(n));
    }

    /// The index of the entry `n` (less than the ring's entries) behind the head.
    #[inline]
    fn index(&self, n: u32) -> u32 {
        behind(self.head, n, self.ring.entries())
    }

    #[inline]
    fn step(&mut self) {
        debug_assert!(self.known > 0, "only announced entries are taken");
        self.head = next(self.head, self.ring.entries());
        self.known -= 1;
    }

    /// Entries announced and not consumed, as far as is known without a look at the doorbell.
    #[inline]
    pub fn known(&self) -> u32 {
        self.known
    }

    /// Whether at least `slots` entries are announced and not consumed. Reads the doorbell only if fewer are known of.
    ///
    /// # Errors
    /// [`DoorbellError`] once for each bad value of the tail doorbell.
    #[inline]
    pub fn has_announced(&mut self, slots: u32) -> Result<bool, DoorbellError> {
        Ok(self.known >= slots || self.pending()? >= slots)
    }

    /// Copies payload from the announced entries behind the head, from byte `offset` of the first of them, without
    /// consuming them: the bytes go straight to where they stay. False, and nothing is copied, if fewer bytes are known to
    /// be announced.
    #[inline]
    pub fn read_payload(&self, offset: usize, into: &mut [u8]) -> bool {
        let announced = self.known as usize * Sqe::BYTES;
        if offset > announced || into.len() > announced - offset {
            return false;
        }
        let (mut slot, mut skip, mut rest) = ((offset / Sqe::BYTES) as u32, offset % Sqe::BYTES, into);
        while !rest.is_empty() {
            let (part, after) = rest.split_at_mut(rest.len().min(Sqe::BYTES - skip));
            self.ring.read_bytes(self.index(slot), skip, part);
            (slot, skip, rest) = (slot + 1, 0, after);
        }
        true
    }

    /// Consumes `slots` entries that are known to be announced, or all of these if they are fewer.
    #[inline]
    pub fn skip_payload(&mut self, slots: u32) {
        let slots = slots.min(self.known);
        self.head = self.index(slots);
        self.known -= slots;
    }

    /// Consumes up to `slots` announced entries as payload, appends their bytes to `into` and returns their number.
    ///
    /// # Errors
    /// [`DoorbellError`] once for each bad value of the tail doorbell.
    #[inline]
    pub fn fetch_payload(&mut self, slots: u32, into: &mut Vec<u8>) -> Result<u32, DoorbellError> {
        let slots = if self.known >= slots { slots } else { self.pending()?.min(slots) };
        for _ in 0..slots {
            let bytes: [u8; Sqe::BYTES] = zerocopy::transmute!(self.ring.load(self.head));
            into.extend_from_slice(&bytes);
            self.step();
        }
        Ok(slots)
    }

    /// Consumes everything that is announced without looking at it.
    ///
    /// # Errors
    /// [`DoorbellError`] once for each bad value of the tail doorbell.
    pub fn discard_announced(&mut self) -> Result<(), DoorbellError> {
        let announced = self.pending()?;
        self.skip_payload(announced);
        Ok(())
    }

    /// Copies up to `into.len()` pending entries without consuming them, and returns their number: to prefetch what
    /// they will need. The host may not change them before the head has passed them, but a faulty one can, so what
    /// counts is what [`fetch`](Self::fetch) gives.
    ///
    /// # Errors
    /// [`DoorbellError`] once for each bad value of the tail doorbell.
    #[inline]
    pub fn peek_batch(&mut self, into: &mut [Sqe]) -> Result<usize, DoorbellError> {
        let count = into.len().min(self.pending()? as usize);
        for (n, sqe) in into[..count].iter_mut().enumerate() {
            *sqe = sqe_from_words(self.ring.load(self.index(n as u32)));
        }
        Ok(count)
    }

    /// The head to report in completions (SQHD): all entries before it are consumed.
    #[inline]
    pub fn head(&self) -> u16 {
        self.head as u16
    }

    /// Looks where the ring is after memory of another process was mapped or unmapped ([`DmaSpace::unmap_foreign`]). False if
    /// it is nowhere: no entry that is taken then means anything.
    pub fn follow_memory(&mut self) -> bool {
        self.ring.follow()
    }

    /// Number of entries of the ring.
    pub fn entries(&self) -> u32 {
        self.ring.entries()
    }
}
