// SPDX-License-Identifier: Apache-2.0 OR MIT
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

/// Entries of a cache line, where the ring begins at one.
const LINE_ENTRIES: u32 = 4;
const _: () = assert!(LINE_ENTRIES as usize * Cqe::BYTES == 64);

/// Puts entries into a completion queue. Several submission queues may share it.
#[derive(Debug)]
pub struct DeviceCq {
    ring: RingMemory<CQE_WORDS>,
    head: Watched,
    /// Behind the last entry, written or not.
    tail: u32,
    /// How often the ring was gone through: in the first pass, and in every other one after it, the phase is 1.
    laps: u32,
    /// Entries before the tail that are not written yet; all of one line.
    unwritten: [[u64; CQE_WORDS]; LINE_ENTRIES as usize],
    unwritten_count: u32,
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
        let ring = RingMemory::new(space, iova, entries, true)?;
        let head = Watched::new(Doorbell::new(doorbells, DoorbellKind::CqHead, queue)?);
        Ok(Self { ring, head, tail: 0, laps: 0, unwritten: Default::default(), unwritten_count: 0 })
    }

    /// Posts `cqe`; its phase is set here (the first pass through the ring has phase 1).
    ///
    /// # Errors
    /// [`PostError`] if there is no room as far as the head doorbell says.
    // Always inlined: a command that is alone in its queue ends here.
    #[inline(always)]
    pub fn post(&mut self, cqe: &Cqe) -> Result<(), PostError> {
        self.publish();
        let (at, after) = (self.tail, self.take_entry()?);
        self.write(at, cqe_words(cqe, self.phase()));
        self.tail = after;
        self.laps = self.laps.wrapping_add(u32::from(after == 0));
        Ok(())
    }

    /// As [`post`](Self::post), but the host may see it only after [`publish`](Self::publish): entries that share a cache
    /// line are written together, so that a polling host takes the line away once and not for each of them.
    ///
    /// # Errors
    /// [`PostError`] as for `post`; what was posted before stays as it is.
    #[inline]
    pub fn post_later(&mut self, cqe: &Cqe) -> Result<(), PostError> {
        let after = self.take_entry()?;
        let place = self.unwritten_count % LINE_ENTRIES;
        self.unwritten[place as usize] = cqe_words(cqe, self.phase());
        self.unwritten_count = place + 1;
        self.tail = after;
        if after.is_multiple_of(LINE_ENTRIES) {
            self.publish();
            self.laps = self.laps.wrapping_add(u32::from(after == 0));
        }
        Ok(())
    }

    /// The tail behind the next entry, if there is room for that.
    #[inline]
    fn take_entry(&mut self) -> Result<u32, PostError> {
        let after = next(self.tail, self.ring.entries());
        if after == self.head.good() && after == self.refresh()? {
            return Err(PostError::Full);
        }
        debug_assert!(after != self.head.good(), "no entry is written over that the host has not taken");
        Ok(after)
    }

    #[inline]
    fn write(&self, at: u32, words: [u64; CQE_WORDS]) {
        self.ring.store_word(at, 0, words[0]);
        // The phase is in the last word, so publishing that one publishes the entry.
        self.ring.publish(at, 1, words[1]);
    }

    /// Lets the host see everything posted.
    #[inline]
    pub fn publish(&mut self) {
        if self.unwritten_count > 0 {
            self.write_line();
        }
    }

    fn write_line(&mut self) {
        // No line goes on behind the ring's end.
        let end = if self.tail == 0 { self.ring.entries() } else { self.tail };
        let first = end - self.unwritten_count;
        for (n, words) in self.unwritten.iter().take(self.unwritten_count as usize).enumerate() {
            self.write(first + n as u32, *words);
        }
        self.unwritten_count = 0;
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
        self.publish();
        let (first, phase) = (self.tail, self.phase());
        self.advance();
        for part in payload.chunks(PAYLOAD_BYTES) {
            let mut bytes = [0; Cqe::BYTES];
            bytes[..part.len()].copy_from_slice(part);
            bytes[PAYLOAD_BYTES] = u8::from(self.phase());
            let words: [u64; CQE_WORDS] = zerocopy::transmute!(bytes);
            self.ring.store(self.tail, words);
            self.advance();
        }
        self.write(first, cqe_words(cqe, phase));
        Ok(())
    }

    fn advance(&mut self) {
        self.tail = next(self.tail, self.ring.entries());
        self.laps = self.laps.wrapping_add(u32::from(self.tail == 0));
    }

    #[inline]
    fn phase(&self) -> bool {
        self.laps & 1 == 0
    }

    /// Another value after each completion: how many entries were posted, counted in laps of the ring and entries.
    #[inline]
    pub fn posted(&self) -> (u32, u32) {
        (self.laps, self.tail)
    }

    /// As [`DeviceSq::follow_memory`](crate::DeviceSq::follow_memory).
    pub fn follow_memory(&mut self) -> bool {
        self.ring.follow()
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
