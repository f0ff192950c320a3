// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The pairs of a namespace as a transaction sees them: long keys, and keys that would be taken
//! for those of envelopes, are in envelopes, which change once by all that it writes in them.

use crate::long_keys::{DeviceKey, Envelope, look};
use saker_engine::transaction::{ReadPair, State, Write, count_keys, read_pair, write_all};
use saker_engine::{AnyEngine, Context, Groups, KvError, NotDone, PairVersion};
use saker_long_keys::{NarrowDigest, device_key, is_enveloped};
use saker_segment_store::{Reads, SegmentStore, Step, ready};
use saker_sim::{Meter, Unit};
use std::collections::BTreeMap;

/// The pairs of a namespace under keys of any length.
pub(in crate::groups) struct Keys<'a, M, W> {
    pub(in crate::groups) store: &'a mut AnyEngine,
    pub(in crate::groups) digest: Option<NarrowDigest>,
    pub(in crate::groups) m: &'a mut M,
    pub(in crate::groups) w: &'a mut W,
}

impl<M: SegmentStore, W: Meter> Keys<'_, M, W> {
    /// Where the envelope of a key is, if it has one.
    fn long(&mut self, key: &[u8]) -> Option<(DeviceKey, NarrowDigest)> {
        let digest = self.digest.filter(|_| is_enveloped(key))?;
        self.w.work(Unit::ChecksumByte, key.len() as u64);
        Some((device_key(key, &digest), digest))
    }

    fn envelope(&mut self, at: &DeviceKey, digest: NarrowDigest) -> Step<Result<Envelope, KvError>> {
        look(self.store, at, digest, self.m, self.w)
    }

    /// The writes under device keys. Envelopes change once, by all that the transaction writes in them.
    fn under_device_keys(&mut self, writes: &[Write<'_>]) -> Step<Result<Vec<DeviceWrite>, NotDone>> {
        let mut envelopes: BTreeMap<DeviceKey, (u32, Envelope)> = BTreeMap::new();
        let (mut device, mut absent) = (Vec::new(), Reads::new());
        for write in writes {
            let Some((at, digest)) = self.long(write.key) else {
                device.push((write.place, write.key.to_vec(), write.value.map(<[u8]>::to_vec)));
                continue;
            };
            let before = match envelopes.remove(&at) {
                Some((_, envelope)) => Ok(envelope),
                None => match self.envelope(&at, digest) {
                    Step::Done(before) => before,
                    Step::Need(reads) => {
                        absent.extend(reads);
                        continue;
                    }
                    Step::Blocked(stall) => return Step::Blocked(stall),
                },
            };
            match before.and_then(|before| changed(&before, write)) {
                Ok(after) => _ = envelopes.insert(at, (write.place, after)),
                Err(e) => return Step::Done(Err(NotDone::Member(write.place, e))),
            }
        }
        device.extend(envelopes.into_iter().map(|(at, (place, after))| {
            let bytes = after.bytes();
            (place, at.to_vec(), (!bytes.is_empty()).then(|| bytes.to_vec()))
        }));
        if absent.is_empty() { Step::Done(Ok(device)) } else { Step::Need(absent) }
    }
}

/// The place of the member, the device key, the value.
type DeviceWrite = (u32, Vec<u8>, Option<Vec<u8>>);

/// An envelope after a write.
fn changed(before: &Envelope, write: &Write<'_>) -> Result<Envelope, KvError> {
    let after = match write.value {
        Some(value) => before.with(write.key, value).map(Some),
        None => before.without(write.key),
    };
    after.map(Envelope::of)
}

impl<M: SegmentStore, W: Meter> State for Keys<'_, M, W> {
    fn version(&mut self, key: &[u8]) -> Step<Result<Option<PairVersion>, KvError>> {
        let Some((at, digest)) = self.long(key) else {
            return self.store.version(key, &mut Context::new(self.m, self.w));
        };
        match ready!(self.envelope(&at, digest)) {
            Err(e) => Step::Done(Err(e)),
            Ok(envelope) if envelope.value(key).is_none() => Step::Done(Ok(None)),
            Ok(_) => self.store.version(&at, &mut Context::new(self.m, self.w)),
        }
    }

    fn read(&mut self, key: &[u8]) -> Step<Result<ReadPair, KvError>> {
        let Some((at, digest)) = self.long(key) else {
            return read_pair(key, self.store, &mut Context::new(self.m, self.w));
        };
        let value = match ready!(self.envelope(&at, digest)) {
            Err(e) => return Step::Done(Err(e)),
            Ok(envelope) => envelope.value(key).map(<[u8]>::to_vec),
        };
        let Some(value) = value else { return Step::Done(Ok(None)) };
        let version = self.store.version(&at, &mut Context::new(self.m, self.w));
        version.map(|version| version.map(|version| version.map(|version| (version, value))))
    }

    fn count(&mut self, from: &[u8], to: Option<&[u8]>, most: u32) -> Step<Result<u32, KvError>> {
        count_keys(from, to, most, self.store, &mut Context::new(self.m, self.w))
    }

    fn write(&mut self, writes: &[Write<'_>]) -> Step<Result<(), NotDone>> {
        let is_long = |write: &Write<'_>| is_enveloped(write.key);
        if self.digest.is_none() || !writes.iter().any(is_long) {
            return write_all(writes, self.store, &mut Context::new(self.m, self.w));
        }
        let device = match ready!(self.under_device_keys(writes)) {
            Ok(device) => device,
            Err(refused) => return Step::Done(Err(refused)),
        };
        let writes = device.iter().map(|(place, key, value)| {
            let value = value.as_deref();
            Write { place: *place, key, value }
        });
        write_all(&writes.collect::<Vec<_>>(), self.store, &mut Context::new(self.m, self.w))
    }
}
