// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether what an LSM tree remembers agrees with itself. Entries of tables are not looked at.

use super::input::Input;
use super::job::Job;
use super::table::Table;
use super::{Lsm, LsmStore};
use crate::ordered::structure::Checked;
use saker_log::{LiveBytes, ensure};
use saker_segment_store::PageAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Checked for Lsm {
    fn check(store: &LsmStore, live: &mut LiveBytes<'_>) -> Result<(), String> {
        store.own.levels.check()?;
        let mut pages = Pages::none(store);
        let mut ids = BTreeSet::new();
        for (level, table) in store.own.levels.all() {
            ensure(ids.insert(table.id), || format!("table {} is there twice", table.id))?;
            store.check_table(table).map_err(|e| format!("table {} of level {level}: {e}", table.id))?;
            pages.add(table.all_pages(), live)?;
            store.counts().refs(&table.refs, live);
        }
        store.check_jobs(&ids)?;
        for job in store.own.flush.iter().chain(&store.own.compactions) {
            pages.add(job.pages(), live)?;
        }
        let leaving = store.own.leaving.dying.iter().chain(&store.own.leaving.leaving);
        pages.add(leaving.copied(), live)?;
        let (found, noted) = (store.measured(), store.own.sizes);
        ensure(found == noted, || format!("sizes of tables are {found:?}, noted: {noted:?}"))?;
        store.check_buffers()
    }
}

/// Pages of tables, each of which counts once.
struct Pages<'a> {
    store: &'a LsmStore,
    /// By page: whether it has been counted.
    seen: Vec<bool>,
}

impl<'a> Pages<'a> {
    fn none(store: &'a LsmStore) -> Self {
        let g = store.log.geometry();
        Self { store, seen: vec![false; g.segments as usize * g.segment_pages as usize] }
    }

    fn add(&mut self, pages: impl Iterator<Item = PageAddr>, live: &mut LiveBytes<'_>) -> Result<(), String> {
        for page in pages {
            self.store.counts().page(page, live)?;
            // There is such a page, or nothing could live there.
            let seen = std::mem::replace(&mut self.seen[page.0 as usize], true);
            ensure(!seen, || format!("page {} is in two tables", page.0))?;
        }
        Ok(())
    }
}

impl LsmStore {
    fn check_table(&self, table: &Table) -> Result<(), String> {
        let is_number = table.id < self.own.next_table;
        ensure(is_number, || format!("its number is not below {}", self.own.next_table))?;
        ensure(table.first <= table.last, || "its first key is behind its last".into())?;
        let has = (table.entries, table.index.len(), table.pages.len(), table.meta_pages.len());
        let sound = has.0 >= has.1 as u64 && has.1 > 0 && has.2 > 0 && has.3 > 0;
        ensure(sound, || format!("entries, blocks, pages of both kinds: {has:?}"))?;
        let newest = table.version_max;
        ensure(newest < self.version, || format!("it has version {newest}, the next is {}", self.version))
    }

    /// What jobs read is there, and no two of them read the same.
    fn check_jobs(&self, ids: &BTreeSet<u64>) -> Result<(), String> {
        let replaced: Vec<u64> = self.own.compactions.iter().flat_map(Job::replaces).copied().collect();
        let lost = replaced.iter().find(|id| !ids.contains(id));
        ensure(lost.is_none(), || format!("table {lost:?} is merged, which there is not"))?;
        let once = replaced.iter().collect::<BTreeSet<_>>().len() == replaced.len();
        ensure(once, || format!("two compactions merge one of {replaced:?}"))?;
        let left =
            self.own.compactions.iter().flat_map(|job| &job.merger.inputs).flat_map(Input::tables_left);
        let tables: BTreeMap<u64, &Arc<Table>> = self.own.levels.all().map(|(_, t)| (t.id, t)).collect();
        let is_as_there = |t: &&Arc<Table>| tables.get(&t.id).is_some_and(|own| own.pages == t.pages);
        let moved = left.filter(|t| !is_as_there(t)).map(|t| t.id).next();
        ensure(moved.is_none(), || format!("a merge looks for table {moved:?} where it is not"))?;
        let has_source = self.own.flush.is_none() || !self.own.frozen.is_empty();
        ensure(has_source, || "nothing is flushed".into())
    }

    fn check_buffers(&self) -> Result<(), String> {
        let (frozen, most) = (self.own.frozen.len(), (self.config.max_write_buffer_number as usize).max(2));
        ensure(frozen < most, || format!("{frozen} memtables are frozen, of {most}"))?;
        let snapshots = &self.own.snapshots;
        let sorted = snapshots.is_sorted() && snapshots.last().is_none_or(|s| *s <= self.version);
        ensure(sorted, || format!("snapshots are not in order: {snapshots:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsm::LsmConfig;
    use crate::planted::Worn;

    type Fault = (&'static str, fn(&mut LsmStore));

    #[test]
    fn every_planted_fault_is_found() {
        let worn = Worn::new(64, |m| {
            let config = LsmConfig::new(1, &m.geometry(), m.quota_segments(), true);
            LsmStore::new(LsmConfig { write_buffer_size: 4 << 10, target_file_pages: 4, ..config }, m)
        });
        let faults: [Fault; 14] = [
            ("live bytes of tables", |s| s.structure_live += 8),
            ("the number of entries", |s| s.own.sizes.entries += 1),
            ("bytes that are owed", |s| s.own.sizes.pending_bytes += 1),
            ("tables in level 0", |s| s.own.sizes.level0 += 1),
            ("whether a compaction is due", |s| s.own.sizes.is_due ^= true),
            ("the next table's number", |s| s.own.next_table = 1),
            ("a table that went without its pages", |s| {
                let id = first(s).id;
                _ = s.own.levels.remove(id);
                s.measure();
            }),
            ("a page that has gone", |s| s.own.leaving.dying.push(first(s).pages[0])),
            ("a compaction of what is not there", |s| {
                let table = Arc::new(Table { id: 1 << 40, ..first(s) });
                s.own.compactions.push(Job::rewriting(1, &[table]).resting());
            }),
            ("a flush of nothing", |s| {
                s.own.flush = Some(Job::flush(Arc::default()).resting());
                s.own.frozen.clear();
            }),
            ("tables that overlap", |s| {
                let table = first(s);
                let next = s.own.next_table;
                s.own.levels.add(1, Arc::new(Table { id: next, ..table.clone() }));
                s.own.levels.add(1, Arc::new(Table { id: next + 1, ..table }));
            }),
            ("snapshots", |s| s.own.snapshots = vec![5, 3]),
            ("versions", |s| s.version = 1),
            ("references of the memtable", |s| s.mem.refs = Default::default()),
        ];
        for (what, fault) in faults {
            worn.finds(what, fault);
        }
    }

    fn first(s: &LsmStore) -> Table {
        s.own.levels.all().next().map(|(_, table)| Table::clone(table)).expect("a table")
    }
}
