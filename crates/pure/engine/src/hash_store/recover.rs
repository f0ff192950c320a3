//! Recovery: the last complete checkpoint, then the log's tail.
//!
//! Every record carries the version of the write it stems from; copies keep it. So the newest version of a
//! key among the scanned records is the truth, in whatever order they are found; a key that is not among
//! them is as the checkpoint says (see [`saker_log::Cut`]).

use super::checkpoint::decode_chunk;
use super::record::{HEADER_BYTES, Kind};
use super::walk::{Next, Walked, Walker};
use super::{HashStore, HashStoreConfig};
use crate::index::{Index, Loc, Place};
use saker_log::SegmentState;
use saker_log::checkpoint::{Found, release_others};
use saker_log::recover::{Damage, LogImage, Recovered, survey};
use saker_log::{CheckpointReader, Cut};
use saker_medium::{Completion, Medium, SegmentId, Step, Stream, ready};

/// A recovery on its way. Call [`Recovery::step`] until it is done.
#[derive(Clone, Debug)]
pub struct Recovery {
    store: HashStore,
    phase: Phase,
    image: LogImage,
    cut: Option<Cut>,
    /// Versions of the keys found in the tail, as words of a second index.
    versions: Index,
    generation: u64,
}

#[derive(Clone, Debug)]
enum Phase {
    Survey,
    /// Looking for a whole checkpoint: it begins at the first page of one of the checkpoint segments, tried from
    /// the youngest back.
    Checkpoint {
        start: usize,
        reader: Option<Box<CheckpointReader>>,
    },
    /// Scanning: tail segments left (youngest last) and the walker in the current one.
    Scan {
        left: Vec<Recovered>,
        walker: Option<Walker>,
    },
    Count,
}

/// Records a step looks at before it returns to the driver.
const STEP_RECORDS: u32 = 4096;

/// A version as a word the second index can keep, with the length of its key.
fn version_word(version: u64, key_bytes: u8) -> Loc {
    const LOW: u64 = (1 << 40) - 1;
    Loc::new((version & LOW) * 8, ((version >> 40) as u32 + 1) * 8, key_bytes)
}

fn version_of(word: Loc) -> u64 {
    (word.position() / 8) | (u64::from(word.record_bytes() / 8 - 1) << 40)
}

impl Recovery {
    /// Begins to recover a store.
    pub fn new<M: Medium>(config: HashStoreConfig, m: &M) -> Self {
        Self {
            store: HashStore::new(config, m),
            phase: Phase::Survey,
            image: LogImage::default(),
            cut: None,
            versions: Index::new(config.seed),
            generation: 0,
        }
    }

    /// Goes on. `Done(Some)` hands over the store.
    pub fn step<M: Medium>(&mut self, m: &mut M) -> Step<Result<bool, Damage>> {
        let phase = std::mem::replace(&mut self.phase, Phase::Count);
        match phase {
            Phase::Survey => self.survey(m),
            Phase::Checkpoint { start, reader } => self.load(start, reader, m),
            Phase::Scan { left, walker } => self.scan(left, walker, m),
            Phase::Count => Step::Done(self.count().map(|()| true)),
        }
    }

    /// Takes note of a finished I/O that recovery started.
    pub fn completed<M: Medium>(&mut self, done: &Completion, m: &mut M) {
        self.store.log.completed(done, m);
    }

    /// The recovered store, after `step` said so. A checkpoint of which a page is only in the ring is replaced soon.
    pub fn finish(mut self) -> HashStore {
        let HashStore { checkpoint, log, .. } = &mut self.store;
        if checkpoint.segments.iter().any(|id| log.segment(*id).has_failed()) {
            checkpoint.want();
        }
        self.store
    }

    fn survey<M: Medium>(&mut self, m: &mut M) -> Step<Result<bool, Damage>> {
        self.phase = Phase::Survey;
        self.image = match ready!(survey(&mut self.store.log, m)) {
            Ok(image) => image,
            Err(damage) => return Step::Done(Err(damage)),
        };
        self.phase = Phase::Checkpoint { start: self.checkpoint_segments().len(), reader: None };
        Step::Done(Ok(false))
    }

    fn checkpoint_segments(&self) -> Vec<Recovered> {
        self.image.segments.iter().filter(|r| r.stream == Stream::Checkpoint).copied().collect()
    }

    /// One record of a checkpoint, or the next older place where one could begin.
    fn load<M: Medium>(
        &mut self,
        start: usize,
        reader: Option<Box<CheckpointReader>>,
        m: &mut M,
    ) -> Step<Result<bool, Damage>> {
        let Some(mut reader) = reader else { return self.open_checkpoint(start, m) };
        let found = match reader.step(&self.store.log, m) {
            Step::Done(found) => found,
            Step::Need(reads) => {
                self.phase = Phase::Checkpoint { start, reader: Some(reader) };
                return Step::Need(reads);
            }
            Step::Blocked(stall) => return Step::Blocked(stall),
        };
        let more = match found {
            Found::Begin(generation, cut) if self.cut.is_none() => {
                self.generation = generation;
                self.cut = Some(cut);
                true
            }
            Found::Chunk(payload) if self.cut.is_some() => self.enter_chunk(&payload),
            Found::End if self.cut.is_some() => {
                self.adopt_checkpoint(start, &reader);
                self.start_scan();
                return Step::Done(Ok(false));
            }
            Found::Broken => {
                let what = "a record of it does not match its checksum".into();
                return Step::Done(Err(Damage::Checkpoint { owner: self.store.config.owner, what }));
            }
            _ => false,
        };
        if !more {
            self.forget_checkpoint();
        }
        self.phase = Phase::Checkpoint { start, reader: more.then_some(reader) };
        Step::Done(Ok(false))
    }

    fn open_checkpoint<M: Medium>(&mut self, start: usize, m: &mut M) -> Step<Result<bool, Damage>> {
        let Some(start) = start.checked_sub(1) else {
            // None is whole: everything must be scanned, and what there is of checkpoints can go.
            release_others(&mut self.store.log, m, &[]);
            self.start_scan();
            return Step::Done(Ok(false));
        };
        let geometry = self.store.log.geometry();
        let runs =
            self.checkpoint_segments()[start..].iter().map(|r| (geometry.page(r.id, 0), r.pages)).collect();
        self.phase = Phase::Checkpoint { start, reader: Some(Box::new(CheckpointReader::new(runs))) };
        Step::Done(Ok(false))
    }

    fn enter_chunk(&mut self, payload: &[u8]) -> bool {
        let Some(entries) = decode_chunk(payload) else { return false };
        for entry in entries {
            let Some((place, loc)) = entry else { return false };
            self.store.index.insert(place, loc);
        }
        true
    }

    fn forget_checkpoint(&mut self) {
        self.cut = None;
        self.generation = 0;
        self.store.index = Index::new(self.store.config.seed);
    }

    fn adopt_checkpoint(&mut self, start: usize, reader: &CheckpointReader) {
        let all = self.checkpoint_segments();
        let used = reader.runs_used();
        let state = &mut self.store.checkpoint;
        state.segments = all[start..start + used].iter().map(|r| r.id).collect();
        state.generation = self.generation;
        if let Some(cut) = &self.cut {
            state.version = cut.version;
            self.store.version = cut.version;
        }
    }

    /// The segments that hold pages from the cut on.
    fn start_scan(&mut self) {
        let first = self.cut.as_ref().map_or(0, Cut::first_sequence);
        let mut left: Vec<_> = self.image.segments.clone();
        left.retain(|r| r.stream != Stream::Checkpoint && r.last_sequence >= first);
        left.reverse();
        self.phase = Phase::Scan { left, walker: None };
    }

    fn scan<M: Medium>(
        &mut self,
        mut left: Vec<Recovered>,
        walker: Option<Walker>,
        m: &mut M,
    ) -> Step<Result<bool, Damage>> {
        let Some(mut walker) = walker.or_else(|| left.pop().map(|r| Walker::new(r.id, r.pages))) else {
            self.drop_other_checkpoints(m);
            self.phase = Phase::Count;
            return Step::Done(Ok(false));
        };
        for _ in 0..STEP_RECORDS {
            let next = match self.store.records().walk(&mut walker, m) {
                Step::Done(Ok(next)) => next,
                Step::Done(Err(damage)) => return Step::Done(Err(damage)),
                Step::Need(reads) => {
                    self.phase = Phase::Scan { left, walker: Some(walker) };
                    return Step::Need(reads);
                }
                Step::Blocked(stall) => return Step::Blocked(stall),
            };
            match next {
                Next::End => {
                    self.phase = Phase::Scan { left, walker: None };
                    return Step::Done(Ok(false));
                }
                Next::Record(record) => self.replay(&record, &mut walker),
                Next::Unfinished => {}
                Next::Broken(spot) => {
                    let geometry = self.store.log.geometry();
                    let page = saker_medium::PageAddr(spot.0 / u64::from(geometry.page_bytes));
                    return Step::Done(Err(Damage::page(
                        &geometry,
                        page,
                        "a record in it does not match its checksum",
                    )));
                }
            }
        }
        self.phase = Phase::Scan { left, walker: Some(walker) };
        Step::Done(Ok(false))
    }

    fn drop_other_checkpoints<M: Medium>(&mut self, m: &mut M) {
        let keep = self.store.checkpoint.segments.clone();
        release_others(&mut self.store.log, m, &keep);
    }

    /// Applies a record of the tail; records from before the cut are skipped.
    fn replay(&mut self, r: &Walked, walker: &mut Walker) {
        let geometry = self.store.log.geometry();
        let offset = (r.spot.0 % u64::from(geometry.page_bytes)) as u32;
        if let Some(cut) = &self.cut {
            match cut.scan_from(r.page.sequence) {
                None => {
                    // The whole page is older; go to the next one that starts a record.
                    walker.leave_page(geometry.index_of(r.page.addr));
                    return;
                }
                Some(from) if offset < from => return,
                Some(_) => {}
            }
        }
        // A copy of a tombstone from before the cut: the checkpoint knows of it, and of what came after it.
        if r.header.kind == Kind::Tombstone
            && self.cut.as_ref().is_some_and(|cut| r.header.version < cut.version)
        {
            return;
        }
        let key = &r.key[..usize::from(r.header.key_bytes)];
        let Some(place) = self.store.index.place(key) else { return };
        self.store.version = self.store.version.max(r.header.version + 1);
        let bytes = r.header.record_bytes();
        if r.header.kind == Kind::Tombstone {
            // Every one of them, superseded or not: collection counts them the same way.
            self.store.log.add_until_checkpoint(geometry.segment_of(r.page.addr), u64::from(bytes));
        }
        if self.versions.get(place).is_some_and(|seen| version_of(seen) > r.header.version) {
            return;
        }
        self.versions.insert(place, version_word(r.header.version, r.header.key_bytes));
        if r.header.kind == Kind::Pair {
            self.store.index.insert(place, r.loc);
        } else {
            self.store.index.remove(place);
        }
    }

    /// Live bytes of every segment, from the index.
    fn count(&mut self) -> Result<(), Damage> {
        self.versions = Index::new(0);
        let HashStore { index, log, stats, record_bytes_max, config, .. } = &mut self.store;
        let segment_bytes = log.geometry().segment_bytes();
        let mut lost = None;
        index.visit(None, |_: Place, loc| {
            let n = loc.position() / segment_bytes;
            let id = SegmentId(n as u32);
            if n >= u64::from(log.geometry().segments) || log.segment(id).state == SegmentState::Absent {
                lost = Some(n);
                return false;
            }
            log.add_live(id, u64::from(loc.record_bytes()));
            stats.pair_bytes += u64::from(loc.record_bytes() - HEADER_BYTES);
            *record_bytes_max = (*record_bytes_max).max(loc.record_bytes());
            true
        });
        match lost {
            None => Ok(()),
            Some(n) => {
                let what = format!("it names segment {n}, which this namespace does not hold");
                Err(Damage::Checkpoint { owner: config.owner, what })
            }
        }
    }
}
