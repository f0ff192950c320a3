// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counters of the mechanisms (Plus, sections III to V).

use saker_segment_store::{Stall, Stream};

/// On whose behalf something was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A command.
    User = 0,
    /// Garbage collection.
    Gc = 1,
    /// A table that doubles.
    Rehash = 2,
}

/// Counters of a hash FTL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FtlStats {
    /// Bytes of records written for commands, whole grains.
    pub kv_bytes_written: u64,
    /// Pages looked at for keys and values of commands.
    pub kv_pages_read: u64,
    /// Searches for a key.
    pub lookups: u64,
    /// Hash indexes looked at in them.
    pub probes: u64,
    /// Pairs of another key that they met.
    pub collisions: u64,
    /// Searches in a section.
    pub section_searches: u64,
    /// Comparisons in them.
    pub comparisons: u64,
    /// Sections asked for, by [`Cause`].
    pub sections_wanted: [u64; 3],
    /// Of these, those found in memory or never used before. What an attempt has read for an operation that had to wait is no
    /// find of the attempt that ends it.
    pub sections_found: [u64; 3],
    /// Bytes of sections read from flash, by [`Cause`].
    pub table_bytes_read: [u64; 3],
    /// Bytes of sections written to flash, by [`Cause`].
    pub table_bytes_written: [u64; 3],
    /// Pages of sections read, by [`Cause`].
    pub table_pages_read: [u64; 3],
    /// Pages of sections written, by [`Cause`]: of a page that serves both, the first section decides.
    pub table_pages_written: [u64; 3],
    /// Bytes of invalid mappings written.
    pub invalid_bytes_written: u64,
    /// Bytes of invalid mappings read.
    pub invalid_bytes_read: u64,
    /// Mappings of overwritten and deleted records that were in memory yet when their superblock was given back: they are never written.
    pub invalid_mappings_dropped: u64,
    /// Pages of invalid mappings that collection copied.
    pub invalid_pages_moved: u64,
    /// Pages of records that collection read.
    pub gc_pages_read: u64,
    /// Pages of records that collection did not need to read.
    pub gc_pages_skipped: u64,
    /// Sections written to make room in memory before a command could go on.
    pub evictions_foreground: u64,
    /// Sections written in the background.
    pub evictions_background: u64,
    /// Attempts of commands that found no erased superblock.
    pub blocked_no_segment: u64,
    /// Attempts of commands that found no slot of the page buffer.
    pub blocked_no_slot: u64,
    /// Attempts of commands that found too many buffers of invalid mappings full.
    pub blocked_mappings: u64,
    /// Superblocks of records collected.
    pub collected_records: u64,
    /// Superblocks of sections collected.
    pub collected_sections: u64,
    /// Superblocks of invalid mappings collected.
    pub collected_mappings: u64,
    /// Times that the table has doubled.
    pub doublings: u64,
    /// Sections divided for that.
    pub sections_divided: u64,
}

impl FtlStats {
    /// An attempt that began with `before` must be made again: what its search looked at counts when it succeeds. Reads of
    /// sections count at once.
    pub(super) fn undo_search(&mut self, before: &Self) {
        (self.sections_wanted, self.sections_found) = (before.sections_wanted, before.sections_found);
        self.kv_pages_read = before.kv_pages_read;
        (self.lookups, self.probes, self.collisions) = (before.lookups, before.probes, before.collisions);
        (self.section_searches, self.comparisons) = (before.section_searches, before.comparisons);
    }

    /// A command cannot go on for now.
    pub(super) fn blocked(&mut self, stall: Stall) {
        match stall {
            Stall::NoSegment => self.blocked_no_segment += 1,
            Stall::NoSlot | Stall::Busy => self.blocked_no_slot += 1,
            Stall::Debt | Stall::Delayed { .. } | Stall::Worker => self.blocked_mappings += 1,
        }
    }

    /// A superblock of that stream was collected.
    pub(super) fn collected(&mut self, stream: Stream) {
        match stream {
            Stream::Map => self.collected_sections += 1,
            Stream::Invalid => self.collected_mappings += 1,
            _ => self.collected_records += 1,
        }
    }

    /// What has happened since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let pairs = |a: [u64; 3], b: [u64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
        Self {
            kv_bytes_written: self.kv_bytes_written - before.kv_bytes_written,
            kv_pages_read: self.kv_pages_read - before.kv_pages_read,
            lookups: self.lookups - before.lookups,
            probes: self.probes - before.probes,
            collisions: self.collisions - before.collisions,
            section_searches: self.section_searches - before.section_searches,
            comparisons: self.comparisons - before.comparisons,
            sections_wanted: pairs(self.sections_wanted, before.sections_wanted),
            sections_found: pairs(self.sections_found, before.sections_found),
            table_bytes_read: pairs(self.table_bytes_read, before.table_bytes_read),
            table_bytes_written: pairs(self.table_bytes_written, before.table_bytes_written),
            table_pages_read: pairs(self.table_pages_read, before.table_pages_read),
            table_pages_written: pairs(self.table_pages_written, before.table_pages_written),
            invalid_bytes_written: self.invalid_bytes_written - before.invalid_bytes_written,
            invalid_bytes_read: self.invalid_bytes_read - before.invalid_bytes_read,
            invalid_mappings_dropped: self.invalid_mappings_dropped - before.invalid_mappings_dropped,
            invalid_pages_moved: self.invalid_pages_moved - before.invalid_pages_moved,
            gc_pages_read: self.gc_pages_read - before.gc_pages_read,
            gc_pages_skipped: self.gc_pages_skipped - before.gc_pages_skipped,
            evictions_foreground: self.evictions_foreground - before.evictions_foreground,
            evictions_background: self.evictions_background - before.evictions_background,
            blocked_no_segment: self.blocked_no_segment - before.blocked_no_segment,
            blocked_no_slot: self.blocked_no_slot - before.blocked_no_slot,
            blocked_mappings: self.blocked_mappings - before.blocked_mappings,
            collected_records: self.collected_records - before.collected_records,
            collected_sections: self.collected_sections - before.collected_sections,
            collected_mappings: self.collected_mappings - before.collected_mappings,
            doublings: self.doublings - before.doublings,
            sections_divided: self.sections_divided - before.sections_divided,
        }
    }

    /// The counters with their names, in order.
    pub fn named(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("kv_bytes_written", self.kv_bytes_written),
            ("kv_pages_read", self.kv_pages_read),
            ("lookups", self.lookups),
            ("probes", self.probes),
            ("collisions", self.collisions),
            ("section_searches", self.section_searches),
            ("comparisons", self.comparisons),
            ("sections_wanted_user", self.sections_wanted[0]),
            ("sections_wanted_gc", self.sections_wanted[1]),
            ("sections_found_user", self.sections_found[0]),
            ("sections_found_gc", self.sections_found[1]),
            ("table_bytes_read_user", self.table_bytes_read[0]),
            ("table_bytes_read_gc", self.table_bytes_read[1]),
            ("table_bytes_read_rehash", self.table_bytes_read[2]),
            ("table_bytes_written_user", self.table_bytes_written[0]),
            ("table_bytes_written_gc", self.table_bytes_written[1]),
            ("table_bytes_written_rehash", self.table_bytes_written[2]),
            ("table_pages_read_user", self.table_pages_read[0]),
            ("table_pages_read_gc", self.table_pages_read[1]),
            ("table_pages_read_rehash", self.table_pages_read[2]),
            ("table_pages_written_user", self.table_pages_written[0]),
            ("table_pages_written_gc", self.table_pages_written[1]),
            ("table_pages_written_rehash", self.table_pages_written[2]),
            ("invalid_bytes_written", self.invalid_bytes_written),
            ("invalid_bytes_read", self.invalid_bytes_read),
            ("invalid_mappings_dropped", self.invalid_mappings_dropped),
            ("invalid_pages_moved", self.invalid_pages_moved),
            ("gc_pages_read", self.gc_pages_read),
            ("gc_pages_skipped", self.gc_pages_skipped),
            ("evictions_foreground", self.evictions_foreground),
            ("evictions_background", self.evictions_background),
            ("blocked_no_segment", self.blocked_no_segment),
            ("blocked_no_slot", self.blocked_no_slot),
            ("blocked_mappings", self.blocked_mappings),
            ("collected_records", self.collected_records),
            ("collected_sections", self.collected_sections),
            ("collected_mappings", self.collected_mappings),
            ("doublings", self.doublings),
            ("sections_divided", self.sections_divided),
        ]
    }
}
