// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Submission and completion queues (NVMe Base 2.0, section 3.3) in a DMA space.

mod completion;
mod doorbell;
mod error;
mod host;
mod memory;
mod relay;
mod submission;

pub use completion::{DeviceCq, PostError};
pub use doorbell::{DoorbellError, DoorbellKind, Doorbells};
pub use error::{RingError, SqFull};
pub use host::HostQueuePair;
pub use relay::{PairPlace, RelayPair};
pub use submission::DeviceSq;

/// Fewest and most entries of a queue (NVMe Base 2.0, section 3.3.3).
pub(crate) const ENTRIES: std::ops::RangeInclusive<u32> = 2..=65536;

/// The index `steps` (at most `entries`) behind `index` in a ring of `entries`.
#[inline]
pub(crate) fn behind(index: u32, steps: u32, entries: u32) -> u32 {
    let at = index + steps;
    if at >= entries { at - entries } else { at }
}

/// The index after `index` in a ring of `entries`.
#[inline]
pub(crate) fn next(index: u32, entries: u32) -> u32 {
    let next = index + 1;
    if next == entries { 0 } else { next }
}

/// Steps from `from` forward to `to` in a ring of `entries`.
#[inline]
pub(crate) fn distance(from: u32, to: u32, entries: u32) -> u32 {
    if to >= from { to - from } else { to + entries - from }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_wrap() {
        assert_eq!((distance(3, 3, 5), distance(3, 1, 5), distance(1, 3, 5)), (0, 3, 2));
        assert_eq!((next(3, 5), next(4, 5)), (4, 0));
        assert_eq!((behind(3, 1, 5), behind(3, 2, 5), behind(3, 5, 5)), (4, 0, 3));
    }
}
