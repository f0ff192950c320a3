// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Doorbell registers (NVMe over PCIe Transport 1.0, section 3.1.2).

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use crossbeam_utils::CachePadded;
use thiserror::Error;

use super::RingError;
use crate::sync::{AtomicU32, Ordering};

/// The doorbells of a controller: a submission queue tail and a completion queue head per queue identifier, each on a
/// cache line of its own.
#[derive(Debug)]
pub struct Doorbells {
    pairs: Box<[Pair]>,
}

#[derive(Debug)]
struct Pair {
    sq_tail: CachePadded<AtomicU32>,
    cq_head: CachePadded<AtomicU32>,
}

/// Which of the two doorbells of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoorbellKind {
    /// SQyTDBL.
    SqTail,
    /// CQyHDBL.
    CqHead,
}

/// A value that the queue's doorbell cannot have. The controller reports it as an asynchronous event, "Invalid Doorbell
/// Write Value" (NVMe Base 2.0, figure 146).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("doorbell {kind:?} of queue {queue} has the invalid value {value}")]
pub struct DoorbellError {
    /// Queue identifier.
    pub queue: u16,
    /// Which doorbell.
    pub kind: DoorbellKind,
    /// What was written to it.
    pub value: u32,
}

impl Doorbells {
    /// Doorbells for queue identifiers `0..queue_pairs`, the admin queues included.
    pub fn new(queue_pairs: u16) -> Arc<Self> {
        let pair = |_| Pair {
            sq_tail: CachePadded::new(AtomicU32::new(0)),
            cq_head: CachePadded::new(AtomicU32::new(0)),
        };
        Arc::new(Self { pairs: (0..queue_pairs).map(pair).collect() })
    }

    /// Number of queue identifiers.
    pub fn queue_pairs(&self) -> u16 {
        self.pairs.len() as u16
    }

    /// Writes a doorbell, as the host does; what was stored before is visible to who [`read`](Self::read)s the value.
    ///
    /// # Errors
    /// [`RingError::QueueId`] if there is no such queue.
    pub fn write(&self, kind: DoorbellKind, queue: u16, value: u32) -> Result<(), RingError> {
        self.get(kind, queue).map(|doorbell| doorbell.store(value, Ordering::Release))
    }

    /// Reads a doorbell, as the controller does.
    ///
    /// # Errors
    /// [`RingError::QueueId`] if there is no such queue.
    pub fn read(&self, kind: DoorbellKind, queue: u16) -> Result<u32, RingError> {
        self.get(kind, queue).map(|doorbell| doorbell.load(Ordering::Acquire))
    }

    fn get(&self, kind: DoorbellKind, queue: u16) -> Result<&AtomicU32, RingError> {
        let pair = self.pairs.get(usize::from(queue)).ok_or(RingError::QueueId(queue))?;
        Ok(match kind {
            DoorbellKind::SqTail => &pair.sq_tail,
            DoorbellKind::CqHead => &pair.cq_head,
        })
    }
}

/// One doorbell; it was checked once that it exists.
///
/// Invariant: `register` points into `_all`, whose registers never move and live as long as it does. The pointer saves
/// the bounds and the choice of the register on every access.
pub(super) struct Doorbell {
    register: NonNull<AtomicU32>,
    _all: Arc<Doorbells>,
    kind: DoorbellKind,
    queue: u16,
}

// SAFETY: a doorbell is a shared reference to an atomic together with the Arc that keeps it alive.
unsafe impl Send for Doorbell {}
// SAFETY: as for Send; all access is atomic.
unsafe impl Sync for Doorbell {}

impl Doorbell {
    pub(super) fn new(all: &Arc<Doorbells>, kind: DoorbellKind, queue: u16) -> Result<Self, RingError> {
        let register = NonNull::from(all.get(kind, queue)?);
        Ok(Self { register, _all: Arc::clone(all), kind, queue })
    }

    #[inline]
    fn register(&self) -> &AtomicU32 {
        // SAFETY: see the invariant of the type.
        unsafe { self.register.as_ref() }
    }

    #[inline]
    pub(super) fn write(&self, value: u32) {
        self.register().store(value, Ordering::Release);
    }

    #[inline]
    pub(super) fn read(&self) -> u32 {
        self.register().load(Ordering::Acquire)
    }

    pub(super) fn queue(&self) -> u16 {
        self.queue
    }
}

impl fmt::Debug for Doorbell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Doorbell({:?} of queue {})", self.kind, self.queue)
    }
}

/// The controller's view of one doorbell: the last good value, and each bad one reported once.
#[derive(Debug)]
pub(super) struct Watched {
    doorbell: Doorbell,
    good: u32,
    reported: Option<u32>,
}

impl Watched {
    /// Starts to watch; the register is zero from now on, as after the creation of a queue.
    pub(super) fn new(doorbell: Doorbell) -> Self {
        doorbell.write(0);
        Self { doorbell, good: 0, reported: None }
    }

    #[inline]
    pub(super) fn good(&self) -> u32 {
        self.good
    }

    /// Whether the register has the value that was kept last: nothing has happened since.
    #[inline]
    pub(super) fn is_unchanged(&self) -> bool {
        self.doorbell.read() == self.good
    }

    /// Reads the register and keeps its value if `valid` says so.
    #[inline]
    pub(super) fn refresh(&mut self, valid: impl FnOnce(u32) -> bool) -> Result<u32, DoorbellError> {
        let value = self.doorbell.read();
        if value != self.good {
            if !valid(value) {
                return self.reject(value);
            }
            self.good = value;
            self.reported = None;
        }
        Ok(value)
    }

    #[cold]
    fn reject(&mut self, value: u32) -> Result<u32, DoorbellError> {
        if self.reported == Some(value) {
            return Ok(self.good);
        }
        self.reported = Some(value);
        Err(DoorbellError { queue: self.doorbell.queue(), kind: self.doorbell.kind, value })
    }
}
