// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages and windows of a host's DMA space: who takes how many of them at most.
//!
//! Nobody waits for either. A queue pair that finds too few is not made ([`PoolError`](saker_link::PoolError)), and a command
//! that finds no window is refused ([`SubmitError::Windows`](crate::SubmitError::Windows)): to wait for a completion need not
//! help, because another queue may hold them all. So whoever makes a space makes it with what [`needed`] says.

use saker_link::{Cqe, PAGE_BYTES, Sqe};

use crate::connect::ConnectOptions;
use crate::kv_queue::KEY_PLACE_BYTES;

/// Queue pairs of a host that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// I/O queue pairs.
    pub queue_pairs: u16,
    /// Entries of each submission queue, and of each completion queue.
    pub entries: u32,
    /// Commands of each in flight.
    pub slots: u16,
}

/// Pages and windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Pages of the arena.
    pub pages: u32,
    /// Windows for buffers that are lent.
    pub windows: u32,
}

/// What somebody takes at most.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Who.
    pub name: &'static str,
    /// How much, of a host of that shape.
    pub most: fn(&Shape) -> Room,
    /// For what, and until when.
    pub why: &'static str,
}

/// All that take any.
pub const TABLE: [Claim; 6] = [
    Claim {
        name: "admin queues",
        most: |_| Room { pages: ring_pages(u32::from(ConnectOptions::ADMIN_ENTRIES)), windows: 0 },
        why: "their rings, for as long as there is a connection",
    },
    Claim {
        name: "connection",
        most: |_| Room { pages: 1, windows: 0 },
        why: "a page for what Identify returns, for as long as there is a connection",
    },
    Claim {
        name: "rings",
        most: |shape| Room { pages: of_all(shape, ring_pages(shape.entries)), windows: 0 },
        why: "submission and completion queue of each pair, until it is deleted",
    },
    Claim {
        name: "slots",
        most: |shape| Room { pages: slots_of_all(shape), windows: slots_of_all(shape) },
        why: "a PRP list and a staging page of each, until the queue pair is dropped",
    },
    Claim {
        name: "loans",
        most: |shape| Room { pages: 0, windows: slots_of_all(shape) },
        why: "a buffer of more than a page that a command lends; the queue keeps the window for the next one",
    },
    Claim {
        name: "long keys",
        most: |shape| {
            let bytes = slots(shape) * KEY_PLACE_BYTES as u32;
            Room { pages: of_all(shape, pages_of(bytes)), windows: 0 }
        },
        why: "a place for the key of each slot, from the first long key on",
    },
];

/// What all of them take together.
pub fn needed(shape: &Shape) -> Room {
    TABLE.iter().map(|claim| (claim.most)(shape)).fold(Room::default(), |all, one| Room {
        pages: all.pages + one.pages,
        windows: all.windows + one.windows,
    })
}

fn of_all(shape: &Shape, each: u32) -> u32 {
    u32::from(shape.queue_pairs) * each
}

/// A queue holds one command less than it has entries.
fn slots(shape: &Shape) -> u32 {
    u32::from(shape.slots).min(shape.entries - 1)
}

fn slots_of_all(shape: &Shape) -> u32 {
    of_all(shape, slots(shape))
}

fn ring_pages(entries: u32) -> u32 {
    pages_of(entries * Sqe::BYTES as u32) + pages_of(entries * Cqe::BYTES as u32)
}

fn pages_of(bytes: u32) -> u32 {
    bytes.div_ceil(PAGE_BYTES as u32)
}
