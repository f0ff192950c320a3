// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What joins an NVMe host and an NVMe controller inside one process.
//!
//! * [`DmaSpace`]: the host's memory as the device sees it, addressed by I/O virtual address (IOVA).
//! * [`HostQueuePair`], [`DeviceSq`], [`DeviceCq`]: submission and completion rings in that memory; [`RelayPair`] for
//!   devices that are elsewhere.
//! * [`Doorbells`] and [`Registers`]: the controller's BAR, on atomics.
//! * [`SlotPool`] and [`SlotQueue`]: command identifiers with a staging page each.
//! * [`Traffic`]: what crossed the link, counted by four rules.
//! * [`ShortLock`]: a lock for a few dozen instructions.
//! * [`BarBuffer`]: device memory that the host stores to.
//! * [`probe`]: the floor that two-thread figures are compared with.
//!
//! One implementation serves every timing: host and device may run on one thread (inline) or on two. Nothing
//! here reads a clock, starts a thread, or allocates after set-up.
//!
//! # Why this is sound
//!
//! The device may be told any address at any time, so every access of the device must be defined behaviour:
//!
//! * The arena (rings, PRP lists, admin buffers) is an array of `AtomicU64`. All parties touch it by whole-word
//!   atomic operations only, so an overlapping garbage write is a wrong value, never a data race. No reference to
//!   plain bytes is ever made from it.
//! * Memory that another process shares ([`ForeignMemory`]) is touched in the same way, whatever that process does.
//! * Plain bytes (callers' buffers, staging pages) are reached through [`Window`]s. A window's gate is an atomic
//!   state: the device holds it for one copy, the host closes it before it touches the bytes again.

mod account;
mod bar;
mod dma;
mod entry;
mod prefetch;
pub mod probe;
mod registers;
mod ring;
mod short_lock;
mod slot;
mod sync;

pub use account::{Data, LINE_BYTES, LinkBytes, Rule, TlpShape, Traffic};
pub use bar::{BarBuffer, BarError, REGION_BYTES};
pub use dma::{
    ARENA_IOVA, ArenaFull, DmaError, DmaFault, DmaRegion, DmaSpace, ForeignError, ForeignMemory,
    ForeignOwner, MapError, PAGE_BYTES, Placement, WINDOW_BYTES_MAX, WINDOW_IOVA, WINDOW_STRIDE, Window,
    gather, gather_into, prp_pieces, scatter,
};
pub use entry::{Cqe, Sqe};
pub use prefetch::{prefetch, prefetch_address, prefetch_early};
pub use registers::{REGISTER_BYTES, RegisterError, Registers, offset};
pub use ring::{
    DeviceCq, DeviceSq, DoorbellError, DoorbellKind, Doorbells, HostQueuePair, PairPlace, PostError,
    RelayPair, RingError, SqFull,
};
pub use short_lock::{Held, ShortLock};
pub use slot::{
    Completion, CompletionError, LIST_ENTRIES, PoolError, RejectReason, Rejected, STAGING_BYTES, Slot,
    SlotPool, SlotQueue,
};
