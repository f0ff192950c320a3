// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prefetch groups ([`crate::prefetch`]). Every write passes [`Store::enter`], so a value that is in memory is that of its key's newest
//! write, and neither memtables nor tables are looked at for it. A collection that moves a pair keeps its version.

use super::Store;
use super::key::{Entry, Key};
use super::structure::Structure;
use crate::prefetch::BYTES_MAX;
use saker_engine_api::{Background, KvError, Sink};
use saker_segment_store::{Reads, SegmentStore, Step};
use saker_sim::{Meter, Unit};

impl<S: Structure> Store<S> {
    /// Binds keys under a name ([`Prefetch::bind`](crate::prefetch::Prefetch::bind)).
    pub(super) fn bind_keys(
        &mut self,
        name: &[u8],
        keys: &mut dyn ExactSizeIterator<Item = &[u8]>,
    ) -> Result<(), KvError> {
        self.prefetch.bind(name, keys, Key::new)
    }

    /// Delivers a value that was brought: its version and its length. `None`: it was not.
    #[cold]
    pub(super) fn deliver_prefetched<W: Meter, K: Sink>(
        &mut self,
        key: &Key,
        sink: &mut K,
        w: &mut W,
    ) -> Option<Result<(u64, u32), KvError>> {
        w.work(Unit::Probe, 1);
        let (version, value) = self.prefetch.hit(key, |_| true)?;
        let wanted = value.len().min(sink.room() as usize);
        w.work(Unit::CopyByte, if sink.is_copied_by_core() { wanted as u64 } else { 0 });
        let sent = sink.write(0, &value[..wanted]).map_err(|_| KvError::Transfer);
        Some(sent.map(|()| (*version, value.len() as u32)))
    }

    /// A write has become the newest of its key, or its record was moved.
    #[inline]
    pub(super) fn tell_readers(&mut self, e: &Entry) {
        self.recent.entered(e);
        if !self.prefetch.is_empty() {
            self.prefetch.drop_others(&e.key, |version| *version == e.version);
        }
    }

    /// Whether background work is to bring values. A store that has failed does none.
    pub(super) fn wants_values(&self) -> bool {
        self.prefetch.is_wanted() && self.upkeep.error().is_none()
    }

    /// Brings some of what is wanted. `None`: nothing is. Values that cannot be read are left to whoever asks for them.
    pub(super) fn bring_wanted<M: SegmentStore, W: Meter>(
        &mut self,
        m: &M,
        w: &mut W,
    ) -> Option<Step<Background>> {
        if !self.prefetch.is_wanted() {
            return None;
        }
        let (mut left, mut pages) = (Vec::new(), Reads::new());
        for key in self.prefetch.next_wanted() {
            let (mut value, name) = (Vec::new(), key.padded());
            match self.retrieve_found((&name[..key.len()], &key), None, &mut value, m, w) {
                Step::Done(Ok((version, _))) => self.prefetch.keep(key, version, value, BYTES_MAX),
                Step::Need(reads) => {
                    pages.extend(reads);
                    left.push(key);
                }
                Step::Done(Err(_)) | Step::Blocked(_) => {}
            }
        }
        Some(self.prefetch.brought(left, pages))
    }
}
