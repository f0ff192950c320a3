// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Faults that tests plant in this code, to see that their histories find them. Without the feature `planted` nothing can be planted and
//! nothing is asked.

/// A defect that such a store could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The detector sees no stall.
    BlindDetector,
    /// A delete in the main tree leaves no tombstone though the device has a copy.
    LostTombstone,
    /// A rollback moves what it finds, whether it counts or not.
    StaleCopy,
    /// A copy is forgotten when a rollback has read it, not when the main tree has it.
    DroppedEarly,
    /// The adaptive policy takes going back to be free: it asks neither for room nor for what reads have lost.
    AlwaysPays,
    /// Recovery does not compare: whatever the device has counts.
    OldValueBack,
    /// The device's tree is emptied before the main tree is flushed.
    EmptiedEarly,
    /// A scan whose view the device has ended does not begin again.
    ViewOver,
    /// A view begins while writes are on their way to the device: it may see one that no read sees yet.
    ViewAmidWrites,
    /// A scan that falls takes the lesser of two keys first, as one that rises.
    FallsAsItRises,
    /// What is too long for the device's tree is refused to the user.
    TooLong,
    /// Copies that do not count are deleted in the device before the main tree is flushed.
    SweptEarly,
    /// They are forgotten before the device is flushed.
    ForgottenEarly,
    /// A read that finds nothing in the device, since what it asked for was swept, is told so.
    SweptIsMissing,
    /// A tombstone that comes into the main tree while that is asked whether there is a pair is taken for one.
    TombstoneIsPair,
    /// Copies go back that a cut can take from the device.
    BatchComesApart,
    /// A write that the full tree of the device refuses is told as carried out.
    RefusedIsDone,
}

#[cfg(feature = "planted")]
mod planting {
    use super::Fault;
    use std::cell::Cell;

    thread_local! {
        static PLANTED: Cell<Option<Fault>> = const { Cell::new(None) };
    }

    /// Plants a fault in everything that this thread does from now on; `None`: no fault.
    pub fn plant(fault: Option<Fault>) {
        PLANTED.set(fault);
    }

    /// Whether this fault is planted.
    pub fn is(fault: Fault) -> bool {
        PLANTED.get() == Some(fault)
    }
}

#[cfg(feature = "planted")]
pub use planting::{is, plant};

/// Whether this fault is planted: never.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub const fn is(_: Fault) -> bool {
    false
}
