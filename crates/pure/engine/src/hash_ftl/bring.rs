// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prefetch groups ([`crate::prefetch`]). Every write of a key drops its value, so one that is in memory is the newest, and neither
//! sections nor records are looked at for it.

use super::HashFtl;
use crate::prefetch::BYTES_MAX;
use saker_engine_api::{Background, Context, KvError, Sink};
use saker_segment_store::{Reads, SegmentStore, Step, ready};
use saker_sim::{Meter, Unit};

impl HashFtl {
    /// Binds keys under a name ([`Prefetch::bind`](crate::prefetch::Prefetch::bind)).
    pub(super) fn bind_keys(
        &mut self,
        name: &[u8],
        keys: &mut dyn ExactSizeIterator<Item = &[u8]>,
    ) -> Result<(), KvError> {
        let Self { prefetch, probe, .. } = self;
        prefetch.bind(name, keys, |key| probe.home(key).map(|_| key.to_vec()))
    }

    /// Retrieves a pair from memory, or else as [`Self::retrieve_once`] does.
    pub(super) fn retrieve_or_prefetched<M: SegmentStore, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        sink: &mut K,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<u32, KvError>> {
        let name = key.to_vec();
        cx.meter.work(Unit::Probe, 1);
        if let Some((_, value)) = self.prefetch.hit(&name, |_| true) {
            let wanted = value.len().min(sink.room() as usize);
            cx.meter.work(Unit::CopyByte, if sink.is_copied_by_core() { wanted as u64 } else { 0 });
            let sent = sink.write(0, &value[..wanted]).map_err(|_| KvError::Transfer);
            return Step::Done(sent.map(|()| value.len() as u32));
        }
        let found = ready!(self.counted(|this| this.retrieve_once(key, sink, cx)));
        if found.is_ok() {
            self.prefetch.accessed(&name);
        }
        Step::Done(found)
    }

    /// The pair was stored anew, or deleted.
    #[inline]
    pub(super) fn drop_prefetched(&mut self, key: &[u8]) {
        if !self.prefetch.is_empty() {
            self.prefetch.drop_value(&key.to_vec());
        }
    }

    /// Brings some of what is wanted. `None`: nothing is. Values that cannot be read are left to whoever asks for them.
    pub(super) fn bring_wanted<M: SegmentStore, W: Meter>(
        &mut self,
        m: &mut M,
        w: &mut W,
    ) -> Option<Step<Background>> {
        if !self.prefetch.is_wanted() {
            return None;
        }
        let (mut left, mut pages) = (Vec::new(), Reads::new());
        for key in self.prefetch.next_wanted() {
            let mut value = Vec::new();
            let mut cx = Context::new(m, w);
            match self.attempt(|this| this.retrieve_once(&key, &mut value, &mut cx)) {
                Step::Done(Ok(_)) => self.prefetch.keep(key, (), value, BYTES_MAX),
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
