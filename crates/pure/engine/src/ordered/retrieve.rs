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
use saker_engine_api::{Context, KvError, Sink, Snapshot};
use saker_log::{Bytes, LogAddr};
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
        let (found, trail) = ready!(S::find(self, &name, at, m, w));
        let addr = match found {
            Ok(Some(e)) if e.is_inside() => {
                let delivered = self.retrieve_inside(&e, sink, m, w);
                S::searched(self, &trail, m, w);
                return Step::Done(delivered);
            }
            Ok(Some(e)) if !e.is_tombstone() => e.addr,
            found => {
                S::searched(self, &trail, m, w);
                return Step::Done(Err(found.err().unwrap_or(KvError::NotFound)));
            }
        };
        match Bytes::new(LogAddr(addr.position()), addr.bytes()).resident(&self.log, m) {
            Step::Done(Ok(())) => {}
            Step::Done(Err(e)) => return Step::Done(Err(e.into())),
            Step::Need(pages) => {
                let mut looked: Reads = trail.into();
                looked.extend(pages);
                return Step::Need(looked);
            }
            Step::Blocked(stall) => return Step::Blocked(stall),
        }
        S::searched(self, &trail, m, w);
        w.work(Unit::Decode, 1);
        w.work(Unit::ChecksumByte, u64::from(addr.bytes()));
        let copied = if sink.is_copied_by_core() { addr.bytes().min(sink.room()) } else { 0 };
        w.work(Unit::CopyByte, u64::from(copied));
        let delivered = self.records().check(key, addr, self.settings.owner, m).and_then(|(start, bytes)| {
            self.records().deliver(addr, start, bytes.min(sink.room()), sink, m).map(|()| bytes)
        });
        Step::Done(delivered)
    }
}
