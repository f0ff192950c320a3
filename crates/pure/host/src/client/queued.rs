//! Writes that are not waited for, up to the depth of the queue.

use saker_nvme::Key;
use saker_nvme::kv::StoreOptions;

use super::KvClient;
use crate::error::{HostError, check};
use crate::kv_queue::{Done, Ticket};
use crate::turn::Turn;

/// Counters of queued writes by key hash. A power of two well above the usual depth, so that different keys rarely meet;
/// if they do, one waits without need.
const BUCKETS: usize = 1024;

/// The queued writes in flight.
#[derive(Debug)]
pub(super) struct Queued {
    /// By slot.
    keys: Box<[Option<(Ticket, Key)>]>,
    buckets: Box<[u16; BUCKETS]>,
    in_flight: usize,
    unannounced: u16,
    ring_every: u16,
    first_error: Option<(Key, HostError)>,
}

impl Queued {
    pub(super) fn new(slots: usize, ring_every: u16) -> Self {
        Self {
            keys: vec![None; slots].into(),
            buckets: Box::new([0; BUCKETS]),
            in_flight: 0,
            unannounced: 0,
            ring_every: ring_every.max(1),
            first_error: None,
        }
    }

    /// Everything submitted has been announced.
    #[inline]
    pub(super) fn rung(&mut self) {
        self.unannounced = 0;
    }

    #[inline]
    fn submitted(&mut self, ticket: Ticket, key: &Key) {
        self.keys[usize::from(ticket.slot())] = Some((ticket, *key));
        self.buckets[bucket(key)] += 1;
        self.in_flight += 1;
        self.unannounced += 1;
    }

    /// Books a completion, unless it is of a call that has given up waiting.
    #[inline]
    pub(super) fn completed(&mut self, done: &Done<'_>) {
        let Some((_, key)) =
            self.keys[usize::from(done.ticket.slot())].take_if(|(ticket, _)| *ticket == done.ticket)
        else {
            return;
        };
        self.buckets[bucket(&key)] -= 1;
        self.in_flight -= 1;
        if let Err(error) = check(done.status) {
            self.failed(key, error);
        }
    }

    #[cold]
    fn failed(&mut self, key: Key, error: HostError) {
        self.first_error.get_or_insert((key, error));
    }

    /// Whether a write of `key` may be in flight.
    #[inline]
    fn may_hold(&self, key: &Key) -> bool {
        self.in_flight > 0 && self.buckets[bucket(key)] > 0
    }
}

/// Multiplication spreads the key's halves; the top bits depend on all of them.
#[inline]
fn bucket(key: &Key) -> usize {
    const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
    let number = u128::from_le_bytes(*key.padded());
    let folded = (number as u64 ^ ((number >> 64) as u64).rotate_left(29)).wrapping_add(key.len() as u64);
    (folded.wrapping_mul(SPREAD) >> (64 - BUCKETS.trailing_zeros())) as usize
}

impl<T: Turn> KvClient<T> {
    /// Submits a write and returns; waits only if the queue is full or a write of the same key may be in flight. Later
    /// calls of this client see the value. Errors of the device are kept for [`drain`](Self::drain).
    ///
    /// # Errors
    /// [`HostError`]: the write was not submitted.
    #[inline]
    pub fn put_queued(&mut self, key: &Key, value: &[u8]) -> Result<(), HostError> {
        self.settle(key)?;
        let ticket = self.submit_store(key, value, StoreOptions::NONE)?;
        self.queued.submitted(ticket, key);
        if self.queued.unannounced >= self.queued.ring_every {
            self.queue.ring();
            self.queued.rung();
            self.reap()?;
        }
        Ok(())
    }

    /// Waits for all queued writes.
    ///
    /// # Errors
    /// [`HostError::Queued`] with the key of the first write that failed since the last drain; others may have failed too.
    pub fn drain(&mut self) -> Result<(), HostError> {
        self.settle_all()?;
        match self.queued.first_error.take() {
            None => Ok(()),
            Some((key, error)) => Err(HostError::Queued { key, error: Box::new(error) }),
        }
    }

    /// Queued writes in flight.
    pub fn queued(&self) -> usize {
        self.queued.in_flight
    }

    /// Waits until no queued write of `key` is in flight.
    #[inline]
    pub(super) fn settle(&mut self, key: &Key) -> Result<(), HostError> {
        if self.queued.may_hold(key) { self.settle_slowly(key) } else { Ok(()) }
    }

    #[cold]
    fn settle_slowly(&mut self, key: &Key) -> Result<(), HostError> {
        self.wait_until(|client| !client.queued.may_hold(key))
    }

    /// Waits until no queued write is in flight.
    pub(super) fn settle_all(&mut self) -> Result<(), HostError> {
        if self.queued.in_flight == 0 {
            Ok(())
        } else {
            self.wait_until(|client| client.queued.in_flight == 0)
        }
    }
}
