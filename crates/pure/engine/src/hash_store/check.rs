// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether what a hash store remembers agrees with itself.

use super::HashStore;
use crate::mix::IndexKey;
use saker_log::{LiveBytes, SegmentState, ensure};
use saker_segment_store::{SegmentStore, Stream};
use saker_value_log::RecordAddr;
use saker_value_log::record::HEADER_BYTES;

impl HashStore {
    /// Says what contradicts itself, if anything does.
    pub(super) fn check_all(&self, m: &dyn SegmentStore) -> Result<(), String> {
        self.log.check(m)?;
        self.index.check().map_err(|e| format!("the index: {e}"))?;
        let entries = self.entries();
        self.check_places(&entries)?;
        self.check_pending()?;
        let waiting = self.pending.entries().iter();
        let lengths = entries.iter().chain(waiting).map(|(_, addr)| addr.record_bytes());
        self.lengths.check(lengths)?;
        self.check_work()?;
        self.prefetch.check().map_err(|e| format!("prefetch groups: {e}"))
    }

    fn entries(&self) -> Vec<(IndexKey, RecordAddr)> {
        let mut entries = Vec::new();
        self.index.visit(None, |place, addr| {
            entries.push((place, addr));
            true
        });
        entries
    }

    /// Entries come in order, their records are where records are, and counts are sums over them.
    fn check_places(&self, entries: &[(IndexKey, RecordAddr)]) -> Result<(), String> {
        let sorted = entries.is_sorted_by(|(a, _), (b, _)| a < b);
        ensure(sorted, || "the index gives its entries out of order".into())?;
        let mut live = LiveBytes::new(&self.log);
        for (place, addr) in entries {
            let found = live.add(addr.position(), u64::from(addr.bytes()), u64::from(addr.record_bytes()));
            found.map_err(|e| format!("the record of {place:?}: {e}"))?;
            let stream = self.log.segment(self.segment_of(addr.position())).stream();
            ensure(stream.holds_records(), || {
                format!("the record of {place:?} is in the stream {stream:?}")
            })?;
        }
        live.compare()?;
        let bytes: u64 = entries.iter().map(|(_, addr)| u64::from(addr.record_bytes() - HEADER_BYTES)).sum();
        let noted = self.stats.pair_bytes;
        ensure(bytes == noted, || format!("pairs have {bytes} bytes, noted: {noted}"))
    }

    fn check_pending(&self) -> Result<(), String> {
        let bytes: u64 = self.pending.entries().iter().map(|(_, addr)| u64::from(addr.record_bytes())).sum();
        let noted = self.pending.bytes();
        ensure(bytes == noted, || format!("{bytes} bytes of records wait for the index, noted: {noted}"))
    }

    /// What is under way refers to segments that are there.
    fn check_work(&self) -> Result<(), String> {
        if let Some(gc) = &self.gc {
            let s = self.log.segment(gc.segment());
            let sound =
                matches!(s.state, SegmentState::Closed | SegmentState::Open) && s.stream().holds_records();
            ensure(sound, || format!("a collection is in {:?}, which is {:?}", gc.segment(), s.state))?;
        }
        for id in &self.checkpoint.segments {
            let s = self.log.segment(*id);
            let sound = s.state == SegmentState::Closed && s.stream() == Stream::Checkpoint;
            ensure(sound, || format!("the checkpoint is in segment {}, which is {:?}", id.0, s.state))?;
        }
        let newer = self.checkpoint.version <= self.version;
        ensure(newer, || {
            format!("the checkpoint is of version {}, behind all writes", self.checkpoint.version)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HashStoreConfig;
    use crate::hash_store::gc::GcCursor;
    use crate::planted::Worn;
    use saker_segment_store::SegmentId;

    type Fault = (&'static str, fn(&mut HashStore));

    /// A store with pending entries and a running collection, corrupted in one private field at a time.
    #[test]
    fn every_planted_fault_is_found() {
        let worn = Worn::new(64, |m| {
            let config = HashStoreConfig::new(1, &m.geometry(), m.quota_segments(), true);
            HashStore::new(HashStoreConfig { checkpoint_bytes_min: 8 << 10, ..config }, m)
        });
        let faults: [Fault; 8] = [
            ("live bytes of all", |s| s.log.add_live(held(s), 8)),
            ("bytes of pairs", |s| s.stats.pair_bytes += 8),
            ("lengths", |s| s.lengths.add(2000)),
            ("an entry that is gone", |s| _ = s.index.remove(first(s).0)),
            ("an entry that leads elsewhere", |s| {
                let (place, addr) = first(s);
                s.index.insert(
                    place,
                    RecordAddr::new(addr.position() ^ (1 << 20), addr.record_bytes(), addr.key_bytes()),
                );
            }),
            ("the checkpoint's segments", |s| s.checkpoint.segments.push(held(s))),
            ("the checkpoint's version", |s| s.checkpoint.version = s.version + 1),
            ("a collection of what is free", |s| s.gc = Some(GcCursor::of(free(s)))),
        ];
        for (what, fault) in faults {
            worn.finds(what, fault);
        }
    }

    fn first(s: &HashStore) -> (IndexKey, RecordAddr) {
        s.entries()[0]
    }

    fn held(s: &HashStore) -> SegmentId {
        s.segment_of(first(s).1.position())
    }

    fn free(s: &HashStore) -> SegmentId {
        let mut all = (0..s.log.geometry().segments).map(SegmentId);
        all.find(|id| s.log.segment(*id).state == SegmentState::Absent).expect("one is free")
    }
}
