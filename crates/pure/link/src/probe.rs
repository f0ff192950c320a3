// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The floor that queue-pair figures are compared with: the barest ring two threads can share, and a controller that
//! does nothing. Clocks and threads belong to the caller.

use std::sync::Arc;

use crossbeam_utils::CachePadded;

use saker_nvme::{Cqe, Sqe, Status};

use crate::ring::{DeviceCq, DeviceSq, DoorbellError, PostError};
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// A single-producer, single-consumer ring of words: two padded counters and the slots.
struct Ring {
    tail: CachePadded<AtomicU32>,
    head: CachePadded<AtomicU32>,
    words: Box<[AtomicU64]>,
}

/// The writing end of a probe ring.
pub struct Sender {
    ring: Arc<Ring>,
    tail: u32,
    head_seen: u32,
}

/// The reading end of a probe ring.
pub struct Receiver {
    ring: Arc<Ring>,
    head: u32,
}

/// A ring of `capacity` words, rounded up to a power of two.
pub fn channel(capacity: u32) -> (Sender, Receiver) {
    let words = (0..capacity.next_power_of_two()).map(|_| AtomicU64::new(0)).collect();
    let counter = || CachePadded::new(AtomicU32::new(0));
    let ring = Arc::new(Ring { tail: counter(), head: counter(), words });
    (Sender { ring: Arc::clone(&ring), tail: 0, head_seen: 0 }, Receiver { ring, head: 0 })
}

impl Ring {
    #[inline]
    fn word(&self, at: u32) -> &AtomicU64 {
        &self.words[at as usize & (self.words.len() - 1)]
    }
}

impl Sender {
    /// Sends `word`; false if the ring is full.
    #[inline]
    pub fn send(&mut self, word: u64) -> bool {
        let capacity = self.ring.words.len() as u32;
        if self.tail.wrapping_sub(self.head_seen) == capacity {
            self.head_seen = self.ring.head.load(Ordering::Acquire);
            if self.tail.wrapping_sub(self.head_seen) == capacity {
                return false;
            }
        }
        self.ring.word(self.tail).store(word, Ordering::Relaxed);
        self.tail = self.tail.wrapping_add(1);
        self.ring.tail.store(self.tail, Ordering::Release);
        true
    }
}

impl Receiver {
    /// Receives a word, if there is one.
    #[inline]
    pub fn receive(&mut self) -> Option<u64> {
        if self.ring.tail.load(Ordering::Acquire) == self.head {
            return None;
        }
        let word = self.ring.word(self.head).load(Ordering::Relaxed);
        self.head = self.head.wrapping_add(1);
        self.ring.head.store(self.head, Ordering::Release);
        Some(word)
    }
}

/// Sends back what has arrived, at most one word; whether there was one. The reply is dropped if its ring is full, which
/// a ping-pong never meets.
#[inline]
pub fn echo(from: &mut Receiver, to: &mut Sender) -> bool {
    from.receive().is_some_and(|word| to.send(word))
}

/// A controller that completes every command of one queue pair at once, successfully and without looking at it.
#[derive(Debug)]
pub struct NoopController {
    sq: DeviceSq,
    cq: DeviceCq,
    queue: u16,
    answer: Cqe,
    /// Whether `answer` still has to be posted.
    owing: bool,
}

impl NoopController {
    /// Serves the pair with identifier `queue`.
    pub fn new(sq: DeviceSq, cq: DeviceCq, queue: u16) -> Self {
        Self { sq, cq, queue, answer: Cqe::new(0, 0, queue, 0, Status::SUCCESS), owing: false }
    }

    /// Completes up to `budget` commands and returns their number.
    ///
    /// # Errors
    /// [`DoorbellError`] if the host wrote an impossible doorbell.
    #[inline]
    pub fn drive(&mut self, budget: u32) -> Result<u32, DoorbellError> {
        let mut sqe = Sqe::new(0, 0);
        for done in 0..budget {
            if !self.owing && !self.sq.fetch_into(&mut sqe)? {
                return Ok(done);
            }
            if !self.owing {
                self.answer = self.success(sqe.cid.get());
            }
            self.owing = true;
            match self.cq.post(&self.answer) {
                Ok(()) => self.owing = false,
                Err(PostError::Full) => return Ok(done),
                Err(PostError::Doorbell(error)) => return Err(error),
            }
        }
        Ok(budget)
    }

    #[inline]
    fn success(&self, cid: u16) -> Cqe {
        Cqe::new(0, self.sq.head(), self.queue, cid, Status::SUCCESS)
    }
}
