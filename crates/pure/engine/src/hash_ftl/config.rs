// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings: the two published FTLs are two points among them.

use super::record::HEAD_BYTES;
use super::table::image;
use super::table::levels::Levels;
use saker_segment_store::Geometry;

/// How a store knows which grains garbage collection must copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// One bit for each grain of the medium, in memory (Original).
    GrainBitmap,
    /// What became invalid is noted per superblock, a page at a time, and read back when it is collected (Plus, section IV-A).
    InvalidPages,
}

/// What the first level of a live-only section takes. The paper says that four grains are reserved and not whether a
/// small section reserves them too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstLevel {
    /// A sixteenth of a page, always.
    Reserved,
    /// As many grains as there are separators for; none while one grain holds all entries.
    Growing,
}

/// How a section of the hash table is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// An entry for every hash index, found by its offset; a section is a page (Original).
    Fixed,
    /// Entries of live pairs only, in two levels; sections share pages (Plus, section IV-B).
    LiveOnly {
        /// What the first level takes.
        first_level: FirstLevel,
        /// Whether a section that has grown to a page is laid out by offset.
        offsets_when_full: bool,
    },
}

/// Which superblock is collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// By what is gained, its age, and what copying costs, while there is time; greedy when commands are about to wait.
    CostBenefit,
    /// Always the one with the fewest valid grains, as the public code has it (snu-csl/kvvirt c5ab081, nvmevirt/demand_ftl.c,
    /// `select_victim_line`).
    Greedy,
}

/// Settings of a hash FTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashFtlConfig {
    /// The namespace it serves, 1-based; marks its segments.
    pub owner: u16,
    /// Seed of the hash; belongs to the image.
    pub seed: u64,
    /// Whether the power-safe page buffer survives a power cut (a capacitor).
    pub ring_lasts: bool,
    /// Largest value in bytes.
    pub value_bytes_max: u32,
    /// The smallest unit that is written, in bytes; it divides a page.
    pub grain_bytes: u32,
    /// Hash indexes: what the namespace's superblocks have grains, at most [`SLOTS_MAX`].
    pub slots: u64,
    /// How validity is known.
    pub validity: Validity,
    /// How sections are laid out.
    pub layout: Layout,
    /// Memory for cached sections, in bytes.
    pub cache_bytes: u64,
    /// Invalid mappings that a page of them takes, if fewer than it has room for: where superblocks are smaller than
    /// they should be, a superblock so fills its buffer as often.
    pub page_mappings: Option<u32>,
    /// Which superblock is collected.
    pub victims: Choice,
    /// The table starts small and doubles when so many percent of its hash indexes have pairs; only where sections are fixed.
    pub doubles_at_percent: Option<u8>,
    /// Part of the segments that pairs may not fill, in percent, besides the spare segments.
    pub over_provisioning_percent: u64,
}

/// Most hash indexes: out-of-band words and invalid mappings have four bytes for one.
pub const SLOTS_MAX: u64 = 1 << 32;

/// Original's grain (section V-B).
pub const ORIGINAL_GRAIN_BYTES: u32 = 512;
/// Plus's grain (section V-B).
pub const PLUS_GRAIN_BYTES: u32 = 64;

/// A table that doubles ends with more hash indexes than grains by one part of so many: searches stay in sections, and some have
/// more pairs than the mean.
const SPARE_SLOTS_PART: u64 = 4;

/// The load at which a table doubles, in percent: ours. At four fifths of 512 hash indexes a section is full only if it has five
/// standard deviations more pairs than the mean.
pub const DOUBLES_AT_PERCENT: u8 = 80;

/// The least cache, in sections: commands in flight must not drive out each other's sections.
const CACHE_SECTIONS_MIN: u64 = 128;
/// Cache to table, as public runs of the papers' code have it: 128 MB for 2 GiB.
const TABLE_TO_CACHE: u64 = 16;

impl HashFtlConfig {
    /// The Original FTL with grains of that size: 512 B as in the paper, or 1 KB as Samsung's devices round values up.
    pub fn original(
        owner: u16,
        geometry: &Geometry,
        quota_segments: u32,
        ring_lasts: bool,
        grain_bytes: u32,
    ) -> Self {
        let bytes = geometry.segment_bytes() * u64::from(quota_segments);
        let slots = (bytes / u64::from(grain_bytes)).min(SLOTS_MAX);
        let fits = geometry.segment_bytes() as u32 - HEAD_BYTES - 16;
        Self {
            owner,
            seed: 0x4854_464c ^ u64::from(owner),
            ring_lasts,
            value_bytes_max: (2 << 20).min(fits / 2),
            grain_bytes,
            slots,
            validity: Validity::GrainBitmap,
            layout: Layout::Fixed,
            cache_bytes: Self::usual_cache_bytes(geometry, quota_segments),
            page_mappings: None,
            victims: Choice::CostBenefit,
            doubles_at_percent: None,
            over_provisioning_percent: 7,
        }
    }

    /// Bytes of the cache unless told otherwise: a part of the table that Original has with its grains.
    pub fn usual_cache_bytes(geometry: &Geometry, quota_segments: u32) -> u64 {
        let bytes = geometry.segment_bytes() * u64::from(quota_segments);
        cache_bytes(geometry, bytes / u64::from(ORIGINAL_GRAIN_BYTES) * 8)
    }

    /// The Plus FTL: 64-B grains, invalid mapping pages, live-only sections. Its cache is as large as Original's.
    pub fn plus(owner: u16, geometry: &Geometry, quota_segments: u32, ring_lasts: bool) -> Self {
        Self {
            validity: Validity::InvalidPages,
            layout: Layout::LiveOnly { first_level: FirstLevel::Growing, offsets_when_full: false },
            ..Self::original(owner, geometry, quota_segments, ring_lasts, PLUS_GRAIN_BYTES)
        }
    }

    /// Hash indexes of a section.
    pub fn section_slots(&self, page_bytes: u32) -> u32 {
        match self.layout {
            Layout::Fixed => page_bytes / 8,
            Layout::LiveOnly { .. } => (page_bytes - first_level_bytes(page_bytes)) / 8,
        }
    }

    /// The sizes of the table, if it doubles.
    pub fn levels(&self, page_bytes: u32) -> Option<Levels> {
        let slots = self.slots + self.slots / SPARE_SLOTS_PART;
        let sections = slots.div_ceil(u64::from(self.section_slots(page_bytes)));
        (self.layout == Layout::Fixed && self.doubles_at_percent.is_some()).then(|| Levels::up_to(sections))
    }

    /// Out-of-band bytes that a page must have: its header, and a word for each grain, or what a page of sections needs.
    pub fn oob_bytes(page_bytes: u32, grain_bytes: u32) -> u32 {
        let own = (page_bytes / grain_bytes * 8).max(image::OOB_BYTES as u32);
        saker_segment_store::header::HEADER_BYTES as u32 + own
    }

    /// Grains of a record.
    pub fn grains(&self, bytes: u32) -> u32 {
        bytes.div_ceil(self.grain_bytes)
    }
}

/// What level one takes of a section as large as a page: four of 64 grains.
pub fn first_level_bytes(page_bytes: u32) -> u32 {
    page_bytes / 16
}

fn cache_bytes(geometry: &Geometry, table_bytes: u64) -> u64 {
    (table_bytes / TABLE_TO_CACHE).max(CACHE_SECTIONS_MIN * u64::from(geometry.page_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_as_large_as_published() {
        let g = Geometry { page_bytes: 4096, oob_bytes: 576, segment_pages: 2048, segments: 16384 };
        let plus = HashFtlConfig::plus(1, &g, g.segments, true);
        assert_eq!((plus.section_slots(4096), first_level_bytes(4096) / 64), (480, 4));
        let original = HashFtlConfig::original(1, &g, g.segments, true, 512);
        // The paper's footnote says 1024; 8-byte entries make it 512.
        assert_eq!(original.section_slots(4096), 512);
        assert_eq!((original.slots, plus.slots), (128 << 21, 128 << 24));
        assert_eq!(original.cache_bytes, 128 << 20);
        assert_eq!(HashFtlConfig::oob_bytes(4096, 64), 576);
    }
}
