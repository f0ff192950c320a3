// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Recovery: the last complete manifest and what it names, then the value log from the cut on into the memtable.
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

use super::Store;
use super::key::{Entry, Key};
use super::living::Replaced;
use super::structure::Structure;
use saker_engine_api::Recover;
use saker_log::checkpoint::release_others;
use saker_log::recover::{Damage, LogImage, Progress, survey};
use saker_log::{CheckpointSearch, Cut, Searched, Whole};
use saker_segment_store::{Completion, SegmentStore, Step, ready};
use saker_value_log::RecordAddr;
use saker_value_log::record::Kind;
use saker_value_log::tail::{Found, Tail};
use saker_value_log::walk::Walked;

/// Records a step looks at before it returns to the driver.
const STEP_RECORDS: u32 = 4096;

/// A recovery on its way. Call [`Recovery::step`] until it is done.
#[derive(Clone, Debug)]
pub struct Recovery<S: Structure> {
    store: Store<S>,
    phase: Phase,
    image: LogImage,
    search: CheckpointSearch,
    cut: Option<Cut>,
    tail: Tail,
    named: S::Named,
}

#[derive(Clone, Debug)]
enum Phase {
    Survey,
    /// Looking for a whole manifest.
    Manifest,
    /// Reading what the manifest names.
    Named,
    /// Scanning the log.
    Scan,
    Finish,
}

impl<S: Structure> Recovery<S> {
    /// Begins to recover a store.
    pub fn new(config: S::Config, m: &dyn SegmentStore) -> Self {
        Self {
            store: Store::new(config, m),
            phase: Phase::Survey,
            image: LogImage::default(),
            search: CheckpointSearch::default(),
            cut: None,
            tail: Tail::default(),
            named: S::Named::default(),
        }
    }

    fn survey<M: SegmentStore>(&mut self, m: &mut M) -> Step<Result<Progress, Damage>> {
        self.phase = Phase::Survey;
        self.image = match ready!(survey(&mut self.store.log, m)) {
            Ok(image) => image,
            Err(damage) => return Step::Done(Err(damage)),
        };
        for r in &self.image.segments {
            self.store.births.set(r.id, r.first_sequence);
            // Of what was written before the cut only the longest of all is known.
            self.store.log.note_length(r.id, u32::MAX);
        }
        (self.phase, self.search) = (Phase::Manifest, CheckpointSearch::new(&self.image));
        Step::Done(Ok(Progress::More))
    }

    fn damage(&self, what: &str) -> Damage {
        Damage::Checkpoint { owner: self.store.settings.owner, what: what.into() }
    }

    fn load<M: SegmentStore>(&mut self, m: &mut M) -> Step<Result<Progress, Damage>> {
        self.phase = Phase::Manifest;
        match ready!(self.search.step(&mut self.store.log, m)) {
            Err(damage) => return Step::Done(Err(damage)),
            Ok(Searched::Chunk(payload)) => {
                if !S::enter_chunk(&mut self.store, &mut self.named, &payload) {
                    self.search.refuse();
                    self.named = S::Named::default();
                }
            }
            Ok(Searched::Forget) => self.named = S::Named::default(),
            Ok(Searched::Whole(whole)) => {
                return Step::Done(self.adopt_manifest(whole).map(|()| Progress::More));
            }
            // There is no structure, and everything must be scanned.
            Ok(Searched::None) => self.start_scan(),
        }
        Step::Done(Ok(Progress::More))
    }

    fn adopt_manifest(&mut self, whole: Whole) -> Result<(), Damage> {
        let state = &mut self.store.manifest;
        (state.segments, state.generation) = (whole.segments, whole.generation);
        (state.version, self.store.version) = (whole.cut.version, whole.cut.version);
        self.cut = Some(whole.cut);
        self.phase = Phase::Named;
        S::adopt(&mut self.store, &mut self.named).map_err(|what| self.damage(what))
    }

    fn load_named<M: SegmentStore>(&mut self, m: &mut M) -> Step<Result<Progress, Damage>> {
        self.phase = Phase::Named;
        match ready!(S::load(&mut self.store, &mut self.named, m)) {
            Ok(Progress::Finished) => self.start_scan(),
            Ok(Progress::More) => {}
            Err(damage) => return Step::Done(Err(damage)),
        }
        Step::Done(Ok(Progress::More))
    }

    fn start_scan(&mut self) {
        self.tail = Tail::new(&self.image, self.cut.take());
        self.phase = Phase::Scan;
    }

    fn scan<M: SegmentStore>(&mut self, m: &M) -> Step<Result<Progress, Damage>> {
        self.phase = Phase::Scan;
        for _ in 0..STEP_RECORDS {
            match ready!(self.tail.next(&self.store.records(), m)) {
                Ok(Found::Record(record)) => self.replay(&record, m),
                Ok(Found::Nothing) => {}
                Ok(Found::End) => {
                    self.phase = Phase::Finish;
                    break;
                }
                Err(damage) => return Step::Done(Err(damage)),
            }
        }
        Step::Done(Ok(Progress::More))
    }

    /// Applies a record of the tail.
    fn replay<M: SegmentStore>(&mut self, r: &Walked, m: &M) {
        let geometry = self.store.log.geometry();
        let Some(key) = r.key.get(..usize::from(r.header.key_bytes)).and_then(Key::new) else { return };
        let version = r.header.version;
        self.store.version = self.store.version.max(version + 1);
        let is_tombstone = r.header.kind == Kind::Tombstone;
        if !is_tombstone && self.store.is_passing(&r.header) {
            return self.replay_inside(key, r, m);
        }
        if is_tombstone {
            // Every one of them, superseded or not: collection counts them the same way.
            let id = geometry.segment_of(r.page.addr);
            self.store.log.add_until_checkpoint(id, u64::from(r.header.record_bytes()));
        }
        let addr = if is_tombstone { RecordAddr::NONE } else { r.addr };
        let e = Entry { key, version, addr, stamp: r.page.sequence };
        let known = self.store.mem.newest(&key);
        // Of a record and its copy the later one stays where it is for longer.
        if known.is_none_or(|old| (old.version, old.stamp) <= (e.version, e.stamp)) {
            self.store.enter(e, Replaced::Unknown);
        }
    }

    /// The same with a value that stays beside its key. A copy of a record from before the cut does not count: the structure has what
    /// that says, and what came after it.
    fn replay_inside<M: SegmentStore>(&mut self, key: Key, r: &Walked, m: &M) {
        let version = r.header.version;
        if version < self.store.manifest.version {
            return;
        }
        let id = self.store.log.geometry().segment_of(r.page.addr);
        self.store.note_passing(id, r.header.record_bytes());
        if self.store.mem.newest(&key).is_none_or(|old| old.version < version) {
            let e = self.store.take_inside((key, version), (r.value, r.header.value_bytes), m);
            e.into_iter().for_each(|e| self.store.enter(e, Replaced::Unknown));
        }
    }

    /// Gives back what nothing needs.
    fn settle<M: SegmentStore>(&mut self, m: &mut M) {
        let keep = self.store.manifest.segments.clone();
        release_others(&mut self.store.log, m, &keep);
        S::settle(&mut self.store, std::mem::take(&mut self.named), m);
    }
}

impl<S: Structure> Recover for Recovery<S> {
    type Engine = Store<S>;

    fn step<M: SegmentStore>(&mut self, m: &mut M) -> Step<Result<Progress, Damage>> {
        match std::mem::replace(&mut self.phase, Phase::Finish) {
            Phase::Survey => self.survey(m),
            Phase::Manifest => self.load(m),
            Phase::Named => self.load_named(m),
            Phase::Scan => self.scan(m),
            Phase::Finish => {
                self.settle(m);
                Step::Done(Ok(Progress::Finished))
            }
        }
    }

    fn completed<M: SegmentStore>(&mut self, done: &Completion, m: &mut M) {
        self.store.log.completed(done, m);
    }

    /// A manifest of which a page is only in the page buffer is replaced soon.
    fn finish(mut self) -> Store<S> {
        self.store.longest.is_told();
        let Store { manifest, log, .. } = &mut self.store;
        manifest.wanted |= manifest.segments.iter().any(|id| log.segment(*id).has_failed());
        self.store
    }
}
