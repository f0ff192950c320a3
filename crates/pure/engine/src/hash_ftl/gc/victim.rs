//! Which segment is collected: cost-benefit while there is time, greedy when commands are about to wait, and now and then
//! the least worn one.
//!
//! Cost-benefit is that of the log-structured file system (Rosenblum and Ousterhout, 1992, section 3.6): what is gained times
//! its age, over what reading and writing costs.

use super::super::HashFtl;
use saker_log::{Segment, SegmentState};
use saker_medium::{Medium, SegmentId, Stream};

/// Every so many collections look at wear.
const WEAR_INTERVAL: u64 = 16;
/// Erases that the most worn segment may be ahead of the least worn one.
const WEAR_SPREAD_MAX: u32 = 32;

/// What the choice goes by.
#[derive(Clone, Debug)]
pub struct Victims {
    /// The version at which something in a segment last became invalid.
    touched: Vec<u64>,
    chosen: u64,
}

impl Victims {
    /// Nothing has been touched.
    pub fn new(segments: u32) -> Self {
        Self { touched: vec![0; segments as usize], chosen: 0 }
    }

    /// Something in a segment became invalid.
    #[inline]
    pub fn touched(&mut self, segment: SegmentId, version: u64) {
        self.touched[segment.0 as usize] = version;
    }
}

impl HashFtl {
    pub(super) fn choose_victim<M: Medium>(&mut self, m: &M) -> Option<SegmentId> {
        if self.log.must_evacuate() {
            return self.log.victim();
        }
        self.victims.chosen += 1;
        if self.victims.chosen.is_multiple_of(WEAR_INTERVAL)
            && !self.is_pressed(m)
            && let Some(rested) = self.rested(m)
        {
            return Some(rested);
        }
        let is_greedy = self.is_pressed(m);
        let least = self.lost_in_segment(self.record_bytes_max) + 1;
        let best = |but: Option<Stream>| {
            let gainful =
                self.closed().filter(|(id, s)| Some(s.stream()) != but && self.log.gain(*id) >= least);
            gainful.max_by_key(|(id, s)| (self.score(*id, s, is_greedy), u32::MAX - id.0)).map(|(id, _)| id)
        };
        let chosen = best(None)?;
        if self.fits(chosen, m) { Some(chosen) } else { best(Some(Stream::Map)) }
    }

    /// Whether the copies of a segment of sections have room: sections can have grown since they were written.
    fn fits<M: Medium>(&self, id: SegmentId, m: &M) -> bool {
        self.log.segment(id).stream() != Stream::Map
            || self.copies_of_sections(id) <= self.left_for_sections(m)
    }

    /// The segment of sections or of invalid mappings whose collection gains most, if one gains a page.
    pub(super) fn most_gainful_beside_records<M: Medium>(&self, m: &M) -> Option<SegmentId> {
        let page_bytes = u64::from(self.log.geometry().page_bytes);
        let all =
            self.closed().filter(|(id, s)| !s.stream().holds_records() && self.log.gain(*id) >= page_bytes);
        let all = all.filter(|(id, _)| self.fits(*id, m));
        all.max_by_key(|(id, _)| (self.log.gain(*id), u32::MAX - id.0)).map(|(id, _)| id)
    }

    fn closed(&self) -> impl Iterator<Item = (SegmentId, &Segment)> {
        let all = (0..self.log.geometry().segments).map(SegmentId).map(|id| (id, self.log.segment(id)));
        all.filter(|(_, s)| s.state == SegmentState::Closed && s.in_flight == 0)
    }

    fn score(&self, id: SegmentId, s: &Segment, is_greedy: bool) -> u128 {
        let bytes = self.log.geometry().segment_bytes();
        let gain = u128::from(self.log.gain(id));
        if is_greedy || s.live_bytes == 0 {
            // A dead segment costs nothing but its erase.
            return gain << if s.live_bytes == 0 { 64 } else { 0 };
        }
        let age = u128::from(self.version.saturating_sub(self.victims.touched[id.0 as usize]) + 1);
        ((gain * age) << 16) / u128::from(bytes + s.live_bytes)
    }

    /// The least worn segment, if the others are far ahead of it: what is in it is not changed, so it rests.
    fn rested<M: Medium>(&self, m: &M) -> Option<SegmentId> {
        let most = (0..self.log.geometry().segments).map(|n| m.epoch(SegmentId(n))).max()?;
        let (least, id) = self.closed().map(|(id, _)| (m.epoch(id), id)).min()?;
        (most - least > WEAR_SPREAD_MAX).then_some(id)
    }
}
