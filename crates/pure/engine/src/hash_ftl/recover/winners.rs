// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The newest record of each hash index.
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

use crate::hash_ftl::ops::pair_bytes;
use crate::hash_ftl::record::Kind;
use crate::hash_ftl::walk::Walked;

/// A record, in as few bytes as hold what is needed of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Winner {
    /// Version (56 bits), kind.
    version: u64,
    /// Grain (40 bits), grains.
    place: u64,
    pair_bytes: u32,
    key: u32,
}

impl Winner {
    /// The record, and the checksum of its key.
    pub fn new(r: &Walked, key: u32) -> Self {
        Self {
            version: r.head.version | (r.head.kind as u64) << 56,
            place: r.grain | u64::from(r.grains) << 40,
            pair_bytes: pair_bytes(&r.head) as u32,
            key,
        }
    }

    /// Its version.
    pub fn version(self) -> u64 {
        self.version & ((1 << 56) - 1)
    }

    /// Pair or tombstone.
    pub fn kind(self) -> Kind {
        if self.version >> 56 == Kind::Pair as u64 { Kind::Pair } else { Kind::Tombstone }
    }

    /// Its first grain.
    pub fn grain(self) -> u64 {
        self.place & ((1 << 40) - 1)
    }

    /// Its grains.
    pub fn grains(self) -> u32 {
        (self.place >> 40) as u32
    }

    /// The checksum of its key: others can have the same.
    pub fn key(self) -> u32 {
        self.key
    }

    /// What its pair counts for.
    pub fn pair_bytes(self) -> u64 {
        u64::from(self.pair_bytes)
    }
}

/// A record that is not at its key's first hash index.
#[derive(Clone, Copy, Debug)]
pub struct Displaced {
    /// That index.
    pub home: u64,
    /// Where it is.
    pub slot: u64,
    /// Which record it is.
    pub version: u64,
}

/// By section.
#[derive(Clone, Debug)]
pub struct Winners {
    sections: Vec<Option<Box<[Winner]>>>,
    section_slots: u32,
}

impl Winners {
    /// None.
    pub fn new(sections: usize, section_slots: u32) -> Self {
        Self { sections: vec![None; sections], section_slots }
    }

    /// The newest record found of a hash index.
    pub fn get(&self, section: usize, offset: u32) -> Option<Winner> {
        let winners = self.sections.get(section)?.as_ref()?;
        winners.get(offset as usize).copied().filter(|winner| winner.version != 0)
    }

    /// A newer one was found.
    pub fn set(&mut self, section: usize, offset: u32, winner: Winner) {
        let slots = self.section_slots as usize;
        let Some(section) = self.sections.get_mut(section) else { return };
        let winners = section.get_or_insert_with(|| vec![Winner::default(); slots].into());
        if let Some(known) = winners.get_mut(offset as usize) {
            *known = winner;
        }
    }

    /// It is not needed after all.
    pub fn clear(&mut self, section: usize, offset: u32) {
        self.set(section, offset, Winner::default());
    }

    /// Whether nothing was found of a section.
    pub fn is_empty(&self, section: usize) -> bool {
        self.sections.get(section).is_none_or(Option::is_none)
    }

    /// The section is settled.
    pub fn free(&mut self, section: usize) {
        if let Some(winners) = self.sections.get_mut(section) {
            *winners = None;
        }
    }
}
