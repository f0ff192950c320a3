// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prefetch groups ([`crate::prefetch`]): a value is known by the place it was read from. One that has moved is not found.

use super::HashStore;
use crate::mix::IndexKey;
use saker_engine_api::{Background, KvError, Sink};
use saker_log::{Bytes, LogAddr};
use saker_segment_store::{Reads, SegmentStore, Step};
use saker_sim::{Meter, Unit};
use saker_value_log::RecordAddr;

impl HashStore {
    /// Binds keys under a name ([`Prefetch::bind`](crate::prefetch::Prefetch::bind)).
    pub(super) fn bind_keys(
        &mut self,
        name: &[u8],
        keys: &mut dyn ExactSizeIterator<Item = &[u8]>,
    ) -> Result<(), KvError> {
        self.prefetch.bind(name, keys, |key| self.index.place(key))
    }

    /// Delivers a value that was brought; `None`: it was not.
    pub(super) fn deliver_prefetched<W: Meter, K: Sink>(
        &mut self,
        place: IndexKey,
        addr: RecordAddr,
        sink: &mut K,
        w: &mut W,
    ) -> Option<Result<u32, KvError>> {
        w.work(Unit::Probe, 1);
        let (_, value) = self.prefetch.hit(&place, |read_at| *read_at == addr)?;
        let wanted = value.len().min(sink.room() as usize);
        w.work(Unit::CopyByte, if sink.is_copied_by_core() { wanted as u64 } else { 0 });
        let sent = sink.write(0, &value[..wanted]).map_err(|_| KvError::Transfer);
        Some(sent.map(|()| value.len() as u32))
    }

    /// A value was read from the medium.
    pub(super) fn note_access(&mut self, place: IndexKey) {
        self.prefetch.accessed(&place);
    }

    /// Brings some of what is wanted. `None`: nothing is.
    pub(super) fn bring_wanted<M: SegmentStore, W: Meter>(
        &mut self,
        m: &M,
        w: &mut W,
    ) -> Option<Step<Background>> {
        let places = self.prefetch.next_wanted();
        if places.is_empty() {
            return None;
        }
        let found: Vec<_> = places.iter().filter_map(|p| self.index.get(*p).map(|addr| (*p, addr))).collect();
        let (mut reads, mut absent) = (Reads::new(), false);
        for (_, addr) in &found {
            let range = Bytes::new(LogAddr(addr.position()), addr.bytes());
            absent |= matches!(range.resident(&self.log, m), Step::Need(_));
            reads.extend(range.pages(&self.log));
        }
        if absent {
            reads.sort_unstable();
            reads.dedup();
            return Some(Step::Need(reads));
        }
        for (place, addr) in found {
            self.bring_one(place, addr, m, w);
        }
        Some(self.prefetch.brought(Vec::new(), Reads::new()))
    }

    /// Values that cannot be read are left to whoever asks for them.
    fn bring_one<M: SegmentStore, W: Meter>(&mut self, place: IndexKey, addr: RecordAddr, m: &M, w: &mut W) {
        let (key, length) = self.index.key(place);
        let mut value = Vec::new();
        let range = Bytes::new(LogAddr(addr.position()), addr.bytes());
        let resident = matches!(range.resident(&self.log, m), Step::Done(Ok(())));
        if resident && self.deliver(&key[..length], addr, &mut value, m).is_ok() {
            w.work(Unit::ChecksumByte, u64::from(addr.bytes()));
            w.work(Unit::CopyByte, value.len() as u64);
            self.prefetch.keep(place, addr, value, self.config.prefetch_bytes_max);
        }
    }
}
