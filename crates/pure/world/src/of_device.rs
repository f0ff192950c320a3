// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a device counts beside commands while a job runs.

use saker_device::Stats;

/// Counters of a device's first namespace, and what it is like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfDevice {
    /// What its engine counted, or its map of blocks if that lies on flash, by name.
    pub counters: Vec<(&'static str, u64)>,
    /// Pages of flash read, for whatever reason.
    pub flash_pages_read: u64,
    /// Modelled memory at the end.
    pub memory_bytes: u64,
    /// Bytes that live at the end: records, or blocks that are mapped.
    pub live_bytes: u64,
}

impl OfDevice {
    /// All since the device was made.
    pub(crate) fn of(stats: &Stats) -> Self {
        let flash_pages_read = stats.flash.pages_read;
        let Some(first) = stats.namespaces.first() else {
            return Self { flash_pages_read, ..Self::default() };
        };
        Self {
            counters: first.counters.clone(),
            flash_pages_read,
            memory_bytes: first.memory.total(),
            live_bytes: first.live_bytes,
        }
    }

    /// What was counted since `before`. Of what does not only grow, it is how much it has grown.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let grown = |(name, count): &(&'static str, u64)| (*name, count.saturating_sub(before.count(name)));
        Self {
            counters: self.counters.iter().map(grown).collect(),
            flash_pages_read: self.flash_pages_read - before.flash_pages_read,
            ..self.clone()
        }
    }

    /// A counter; 0 if there is none of that name.
    pub fn count(&self, name: &str) -> u64 {
        self.counters.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_of_the_job_and_memory_of_its_end() {
        let at = |hits, misses, pages, memory_bytes| OfDevice {
            counters: vec![("hits", hits), ("misses", misses)],
            flash_pages_read: pages,
            memory_bytes,
            live_bytes: 4096,
        };
        let job = at(9, 5, 40, 700).since(&at(4, 6, 30, 900));
        assert_eq!((job.count("hits"), job.count("misses"), job.count("none")), (5, 0, 0));
        assert_eq!((job.flash_pages_read, job.memory_bytes, job.live_bytes), (10, 700, 4096));
        assert_eq!(at(9, 5, 40, 700).since(&OfDevice::default()), at(9, 5, 40, 700));
    }
}
