//! Snapshots, counters and digests.

use super::Store;
use super::memtable::Position;
use super::structure::Structure;
use saker_engine_api::{Memory, Snapshot, StoreStats};
use saker_log::{LogStats, Segment};
use saker_value_log::packing::Packing;

impl<S: Structure> Store<S> {
    /// A view of the store as it is now, until [`Store::release`].
    pub fn snapshot(&mut self) -> Snapshot {
        S::snapshot(self)
    }

    /// Ends a snapshot.
    pub fn release(&mut self, snapshot: Snapshot) {
        S::release(self, snapshot);
        self.is_stuck = false;
        self.log.unpin_repairs();
    }

    /// What every engine counts.
    pub fn stats(&self) -> StoreStats {
        StoreStats { pairs: self.entries_at_most(), pair_bytes: self.value_log_bytes(), ..self.kv }
    }

    /// Counters of the log.
    pub fn log_stats(&self) -> LogStats {
        self.log.stats()
    }

    /// Modelled controller memory: memtables as the index, what the structure keeps and the DMA log table
    /// as its directory.
    pub fn memory(&self) -> Memory {
        let held = u64::from(self.log.segments_held()) * size_of::<Segment>() as u64;
        let frozen: u64 = self.own.frozen().map(|table| table.bytes()).sum();
        let fills_gaps = self.settings.packing.is_some_and(Packing::fills_gaps);
        let table = if fills_gaps { self.landing.memory_bytes() } else { 0 };
        let directory_bytes = S::memory_bytes(self) + table;
        Memory { index_bytes: self.mem.bytes() + frozen, directory_bytes, segment_bytes: held }
    }

    /// A digest of everything that operations can observe, for tests of the contract.
    pub fn digest(&self) -> u64 {
        let mut digest = saker_sim::Digest::default();
        for e in self.mem.range(Position::Start) {
            digest.bytes(&e.key.to_vec());
            digest.number(e.version);
            digest.number(e.loc.word());
        }
        self.own.digest(&mut digest);
        digest.number(self.version);
        digest.number(self.log.live_bytes());
        self.own.frozen().for_each(|table| digest.number(table.len() as u64));
        digest.value()
    }
}
