// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether what an ordered store remembers agrees with itself.

use super::Store;
use super::refs::{Births, Refs};
use super::structure::Structure;
use saker_log::{LiveBytes, Log, SegmentState, ensure};
use saker_segment_store::{PageAddr, SegmentStore, Stream};

/// How pages and references count as live.
#[derive(Debug)]
pub(crate) struct Counts<'a> {
    log: &'a Log,
    births: &'a Births,
}

impl Counts<'_> {
    /// A page of the structure is needed.
    pub(crate) fn page(&self, page: PageAddr, live: &mut LiveBytes<'_>) -> Result<(), String> {
        let bytes = u64::from(self.log.geometry().page_bytes);
        live.add(page.0 * bytes, bytes, bytes)?;
        let stream = self.log.segment(self.log.geometry().segment_of(page)).stream();
        ensure(stream == Stream::Table, || format!("page {} is of the stream {stream:?}", page.0))
    }

    /// References to records count as far as their segments are what they were.
    pub(crate) fn refs(&self, refs: &Refs, live: &mut LiveBytes<'_>) {
        let alive = refs.iter().filter(|(id, r)| self.births.is_alive(self.log, *id, r.stamp));
        alive.for_each(|(id, r)| live.refer(id, r.bytes));
    }
}

impl<S: Structure> Store<S> {
    /// How pages and references count here.
    pub(crate) fn counts(&self) -> Counts<'_> {
        Counts { log: &self.log, births: &self.births }
    }

    /// Says what contradicts itself, if anything does.
    pub(super) fn check_all(&self, m: &dyn SegmentStore) -> Result<(), String> {
        self.log.check(m)?;
        self.prefetch.check().map_err(|e| format!("prefetch groups: {e}"))?;
        let mut live = LiveBytes::new(&self.log);
        self.check_memtables(&mut live)?;
        S::check(self, &mut live)?;
        live.compare()?;
        let pages = self.log.live_bytes_of(Stream::Table);
        let noted = self.structure_live;
        ensure(pages == noted, || format!("{pages} bytes of the structure live, noted: {noted}"))?;
        self.check_work()
    }

    fn check_memtables(&self, live: &mut LiveBytes<'_>) -> Result<(), String> {
        for table in self.own.frozen().map(AsRef::as_ref).chain([&self.mem]) {
            table.check(&self.log, &self.births).map_err(|e| format!("a memtable: {e}"))?;
            self.counts().refs(&table.refs, live);
            let newest = table.range(super::memtable::Position::Start).map(|e| e.version).max();
            let known = newest.is_none_or(|newest| newest < self.version);
            ensure(known, || format!("a memtable has version {newest:?}, the next is {}", self.version))?;
        }
        let records = self.mem.range(super::memtable::Position::Start).filter(|e| !e.is_tombstone());
        let newest = records.filter(|e| self.mem.newest(&e.key) == Some(*e));
        let longest = newest.map(|e| e.addr.record_bytes()).max();
        let bound = self.longest.bytes();
        ensure(longest.is_none_or(|n| n <= bound), || {
            format!("a record has {longest:?} bytes, above {bound}")
        })
    }

    /// What is under way refers to segments that are there.
    fn check_work(&self) -> Result<(), String> {
        if let Some(gc) = &self.gc {
            let s = self.log.segment(gc.segment());
            let held = matches!(s.state, SegmentState::Open | SegmentState::Closed);
            let sound = held && s.stream().holds_records();
            ensure(sound, || format!("a collection is in {:?}, which is {:?}", gc.segment(), s.state))?;
        }
        for id in &self.manifest.segments {
            let s = self.log.segment(*id);
            let sound = s.state == SegmentState::Closed && s.stream() == Stream::Checkpoint;
            ensure(sound, || format!("the manifest is in segment {}, which is {:?}", id.0, s.state))?;
        }
        let older = self.manifest.version <= self.version;
        ensure(older, || format!("the manifest is of version {}, behind all writes", self.manifest.version))
    }
}
