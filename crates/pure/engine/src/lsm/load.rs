// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocks that merges go on with: decoded, and copied where they have values, since a merge goes on when their pages are gone.
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
use super::data_block::DataBlock;
use super::input::Run;
use super::job::Job;
use super::lookup::Seen;
use super::table::Table;
use saker_engine_api::KvError;
use saker_segment_store::{Looked, SegmentStore, Step};
use saker_sim::{Meter, Unit};
use std::sync::Arc;

impl LsmStore {
    /// Decodes the blocks that the merge goes on with.
    pub(super) fn load_blocks<M: SegmentStore, W: Meter>(
        &self,
        job: &mut Job,
        m: &M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        let mut reads = Looked::new();
        for input in &mut job.merger.inputs {
            let Some((table, n)) = input.wants() else { continue };
            let table = Arc::clone(table);
            let found = match self.block(&table, n, m) {
                Seen::Absent => {
                    self.note_page(&table, n, &mut reads);
                    continue;
                }
                Seen::Bad(e) => return Step::Done(Err(e)),
                Seen::Here(found) => found,
            };
            let Some(run) = input.open(|run| self.decode(&table, &found, run, m)) else {
                return Step::Done(Err(KvError::Corrupt));
            };
            w.work(Unit::Decode, run.entries.len() as u64);
            w.work(Unit::CopyByte, run.bytes.len() as u64);
        }
        match reads.as_slice().is_empty() {
            true => Step::Done(Ok(())),
            false if self.ahead_pages() > 0 => Step::Need(self.reads_ahead(job)),
            false => Step::Need(reads.take()),
        }
    }

    /// All entries of a block, and of one that has values its bytes.
    fn decode<M: SegmentStore>(
        &self,
        table: &Table,
        block: &DataBlock<'_>,
        run: &mut Run,
        m: &M,
    ) -> Option<()> {
        match block {
            DataBlock::Entries(_) => {}
            DataBlock::Pairs(pairs) => {
                let (bytes, base) = pairs.values();
                run.bytes.extend_from_slice(bytes);
                run.base = base;
            }
            DataBlock::Long(e, _) => {
                run.base = e.stamp as u32;
                run.bytes.resize(e.addr.value_bytes_inside() as usize, 0);
                self.copy_of(table, run.base, &mut run.bytes, m)?;
            }
        }
        (0..block.count()).try_for_each(|n| {
            run.entries.push(block.get(n)?);
            Some(())
        })
    }
}
