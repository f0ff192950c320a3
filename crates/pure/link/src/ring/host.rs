// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The host's side of a queue pair.

use std::sync::Arc;

use super::completion::PAYLOAD_BYTES;
use super::doorbell::Doorbell;
use super::memory::RingMemory;
use super::{DoorbellKind, Doorbells, RingError, SqFull, distance, next};
use crate::dma::{DmaRegion, DmaSpace};
use crate::entry::{CQE_WORDS, Cqe, SQE_WORDS, Sqe, cqe_from_words, phase, sq_head, sqe_words, with_cid};
use saker_nvme::padded_words;

/// A submission queue and its completion queue, both in arena pages that the pair owns.
///
/// Doorbells are rung when the caller says so: one ring announces a whole batch.
#[derive(Debug)]
pub struct HostQueuePair {
    sq: RingMemory<SQE_WORDS>,
    cq: RingMemory<CQE_WORDS>,
    sq_tail: u32,
    sq_head: u32,
    cq_head: u32,
    phase: bool,
    in_flight: u32,
    bad_heads: u64,
    sq_doorbell: Doorbell,
    cq_doorbell: Doorbell,
    sq_pages: DmaRegion,
    cq_pages: DmaRegion,
}

impl HostQueuePair {
    /// Queue pair `queue` with `sq_entries` and `cq_entries` entries, whose addresses the controller gets by
    /// [`sq_iova`](Self::sq_iova) and [`cq_iova`](Self::cq_iova).
    ///
    /// # Errors
    /// [`RingError`] if the sizes or the identifier are not possible or the arena is full.
    pub fn new(
        space: &Arc<DmaSpace>,
        doorbells: &Arc<Doorbells>,
        queue: u16,
        sq_entries: u32,
        cq_entries: u32,
    ) -> Result<Self, RingError> {
        let sq_pages = space.alloc_bytes(RingMemory::<SQE_WORDS>::bytes(sq_entries)?)?;
        let cq_pages = space.alloc_bytes(RingMemory::<CQE_WORDS>::bytes(cq_entries)?)?;
        Ok(Self {
            sq: RingMemory::new(space, sq_pages.iova(), sq_entries, true)?,
            cq: RingMemory::new(space, cq_pages.iova(), cq_entries, false)?,
            sq_tail: 0,
            sq_head: 0,
            cq_head: 0,
            phase: true,
            in_flight: 0,
            bad_heads: 0,
            sq_doorbell: Doorbell::new(doorbells, DoorbellKind::SqTail, queue)?,
            cq_doorbell: Doorbell::new(doorbells, DoorbellKind::CqHead, queue)?,
            sq_pages,
            cq_pages,
        })
    }

    /// Writes `sqe` to the submission queue; [`ring`](Self::ring) announces it.
    ///
    /// # Errors
    /// [`SqFull`] if the entry after the tail is the head that completions reported last.
    #[inline]
    pub fn submit(&mut self, sqe: &Sqe) -> Result<(), SqFull> {
        self.submit_words(sqe_words(sqe))
    }

    /// [`submit`](Self::submit) with command identifier `cid` in the place of the entry's.
    ///
    /// # Errors
    /// As for `submit`.
    #[inline]
    pub(crate) fn submit_as(&mut self, sqe: &Sqe, cid: u16) -> Result<(), SqFull> {
        let mut words = sqe_words(sqe);
        words[0] = with_cid(words[0], cid);
        self.submit_words(words)
    }

    #[inline]
    fn submit_words(&mut self, words: [u64; SQE_WORDS]) -> Result<(), SqFull> {
        self.push(words)?;
        self.in_flight += 1;
        Ok(())
    }

    /// Writes 64 bytes of payload that belong to the command before them (commands with inline payload): no completion
    /// of its own will come for this entry. Ask [`free_entries`](Self::free_entries) first, so that none is cut off.
    ///
    /// # Errors
    /// [`SqFull`] as for [`submit`](Self::submit).
    #[inline]
    pub fn submit_payload(&mut self, payload: &[u8; Sqe::BYTES]) -> Result<(), SqFull> {
        self.push(zerocopy::transmute!(*payload))
    }

    /// [`submit_payload`](Self::submit_payload) of up to 64 bytes, with zeros behind them.
    ///
    /// # Errors
    /// [`SqFull`] as for [`submit`](Self::submit).
    #[inline]
    pub(crate) fn submit_part(&mut self, part: &[u8]) -> Result<(), SqFull> {
        self.push(padded_words(part))
    }

    #[inline]
    fn push(&mut self, words: [u64; SQE_WORDS]) -> Result<(), SqFull> {
        let after = next(self.sq_tail, self.sq.entries());
        if after == self.sq_head {
            return Err(SqFull);
        }
        let free = self.free_entries();
        self.sq.store(self.sq_tail, words);
        self.sq_tail = after;
        debug_assert!(self.free_entries() + 1 == free, "one entry is taken");
        Ok(())
    }

    /// Announces everything submitted to the controller.
    #[inline]
    pub fn ring(&self) {
        self.sq_doorbell.write(self.sq_tail);
    }

    /// Takes the next completion, if there is one; its phase bit is as the controller wrote it. The controller can use
    /// the entry again after [`ring_cq`](Self::ring_cq).
    #[inline]
    pub fn poll(&mut self) -> Option<Cqe> {
        self.poll_words().map(cqe_from_words)
    }

    /// [`poll`](Self::poll); words stay in registers where entries would be copied.
    #[inline]
    pub(crate) fn poll_words(&mut self) -> Option<[u64; CQE_WORDS]> {
        let word = self.cq.acquire(self.cq_head, 1);
        if phase(word) != self.phase {
            return None;
        }
        let words = [self.cq.load_word(self.cq_head, 0), word];
        self.cq_head = next(self.cq_head, self.cq.entries());
        self.phase ^= self.cq_head == 0;
        self.in_flight = self.in_flight.saturating_sub(1);
        self.take_head(u32::from(sq_head(word)));
        Some(words)
    }

    /// Whether the `n`th of the completions that come next has been posted (1 is the next), and so all before it. Waiting
    /// for it leaves the cache lines of those before to the controller, which writes them. With payload in the queue it is
    /// only a guess; it holds at the latest when everything in flight has completed, for an `n` of at most
    /// [`in_flight`](Self::in_flight).
    #[inline]
    pub fn has_completed(&self, n: u32) -> bool {
        let (at, entries) = (self.cq_head + n.saturating_sub(1), self.cq.entries());
        let (at, wrapped) = if at >= entries { (at - entries, true) } else { (at, false) };
        at < entries && phase(self.cq.acquire(at, 1)) == (self.phase ^ wrapped)
    }

    /// Takes the payload that follows the completion just [polled](Self::poll), 14 bytes an entry, into `out`. Only for
    /// commands whose completion says so: there is nothing else to tell its entries from completions.
    pub fn take_payload(&mut self, out: &mut [u8]) {
        for part in out.chunks_mut(PAYLOAD_BYTES) {
            let bytes: [u8; Cqe::BYTES] = zerocopy::transmute!(self.cq.load(self.cq_head));
            part.copy_from_slice(&bytes[..part.len()]);
            self.cq_head = next(self.cq_head, self.cq.entries());
            self.phase ^= self.cq_head == 0;
        }
    }

    /// The controller's head lies between the last one and our tail; anything else would let us overwrite entries.
    #[inline]
    fn take_head(&mut self, head: u32) {
        let entries = self.sq.entries();
        let outstanding = distance(self.sq_head, self.sq_tail, entries);
        if head < entries && distance(self.sq_head, head, entries) <= outstanding {
            self.sq_head = head;
        } else {
            self.bad_heads += 1;
        }
        debug_assert!(
            distance(self.sq_head, self.sq_tail, entries) <= outstanding,
            "whatever the controller says, entries only become free"
        );
    }

    /// Gives the entries of all completions taken back to the controller; once per batch is enough.
    #[inline]
    pub fn ring_cq(&self) {
        self.cq_doorbell.write(self.cq_head);
    }

    /// Commands submitted and not completed.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Entries that can be submitted before the queue is full.
    #[inline]
    pub fn free_entries(&self) -> u32 {
        self.sq.entries() - 1 - distance(self.sq_head, self.sq_tail, self.sq.entries())
    }

    /// The submission queue head that completions reported last.
    #[inline]
    pub fn sq_head(&self) -> u32 {
        self.sq_head
    }

    /// Completions whose SQHD was impossible (and ignored): the controller is broken.
    pub fn bad_heads(&self) -> u64 {
        self.bad_heads
    }

    /// Queue identifier.
    pub fn queue(&self) -> u16 {
        self.sq_doorbell.queue()
    }

    /// Address of the submission queue.
    pub fn sq_iova(&self) -> u64 {
        self.sq_pages.iova()
    }

    /// Address of the completion queue.
    pub fn cq_iova(&self) -> u64 {
        self.cq_pages.iova()
    }

    /// Entries of the submission queue.
    pub fn sq_entries(&self) -> u32 {
        self.sq.entries()
    }

    /// Entries of the completion queue.
    pub fn cq_entries(&self) -> u32 {
        self.cq.entries()
    }
}
