// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Doorbell registers (NVMe over PCIe Transport 1.0, section 3.1.2).

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use crossbeam_utils::CachePadded;
use thiserror::Error;

use super::RingError;
use crate::dma::ForeignOwner;
use crate::sync::{AtomicU32, Ordering};

/// The doorbells of a controller: a submission queue tail and a completion queue head per queue identifier, each on a
/// cache line of its own, or as a BAR has them in memory that another process shares.
#[derive(Debug)]
pub struct Doorbells(Place);

#[derive(Debug)]
enum Place {
    Own(Box<[Pair]>),
    Shared(Shared),
}

/// Invariant: `first` points to `2 * queue_pairs` registers that stay where they are as long as `_owner` lives.
#[derive(Debug)]
struct Shared {
    first: NonNull<AtomicU32>,
    queue_pairs: u16,
    _owner: Arc<dyn ForeignOwner>,
}

// SAFETY: it is a shared reference to atomics together with the Arc that keeps them alive.
unsafe impl Send for Shared {}
// SAFETY: as for Send; all access is atomic.
unsafe impl Sync for Shared {}

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
        Arc::new(Self(Place::Own((0..queue_pairs).map(pair).collect())))
    }

    /// The same in memory that another process shares, 4 bytes apart: as in a BAR with CAP.DSTRD 0.
    ///
    /// # Safety
    /// `first` points to `8 * queue_pairs` bytes, 4-byte-aligned, that are readable and writable as long as `owner` lives,
    /// whatever the other process does, and that this process touches by atomic operations of 4 bytes only.
    pub unsafe fn shared(first: NonNull<u8>, queue_pairs: u16, owner: Arc<dyn ForeignOwner>) -> Arc<Self> {
        let first: NonNull<AtomicU32> = first.cast();
        assert!(first.is_aligned(), "doorbells have 4 bytes");
        Arc::new(Self(Place::Shared(Shared { first, queue_pairs, _owner: owner })))
    }

    /// Number of queue identifiers.
    pub fn queue_pairs(&self) -> u16 {
        match &self.0 {
            Place::Own(pairs) => pairs.len() as u16,
            Place::Shared(shared) => shared.queue_pairs,
        }
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
        let found = match &self.0 {
            Place::Own(pairs) => pairs.get(usize::from(queue)).map(|pair| match kind {
                DoorbellKind::SqTail => &*pair.sq_tail,
                DoorbellKind::CqHead => &*pair.cq_head,
            }),
            Place::Shared(shared) => shared.get(kind, queue),
        };
        found.ok_or(RingError::QueueId(queue))
    }
}

impl Shared {
    fn get(&self, kind: DoorbellKind, queue: u16) -> Option<&AtomicU32> {
        let at = usize::from(queue) * 2 + usize::from(kind == DoorbellKind::CqHead);
        // SAFETY: the register is one of `2 * queue_pairs`; see the invariant of the type.
        (queue < self.queue_pairs).then(|| unsafe { self.first.add(at).as_ref() })
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
