// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How a store at the host begins: new, or recovered from what is on its medium.

use super::background::Workers;
use super::scan::Taken;
use super::segments::Whose;
use super::settings::Asked;
use super::turns::Turns;
use super::{BlockSegments, HostKv};
use crate::cache::{CacheOptions, ReadCache};
use saker_engine::{AnyEngine, AnyRecovery, Capability, Engine, EngineConfig, EngineKind, Recover, Settings};
use saker_log::recover::{Damage, Progress};
use saker_segment_store::Step;
use std::collections::VecDeque;

/// Stores that share the write buffer.
const OWNERS: u16 = 1;

impl HostKv {
    /// Opens a store on a block namespace: recovers what is there. `wait` lets the device make progress.
    ///
    /// # Errors
    /// Damage that keeps the store from being opened.
    pub fn open(kind: EngineKind, medium: BlockSegments, wait: impl FnMut()) -> Result<Self, Damage> {
        Self::open_tuned(kind, &EngineConfig::new(1, false), medium, wait)
    }

    /// The same of a store that was made with settings: [`Self::over_tuned`].
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_tuned(
        kind: EngineKind,
        config: &EngineConfig,
        mut medium: BlockSegments,
        mut wait: impl FnMut(),
    ) -> Result<Self, Damage> {
        medium.survey_device(&mut wait);
        let mut recovery =
            AnyRecovery::new(kind.over_blocks(), &config.clone().landing_in(&medium, OWNERS), &medium);
        loop {
            match recovery.step(&mut medium) {
                Step::Done(Ok(Progress::Finished)) => break,
                Step::Done(Ok(Progress::More)) => {}
                Step::Done(Err(damage)) => return Err(damage),
                Step::Need(pages) => {
                    medium.bring(&pages, Whose::Background);
                    while !medium.all_here(&pages) {
                        medium.queue_mut().ring();
                        wait();
                        medium.poll();
                    }
                    // The step that asked for them looks at them once; then they go.
                    medium.keep_only(&pages);
                }
                Step::Blocked(_) => {
                    medium.queue_mut().ring();
                    wait();
                    medium.poll();
                }
            }
        }
        let mut store = recovery.finish();
        medium.keep_only(&[]);
        while let Some(done) = medium.take_completion() {
            store.completed(&done, &mut medium);
        }
        Ok(Self::with_engine(store, medium).asked_for(kind, config))
    }

    /// A new store over an empty medium.
    pub fn over(kind: EngineKind, medium: BlockSegments) -> Self {
        Self::over_tuned(kind, &EngineConfig::new(1, false), medium)
    }

    /// The same with settings. The write buffer is host memory, so `ring_lasts` is to be false.
    pub fn over_tuned(kind: EngineKind, config: &EngineConfig, medium: BlockSegments) -> Self {
        let landing = config.clone().landing_in(&medium, OWNERS);
        let store = AnyEngine::new(kind.over_blocks(), &landing, &medium);
        Self::with_engine(store, medium).asked_for(kind, config)
    }

    /// Its namespace was emptied, and nothing is on its way ([`is_still`](Self::is_still)): it is a new store, with one worker. Who keeps time
    /// goes on doing so.
    ///
    /// # Panics
    /// When block commands are on their way.
    pub fn begin_again(&mut self, kind: EngineKind, config: &EngineConfig) {
        self.medium.begin_again();
        let landing = config.clone().landing_in(&self.medium, OWNERS);
        self.store = AnyEngine::new(kind.over_blocks(), &landing, &self.medium);
        self.asked.settings = config.settings.clone();
        self.snapshots = Taken::default();
        self.workers = Workers::new(1);
        if let Some(cache) = &self.cache {
            cache.clear();
        }
        if self.turns.keeps_time() {
            self.store.let_pass(0);
        }
    }

    fn asked_for(self, kind: EngineKind, config: &EngineConfig) -> Self {
        // Another engine may stand in for what was asked for.
        let kind = self.asked.kind.or(Some(kind));
        Self { asked: Asked { kind, settings: config.settings.clone() }, ..self }
    }

    /// A store by an engine that is new on that medium, or has recovered from it: any that there is, or one of one's own
    /// ([`AnyEngine::other`]).
    ///
    /// # Panics
    /// For an engine with threads of its own ([`Capability::Workers`]): nothing here waits for them.
    pub fn with_engine(store: AnyEngine, medium: BlockSegments) -> Self {
        let has_workers = store.capabilities().has(Capability::Workers);
        assert!(!has_workers, "an engine with threads of its own takes no part in a store that never waits");
        let (parked, next_ticket, waits) = (VecDeque::new(), 0, 0);
        let snapshots = Taken::default();
        let asked = Asked { kind: store.kind(), settings: Settings::NONE };
        Self {
            store,
            asked,
            medium,
            cache: None,
            snapshots,
            scans_ended: 0,
            parked,
            next_ticket,
            workers: Workers::new(1),
            waits,
            turns: Turns::default(),
        }
    }

    /// The same with an empty read cache: that of sessions ([`crate::cache`]), for keys of up to 16 bytes.
    #[must_use]
    pub fn with_cache(self, options: CacheOptions) -> Self {
        Self { cache: ReadCache::new(options), ..self }
    }
}
