// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Recovery of a block namespace: the last complete checkpoint, then the out-of-band entries of the log's
//! tail, applied in the order of their versions.
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

mod on_flash;

use super::dftl::Replay;
use super::entry::{EntryKind, decode_trim, sector};
use super::{PageMap, PageMapConfig};
use saker_log::checkpoint::release_others;
use saker_log::recover::{Damage, LogImage, Progress, Recovered, scan_page, survey};
use saker_log::{CheckpointSearch, Cut, Searched, Whole, page_of};
use saker_segment_store::{Completion, Page, PageAddr, SegmentStore, Step, Stream, ready};

#[derive(Clone, Debug)]
enum Event {
    Write { lba: u64, position: u64 },
    Trim(Vec<(u64, u64)>),
}

#[derive(Clone, Debug)]
enum Phase {
    Survey,
    Checkpoint,
    Scan { left: Vec<Recovered>, page: u32 },
    Translations,
    Apply,
    Replay,
}

/// A recovery on its way.
#[derive(Clone, Debug)]
pub struct Recovery {
    map: PageMap,
    phase: Phase,
    image: LogImage,
    search: CheckpointSearch,
    cut: Option<Cut>,
    events: Vec<(u64, Event)>,
    /// Of a map on flash.
    replay: Replay,
}

impl Recovery {
    /// Begins to recover a namespace.
    pub fn new<M: SegmentStore + ?Sized>(config: PageMapConfig, m: &M) -> Self {
        Self {
            map: PageMap::new(config, m),
            phase: Phase::Survey,
            image: LogImage::default(),
            search: CheckpointSearch::default(),
            cut: None,
            events: Vec::new(),
            replay: Replay::default(),
        }
    }

    /// Goes on. When it has [`Finished`](Progress::Finished), the namespace can be had from [`Recovery::finish`].
    pub fn step<M: SegmentStore>(&mut self, m: &mut M) -> Step<Result<Progress, Damage>> {
        let phase = std::mem::replace(&mut self.phase, Phase::Apply);
        match phase {
            Phase::Survey => self.survey(m),
            Phase::Checkpoint => self.load(m),
            Phase::Scan { left, page } => self.scan(left, page, m),
            Phase::Translations => self.find_translations(m),
            Phase::Apply => Step::Done(self.apply()),
            Phase::Replay => self.replay_page(m),
        }
    }

    /// Takes note of a finished I/O that recovery started.
    pub fn completed<M: SegmentStore>(&mut self, done: &Completion, m: &mut M) {
        self.map.log.completed(done, m);
    }

    /// The recovered namespace, after `step` said so. A checkpoint of which a page is only in the page buffer is replaced soon.
    pub fn finish(mut self) -> PageMap {
        let PageMap { checkpoint, log, .. } = &mut self.map;
        if checkpoint.segments.iter().any(|id| log.segment(*id).has_failed()) {
            checkpoint.want();
        }
        self.map.keep_written();
        self.map
    }

    fn survey<M: SegmentStore>(&mut self, m: &mut M) -> Step<Result<Progress, Damage>> {
        self.phase = Phase::Survey;
        self.image = match ready!(survey(&mut self.map.log, m)) {
            Ok(image) => image,
            Err(damage) => return Step::Done(Err(damage)),
        };
        (self.phase, self.search) = (Phase::Checkpoint, CheckpointSearch::new(&self.image));
        Step::Done(Ok(Progress::More))
    }

    fn load<M: SegmentStore>(&mut self, m: &mut M) -> Step<Result<Progress, Damage>> {
        self.phase = Phase::Checkpoint;
        match ready!(self.search.step(&mut self.map.log, m)) {
            Err(damage) => return Step::Done(Err(damage)),
            Ok(Searched::Chunk(payload)) => {
                let is_entered = match &self.map.dftl {
                    None => self.map.enter_chunk(&payload),
                    Some(_) => self.replay.enter_chunk(&payload),
                };
                if !is_entered {
                    self.search.refuse();
                    self.forget_chunks();
                }
            }
            Ok(Searched::Forget) => self.forget_chunks(),
            Ok(Searched::Whole(whole)) => {
                self.adopt_checkpoint(whole);
                self.start_scan();
            }
            Ok(Searched::None) => self.start_scan(),
        }
        Step::Done(Ok(Progress::More))
    }

    fn adopt_checkpoint(&mut self, whole: Whole) {
        let state = &mut self.map.checkpoint;
        (state.segments, state.generation) = (whole.segments, whole.generation);
        (state.version, self.map.version) = (whole.cut.version, whole.cut.version);
        self.cut = Some(whole.cut);
    }

    fn start_scan(&mut self) {
        let mut left = self.image.tail(self.cut.as_ref());
        if self.map.dftl.is_some() {
            left.retain(|r| r.stream != Stream::Map);
            self.replay.look_at(&self.image.segments);
        }
        self.phase = Phase::Scan { left, page: 0 };
    }

    fn scan<M: SegmentStore>(
        &mut self,
        mut left: Vec<Recovered>,
        page: u32,
        m: &mut M,
    ) -> Step<Result<Progress, Damage>> {
        let Some(r) = left.last().copied() else {
            let keep = self.map.checkpoint.segments.clone();
            release_others(&mut self.map.log, m, &keep);
            self.phase = if self.map.dftl.is_some() { Phase::Translations } else { Phase::Apply };
            return Step::Done(Ok(Progress::More));
        };
        if page >= r.pages {
            left.pop();
            self.phase = Phase::Scan { left, page: 0 };
            return Step::Done(Ok(Progress::More));
        }
        let addr = self.map.log.geometry().page(r.id, page);
        let scanned = match scan_page(&self.map.log, m, addr) {
            Step::Done(scanned) => scanned,
            Step::Need(reads) => {
                self.phase = Phase::Scan { left, page };
                return Step::Need(reads);
            }
            Step::Blocked(stall) => return Step::Blocked(stall),
        };
        self.phase = Phase::Scan { left, page: page + 1 };
        match scanned {
            Err(damage) => return Step::Done(Err(damage)),
            Ok(None) => {}
            Ok(Some(page)) => {
                let from = self.cut.as_ref().map_or(Some(0), |cut| cut.scan_from(page.sequence));
                if let Some(from) = from {
                    self.page_entries(addr, from, page.used_bytes, m);
                }
            }
        }
        Step::Done(Ok(Progress::More))
    }

    fn page_entries<M: SegmentStore>(&mut self, addr: PageAddr, from: u32, used: u32, m: &M) {
        let bytes = self.map.config.block_bytes;
        let Page::Resident { data, oob } = page_of(&self.map.log, m, addr) else { return };
        for index in from / bytes..used / bytes {
            let Some((sector, e)) = sector(data, oob, index as usize, bytes as usize) else { continue };
            let position = addr.0 * self.map.sectors_per_page() + u64::from(index);
            if e.kind == EntryKind::Trim && self.cut.as_ref().is_some_and(|cut| e.version < cut.version) {
                // A copy from before the cut: the checkpoint knows of it, and of what came after it.
                continue;
            }
            self.map.version = self.map.version.max(e.version + 1);
            let event = match e.kind {
                EntryKind::Data => Event::Write { lba: e.lba, position },
                EntryKind::Translation => continue,
                EntryKind::Trim => {
                    let id = self.map.segment_of(position);
                    self.map.log.add_until_checkpoint(id, u64::from(bytes));
                    Event::Trim(decode_trim(sector))
                }
            };
            self.events.push((e.version, event));
        }
    }

    fn apply(&mut self) -> Result<Progress, Damage> {
        self.events.sort_by_key(|(version, _)| *version);
        if self.map.dftl.is_some() {
            return Ok(self.note_events());
        }
        self.apply_all().map(|()| Progress::Finished)
    }

    fn apply_all(&mut self) -> Result<(), Damage> {
        for (_, event) in std::mem::take(&mut self.events) {
            match event {
                Event::Write { lba, position } => {
                    if let Some(word) = self.map.map.get_mut(lba as usize) {
                        *word = position as u32 + 1;
                    }
                }
                Event::Trim(ranges) => {
                    for (first, blocks) in ranges {
                        let end = first.saturating_add(blocks).min(self.map.map.len() as u64);
                        let trimmed = self.map.map.get_mut(first.min(end) as usize..end as usize);
                        trimmed.into_iter().for_each(|words| words.fill(0));
                    }
                }
            }
        }
        self.map.count_words()
    }
}
