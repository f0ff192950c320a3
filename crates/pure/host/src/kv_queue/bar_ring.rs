// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which bytes of the queue's BAR region hold values of commands in flight.

use std::collections::VecDeque;

use saker_link::{LINE_BYTES, REGION_BYTES};
use saker_log::ensure;

/// A ring of ranges, taken and released in whole lines; a range never wraps.
#[derive(Debug, Default)]
pub(super) struct BarRing {
    used: VecDeque<Range>,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    slot: u16,
    start: u32,
    end: u32,
    over: bool,
}

impl BarRing {
    /// A range of `bytes` bytes for the command of `slot`; `None` while there is no room.
    pub(super) fn take(&mut self, slot: u16, bytes: u32) -> Option<u32> {
        let length = bytes.checked_next_multiple_of(LINE_BYTES as u32)?;
        let start = self.place(length)?;
        debug_assert!(!self.holds(slot), "a command has one range");
        self.used.push_back(Range { slot, start, end: start + length, over: false });
        Some(start)
    }

    fn place(&self, length: u32) -> Option<u32> {
        let (Some(first), Some(last)) = (self.used.front(), self.used.back()) else {
            return (length <= REGION_BYTES).then_some(0);
        };
        let fits = |start: u32, end: u32| end.checked_sub(start).is_some_and(|room| length <= room);
        if last.start >= first.start {
            if fits(last.end, REGION_BYTES) {
                return Some(last.end);
            }
            return fits(0, first.start).then_some(0);
        }
        fits(last.end, first.start).then_some(last.end)
    }

    /// Whether bytes are held for the command of `slot`.
    pub(super) fn holds(&self, slot: u16) -> bool {
        self.used.iter().any(|range| range.slot == slot && !range.over)
    }

    /// Ranges do not overlap, and the first one is in use.
    pub(super) fn check(&self) -> Result<(), String> {
        let is_over = self.used.front().is_some_and(|range| range.over);
        ensure(!is_over, || "the first range of the BAR is not in use".into())?;
        let mut sorted: Vec<&Range> = self.used.iter().collect();
        sorted.sort_unstable_by_key(|range| range.start);
        let apart = sorted.windows(2).all(|two| two[0].end <= two[1].start);
        let inside = sorted.last().is_none_or(|range| range.end <= REGION_BYTES);
        ensure(apart && inside, || format!("ranges of the BAR overlap, or are outside: {sorted:?}"))
    }

    /// The command of `slot` has completed.
    pub(super) fn release(&mut self, slot: u16) {
        if let Some(range) = self.used.iter_mut().find(|range| range.slot == slot && !range.over) {
            range.over = true;
        }
        while self.used.front().is_some_and(|range| range.over) {
            self.used.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Ranges in use never overlap and stay in the region; an empty region takes anything that fits.
        #[test]
        fn ranges_in_use_are_disjoint(steps in prop::collection::vec((1u32..3000, any::<prop::sample::Index>(), any::<bool>()), 1..80)) {
            let mut ring = BarRing::default();
            let mut live: Vec<(u16, u32, u32)> = Vec::new();
            for (n, (bytes, pick, release)) in steps.into_iter().enumerate() {
                if release && !live.is_empty() {
                    let (slot, ..) = live.swap_remove(pick.index(live.len()));
                    ring.release(slot);
                }
                let taken = ring.take(n as u16, bytes);
                prop_assert!(taken.is_some() || !live.is_empty());
                let Some(start) = taken else { continue };
                let end = start + bytes.next_multiple_of(64);
                prop_assert!(end <= REGION_BYTES && start % 64 == 0);
                for (_, s, e) in &live {
                    prop_assert!(end <= *s || *e <= start, "{start}..{end} over {s}..{e}");
                }
                live.push((n as u16, start, end));
            }
        }
    }
}
