// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finding pairs, and delivering values.
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
use super::structure::Structure;
use saker_engine_api::{Context, KvError, PairVersion, Sink, Snapshot, Versioned};
use saker_log::{Bytes, LogAddr, Look, lines};
use saker_segment_store::{Reads, SegmentStore, Step, ready};
use saker_sim::{Meter, Unit};

impl<S: Structure> Store<S> {
    /// The pair of a key, if there is one now.
    pub(super) fn find_pair<M: SegmentStore, W: Meter>(
        &mut self,
        key: &Key,
        m: &M,
        w: &mut W,
    ) -> Step<Result<Option<Entry>, KvError>> {
        let found = ready!(self.find_newest(key, m, w));
        Step::Done(found.map(|e| e.filter(|e| !e.is_tombstone())))
    }

    /// The newest entry of a key, tombstones included.
    pub(super) fn find_newest<M: SegmentStore, W: Meter>(
        &mut self,
        key: &Key,
        m: &M,
        w: &mut W,
    ) -> Step<Result<Option<Entry>, KvError>> {
        let (found, trail) = ready!(S::find(self, key, None, m, w));
        S::searched(self, &trail, m, w);
        Step::Done(found)
    }

    /// Retrieves a pair as a snapshot sees it.
    pub fn retrieve_seen<M: SegmentStore, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        snapshot: Snapshot,
        sink: &mut K,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<u32, KvError>> {
        self.retrieve_at(key, Some(snapshot), sink, cx.medium, cx.meter)
    }

    /// Delivers up to `sink.room()` bytes from the start of the value and returns its length. Nothing is delivered that does not
    /// match the record's checksum.
    pub(super) fn retrieve_at<M: SegmentStore, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        at: Option<Snapshot>,
        sink: &mut K,
        m: &M,
        w: &mut W,
    ) -> Step<Result<u32, KvError>> {
        let Some(name) = Key::new(key) else { return Step::Done(Err(KvError::KeySize)) };
        self.retrieve_named((key, &name), at, sink, m, w).map(|found| found.map(|(_, bytes)| bytes))
    }

    /// The same, and the version of the pair. It is remembered: who read it is likely to ask whether it is still the same.
    pub(super) fn retrieve_and_remember<M: SegmentStore, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        sink: &mut K,
        m: &M,
        w: &mut W,
    ) -> Step<Result<Versioned, KvError>> {
        let Some(name) = Key::new(key) else { return Step::Done(Err(KvError::KeySize)) };
        match ready!(self.retrieve_named((key, &name), None, sink, m, w)) {
            Ok((version, bytes)) => {
                self.recent.remember(&name, Some(version));
                Step::Done(Ok(Some((PairVersion(version.into()), bytes))))
            }
            Err(KvError::NotFound) => {
                self.recent.remember(&name, None);
                Step::Done(Ok(None))
            }
            Err(e) => Step::Done(Err(e)),
        }
    }

    /// Version of the newest write of a key, if there is a pair.
    pub(super) fn version_of<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        m: &M,
        w: &mut W,
    ) -> Step<Result<Option<PairVersion>, KvError>> {
        let Some(name) = Key::new(key) else { return Step::Done(Err(KvError::KeySize)) };
        w.work(Unit::Probe, 1);
        let version = match self.recent.version(&name) {
            Some(version) => version,
            None => match ready!(S::find(self, &name, None, m, w)).0 {
                Err(e) => return Step::Done(Err(e)),
                Ok(found) => {
                    let version = found.filter(|e| !e.is_tombstone()).map(|e| e.version);
                    self.recent.remember(&name, version);
                    version
                }
            },
        };
        Step::Done(Ok(version.map(|version| PairVersion(version.into()))))
    }

    /// The version and the length of the pair that [`Self::retrieve_at`] delivers.
    #[inline]
    fn retrieve_named<M: SegmentStore, W: Meter, K: Sink>(
        &mut self,
        (key, name): (&[u8], &Key),
        at: Option<Snapshot>,
        sink: &mut K,
        m: &M,
        w: &mut W,
    ) -> Step<Result<(u64, u32), KvError>> {
        if self.prefetch.is_empty() || at.is_some() {
            return self.retrieve_found((key, name), at, sink, m, w);
        }
        if let Some(delivered) = self.deliver_prefetched(name, sink, w) {
            return Step::Done(delivered);
        }
        let found = ready!(self.retrieve_found((key, name), at, sink, m, w));
        if found.is_ok() {
            self.prefetch.accessed(name);
        }
        Step::Done(found)
    }

    /// The same of a pair that was not brought before.
    pub(super) fn retrieve_found<M: SegmentStore, W: Meter, K: Sink>(
        &mut self,
        (key, name): (&[u8], &Key),
        at: Option<Snapshot>,
        sink: &mut K,
        m: &M,
        w: &mut W,
    ) -> Step<Result<(u64, u32), KvError>> {
        let (found, trail) = ready!(S::find(self, name, at, m, w));
        let (addr, version) = match found {
            Ok(Some(e)) if e.is_inside() => {
                let delivered = self.retrieve_inside(&e, sink, m, w);
                S::searched(self, &trail, m, w);
                self.note_read(&delivered);
                return Step::Done(delivered.map(|bytes| (e.version, bytes)));
            }
            Ok(Some(e)) if !e.is_tombstone() => (e.addr, e.version),
            found => {
                S::searched(self, &trail, m, w);
                return Step::Done(Err(found.err().unwrap_or(KvError::NotFound)));
            }
        };
        let range = Bytes::new(LogAddr(addr.position()), addr.bytes());
        match range.look(&self.log, m) {
            // Their cache misses overlap.
            Look::Whole(record) if w.touches() => lines(record).for_each(|byte| w.touch(byte)),
            Look::Whole(_) => {}
            Look::Absent(_) | Look::Elsewhere => match range.resident(&self.log, m) {
                Step::Done(Ok(())) => {}
                Step::Done(Err(e)) => return Step::Done(Err(e.into())),
                Step::Need(pages) => {
                    let mut looked: Reads = trail.into();
                    looked.extend(pages);
                    return Step::Need(looked);
                }
                Step::Blocked(stall) => return Step::Blocked(stall),
            },
        }
        S::searched(self, &trail, m, w);
        w.work(Unit::Decode, 1);
        w.work(Unit::ChecksumByte, u64::from(addr.bytes()));
        let copied = if sink.is_copied_by_core() { addr.bytes().min(sink.room()) } else { 0 };
        w.work(Unit::CopyByte, u64::from(copied));
        let delivered = self.records().check(key, addr, self.settings.owner, m).and_then(|(start, bytes)| {
            self.records().deliver(addr, start, bytes.min(sink.room()), sink, m).map(|()| bytes)
        });
        self.note_read(&delivered);
        Step::Done(delivered.map(|bytes| (version, bytes)))
    }
}
