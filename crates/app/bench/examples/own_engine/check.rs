// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether what the store remembers agrees with itself: the suites ask every so many operations.

use crate::store::PlainLog;
use saker_log::{LiveBytes, SegmentState, ensure};
use saker_segment_store::SegmentStore;
use std::collections::BTreeMap;

impl PlainLog {
    pub fn check_all(&self, m: &dyn SegmentStore) -> Result<(), String> {
        self.log.check(m)?;
        self.check_entries()?;
        self.check_stale()?;
        let Some(collection) = &self.collection else { return Ok(()) };
        let state = self.log.segment(collection.segment()).state;
        let is_held = matches!(state, SegmentState::Open | SegmentState::Closed);
        ensure(is_held, || format!("a collection is in {:?}, which is {state:?}", collection.segment()))
    }

    /// Counts are sums over the index, and records are where records are.
    fn check_entries(&self) -> Result<(), String> {
        let mut live = LiveBytes::new(&self.log);
        let (mut pairs, mut tombstone_bytes) = (0, 0);
        for (key, e) in &self.index {
            let bytes = u64::from(e.addr.record_bytes());
            live.add(e.addr.position(), bytes, bytes).map_err(|e| format!("{key:?}: {e}"))?;
            ensure(e.version < self.version, || format!("{key:?} has version {}", e.version))?;
            pairs += u64::from(!e.is_tombstone);
            tombstone_bytes += if e.is_tombstone { bytes } else { 0 };
        }
        live.compare()?;
        self.lengths.check(self.index.values().map(|e| e.addr.record_bytes()))?;
        let (found, noted) = ((pairs, tombstone_bytes), (self.stats.pairs, self.tombstone_bytes));
        ensure(found == noted, || format!("pairs and bytes of tombstones are {found:?}, noted: {noted:?}"))
    }

    /// A key counts as many older records as segments list for it.
    fn check_stale(&self) -> Result<(), String> {
        let mut found: BTreeMap<&[u8], u32> = BTreeMap::new();
        self.stale.values().flatten().for_each(|key| *found.entry(key).or_default() += 1);
        let noted = |key: &[u8]| self.index.get(key).map_or(0, |e| e.stale);
        let wrong = self.index.iter().find(|(key, e)| found.get(&key[..]).copied().unwrap_or(0) != e.stale);
        ensure(wrong.is_none(), || format!("older records of {wrong:?}"))?;
        let stray = found.iter().find(|(key, n)| noted(key) != **n && self.index.contains_key(**key));
        ensure(stray.is_none(), || format!("older records of {stray:?}"))
    }
}
