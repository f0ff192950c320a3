// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prefetch groups: access to one key brings the values of the keys that belong with it to memory (HotStorage'19,
//! section 5: the paper suggests them and leaves them open).
//!
//! The retrieve that starts it does not wait: background work reads the others. What is brought is a value and the place
//! it was read from; a pair that has changed is dropped, one that has moved is not found, so nothing stale is ever
//! delivered. A group that is brought in vain is brought less and less often.

use super::HashStore;
use crate::mix::IndexKey;
use saker_engine_api::{Background, KvError, Sink};
use saker_log::{Bytes, LogAddr, ensure};
use saker_segment_store::{Reads, SegmentStore, Step};
use saker_sim::{Meter, Unit};
use saker_value_log::RecordAddr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Groups that are kept; the oldest is forgotten for a new one.
pub const GROUPS_MAX: usize = 1024;
/// Keys of a group.
pub const KEYS_MAX: usize = 1024;
/// Values that a quantum brings.
const QUANTUM: usize = 16;
/// The rarest that a group is brought, as a power of two of its accesses.
const RAREST: u32 = 10;

#[derive(Clone, Debug, Default)]
struct Group {
    places: Vec<IndexKey>,
    /// Times in a row that it was brought and nobody asked for it.
    in_vain: u32,
    /// Accesses until it is brought again.
    skip: u32,
    /// Whether it was brought and not asked for since.
    unproven: bool,
}

/// A value that was brought.
#[derive(Clone, Debug)]
struct Kept {
    /// Where it was read.
    addr: RecordAddr,
    value: Vec<u8>,
    arrival: u64,
}

/// Groups, what is to be brought, and what has been.
#[derive(Clone, Debug, Default)]
pub struct Prefetch {
    groups: BTreeMap<u64, Group>,
    names: BTreeMap<Vec<u8>, u64>,
    of: BTreeMap<IndexKey, u64>,
    next: u64,
    wanted: VecDeque<IndexKey>,
    values: BTreeMap<IndexKey, Kept>,
    /// The values in the order they came, and some that have gone.
    order: VecDeque<(IndexKey, u64)>,
    arrivals: u64,
    bytes: usize,
    hits: u64,
}

impl Prefetch {
    /// Whether there are no groups.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Whether something is to be brought.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        !self.wanted.is_empty()
    }

    fn bind(&mut self, name: &[u8], places: Vec<IndexKey>) {
        if let Some(old) = self.names.remove(name) {
            self.unbind(old);
        }
        if places.len() < 2 {
            return;
        }
        while self.groups.len() >= GROUPS_MAX {
            let Some((&oldest, _)) = self.groups.first_key_value() else { break };
            self.names.retain(|_, id| *id != oldest);
            self.unbind(oldest);
        }
        let id = self.next;
        self.next += 1;
        self.of.extend(places.iter().map(|p| (*p, id)));
        self.names.insert(name.to_vec(), id);
        self.groups.insert(id, Group { places, ..Group::default() });
    }

    fn unbind(&mut self, id: u64) {
        self.groups.remove(&id);
        self.of.retain(|_, of| *of != id);
        if self.groups.is_empty() {
            (self.wanted, self.values, self.order) = Default::default();
            self.bytes = 0;
        }
    }

    /// A key was read from the medium: brings the others, if that has helped so far.
    fn accessed(&mut self, place: IndexKey) {
        let Some(group) = self.of.get(&place).and_then(|id| self.groups.get_mut(id)) else { return };
        if group.unproven {
            group.in_vain += 1;
            group.unproven = false;
            group.skip = 1 << group.in_vain.min(RAREST);
        }
        if group.skip > 0 {
            group.skip -= 1;
            return;
        }
        group.unproven = true;
        self.wanted.extend(group.places.iter().filter(|p| **p != place));
    }

    /// The value, if it was brought from `addr`.
    fn hit(&mut self, place: IndexKey, addr: RecordAddr) -> Option<&[u8]> {
        if self.values.get(&place)?.addr != addr {
            self.drop_value(place);
            return None;
        }
        self.hits += 1;
        if let Some(group) = self.of.get(&place).and_then(|id| self.groups.get_mut(id)) {
            (group.in_vain, group.skip, group.unproven) = (0, 0, false);
        }
        self.values.get(&place).map(|kept| kept.value.as_slice())
    }

    fn keep(&mut self, place: IndexKey, addr: RecordAddr, value: Vec<u8>, bytes_max: usize) {
        self.drop_value(place);
        if value.len() > bytes_max / 4 {
            return;
        }
        self.bytes += value.len();
        self.arrivals += 1;
        self.values.insert(place, Kept { addr, value, arrival: self.arrivals });
        self.order.push_back((place, self.arrivals));
        while self.bytes > bytes_max {
            let Some((oldest, arrival)) = self.order.pop_front() else { break };
            if self.is_current(oldest, arrival) {
                self.drop_value(oldest);
            }
        }
        if self.order.len() > 2 * self.values.len() + 64 {
            let mut order = std::mem::take(&mut self.order);
            order.retain(|(place, arrival)| self.is_current(*place, *arrival));
            self.order = order;
        }
    }

    /// Whether that arrival's value is still here.
    fn is_current(&self, place: IndexKey, arrival: u64) -> bool {
        self.values.get(&place).is_some_and(|kept| kept.arrival == arrival)
    }

    /// Says what contradicts itself, if anything does.
    pub(super) fn check(&self) -> Result<(), String> {
        let bytes: usize = self.values.values().map(|kept| kept.value.len()).sum();
        ensure(bytes == self.bytes, || format!("values take {bytes} bytes, noted: {}", self.bytes))?;
        let ids = self.of.values().chain(self.names.values());
        let stray = ids.into_iter().find(|id| !self.groups.contains_key(id));
        ensure(stray.is_none(), || format!("keys are bound to group {stray:?}, which there is not"))?;
        let arrivals: BTreeSet<u64> = self.order.iter().map(|(_, arrival)| *arrival).collect();
        let lost = self.values.values().find(|kept| !arrivals.contains(&kept.arrival));
        ensure(lost.is_none(), || format!("nothing drives out the value {lost:?}"))
    }

    /// The pair has changed.
    #[inline]
    pub fn drop_value(&mut self, place: IndexKey) {
        if let Some(kept) = self.values.remove(&place) {
            self.bytes -= kept.value.len();
        }
    }
}

impl HashStore {
    /// Binds keys under a name, which replaces what the name bound before. Fewer than two keys unbind it. Keys that cannot
    /// be are left out.
    ///
    /// # Errors
    /// [`KvError::CapacityExceeded`] for more than [`KEYS_MAX`] keys.
    pub(super) fn bind_keys(
        &mut self,
        name: &[u8],
        keys: &mut dyn ExactSizeIterator<Item = &[u8]>,
    ) -> Result<(), KvError> {
        if keys.len() > KEYS_MAX {
            return Err(KvError::CapacityExceeded);
        }
        let places = keys.filter_map(|key| self.index.place(key)).collect();
        self.prefetch.bind(name, places);
        Ok(())
    }

    /// Retrieves that found their value in memory.
    pub fn prefetch_hits(&self) -> u64 {
        self.prefetch.hits
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
        let value = self.prefetch.hit(place, addr)?;
        let wanted = value.len().min(sink.room() as usize);
        w.work(Unit::CopyByte, if sink.is_copied_by_core() { wanted as u64 } else { 0 });
        let sent = sink.write(0, &value[..wanted]).map_err(|_| KvError::Transfer);
        Some(sent.map(|()| value.len() as u32))
    }

    /// A value was read from the medium.
    pub(super) fn note_access(&mut self, place: IndexKey) {
        self.prefetch.accessed(place);
    }

    /// Brings some of what is wanted. `None`: nothing is.
    pub(super) fn bring_wanted<M: SegmentStore, W: Meter>(
        &mut self,
        m: &M,
        w: &mut W,
    ) -> Option<Step<Background>> {
        let places: Vec<_> = self.prefetch.wanted.iter().take(QUANTUM).copied().collect();
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
        self.prefetch.wanted.drain(..places.len());
        for (place, addr) in found {
            self.bring_one(place, addr, m, w);
        }
        Some(Step::Done(Background::Worked))
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
