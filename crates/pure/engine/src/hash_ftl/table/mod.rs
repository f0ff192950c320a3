// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The hash table: on flash in sections, some of them cached.

pub mod cache;
pub mod entry;
pub mod image;
pub mod levels;
pub mod parse;
pub mod section;
pub mod two_level;

use cache::Cache;
use saker_segment_store::PageAddr;

/// Where a section is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SectionAddr {
    /// Its page plus one; 0: it is not on flash.
    at: u64,
    /// Bytes it takes on flash.
    pub bytes: u32,
    /// Bytes that it counts for in its segment ([`image::charges`]).
    pub charge: u32,
    /// Its place in the cache plus one; 0: it is not there.
    pub(super) cached: u32,
}

impl SectionAddr {
    /// The page that holds it.
    #[inline]
    pub fn page(&self) -> Option<PageAddr> {
        self.at.checked_sub(1).map(PageAddr)
    }

    /// It is on that page now.
    pub fn set_page(&mut self, page: PageAddr, bytes: u32, charge: u32) {
        (self.at, self.bytes, self.charge) = (page.0 + 1, bytes, charge);
    }

    /// Whether it has ever been used.
    pub fn is_absent(&self) -> bool {
        self.at == 0 && self.cached == 0
    }
}

/// Bytes that the directory has for a section: a page address.
pub const DIRECTORY_ENTRY_BYTES: u64 = 4;

/// All sections.
#[derive(Clone, Debug)]
pub struct Table {
    /// Where each one is.
    pub places: Vec<SectionAddr>,
    /// Those in memory.
    pub cache: Cache,
    /// Hash indexes of a section.
    pub section_slots: u32,
}

impl Table {
    /// An empty table of so many sections, those of all its sizes if it doubles.
    pub fn new(sections: u64, section_slots: u32, cache: Cache) -> Self {
        Self { places: vec![SectionAddr::default(); sections as usize], cache, section_slots }
    }

    /// The section of a hash index, and its offset there.
    #[inline]
    pub fn split(&self, slot: u64) -> (u32, u32) {
        ((slot / u64::from(self.section_slots)) as u32, (slot % u64::from(self.section_slots)) as u32)
    }
}
