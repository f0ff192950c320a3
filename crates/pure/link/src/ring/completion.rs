//! The controller's side of a completion queue.

use std::sync::Arc;

use thiserror::Error;

use super::doorbell::{Doorbell, Watched};
use super::memory::RingMemory;
use super::{DoorbellError, DoorbellKind, Doorbells, RingError, distance, next};
use crate::dma::DmaSpace;
use crate::entry::{CQE_WORDS, Cqe, cqe_words};

/// Bytes of payload of an entry: all but the word with the phase tag.
pub(super) const PAYLOAD_BYTES: usize = 14;

/// Puts entries into a completion queue. Several submission queues may share it.
#[derive(Debug)]
pub struct DeviceCq {
    ring: RingMemory<CQE_WORDS>,
    head: Watched,
    tail: u32,
    phase: bool,
}

/// A completion that was not posted; try again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PostError {
    /// The host has not taken enough of the earlier ones.
    #[error("the completion queue is full")]
    Full,
    /// The head doorbell has a bad value. Reported once for each.
    #[error(transparent)]
    Doorbell(#[from] DoorbellError),
}

impl DeviceCq {
    /// The queue `queue` of `entries` entries at `iova`, as in Create I/O Completion Queue or ACQ. Resets its doorbell;
    /// the host has cleared the entries.
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
        let head = Watched::new(Doorbell::new(doorbells, DoorbellKind::CqHead, queue)?);
        Ok(Self { ring, head, tail: 0, phase: true })
    }

    /// Posts `cqe`; its phase is set here (the first pass through the ring has phase 1).
    ///
    /// # Errors
    /// [`PostError`] if there is no room as far as the head doorbell says.
    #[inline]
    pub fn post(&mut self, cqe: &Cqe) -> Result<(), PostError> {
        let after = next(self.tail, self.ring.entries());
        if after == self.head.good() && after == self.refresh()? {
            return Err(PostError::Full);
        }
        let words = cqe_words(&cqe.with_phase(self.phase));
        self.ring.store_word(self.tail, 0, words[0]);
        // The phase is in the last word, so publishing that one publishes the entry.
        self.ring.publish(self.tail, 1, words[1]);
        self.tail = after;
        self.phase ^= after == 0;
        Ok(())
    }

    /// Posts `cqe` with `payload` in the entries behind it, 14 bytes each, zero-padded; their last words have the phase tag
    /// and a status field of zero. `cqe` is published last. All or nothing.
    ///
    /// # Errors
    /// [`PostError`] if there is no room for all of it as far as the head doorbell says.
    pub fn post_with(&mut self, cqe: &Cqe, payload: &[u8]) -> Result<(), PostError> {
        if (payload.len().div_ceil(PAYLOAD_BYTES) as u32) >= self.room()? {
            return Err(PostError::Full);
        }
        let (first, phase) = (self.tail, self.phase);
        self.advance();
        for part in payload.chunks(PAYLOAD_BYTES) {
            let mut bytes = [0; Cqe::BYTES];
            bytes[..part.len()].copy_from_slice(part);
            bytes[PAYLOAD_BYTES] = u8::from(self.phase);
            let words: [u64; CQE_WORDS] = zerocopy::transmute!(bytes);
            self.ring.store(self.tail, words);
            self.advance();
        }
        let words = cqe_words(&cqe.with_phase(phase));
        self.ring.store_word(first, 0, words[0]);
        self.ring.publish(first, 1, words[1]);
        Ok(())
    }

    fn advance(&mut self) {
        self.tail = next(self.tail, self.ring.entries());
        self.phase ^= self.tail == 0;
    }

    /// Number of completions that can be posted now.
    ///
    /// # Errors
    /// [`DoorbellError`] once for each bad value of the head doorbell.
    pub fn room(&mut self) -> Result<u32, DoorbellError> {
        let head = self.refresh()?;
        Ok(self.ring.entries() - 1 - distance(head, self.tail, self.ring.entries()))
    }

    /// Number of entries of the ring.
    pub fn entries(&self) -> u32 {
        self.ring.entries()
    }

    /// A host cannot have taken more than was posted.
    #[inline]
    fn refresh(&mut self) -> Result<u32, DoorbellError> {
        let (entries, tail, old) = (self.ring.entries(), self.tail, self.head.good());
        let posted = distance(old, tail, entries);
        self.head.refresh(|head| head < entries && distance(old, head, entries) <= posted)
    }
}
