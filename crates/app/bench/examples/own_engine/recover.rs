// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Recovery: all records that are on flash and in the ring are looked at. Each has the version of the write that it stems from, and
//! copies keep it: so the newest of a key is the truth, in whatever order they are found.
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

use crate::store::{Config, Entry, PlainLog};
use saker_engine::Recover;
use saker_log::recover::{Damage, Progress, survey};
use saker_segment_store::{Completion, SegmentStore, Step, ready};
use saker_value_log::record::Kind;
use saker_value_log::tail::{Found, Tail};
use saker_value_log::walk::Walked;

/// Records of a step.
const STEP_RECORDS: u32 = 4096;

/// A store on its way back.
#[derive(Clone, Debug)]
pub struct Recovery {
    store: PlainLog,
    /// What is left to look at, once it is known which segments there are.
    tail: Option<Tail>,
}

impl Recovery {
    pub fn new(config: Config, m: &dyn SegmentStore) -> Self {
        Self { store: PlainLog::new(config, m), tail: None }
    }

    fn replay(&mut self, r: &Walked) {
        let store = &mut self.store;
        let (segment, version) = (store.segment_of(r.addr), r.header.version);
        let Some(key) = r.key.get(..usize::from(r.header.key_bytes)) else { return };
        store.version = store.version.max(version + 1);
        if store.index.get(key).is_some_and(|known| known.version >= version) {
            return store.became_stale(key, segment);
        }
        let is_tombstone = r.header.kind == Kind::Tombstone;
        store.enter(key, Entry { addr: r.addr, version, is_tombstone, stale: 0 });
    }
}

impl Recover for Recovery {
    type Engine = PlainLog;

    fn step<M: SegmentStore>(&mut self, m: &mut M) -> Step<Result<Progress, Damage>> {
        let Some(mut tail) = self.tail.take() else {
            match ready!(survey(&mut self.store.log, m)) {
                Ok(image) => self.tail = Some(Tail::new(&image, None)),
                Err(damage) => return Step::Done(Err(damage)),
            }
            return Step::Done(Ok(Progress::More));
        };
        for _ in 0..STEP_RECORDS {
            match tail.next(&self.store.records(), m) {
                Step::Done(Ok(Found::Record(record))) => self.replay(&record),
                Step::Done(Ok(Found::Nothing)) => {}
                Step::Done(Ok(Found::End)) => return Step::Done(Ok(Progress::Finished)),
                Step::Done(Err(damage)) => return Step::Done(Err(damage)),
                Step::Need(pages) => {
                    self.tail = Some(tail);
                    return Step::Need(pages);
                }
                Step::Blocked(stall) => {
                    self.tail = Some(tail);
                    return Step::Blocked(stall);
                }
            }
        }
        self.tail = Some(tail);
        Step::Done(Ok(Progress::More))
    }

    fn completed<M: SegmentStore>(&mut self, done: &Completion, m: &mut M) {
        // As the store does: what recovery found is in it already.
        saker_engine::Engine::completed(&mut self.store, done, m);
    }

    fn finish(self) -> PlainLog {
        self.store
    }
}
