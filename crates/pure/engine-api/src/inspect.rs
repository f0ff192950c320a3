// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What engines tell about themselves. Nothing of it is needed to serve pairs.

use crate::kv::Memory;
use crate::settings::Settings;
use saker_log::{LogFlip, LogStats};
use saker_segment_store::SegmentStore;

/// Counters, places and modelled memory.
pub trait Inspect {
    /// Counters of its log; zeros for an engine that has none.
    fn log_stats(&self) -> LogStats {
        LogStats::default()
    }

    /// Modelled controller memory.
    fn memory(&self) -> Memory {
        Memory::default()
    }

    /// Counters of its own mechanisms, and what its structures take of modelled memory in bytes, by name.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// One of [`counters`](Self::counters); `None`: there is none of that name. For who looks often.
    fn counter(&self, name: &str) -> Option<u64> {
        self.counters().into_iter().find_map(|(known, n)| (known == name).then_some(n))
    }

    /// Its settings as they are now, whether they were asked for or not, as far as numbers can say them.
    fn settings(&self) -> Settings {
        Settings::NONE
    }

    /// Where in the log the record of a key's pair begins, and its length, both in bytes, as far as that is known without more
    /// pages than are here. For messages about damage ([`Capability::Places`](crate::Capability::Places)).
    fn place_of<M: SegmentStore>(&mut self, key: &[u8], medium: &mut M) -> Option<(u64, u32)> {
        let _ = (key, medium);
        None
    }

    /// The change that makes unreadable what a changed byte of a page belongs to, and nothing else; `None`: it belongs to no
    /// record. For a device that was helped over the byte ([`saker_log::recover::Damage`]).
    fn spoils<M: SegmentStore>(&self, wrong: LogFlip, medium: &M) -> Option<LogFlip> {
        let _ = medium;
        Some(wrong)
    }

    /// Work that was put off so that operations are cheaper is done, so that counters are right.
    fn settle(&mut self) {}
}
