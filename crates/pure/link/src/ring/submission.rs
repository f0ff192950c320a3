//! The controller's side of a submission queue.

use std::sync::Arc;

use super::doorbell::{Doorbell, Watched};
use super::memory::RingMemory;
use super::{DoorbellError, DoorbellKind, Doorbells, RingError, distance, next};
use crate::dma::DmaSpace;
use crate::entry::{SQE_WORDS, Sqe, sqe_from_words};

/// Takes entries from a submission queue.
///
/// An entry is copied before it is looked at, and only entries that a doorbell announced are. A bad doorbell value is
/// reported once; meanwhile the queue goes on with the last good one.
#[derive(Debug)]
pub struct DeviceSq {
    ring: RingMemory<SQE_WORDS>,
    tail: Watched,
    head: u32,
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
        let ring = RingMemory::new(space, iova, entries)?;
        let tail = Watched::new(Doorbell::new(doorbells, DoorbellKind::SqTail, queue)?);
        Ok(Self { ring, tail, head: 0 })
    }

    /// Number of entries announced and not consumed.
    ///
    /// # Errors
    /// [`DoorbellError`] once for each bad value of the tail doorbell.
    #[inline]
    pub fn pending(&mut self) -> Result<u32, DoorbellError> {
        let entries = self.ring.entries();
        let tail = self.tail.refresh(|tail| tail < entries)?;
        Ok(distance(self.head, tail, entries))
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
    #[inline]
    pub fn fetch_into(&mut self, sqe: &mut Sqe) -> Result<bool, DoorbellError> {
        if self.head == self.tail.good() && self.pending()? == 0 {
            return Ok(false);
        }
        *sqe = sqe_from_words(self.ring.load(self.head));
        self.head = next(self.head, self.ring.entries());
        Ok(true)
    }

    /// Consumes up to `slots` announced entries as payload, appends their bytes to `into` and returns their number.
    ///
    /// # Errors
    /// [`DoorbellError`] once for each bad value of the tail doorbell.
    #[inline]
    pub fn fetch_payload(&mut self, slots: u32, into: &mut Vec<u8>) -> Result<u32, DoorbellError> {
        let known = distance(self.head, self.tail.good(), self.ring.entries());
        let slots = if known >= slots { slots } else { self.pending()?.min(slots) };
        for _ in 0..slots {
            let bytes: [u8; Sqe::BYTES] = zerocopy::transmute!(self.ring.load(self.head));
            into.extend_from_slice(&bytes);
            self.head = next(self.head, self.ring.entries());
        }
        Ok(slots)
    }

    /// Consumes everything that is announced without looking at it.
    ///
    /// # Errors
    /// [`DoorbellError`] once for each bad value of the tail doorbell.
    pub fn discard_announced(&mut self) -> Result<(), DoorbellError> {
        self.pending()?;
        self.head = self.tail.good();
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
        let mut at = self.head;
        for sqe in &mut into[..count] {
            *sqe = sqe_from_words(self.ring.load(at));
            at = next(at, self.ring.entries());
        }
        Ok(count)
    }

    /// The head to report in completions (SQHD): all entries before it are consumed.
    #[inline]
    pub fn head(&self) -> u16 {
        self.head as u16
    }

    /// Number of entries of the ring.
    pub fn entries(&self) -> u32 {
        self.ring.entries()
    }
}
