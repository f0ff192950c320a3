// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Recovery: the last complete checkpoint, then the log's tail.
//!
//! Every record carries the version of the write it stems from; copies keep it. So the newest version of a
//! key among the scanned records is the truth, in whatever order they are found; a key that is not among
//! them is as the checkpoint says (see [`saker_log::Cut`]).
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

use super::chunk::decode_chunk;
use super::index::Index;
use super::{HashStore, HashStoreConfig};
use crate::mix::IndexKey;
use saker_engine_api::Recover;
use saker_log::SegmentState;
use saker_log::checkpoint::release_others;
use saker_log::recover::{Damage, LogImage, Progress, survey};
use saker_log::{CheckpointSearch, Cut, Searched, Whole};
use saker_segment_store::{Completion, SegmentId, SegmentStore, Step, ready};
use saker_value_log::RecordAddr;
use saker_value_log::record::{HEADER_BYTES, Kind};
use saker_value_log::tail::{Found, Tail};
use saker_value_log::walk::Walked;

/// A recovery on its way. Call [`Recovery::step`] until it is done.
#[derive(Clone, Debug)]
pub struct Recovery {
    store: HashStore,
    phase: Phase,
    image: LogImage,
    search: CheckpointSearch,
    cut: Option<Cut>,
    tail: Tail,
    /// Versions of the keys found in the tail, as words of a second index.
    versions: Index,
}

#[derive(Clone, Debug)]
enum Phase {
    Survey,
    /// Looking for a whole checkpoint.
    Checkpoint,
    /// Scanning the log.
    Scan,
    Count,
}

/// Records a step looks at before it returns to the driver.
const STEP_RECORDS: u32 = 4096;

/// A version as a word the second index can keep, with the length of its key.
fn version_word(version: u64, key_bytes: u8) -> RecordAddr {
    const LOW: u64 = (1 << 40) - 1;
    RecordAddr::new((version & LOW) * 8, ((version >> 40) as u32 + 1) * 8, key_bytes)
}

fn version_of(word: RecordAddr) -> u64 {
    (word.position() / 8) | (u64::from(word.record_bytes() / 8 - 1) << 40)
}

impl Recovery {
    /// Begins to recover a store.
    pub fn new(config: HashStoreConfig, m: &dyn SegmentStore) -> Self {
        Self {
            store: HashStore::new(config, m),
            phase: Phase::Survey,
            image: LogImage::default(),
            search: CheckpointSearch::default(),
            cut: None,
            tail: Tail::default(),
            versions: Index::new(config.seed),
        }
    }

    fn survey<M: SegmentStore>(&mut self, m: &mut M) -> Step<Result<Progress, Damage>> {
        self.phase = Phase::Survey;
        self.image = match ready!(survey(&mut self.store.log, m)) {
            Ok(image) => image,
            Err(damage) => return Step::Done(Err(damage)),
        };
        (self.phase, self.search) = (Phase::Checkpoint, CheckpointSearch::new(&self.image));
        Step::Done(Ok(Progress::More))
    }

    /// One record of a checkpoint.
    fn load<M: SegmentStore>(&mut self, m: &mut M) -> Step<Result<Progress, Damage>> {
        self.phase = Phase::Checkpoint;
        match ready!(self.search.step(&mut self.store.log, m)) {
            Err(damage) => return Step::Done(Err(damage)),
            Ok(Searched::Chunk(payload)) => {
                if !self.enter_chunk(&payload) {
                    self.search.refuse();
                    self.forget_checkpoint();
                }
            }
            Ok(Searched::Forget) => self.forget_checkpoint(),
            Ok(Searched::Whole(whole)) => {
                self.adopt_checkpoint(whole);
                self.start_scan();
            }
            Ok(Searched::None) => self.start_scan(),
        }
        Step::Done(Ok(Progress::More))
    }

    fn enter_chunk(&mut self, payload: &[u8]) -> bool {
        let Some(entries) = decode_chunk(payload) else { return false };
        for entry in entries {
            let Some((place, addr)) = entry else { return false };
            self.store.index.insert(place, addr);
        }
        true
    }

    fn forget_checkpoint(&mut self) {
        self.store.index = Index::new(self.store.config.seed);
    }

    fn adopt_checkpoint(&mut self, whole: Whole) {
        let state = &mut self.store.checkpoint;
        (state.segments, state.generation) = (whole.segments, whole.generation);
        (state.version, self.store.version) = (whole.cut.version, whole.cut.version);
        self.cut = Some(whole.cut);
    }

    fn start_scan(&mut self) {
        self.tail = Tail::new(&self.image, self.cut.take());
        self.phase = Phase::Scan;
    }

    fn scan<M: SegmentStore>(&mut self, m: &mut M) -> Step<Result<Progress, Damage>> {
        self.phase = Phase::Scan;
        for _ in 0..STEP_RECORDS {
            match ready!(self.tail.next(&self.store.records(), m)) {
                Ok(Found::Record(record)) => self.replay(&record),
                Ok(Found::Nothing) => {}
                Ok(Found::End) => {
                    self.drop_other_checkpoints(m);
                    self.phase = Phase::Count;
                    break;
                }
                Err(damage) => return Step::Done(Err(damage)),
            }
        }
        Step::Done(Ok(Progress::More))
    }

    fn drop_other_checkpoints<M: SegmentStore>(&mut self, m: &mut M) {
        let keep = self.store.checkpoint.segments.clone();
        release_others(&mut self.store.log, m, &keep);
    }

    /// Applies a record of the tail.
    fn replay(&mut self, r: &Walked) {
        let geometry = self.store.log.geometry();
        let Some(key) = r.key.get(..usize::from(r.header.key_bytes)) else { return };
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
            self.store.index.insert(place, r.addr);
        } else {
            self.store.index.remove(place);
        }
    }

    /// Live bytes of every segment, from the index.
    fn count(&mut self) -> Result<(), Damage> {
        self.versions = Index::new(0);
        let HashStore { index, log, stats, lengths, config, .. } = &mut self.store;
        let segment_bytes = log.geometry().segment_bytes();
        let mut lost = None;
        index.visit(None, |_: IndexKey, addr| {
            let n = addr.position() / segment_bytes;
            let last = (addr.position() + u64::from(addr.bytes()) - 1) / segment_bytes;
            let id = SegmentId(u32::try_from(n).unwrap_or(u32::MAX));
            let is_held = log.find_segment(id).is_some_and(|s| s.state != SegmentState::Absent);
            if !is_held || last != n {
                lost = Some(n);
                return false;
            }
            log.add_live(id, u64::from(addr.record_bytes()));
            stats.pair_bytes += u64::from(addr.record_bytes().saturating_sub(HEADER_BYTES));
            lengths.add(addr.record_bytes());
            log.note_length(id, addr.record_bytes());
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

impl Recover for Recovery {
    type Engine = HashStore;

    fn step<M: SegmentStore>(&mut self, m: &mut M) -> Step<Result<Progress, Damage>> {
        let phase = std::mem::replace(&mut self.phase, Phase::Count);
        match phase {
            Phase::Survey => self.survey(m),
            Phase::Checkpoint => self.load(m),
            Phase::Scan => self.scan(m),
            Phase::Count => Step::Done(self.count().map(|()| Progress::Finished)),
        }
    }

    fn completed<M: SegmentStore>(&mut self, done: &Completion, m: &mut M) {
        self.store.log.completed(done, m);
    }

    fn finish(mut self) -> HashStore {
        let HashStore { checkpoint, log, .. } = &mut self.store;
        if checkpoint.segments.iter().any(|id| log.segment(*id).has_failed()) {
            checkpoint.want();
        }
        self.store
    }
}
