// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Recovery: that of the blocks.

use super::store::{Config, RocksDb};
use saker_engine::Recover;
use saker_flash::page_map::recover::Recovery as BlockRecovery;
use saker_log::recover::{Damage, Progress};
use saker_segment_store::{Completion, SegmentStore, Step};

/// The blocks on their way back. RocksDB comes back with the first operation.
#[derive(Clone, Debug)]
pub struct Recovery {
    config: Config,
    blocks: BlockRecovery,
}

impl Recovery {
    /// On a medium that may have something of it.
    pub fn new(config: Config, m: &dyn SegmentStore) -> Self {
        Self { config, blocks: BlockRecovery::new(config.blocks, m) }
    }
}

impl Recover for Recovery {
    type Engine = RocksDb;

    fn step<M: SegmentStore>(&mut self, m: &mut M) -> Step<Result<Progress, Damage>> {
        self.blocks.step(m)
    }

    fn completed<M: SegmentStore>(&mut self, done: &Completion, m: &mut M) {
        self.blocks.completed(done, m);
    }

    fn finish(self) -> RocksDb {
        RocksDb::over(self.config, self.blocks.finish())
    }
}
