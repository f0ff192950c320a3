// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a history comes to.

use super::HistoryError;
use saker_engine::StoreStats;
use saker_flash::FlashStats;
use saker_log::LogStats;
use saker_sim::{Digest, Instant, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// Media operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediaOps {
    /// Pages programmed.
    pub programs: u64,
    /// Pages read.
    pub reads: u64,
    /// Superblocks erased.
    pub erases: u64,
}

impl MediaOps {
    pub(super) fn of(stats: &FlashStats) -> Self {
        Self { programs: stats.pages_programmed, reads: stats.pages_read, erases: stats.segments_erased }
    }
}

/// A history as it went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tale {
    /// The engine that ran: at the host the one that stands in for a hash FTL.
    pub engine: &'static str,
    /// Operations that came to an end.
    pub operations: u64,
    /// Digest of what became of each operation, in the order of their ends: its number, status, results, data and time.
    pub outcomes: u64,
    /// The engine's own digest of its state at the end.
    pub state: u64,
    /// Media operations.
    pub media: MediaOps,
    /// Metered work by unit, in the order of [`Unit::ALL`]. A device meters inside: its units are in the times of its outcomes.
    pub units: Option<[u64; Unit::COUNT]>,
    /// Every counter there is, by name.
    pub counters: BTreeMap<String, u64>,
    /// Virtual time at the end, in nanoseconds; 0 where none is kept.
    pub end_ns: u64,
    /// What this side does not offer, by name: those steps of the script are left out, or others are taken instead.
    pub missing: BTreeSet<&'static str>,
}

impl Tale {
    /// A digest of all of it.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        digest.bytes(self.engine.as_bytes());
        let MediaOps { programs, reads, erases } = self.media;
        for n in [self.operations, self.outcomes, self.state, programs, reads, erases, self.end_ns] {
            digest.number(n);
        }
        self.units.iter().flatten().for_each(|n| digest.number(*n));
        for (name, count) in &self.counters {
            digest.bytes(name.as_bytes());
            digest.number(*count);
        }
        self.missing.iter().for_each(|name| digest.bytes(name.as_bytes()));
        digest.value()
    }
}

/// What became of operations, as they end.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcomes {
    digest: Digest,
    ended: u64,
    /// The first operation that never ended.
    stuck: Option<u64>,
}

impl Outcomes {
    /// Operation `number` ended at `at` with these numbers and this data.
    pub fn note(&mut self, number: u64, at: Instant, numbers: &[u64], data: &[u8]) {
        self.ended += 1;
        self.digest.number(number);
        self.digest.number(at.as_nanos());
        numbers.iter().for_each(|n| self.digest.number(*n));
        self.digest.number(data.len() as u64);
        self.digest.bytes(data);
    }

    /// Something that is no operation's.
    pub fn mark(&mut self, number: u64) {
        self.digest.number(number);
    }

    pub fn is_stuck(&mut self, number: u64) {
        self.stuck.get_or_insert(number);
    }

    pub fn has_stuck(&self) -> bool {
        self.stuck.is_some()
    }

    pub fn ended(&self) -> u64 {
        self.ended
    }

    /// Operations that ended, and the digest.
    pub fn told(&self) -> Result<(u64, u64), HistoryError> {
        self.stuck.map_or(Ok((self.ended, self.digest.value())), |n| Err(HistoryError::Stuck(n)))
    }
}

/// Counters by name, each under what it is of.
#[derive(Debug, Default)]
pub(super) struct Counters(pub BTreeMap<String, u64>);

impl Counters {
    pub fn add(&mut self, of: &str, name: &str, count: u64) {
        self.0.insert(format!("{of}.{name}"), count);
    }

    pub fn add_all<'n>(&mut self, of: &str, all: impl IntoIterator<Item = (&'n str, u64)>) {
        all.into_iter().for_each(|(name, count)| self.add(of, name, count));
    }

    pub fn add_flash(&mut self, stats: &FlashStats) {
        let MediaOps { programs, reads, erases } = MediaOps::of(stats);
        let failures = stats.failures;
        let all = [("programs", programs), ("reads", reads), ("erases", erases), ("failures", failures)];
        self.add_all("flash", all);
    }

    pub fn add_store(&mut self, stats: &StoreStats) {
        let all = [
            ("pairs", stats.pairs),
            ("pair_bytes", stats.pair_bytes),
            ("user_bytes_written", stats.user_bytes_written),
            ("gc_records_copied", stats.gc_records_copied),
            ("gc_bytes_copied", stats.gc_bytes_copied),
            ("gc_segments", stats.gc_segments),
            ("checkpoints", stats.checkpoints),
            ("checkpoint_bytes", stats.checkpoint_bytes),
        ];
        self.add_all("store", all);
    }

    pub fn add_log(&mut self, stats: &LogStats) {
        for (stream, pages) in stats.pages_by_stream() {
            self.add("log", &format!("{stream}_pages"), pages);
        }
        let appended: u64 = stats.bytes_appended.iter().sum();
        let all = [
            ("bytes_appended", appended),
            ("segments_erased", stats.segments_erased),
            ("programs_failed", stats.programs_failed),
        ];
        self.add_all("log", all);
    }
}
