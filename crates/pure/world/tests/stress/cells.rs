// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The model: every key and every logical block is a cell with all the values it ever had.

use saker_sim::Seed;

/// Keys of the KV namespace.
pub const KEYS: usize = 40;
/// Logical blocks that are used.
pub const LBAS: usize = 48;

/// A key or a logical block. The last version may be on its way.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Contents, oldest first; `None`: deleted, deallocated, or never written.
    pub versions: Vec<Option<Vec<u8>>>,
    /// The newest version whose command completed.
    pub acked: usize,
    /// The newest version that a completed Flush covers.
    pub durable: usize,
    /// Whether a write is on its way.
    pub busy: bool,
}

impl Cell {
    fn new() -> Self {
        Self { versions: vec![None], acked: 0, durable: 0, busy: false }
    }

    /// The newest version, on its way or not.
    pub fn last(&self) -> usize {
        self.versions.len() - 1
    }

    /// The newest version from `floor` on that has this content.
    fn find(&self, floor: usize, found: Option<&[u8]>) -> Option<usize> {
        (floor..=self.last()).rev().find(|v| self.versions[*v].as_deref() == found)
    }

    /// Why a content is not one that the cell may have, or its version.
    pub fn judge(&self, floor: usize, found: Option<&[u8]>) -> Result<usize, String> {
        if let Some(version) = self.find(floor, found) {
            return Ok(version);
        }
        let what = match (self.find(0, found), found) {
            (Some(v), None) => format!("gone, as in version {v}"),
            (Some(v), Some(_)) => format!("back at version {v}"),
            (None, None) => "gone, which it never was".into(),
            (None, Some(bytes)) => format!("{} bytes it never held (torn?)", bytes.len()),
        };
        Err(format!("{what}; allowed are {floor}..={}", self.last()))
    }
}

/// All cells: first the keys, then the blocks.
pub fn all() -> Vec<Cell> {
    (0..KEYS + LBAS).map(|_| Cell::new()).collect()
}

/// The key of a cell: 3 to 16 bytes.
pub fn key(cell: usize) -> Vec<u8> {
    let mut key = format!("{cell:03}").into_bytes();
    key.resize(3 + cell % 14, b'.');
    key
}

/// Content that belongs to one version of one cell, and to no other.
pub fn content(seed: u64, cell: usize, version: usize, bytes: usize) -> Vec<u8> {
    let mut out = vec![0; bytes];
    Seed(seed).child("content").index(cell as u64).index(version as u64).rng().fill(&mut out);
    let mark = ((cell as u64) << 32 | version as u64).to_le_bytes();
    let n = bytes.min(mark.len());
    out[..n].copy_from_slice(&mark[..n]);
    out
}
