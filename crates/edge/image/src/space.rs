// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Space of erased segments, which goes back to the file system when it has not been used for a while.
//!
//! A raised epoch has erased a segment; its old bytes do not count. To give their space back takes milliseconds on some file systems (ext4 that
//! discards at once), and new space has to be found for the next pages there. A device that is written to uses the segment again soon.

use saker_segment_store::SegmentId;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// So long an erased segment keeps its space. A device that writes 100 MB a second goes through 3 GB meanwhile.
const KEEP: Duration = Duration::from_secs(30);
/// Segments that give their space back at an erase: more than one, so that those that wait become fewer.
pub(super) const AT_ONCE: usize = 2;

/// An erased segment that may have space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Erased {
    segment: SegmentId,
    epoch: u32,
    since: Instant,
}

/// Erased segments that may have space, in the order of their erases.
#[derive(Debug)]
pub(super) struct Space {
    erased: VecDeque<Erased>,
    pub(super) keep: Duration,
}

impl Default for Space {
    fn default() -> Self {
        Self { erased: VecDeque::new(), keep: KEEP }
    }
}

impl Space {
    /// A segment was erased and has that epoch since.
    pub fn note(&mut self, segment: SegmentId, epoch: u32, now: Instant) {
        self.erased.push_back(Erased { segment, epoch, since: now });
    }

    /// The next one that was erased [`keep`](Self::keep) ago, or longer, and is not in use again: `is_blank` says whether a segment has that epoch and no page.
    pub fn next_due(&mut self, now: Instant, is_blank: impl Fn(SegmentId, u32) -> bool) -> Option<SegmentId> {
        while let Some(first) = self.erased.front().copied() {
            let is_unused = is_blank(first.segment, first.epoch);
            if is_unused && now.duration_since(first.since) < self.keep {
                return None;
            }
            self.erased.pop_front();
            if is_unused {
                return Some(first.segment);
            }
        }
        None
    }

    /// Whether one was erased so long ago; it may be in use again.
    pub fn is_due(&self, now: Instant) -> bool {
        self.erased.front().is_some_and(|first| now.duration_since(first.since) >= self.keep)
    }

    /// All that are not in use again.
    pub fn take(&mut self, is_blank: impl Fn(SegmentId, u32) -> bool) -> Vec<SegmentId> {
        let all = std::mem::take(&mut self.erased).into_iter();
        all.filter(|one| is_blank(one.segment, one.epoch)).map(|one| one.segment).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(segments: &[u32], now: Instant) -> Space {
        let mut space = Space::default();
        segments.iter().for_each(|n| space.note(SegmentId(*n), 1, now));
        space
    }

    #[test]
    fn a_segment_keeps_its_space_for_a_while() {
        let begun = Instant::now();
        let mut space = of(&[3, 4], begun);
        assert_eq!(space.next_due(begun + KEEP - Duration::from_nanos(1), |_, _| true), None);
        assert_eq!(space.next_due(begun + KEEP, |_, _| true), Some(SegmentId(3)));
        assert_eq!(space.next_due(begun + KEEP, |_, _| true), Some(SegmentId(4)));
        assert_eq!(space.next_due(begun + KEEP, |_, _| true), None);
    }

    #[test]
    fn one_that_is_in_use_again_keeps_it_and_nobody_waits_for_it() {
        let begun = Instant::now();
        let mut space = of(&[3, 4, 3], begun);
        assert_eq!(space.next_due(begun, |segment, _| segment.0 != 3), None);
        assert_eq!(space.next_due(begun + KEEP, |segment, _| segment.0 != 3), Some(SegmentId(4)));
        assert_eq!(space.next_due(begun + KEEP, |segment, _| segment.0 != 3), None);
        assert!(space.erased.is_empty(), "what is in use again is forgotten");
    }

    #[test]
    fn what_is_due_is_told_and_how_long_it_takes_can_be_chosen() {
        let begun = Instant::now();
        let mut space = of(&[3], begun);
        assert!(!space.is_due(begun + KEEP - Duration::from_nanos(1)) && space.is_due(begun + KEEP));
        space.keep = Duration::from_secs(1);
        assert!(!space.is_due(begun) && space.is_due(begun + Duration::from_secs(1)));
        assert_eq!(space.next_due(begun + Duration::from_secs(1), |_, _| true), Some(SegmentId(3)));
        assert!(!space.is_due(begun + KEEP), "nothing is left");
    }

    #[test]
    fn all_go_at_once_where_space_is_wanted() {
        let begun = Instant::now();
        let mut space = of(&[3, 4, 5], begun);
        space.note(SegmentId(6), 9, begun);
        let blank = |segment: SegmentId, epoch| segment.0 != 4 && epoch < 9;
        assert_eq!(space.take(blank), [SegmentId(3), SegmentId(5)]);
        assert!(space.take(|_, _| true).is_empty(), "once");
    }
}
