// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What lives by the index of its owner, compared with what the log counts.

use super::{ensure, is_used};
use crate::{Log, SegmentState};
use saker_segment_store::SegmentId;

/// Bytes that live by what their owner finds in its index, by segment: to be compared with what the log counts.
#[derive(Clone, Debug)]
pub struct LiveBytes<'a> {
    log: &'a Log,
    found: Vec<u64>,
}

impl<'a> LiveBytes<'a> {
    /// Nothing has been found yet but what waits for a checkpoint.
    pub fn new(log: &'a Log) -> Self {
        let found = log.segments.iter().map(|s| s.until_checkpoint.iter().sum()).collect();
        Self { log, found }
    }

    /// Something takes `bytes` bytes from a position of the log on, and counts for `counted`.
    ///
    /// # Errors
    /// When nothing can be there.
    pub fn add(&mut self, position: u64, bytes: u64, counted: u64) -> Result<(), String> {
        let segment_bytes = self.log.geometry.segment_bytes();
        let n = position / segment_bytes;
        let id = SegmentId(u32::try_from(n).unwrap_or(u32::MAX));
        let s = self.log.find_segment(id).ok_or_else(|| format!("there is no segment {n}"))?;
        let is_held = is_used(s) || s.state == SegmentState::Damaged;
        ensure(is_held, || format!("position {position} is in segment {n}, which is {:?}", s.state))?;
        let end = position % segment_bytes + bytes;
        let written = self.log.written_bytes(id);
        ensure(end <= written, || {
            format!("{bytes} bytes at {position} end behind the {written} that segment {n} holds")
        })?;
        self.found[n as usize] += counted;
        Ok(())
    }

    /// So many bytes of a segment are referred to.
    pub fn refer(&mut self, id: SegmentId, bytes: u64) {
        self.found[id.0 as usize] += bytes;
    }

    /// What lives in a segment cannot be told from memory: what the log counts is taken for right.
    pub fn trust(&mut self, id: SegmentId) {
        self.found[id.0 as usize] = self.log.segment(id).live_bytes;
    }

    /// Bytes of a segment up to where the next record goes.
    pub fn written(&self, id: SegmentId) -> u64 {
        self.log.written_bytes(id)
    }

    /// Compares it with what the log counts.
    ///
    /// # Errors
    /// The first segment in which they differ.
    pub fn compare(self) -> Result<(), String> {
        for ((id, s), found) in self.log.numbered().zip(self.found) {
            ensure(s.live_bytes == found, || {
                format!("{found} bytes live in segment {} ({:?}), noted: {}", id.0, s.stream(), s.live_bytes)
            })?;
        }
        Ok(())
    }
}
