// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a log counts.

use saker_segment_store::Stream;

/// Counters of a log, by layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogStats {
    /// Pages submitted for programming, by stream.
    pub pages_programmed: [u64; Stream::COUNT],
    /// Bytes of records appended, by stream.
    pub bytes_appended: [u64; Stream::COUNT],
    /// Segments erased.
    pub segments_erased: u64,
    /// Programs that failed and were rescued.
    pub programs_failed: u64,
}

impl LogStats {
    /// Pages submitted for programming, with the names of their streams.
    pub fn pages_by_stream(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Stream::ALL.into_iter().map(|stream| (stream.name(), self.pages_programmed[stream as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_told_by_the_streams_own_names() {
        let stats = LogStats { pages_programmed: [5, 6, 7, 8, 9, 10], ..LogStats::default() };
        let told: Vec<_> = stats.pages_by_stream().collect();
        let names = ["user", "gc", "checkpoint", "table", "map", "invalid"];
        assert_eq!(told, names.into_iter().zip(5..).collect::<Vec<_>>());
    }
}
