// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Modelled controller memory, by structure.

use super::HashFtl;
use super::table::DIRECTORY_ENTRY_BYTES;
use super::validity::Validity;

/// Bytes of a segment in the segment table: live bytes, next page, state.
const SEGMENT_ENTRY_BYTES: u64 = 16;

/// Modelled memory of a hash FTL, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FtlMemory {
    /// Sections in the cache.
    pub cache_bytes: u64,
    /// Where each section is.
    pub directory_bytes: u64,
    /// Original: the grain bitmap.
    pub bitmap_bytes: u64,
    /// Plus: buffers of invalid mappings.
    pub invalid_buffer_bytes: u64,
    /// Plus: invalid grains of each page.
    pub invalid_count_bytes: u64,
    /// Plus: where pages of invalid mappings are.
    pub invalid_list_bytes: u64,
    /// The segment table.
    pub segment_bytes: u64,
}

impl FtlMemory {
    /// The structures with their names, in order.
    pub fn named(&self) -> [(&'static str, u64); 7] {
        [
            ("cache_bytes", self.cache_bytes),
            ("directory_bytes", self.directory_bytes),
            ("bitmap_bytes", self.bitmap_bytes),
            ("invalid_buffer_bytes", self.invalid_buffer_bytes),
            ("invalid_count_bytes", self.invalid_count_bytes),
            ("invalid_list_bytes", self.invalid_list_bytes),
            ("segment_bytes", self.segment_bytes),
        ]
    }
}

impl HashFtl {
    /// Modelled controller memory by structure.
    pub fn ftl_memory(&self) -> FtlMemory {
        let mut memory = FtlMemory {
            cache_bytes: self.table.cache.bytes(),
            directory_bytes: self.sections_now() * DIRECTORY_ENTRY_BYTES,
            segment_bytes: u64::from(self.log.segments_held()) * SEGMENT_ENTRY_BYTES,
            ..FtlMemory::default()
        };
        match &self.validity {
            Validity::Bitmap(bits) => memory.bitmap_bytes = bits.bytes(),
            Validity::Invalid(invalid) => {
                let invalid = invalid.memory();
                memory.invalid_buffer_bytes = invalid.buffer_bytes;
                memory.invalid_count_bytes = invalid.count_bytes;
                memory.invalid_list_bytes = invalid.list_bytes;
            }
        }
        memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash_ftl::bench::{Bench, G};
    use crate::hash_ftl::table::section::Section;
    use crate::hash_ftl::{FirstLevel, HashFtlConfig, Layout};
    use saker_sim::Seed;

    /// What a section takes by the paper: a page where it is laid out by offset (section III); else 64 B for each part of at
    /// most eight entries, and 4 B for each part's separator, in whole grains or in four of a page's 64 (section IV-B).
    fn formula(section: &Section, first_level: FirstLevel) -> u64 {
        let Section::Live(live) = section else { return u64::from(G.page_bytes) };
        let parts = live.parts() as u64;
        assert!(parts * 8 >= u64::from(live.len()), "eight entries a part");
        let separators = match first_level {
            FirstLevel::Reserved => u64::from(G.page_bytes) * 4 / 64,
            FirstLevel::Growing if parts < 2 => 0,
            FirstLevel::Growing => (parts * 4).div_ceil(64) * 64,
        };
        separators + parts * 64
    }

    fn overwrite(config: HashFtlConfig, mut each: impl FnMut(&HashFtl)) {
        let (mut bench, mut rng) = (Bench::new(config), Seed(6).rng());
        for n in 0..4000 {
            bench.put(rng.below(1500), &[1; 40]);
            if n % 100 == 99 {
                each(&bench.store);
            }
        }
    }

    /// As sections come, grow, are written and go, the memory that is reported for them is what the formula gives.
    #[test]
    fn cached_sections_take_what_the_formula_gives() {
        let plus = HashFtlConfig { cache_bytes: 6 << 10, ..HashFtlConfig::plus(1, &G, G.segments, true) };
        let live = |first_level, offsets_when_full| Layout::LiveOnly { first_level, offsets_when_full };
        // The last has few hash indexes, so that sections grow to a page.
        let dense = HashFtlConfig { slots: 1600, layout: live(FirstLevel::Reserved, true), ..plus };
        let original =
            HashFtlConfig { cache_bytes: 6 << 10, ..HashFtlConfig::original(1, &G, G.segments, true, 128) };
        let reserved = HashFtlConfig { layout: live(FirstLevel::Reserved, false), ..plus };
        for (config, first_level) in [
            (original, FirstLevel::Growing),
            (plus, FirstLevel::Growing),
            (reserved, FirstLevel::Reserved),
            (dense, FirstLevel::Reserved),
        ] {
            let (mut most, mut by_offset) = (0, 0);
            overwrite(config, |store| {
                let cache = &store.table.cache;
                let sections = || cache.from_oldest().map(|at| &cache.get(at).section);
                let bytes: u64 = sections().map(|section| formula(section, first_level)).sum();
                let modelled = store.ftl_memory().cache_bytes;
                assert!(modelled.abs_diff(bytes) * 20 <= bytes, "{modelled} for {bytes}: {config:?}");
                most = most.max(bytes);
                by_offset += sections().filter(|s| matches!(s, Section::Offsets(_))).count();
            });
            assert!(most > config.cache_bytes * 3 / 4, "{most}: {config:?}");
            assert_eq!(by_offset > 0, config == original || config == dense, "{config:?}");
        }
    }
}
