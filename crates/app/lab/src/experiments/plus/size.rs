// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How a published run is made smaller.
//!
//! Superblocks keep their size and become fewer, as long as enough are left: those that are kept free must be a small part of
//! the device, or collections meet a fuller one than published. Below that they shrink, and with them the room
//! of a page of invalid mappings and the time of an erase: a superblock fills its buffer as often as before, or [`FILLS_ENOUGH`] times if that is less, since
//! pages of few mappings take room that the published device has. Pairs, operations and the cache follow the bytes, so that
//! occupancy and the cache's part of the table stay.

use saker_engine::Settings;
use saker_engine::hash_ftl::validity::invalid::MAPPING_BYTES;

/// Of so many a twentieth is kept free.
const SUPERBLOCKS: u64 = 256;
/// There are at least so many.
const SUPERBLOCKS_MIN: u64 = 64;
/// Superblocks of fewer pages have no room for a pair in each LUN.
const SUPERBLOCK_PAGES_MIN: u32 = 32;
/// Table of Original to cache, as public runs of the papers' code have it: 2 GiB for 128 MB.
const TABLE_TO_CACHE: u64 = 16;
/// Original's table has 8 bytes for 512.
const TABLE_PART: u64 = 64;
/// Commands in flight must not drive out each other's sections, in pages.
const CACHE_PAGES_MIN: u64 = 32;
/// A superblock that fills its buffer so often has hardly a mapping that is never written.
pub const FILLS_ENOUGH: u64 = 16;

/// A device and a run on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    /// Superblocks.
    pub superblocks: u32,
    /// Pages of each.
    pub superblock_pages: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// By how much superblocks are smaller than published.
    pub shrunk: u32,
    /// Pairs.
    pub pairs: u64,
    /// Operations of each workload.
    pub operations: u64,
    /// Table of Original to cache.
    pub table_to_cache: u64,
}

impl Size {
    /// A published run by a scale.
    pub fn of(published: &Published, scale: u32) -> Self {
        let Published { disk_bytes, superblock_pages, page_bytes, pairs, operations } = *published;
        let superblock = u64::from(superblock_pages) * u64::from(page_bytes);
        let wanted = disk_bytes / u64::from(scale.max(1));
        let mut pages = superblock_pages;
        while wanted < SUPERBLOCKS * u64::from(pages * page_bytes) && pages > SUPERBLOCK_PAGES_MIN {
            pages /= 2;
        }
        let superblocks = (wanted / u64::from(pages * page_bytes)).max(SUPERBLOCKS_MIN);
        let all = disk_bytes / superblock * u64::from(superblock_pages / pages);
        let of = |n: u64| (u128::from(n) * u128::from(superblocks) / u128::from(all)) as u64;
        Self {
            superblocks: superblocks as u32,
            superblock_pages: pages,
            page_bytes,
            shrunk: superblock_pages / pages,
            pairs: of(pairs),
            operations: of(operations).max(300),
            table_to_cache: TABLE_TO_CACHE,
        }
    }

    /// Bytes of flash.
    pub fn bytes(&self) -> u64 {
        u64::from(self.superblocks) * u64::from(self.superblock_pages) * u64::from(self.page_bytes)
    }

    /// The cache and the room of a page of invalid mappings, for records of so many bytes, where `settings` say nothing of them.
    pub fn tune(&self, settings: &Settings, record_bytes: u64) -> Settings {
        let least = CACHE_PAGES_MIN * u64::from(self.page_bytes);
        let mut own = vec![("cache_bytes", (self.bytes() / TABLE_PART / self.table_to_cache).max(least))];
        if self.shrunk > 1 {
            own.push(("page_mappings", u64::from(self.page_mappings(record_bytes))));
        }
        settings.over(&Settings::told(&own))
    }

    /// An erase of a block that has shrunk, in nanoseconds: as long for a byte as published, or short blocks would cost more
    /// time to erase than to program.
    pub fn erase_ns(&self, published: u64) -> u64 {
        published / u64::from(self.shrunk)
    }

    /// Pages that a program writes, and its time, where a LUN has fewer of a superblock than the published one: as long for a page.
    pub fn program(&self, luns: u32, pages: u32, ns: u64) -> (u32, u64) {
        let rows = (self.superblock_pages / luns.max(1)).clamp(1, pages.max(1));
        (rows, ns * u64::from(rows) / u64::from(pages.max(1)))
    }

    fn page_mappings(&self, record_bytes: u64) -> u32 {
        let room = self.page_bytes / MAPPING_BYTES as u32;
        let records = u64::from(self.superblock_pages) * u64::from(self.page_bytes) / record_bytes.max(1);
        (room / self.shrunk).max((records / FILLS_ENOUGH) as u32).clamp(1, room)
    }
}

/// What the paper ran.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// Bytes of flash.
    pub disk_bytes: u64,
    /// Pages of a superblock.
    pub superblock_pages: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pairs.
    pub pairs: u64,
    /// Operations of each workload.
    pub operations: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: Published = Published {
        disk_bytes: 128 << 30,
        superblock_pages: 2048,
        page_bytes: 4096,
        pairs: 100_000_000,
        operations: 10_000_000,
    };

    #[test]
    fn superblocks_become_fewer_and_then_smaller() {
        let at = |scale| Size::of(&PAPER, scale);
        let (whole, fewer, smaller) = (at(1), at(64), at(256));
        assert_eq!((whole.superblocks, whole.pairs, whole.operations), (16_384, 100_000_000, 10_000_000));
        assert_eq!((fewer.superblocks, fewer.superblock_pages, fewer.pairs), (256, 2048, 1_562_500));
        assert_eq!((smaller.superblocks, smaller.superblock_pages, smaller.shrunk), (256, 512, 4));
        for size in [fewer, smaller] {
            let occupied = |s: &Size| s.pairs as f64 / s.bytes() as f64;
            assert!((occupied(&size) / occupied(&whole) - 1.0).abs() < 1e-3);
            let tuning = size.tune(&Settings::NONE, 1088);
            assert_eq!(tuning.get("cache_bytes").map(|c| c * 1024), Some(size.bytes()));
            let fills = u64::from(size.superblock_pages) / tuning.get("page_mappings").unwrap_or(512);
            assert_eq!(fills, 2048 / 512, "a superblock fills its buffer as often");
            let erase = |s: &Size| s.erase_ns(3_000_000) as f64 / f64::from(s.superblock_pages);
            assert_eq!(erase(&size), erase(&whole), "a byte is erased as fast");
        }
        assert_eq!(at(u32::MAX).bytes(), 8 << 20);
    }

    #[test]
    fn a_page_takes_as_much_of_a_program_in_a_superblock_that_has_shrunk() {
        let of = |pages| Size { superblock_pages: pages, ..Size::of(&PAPER, 256) }.program(64, 8, 185_000);
        assert_eq!((of(2048), of(512), of(128)), ((8, 185_000), (8, 185_000), (2, 46_250)));
        assert_eq!(of(32), (1, 23_125));
    }

    #[test]
    fn pages_of_invalid_mappings_take_no_more_room_than_they_must() {
        // 512 KiB: 8192 records of a grain, which fill 16 pages of mappings; the published superblock fills 256.
        let small = Size { superblock_pages: 128, shrunk: 16, ..Size::of(&PAPER, 256) };
        let mappings = |record| small.tune(&Settings::NONE, record).get("page_mappings");
        assert_eq!((mappings(64), mappings(128), mappings(1088)), (Some(512), Some(256), Some(32)));
    }
}
