// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What lives at most, as writes near the capacity tell it.
//!
//! What has been replaced counts until the structure meets it, and a merge of everything finds all of it. Where values are in the structure
//! such a merge writes most of the store anew. So what it has found is kept up to date: near the capacity a write looks up what it replaces,
//! and takes it off. Only what was written without that look is unknown, and another merge is worth its cost only for much of it.

use super::inside::Inside;
use super::key::Entry;

/// What a write replaces.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Replaced {
    /// Nobody looked.
    Unknown,
    /// Nothing.
    Nothing,
    /// A record of so many bytes in the value log.
    Apart(u32),
    /// One of so many bytes with its value beside its key.
    Inside(u32),
}

impl Replaced {
    /// The pair that was found.
    pub fn found(old: Option<Entry>) -> Self {
        old.map_or(Self::Nothing, |e| {
            let bytes = e.addr.record_bytes();
            if e.is_inside() { Self::Inside(bytes) } else { Self::Apart(bytes) }
        })
    }

    /// Bytes of the record, if it is known that there is one.
    pub fn bytes(self) -> Option<u32> {
        match self {
            Self::Unknown | Self::Nothing => None,
            Self::Apart(bytes) | Self::Inside(bytes) => Some(bytes),
        }
    }

    /// Bytes of the record that is not needed any more, at most; `longest`: of any record.
    pub fn bytes_at_most(self, longest: u32) -> u32 {
        match self {
            Self::Unknown => longest,
            Self::Nothing => 0,
            Self::Apart(bytes) | Self::Inside(bytes) => bytes,
        }
    }

    /// Whether its value is beside its key.
    pub fn is_inside(self) -> bool {
        matches!(self, Self::Inside(_))
    }

    /// What it is of entries whose values are beside them.
    pub fn inside(self) -> Inside {
        if let Self::Inside(bytes) = self { Inside::of(1, u64::from(bytes)) } else { Inside::NONE }
    }
}

/// Of the capacity at least this part is unknown if a merge of everything is begun for it.
const WORTH_PART: u64 = 64;
/// Writes look what they replace up if no more than this part of the capacity is left.
const NEAR_PART: u64 = 8;

/// Upper bounds of what lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Living {
    /// Bytes of records in the value log.
    pub apart: u64,
    /// Entries whose values are beside them.
    pub inside: Inside,
    /// Bytes of pages of tables, or nodes, when all was merged.
    pub structure: u64,
    /// Bytes of the entries in them whose values were beside them.
    pub merged: u64,
    /// Of all these at most so many are of records that have been replaced.
    pub unknown: u64,
}

impl Living {
    /// A write has entered an entry; `held`: a snapshot may see what it replaced; `longest`: bytes of any record at most.
    pub fn entered(&mut self, e: &Entry, replaced: Replaced, held: bool, longest: u32) {
        self.add(e);
        if held || matches!(replaced, Replaced::Unknown) {
            self.unknown += u64::from(replaced.bytes_at_most(longest));
        } else {
            self.take(replaced);
        }
    }

    /// A collection has entered an entry anew.
    pub fn moved(&mut self, old: &Entry, new: &Entry) {
        self.add(new);
        self.take(Replaced::found(Some(*old)));
    }

    fn add(&mut self, e: &Entry) {
        if e.is_inside() {
            self.inside = self.inside.and(Inside::of_entry(e));
        } else if !e.is_tombstone() {
            self.apart += u64::from(e.addr.record_bytes());
        }
    }

    fn take(&mut self, old: Replaced) {
        self.inside = self.inside.but(old.inside());
        if let Replaced::Apart(bytes) = old {
            self.apart = self.apart.saturating_sub(u64::from(bytes));
        }
    }

    /// All has been merged and is counted. What writes have told may say less.
    pub fn merged(before: Option<Self>, found: Self) -> Self {
        let Some(told) = before else { return found };
        let inside = found.inside.at_most(told.inside);
        let unknown = found.unknown.min(told.unknown);
        Self { apart: found.apart.min(told.apart), inside, unknown, ..found }
    }

    /// Bytes of the structure's pages if all were merged now: what has gone since takes its share along.
    pub fn structure_bytes(&self) -> u64 {
        if self.merged == 0 {
            return self.structure;
        }
        let share = u128::from(self.structure) * u128::from(self.inside.bytes) / u128::from(self.merged);
        self.structure.min(u64::try_from(share).unwrap_or(u64::MAX))
    }

    /// Whether so little is unknown that no merge is worth looking for it.
    pub fn is_known(&self, capacity: u64) -> bool {
        self.unknown < capacity / WORTH_PART
    }
}

/// Whether writes look up what they replace.
pub(crate) fn is_near(content: u64, capacity: u64) -> bool {
    content >= capacity - capacity / NEAR_PART
}

#[cfg(test)]
mod tests;
