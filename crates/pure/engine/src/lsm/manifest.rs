//! The manifest: which tables there are. It is a checkpoint of the log, so it replaces the one before by its end record,
//! and its cut says from where on the value log must be scanned for what no table has.
//!
//! A manifest begins when a memtable is frozen: everything before the cut is then in tables or in that memtable. It goes
//! on when that is flushed, and describes the tables as they are then.
//!
//! Chunks (little-endian): kind `u8`; 1, first: next table's number `u64`, bytes of the longest record `u32`; 2: tables, each level `u8`, number, entries,
//! newest version `u64`, first and last key (16 bytes and length `u8` each), bytes of the description, pages, pages of
//! the description `u32`, and the addresses of all pages `u64`.

use super::LsmStore;
use super::block_index::BlockIndex;
use crate::ordered::filter::Filter;
use super::levels::LEVELS;
use crate::ordered::refs::Refs;

use super::table::{Cursor, Table};
use crate::kv::Background;
use saker_log::checkpoint::release_others;
use saker_log::{CheckpointWriter, Log};
use saker_medium::{Medium, PageAddr, SegmentId, Stream, Tag};
use saker_sim::{Meter, Unit};
use std::collections::VecDeque;

/// Bytes of a table's entry before its addresses.
pub const TABLE_BYTES: u64 = 1 + 3 * 8 + 2 * 17 + 3 * 4;
const KIND_HEAD: u8 = 1;
const KIND_TABLES: u8 = 2;

/// Where manifests stand.
#[derive(Clone, Debug, Default)]
pub struct State {
    running: Option<CheckpointWriter>,
    /// Chunks that are to be written; `None`: memtables must be flushed first.
    chunks: Option<VecDeque<Vec<u8>>>,
    /// Flushes after which tables have everything before its cut.
    flushes: u64,
    /// Segments of the last complete one.
    pub(super) segments: Vec<SegmentId>,
    /// Version at its cut.
    pub(super) version: u64,
    pub(super) generation: u64,
    bytes_at_cut: u64,
    postponed_at: Option<u64>,
    /// One is needed now.
    pub(super) wanted: bool,
    /// Pages that tables left since the running manifest looked, or since the last one did.
    pub(super) dying: Vec<PageAddr>,
    /// Pages that the running manifest does not name.
    leaving: Vec<PageAddr>,
}

impl State {
    /// Whether one is being written.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Whether the last complete manifest could name a page that is no longer used.
    pub fn may_name(&self, page: PageAddr) -> bool {
        self.dying.contains(&page) || self.leaving.contains(&page)
    }

    /// Pages that a next manifest frees.
    pub fn dying_pages(&self) -> u64 {
        (self.dying.len() + self.leaving.len()) as u64
    }
}

fn appended(log: &Log) -> u64 {
    let stats = log.stats();
    stats.bytes_appended[Stream::User as usize] + stats.bytes_appended[Stream::Gc as usize]
}

impl LsmStore {
    fn manifest_bytes(&self) -> u64 {
        let tables = self.sizes.tables * TABLE_BYTES + 8 * self.sizes.pages;
        let memtables = self.memtable_entries();
        // What the memtables will be: at most so many pages.
        let pages = memtables as u64 * 64 / u64::from(self.log.geometry().page_bytes) + 4;
        tables + 16 + TABLE_BYTES * 4 + 8 * pages
    }

    /// Free segments that everybody leaves to manifests.
    pub(super) fn manifest_segments<M: Medium>(&self, _: &M) -> u32 {
        let needed = saker_log::checkpoint::segments_for(&self.log, self.manifest_bytes());
        1 + self.manifest.running.as_ref().map_or(needed, CheckpointWriter::segments_left)
    }

    fn is_manifest_due<M: Medium>(&self, m: &M) -> bool {
        let grown = appended(&self.log) - self.manifest.bytes_at_cut;
        let segment = self.log.geometry().segment_bytes();
        let dying = self.manifest.dying_pages() * u64::from(self.log.geometry().page_bytes);
        let due = grown > self.config.checkpoint_bytes_min
            || dying > (segment * 2).max(segment * u64::from(m.quota_segments()) / 32);
        let pressed = self.is_pressed(m) && (dying > 0 || self.log.until_checkpoint_bytes() > segment / 4);
        let retry = self
            .manifest
            .postponed_at
            .is_none_or(|at| appended(&self.log) > at || m.free_segments() > self.manifest_segments(m));
        self.manifest.wanted || (due || pressed) && retry
    }

    /// Whether there is work for a manifest.
    pub(super) fn manifest_has_work<M: Medium>(&self, m: &M) -> bool {
        self.manifest.is_running() || self.is_manifest_due(m)
    }

    /// One piece of manifest work.
    pub(super) fn manifest_step<M: Medium, W: Meter>(
        &mut self,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Background {
        let Some(running) = &self.manifest.running else {
            return if self.may_freeze() && self.is_manifest_due(m) {
                self.begin_manifest(m)
            } else {
                Background::Idle
            };
        };
        if running.is_finished() {
            return self.complete_manifest(finished, m);
        }
        if self.manifest.chunks.is_none() {
            if self.stats.flushes < self.manifest.flushes {
                return Background::Waiting;
            }
            self.look();
        }
        self.write_chunk(finished, m, w)
    }

    fn begin_manifest<M: Medium>(&mut self, m: &mut M) -> Background {
        let (generation, bytes) = (self.manifest.generation + 1, self.manifest_bytes());
        match CheckpointWriter::begin(&mut self.log, m, generation, self.version, bytes, 0) {
            Ok(writer) => {
                self.freeze();
                self.manifest.flushes = self.stats.flushes + self.frozen.len() as u64;
                let state = &mut self.manifest;
                (state.running, state.generation, state.chunks) = (Some(writer), generation, None);
                (state.bytes_at_cut, state.postponed_at, state.wanted) = (appended(&self.log), None, false);
                Background::Worked
            }
            Err(_) => {
                self.manifest.postponed_at = Some(appended(&self.log));
                Background::Waiting
            }
        }
    }

    /// The tables as they are now.
    fn look(&mut self) {
        let most = (self.log.geometry().segment_bytes() / 4).min(saker_log::checkpoint::CHUNK_BYTES_MAX - 8);
        let mut chunks = VecDeque::from([encode_head(self.next_table, self.record_bytes_max)]);
        let mut open = vec![KIND_TABLES];
        for (level, table) in self.levels.all() {
            let entry = encode_table(level, table);
            if open.len() > 1 && (open.len() + entry.len()) as u64 > most {
                chunks.push_back(std::mem::replace(&mut open, vec![KIND_TABLES]));
            }
            open.extend(entry);
        }
        if open.len() > 1 {
            chunks.push_back(open);
        }
        let state = &mut self.manifest;
        state.chunks = Some(chunks);
        state.leaving.append(&mut state.dying);
    }

    fn write_chunk<M: Medium, W: Meter>(&mut self, finished: Tag, m: &mut M, w: &mut W) -> Background {
        let State { running: Some(running), chunks: Some(chunks), .. } = &mut self.manifest else {
            return Background::Idle;
        };
        let Some(chunk) = chunks.front() else {
            let ended = running.finish(&mut self.log, m, finished);
            return if ended.is_ok() { Background::Worked } else { Background::Waiting };
        };
        if running.chunk(&mut self.log, m, chunk).is_err() {
            return Background::Waiting;
        }
        self.stats.kv.checkpoint_bytes += chunk.len() as u64;
        w.work(Unit::CopyByte, chunk.len() as u64);
        chunks.pop_front();
        Background::Worked
    }

    fn complete_manifest<M: Medium>(&mut self, finished: Tag, m: &mut M) -> Background {
        if !self.manifest.running.as_ref().is_some_and(|r| r.is_complete(finished)) {
            return Background::Waiting;
        }
        let running = self.manifest.running.take().expect("checked above");
        self.manifest.version = running.cut().version;
        let previous = std::mem::take(&mut self.manifest.segments);
        let mut segments = running.replace(&mut self.log, m, &previous);
        segments.retain(|id| !previous.contains(id));
        self.manifest.segments = segments;
        self.manifest.chunks = None;
        let page_bytes = u64::from(self.log.geometry().page_bytes);
        for page in std::mem::take(&mut self.manifest.leaving) {
            self.log.sub_live(self.page_segment(page), page_bytes);
            self.table_live -= page_bytes;
        }
        self.stats.kv.checkpoints += 1;
        self.release_dead_tables(m);
        Background::Worked
    }

    /// A page of the running manifest, or of a table it names, failed: another one is written.
    pub(super) fn manifest_failed<M: Medium>(&mut self, m: &mut M) {
        match self.manifest.running.take() {
            Some(running) => running.abort(&mut self.log, m, &self.manifest.segments),
            None => release_others(&mut self.log, m, &self.manifest.segments),
        }
        self.manifest.chunks = None;
        self.manifest.wanted = true;
    }
}

fn encode_head(next_table: u64, longest: u32) -> Vec<u8> {
    [&[KIND_HEAD][..], &next_table.to_le_bytes(), &longest.to_le_bytes()].concat()
}

fn encode_table(level: usize, table: &Table) -> Vec<u8> {
    let mut out = vec![level as u8];
    for n in [table.id, table.entries, table.version_max] {
        out.extend(n.to_le_bytes());
    }
    for key in [table.first, table.last] {
        out.extend(key.padded());
        out.push(key.len() as u8);
    }
    for n in [table.meta_bytes, table.pages.len() as u32, table.meta_pages.len() as u32] {
        out.extend(n.to_le_bytes());
    }
    table.all_pages().for_each(|p| out.extend(p.0.to_le_bytes()));
    out
}

/// What a chunk says.
#[derive(Debug)]
pub enum Chunk {
    /// The next table's number and the bytes of the longest record; earlier manifests did not tell, 0.
    Head(u64, u32),
    /// Tables with their level, without their descriptions.
    Tables(Vec<(usize, Table)>),
}

/// Reads a chunk; `None` if it is not one.
pub fn decode_chunk(payload: &[u8]) -> Option<Chunk> {
    let mut at = Cursor(payload);
    match at.take(1)?[0] {
        KIND_HEAD => at.u64().map(|next_table| Chunk::Head(next_table, at.u32().unwrap_or(0))),
        KIND_TABLES => {
            let mut tables = Vec::new();
            while !at.0.is_empty() {
                tables.push(decode_table(&mut at)?);
            }
            Some(Chunk::Tables(tables))
        }
        _ => None,
    }
}

fn decode_table(at: &mut Cursor<'_>) -> Option<(usize, Table)> {
    let level = usize::from(at.take(1)?[0]);
    let (id, entries, version_max) = (at.u64()?, at.u64()?, at.u64()?);
    let (first, last) = (at.key()?, at.key()?);
    let (meta_bytes, pages, meta_pages) = (at.u32()?, at.u32()?, at.u32()?);
    let mut addresses = |n: u32| (0..n).map(|_| at.u64().map(PageAddr)).collect::<Option<Vec<_>>>();
    let (pages, meta_pages) = (addresses(pages)?, addresses(meta_pages)?);
    let table = Table {
        id,
        entries,
        first,
        last,
        version_max,
        pages,
        meta_pages,
        meta_bytes,
        index: BlockIndex::default(),
        filter: Filter::default(),
        refs: Refs::default(),
        pinned: Vec::new(),
    };
    (level < LEVELS && first <= last).then_some((level, table))
}
