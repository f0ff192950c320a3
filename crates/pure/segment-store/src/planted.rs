// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Faults that tests plant in our own code, to see that their power-cut campaigns, or claims of experiments, find them.
//!
//! Without the feature `planted` nothing can be planted and nothing is asked.

/// A defect that a store could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Recovery forgets the page that was being filled: writes that completed are lost.
    OpenPageForgotten,
    /// Collections drop tombstones that no checkpoint covers: deleted pairs come back.
    TombstonesDropped,
    /// A torn page passes for a whole one, and checksums say nothing: values are torn.
    TornPagesPass,
    /// Pages in which transactions end are programmed as any others: without a capacitor one survives without another that it has read from.
    CommitsOvertaken,
    /// A cached mapping table of blocks keeps nothing of what reads have found on flash. No value is wrong: it costs reads.
    TableKeepsNoReads,
    /// Writing a translation page makes one entry clean, not all of that page. No value is wrong: it costs writes.
    EntriesWrittenAlone,
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
