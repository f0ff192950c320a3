// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Neighbours of the deepest level that would take fewer pages as one: tables of small memtables that went down a level without a merge.
//! Each has the last of its pages half empty, and a description of its own, so a device would be full long before it holds what it says.
//! They are written anew when room is needed.
//!
//! Only tables are taken that ended before they were full, two at least, and no more than one such is left of them: that always ends.

use super::marked::TOGETHER;
use super::space::expected_table_bytes;
use super::table::Table;
use super::{Lsm, LsmConfig};
use crate::ordered::inside::Inside;
use std::sync::Arc;

/// The first of these tables, which follow each other, that are to be written anew together. Empty: none are.
pub fn next_loose<'t>(config: &LsmConfig, tables: &'t [Arc<Table>], page_bytes: u64) -> &'t [Arc<Table>] {
    let loose = |t: &Arc<Table>| !t.is_full;
    let windows = tables.iter().enumerate().filter(|(_, t)| loose(t)).filter_map(|(from, _)| {
        let near = &tables[from..tables.len().min(from + TOGETHER)];
        let last = near.iter().rposition(loose)?;
        (last > 0).then(|| &near[..=last])
    });
    windows.into_iter().find(|window| gains(config, window, page_bytes)).unwrap_or_default()
}

/// Whether they have more pages than a table of so many entries is expected to have.
fn gains(config: &LsmConfig, tables: &[Arc<Table>], page_bytes: u64) -> bool {
    let entries = tables.iter().map(|t| t.entries).sum();
    let inside = tables.iter().fold(Inside::NONE, |all, t| all.and(t.inside));
    let has: u64 = tables.iter().map(|t| t.pages_total()).sum();
    has * page_bytes > expected_table_bytes(config, page_bytes, entries, inside)
}

impl Lsm {
    /// Tables of the deepest level that are to be written anew, all tables being in that level.
    pub(super) fn next_rewritten(&self, config: &LsmConfig, page_bytes: u64) -> &[Arc<Table>] {
        let marked = self.next_marked();
        let deepest = self.levels.deepest();
        if !marked.is_empty() || deepest == 0 {
            return marked;
        }
        next_loose(config, self.levels.level(deepest), page_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::builder::Builder;
    use super::super::table::Layout;
    use super::*;
    use crate::ordered::key::Key;
    use saker_segment_store::{Geometry, PageAddr};

    /// A table of a hundred pairs of 20 bytes on so many pages of 4 KiB. One would do.
    fn table(n: u32, pages: u64, is_full: bool) -> Arc<Table> {
        let first = Key::new(&n.to_be_bytes()).unwrap();
        let table = Builder::new(n.into(), first, 4096, 10, Layout::Packed(4096)).table().clone();
        let pages = (0..pages).map(PageAddr).collect();
        Arc::new(Table {
            pages,
            is_full,
            entries: 100,
            inside: Inside { entries: 100, bytes: 2000 },
            ..table
        })
    }

    fn found(tables: &[(u64, bool)]) -> Vec<u64> {
        let tables: Vec<_> =
            tables.iter().zip(0..).map(|((pages, is_full), n)| table(n, *pages, *is_full)).collect();
        let geometry = Geometry { page_bytes: 4096, oob_bytes: 64, segment_pages: 64, segments: 100 };
        let config = LsmConfig { min_blob_size: u32::MAX, ..LsmConfig::new(1, &geometry, 100, true) };
        next_loose(&config, &tables, 4096).iter().map(|t| t.id).collect()
    }

    #[test]
    fn those_that_ended_early_go_together_with_what_is_between_them() {
        assert_eq!(found(&[(9, false), (9, false)]), [0, 1]);
        assert_eq!(found(&[(9, true), (9, false), (9, true), (9, false), (9, true)]), [1, 2, 3]);
        assert_eq!(found(&[(9, false); 20]), (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn one_alone_stays_and_so_do_full_ones_and_those_that_gain_nothing() {
        assert!(found(&[]).is_empty());
        assert!(found(&[(9, true), (9, false), (9, true)]).is_empty());
        assert!(found(&[(9, true); 8]).is_empty());
        assert!(found(&[(1, false), (1, false)]).is_empty());
        let mut far = [(9, true); 10];
        (far[0].1, far[9].1) = (false, false);
        assert!(found(&far).is_empty(), "too far from each other");
    }
}
