// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Recovery of the tables that a manifest names: their descriptions are read.
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

use super::LsmStore;
use super::parse::{Chunk, contradiction, decode_chunk};
use super::table::{Layout, Table};
use crate::ordered::block::{self, Kind as BlockKind};
use crate::ordered::refs;
use saker_log::recover::{Damage, Progress};
use saker_log::{Segment, SegmentState, page_of};
use saker_segment_store::{Page, PageAddr, Reads, SegmentStore, Step, Stream};
use std::ops::Range;
use std::sync::Arc;

/// Tables with their level, the next one last.
pub type Tables = Vec<(usize, Table)>;

impl LsmStore {
    /// Takes a chunk of a manifest.
    pub(super) fn enter_chunk(&mut self, tables: &mut Tables, chunk: &[u8]) -> bool {
        match decode_chunk(chunk) {
            Some(Chunk::Head(head)) => {
                (self.own.next_table, self.own.was_clean) = (head.next_table, !head.keeps);
                self.longest.know(head.longest);
            }
            Some(Chunk::Tables(more)) => tables.extend(more),
            None => return false,
        }
        true
    }

    /// Reads the description of the next table.
    pub(super) fn load_table<M: SegmentStore>(
        &mut self,
        named: &mut Tables,
        m: &M,
    ) -> Step<Result<Progress, Damage>> {
        let Some((level, mut table)) = named.pop() else {
            self.mark_recovered();
            self.measure_for_writes();
            let named_twice = contradiction(&self.own.levels).map(|what| self.contradicted(what));
            return Step::Done(named_twice.map_or(Ok(Progress::Finished), Err));
        };
        let geometry = self.log.geometry();
        let is_of_tables = |s: &Segment| s.state != SegmentState::Absent && s.stream() == Stream::Table;
        let held = |page: PageAddr| {
            geometry.contains(page)
                && self.log.find_segment(geometry.segment_of(page)).is_some_and(is_of_tables)
        };
        if !table.all_pages().all(held) {
            return Step::Done(Err(self.contradicted("it names a page that this namespace does not hold")));
        }
        let pinned = level < self.config.pinned_levels as usize;
        let wanted: Reads = if pinned { table.all_pages().collect() } else { table.meta_pages.clone() };
        let pages: Vec<_> = wanted.iter().map(|page| page_of(&self.log, m, *page)).collect();
        if pages.iter().any(|page| matches!(page, Page::Absent)) {
            named.push((level, table));
            return Step::Need(wanted);
        }
        let mut data = Vec::new();
        for (page, at) in pages.iter().zip(&wanted) {
            let Page::Resident { data: bytes, .. } = page else {
                return Step::Done(Err(Damage::page(&geometry, *at, "a table's page cannot be read")));
            };
            data.push(bytes.to_vec());
        }
        if pinned {
            let described = data.split_off(table.pages.len().min(data.len()));
            table.pinned = std::mem::replace(&mut data, described);
        }
        let is_packed = self.config.layout(geometry.page_bytes) != Layout::Slots;
        if read_meta(&mut table, &data, (geometry.page_bytes, geometry.segments), is_packed).is_none() {
            let at = table.meta_pages.first().copied().unwrap_or(PageAddr(0));
            return Step::Done(Err(Damage::page(&geometry, at, "it does not describe its table")));
        }
        self.version = self.version.max(table.version_max + 1);
        self.own.next_table = self.own.next_table.max(table.id + 1);
        self.own.levels.add(level, Arc::new(table));
        Step::Done(Ok(Progress::More))
    }

    fn contradicted(&self, what: &str) -> Damage {
        Damage::Checkpoint { owner: self.settings.owner, what: what.into() }
    }

    /// Counts what tables need and refer to, and gives back what nothing does.
    pub(super) fn settle<M: SegmentStore>(&mut self, m: &mut M) {
        let levels = self.own.levels.clone();
        for (_, table) in levels.all() {
            refs::count(&mut self.log, &self.births, &table.refs, true);
            table.all_pages().for_each(|page| self.add_page(page));
        }
        self.release_dead_tables(m);
    }
}

/// Joins the blocks of a description.
fn read_meta(
    table: &mut Table,
    pages: &[Vec<u8>],
    (page_bytes, segments): (u32, u32),
    is_packed: bool,
) -> Option<()> {
    let spans = || (0..block::blocks_per_page(page_bytes)).map(|n| block::span(page_bytes, n));
    let blocks = pages.iter().flat_map(|page| spans().filter_map(|span| part(page, span)));
    let mut meta = Vec::new();
    for (n, bytes) in blocks.enumerate() {
        if meta.len() == table.meta_bytes as usize {
            break;
        }
        let (_, _, part) = block::open(bytes, BlockKind::Meta, table.id, n as u32)?;
        meta.extend_from_slice(part);
    }
    table.decode_meta(&meta, segments, is_packed)?;
    let fits = if is_packed {
        table.index.starts_within(table.pages.len() as u64 * u64::from(page_bytes))
    } else {
        table.index.len() <= table.pages.len() * block::blocks_per_page(page_bytes) as usize
    };
    fits.then_some(())
}

fn part(page: &[u8], Range { start, end }: Range<u32>) -> Option<&[u8]> {
    page.get(start as usize..end as usize)
}
