// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Recovery of a table that doubles. Records are told apart as in the largest table, in which each of them has its own section
//! whatever the table's size was when it was written; the sections of the size that was reached are made of those.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use super::{Recovery, Written, is_pair};
use crate::hash_ftl::table::levels::Levels;

impl Recovery {
    /// Something of a section was found.
    pub(super) fn see_level(&mut self, id: u32) {
        if let Some(levels) = self.store.probe.levels()
            && id < levels.ids()
        {
            self.level = self.level.max(levels.level_of(id));
        }
    }

    /// All was found: the table has the size that was reached, and sections of the smaller one may be undivided.
    pub(super) fn found_level(&mut self) {
        self.store.probe.set_level(self.level);
        if let (Some(levels), Some(smaller)) = (self.store.probe.levels(), self.level.checked_sub(1)) {
            self.store.doubling.next = Some(levels.base(smaller));
        }
    }

    /// The sections in which records of a section were told apart: itself, or those of the largest table.
    pub(super) fn parts(&self, id: u32) -> std::ops::Range<u32> {
        let Some(levels) = self.store.probe.levels() else { return id..id + 1 };
        let (base, finest) = (levels.base(levels.last()), levels.finest(id));
        base + finest.start..base + finest.end
    }

    /// What entries of pairs in such a section keep of their keys' hashes.
    pub(super) fn tag_of(&self, part: u32) -> u8 {
        let Some(levels) = self.store.probe.levels() else { return 0 };
        levels.tag(part - levels.base(levels.last()))
    }

    /// What flash has of a section: the newest page of it, or of those that it came from.
    pub(super) fn covering(&self, id: u32) -> Option<&Written> {
        let Some(levels) = self.store.probe.levels() else { return self.written(id) };
        let from = std::iter::successors(Some(id), |id| levels.parent(*id));
        from.filter_map(|id| self.written(id)).max_by_key(|written| written.sequence)
    }

    pub(super) fn settle(&mut self, id: u32) {
        match self.store.probe.levels() {
            None => self.settle_section(id, false),
            Some(levels) if levels.level_of(id) != levels.level().saturating_sub(1) => {}
            Some(levels) => self.settle_family(id, levels),
        }
    }

    /// A section of the smaller table, undivided or divided. If a half is not on flash, the page of the whole is needed until it
    /// is, and the half is in memory.
    fn settle_family(&mut self, id: u32, levels: Levels) {
        let children = levels.children(id).filter(|_| levels.level() > 0);
        let Some(children) = children else { return self.settle_section(id, false) };
        let on_flash = children.map(|child| self.written(child).is_some());
        if on_flash == [false; 2] && !self.needs_halves(id) {
            return self.settle_section(id, false);
        }
        for (child, is_on_flash) in children.into_iter().zip(on_flash) {
            self.settle_section(child, !is_on_flash);
        }
        if on_flash != [true; 2]
            && let Some(whole) = self.take_written(id)
        {
            self.adopt(id, &whole);
        }
    }

    /// Whether pairs of both halves have the same hash index in the whole.
    fn needs_halves(&self, id: u32) -> bool {
        let slots = self.store.table.section_slots;
        let used: Vec<u32> = self.parts(id).filter(|part| !self.winners.is_empty(*part as usize)).collect();
        (0..slots).any(|offset| {
            let pairs = used.iter().filter_map(|part| self.winners.get(*part as usize, offset));
            pairs.filter(|winner| is_pair(*winner)).count() > 1
        })
    }
}
