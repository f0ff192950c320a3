// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A lane whose calls wait for the device.

use super::Turnstile;
use saker::{CacheStats, KeyRange, Kv, WriteBatch};
use saker_host::HostError;
use saker_nvme::group::PairList;
use saker_sim::Instant;
use saker_store::{Completed, Drain, Lane, Op, Outcome, Refusal, Share, Submitted, Work};

/// The operations that it takes. A batch is no group: groups of a device are not carried out wholly or not at all.
pub(super) const CAPABILITIES: [&str; 8] =
    ["put", "get", "delete", "exists", "group", "list", "seek", "flush"];

/// What a handle counts.
pub(super) fn counters(kv: &Kv) -> Vec<(&'static str, u64)> {
    let CacheStats { hits, misses, .. } = kv.cache_stats();
    vec![("cache_hits", hits), ("cache_misses", misses)]
}

/// A way to a handle.
pub(crate) trait Door {
    /// Calls `f` with the handle.
    fn with<R>(&mut self, f: impl FnOnce(&mut Kv) -> R) -> R;
}

impl Door for &mut Kv {
    #[inline]
    fn with<R>(&mut self, f: impl FnOnce(&mut Kv) -> R) -> R {
        f(self)
    }
}

impl Door for &Turnstile<'_> {
    #[inline]
    fn with<R>(&mut self, f: impl FnOnce(&mut Kv) -> R) -> R {
        self.take(f)
    }
}

/// One thread's way into the store.
#[derive(Debug)]
pub(crate) struct DoorLane<D> {
    door: D,
    queued: bool,
    /// What the last get, list or seek found.
    found: Vec<u8>,
    /// Why the last operation could not be carried out.
    broken: Option<HostError>,
}

/// What an operation came to, without its data.
enum Ended {
    Done,
    Absent,
    Pairs,
    Refused(&'static str),
}

impl<D: Door> DoorLane<D> {
    pub(super) fn new(door: D, queued: bool) -> Self {
        Self { door, queued, found: Vec::new(), broken: None }
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Submitted<'_> {
        let queued = self.queued;
        match self.door.with(|kv| if queued { kv.put_queued(key, value) } else { kv.put(key, value) }) {
            Ok(()) => Submitted::Done(Outcome::DONE),
            Err(error) => self.fail(error),
        }
    }

    #[inline]
    fn get(&mut self, key: &[u8]) -> Submitted<'_> {
        match self.door.with(|kv| kv.get(key)) {
            Ok(Some(value)) => {
                self.found = value;
                Submitted::Done(Outcome::value(&self.found))
            }
            Ok(None) => Submitted::Done(Outcome::Absent),
            Err(error) => self.fail(error),
        }
    }

    #[cold]
    fn fail(&mut self, error: HostError) -> Submitted<'_> {
        self.broken = Some(error);
        Submitted::Refused(Refusal::Broken("the device could not carry it out"))
    }

    fn rarely(&mut self, op: &Op) -> Result<Ended, HostError> {
        let is = |there: bool| if there { Ended::Done } else { Ended::Absent };
        match op {
            Op::Delete(key) => self.door.with(|kv| kv.delete(key)).map(is),
            Op::Exists(key) => self.door.with(|kv| kv.exists(key)).map(is),
            Op::Group { operations, .. } => self.group(operations),
            Op::List { from, entries, values } => {
                let list = self.door.with(|kv| listed(kv, from, *entries, *values))?;
                Ok(self.pairs(list))
            }
            Op::Seek { from, entries, backwards } => {
                let list = self.door.with(|kv| sought(kv, from, *entries, *backwards))?;
                Ok(self.pairs(list))
            }
            Op::Flush => self.door.with(Kv::flush).map(|()| Ended::Done),
            other => Ok(Ended::Refused(other.name())),
        }
    }

    #[inline(never)]
    fn submit_rarely(&mut self, op: &Op) -> Submitted<'_> {
        match self.rarely(op) {
            Ok(Ended::Done) => Submitted::Done(Outcome::DONE),
            Ok(Ended::Absent) => Submitted::Done(Outcome::Absent),
            Ok(Ended::Pairs) => Submitted::Done(Outcome::Pairs { data: &self.found }),
            Ok(Ended::Refused(name)) => Submitted::Refused(Refusal::Unsupported(name)),
            Err(error) => self.fail(error),
        }
    }

    fn pairs(&mut self, list: PairList) -> Ended {
        self.found = list.finish();
        Ended::Pairs
    }

    /// Writes that go together.
    fn group(&mut self, operations: &[Op]) -> Result<Ended, HostError> {
        let mut batch = WriteBatch::new();
        for op in operations {
            match op {
                Op::Put(key, value) => batch.put(key, value),
                Op::Delete(key) => batch.delete(key),
                _ => return Ok(Ended::Refused("group of reads")),
            };
        }
        self.door.with(|kv| kv.write(&batch)).map(|()| Ended::Done)
    }
}

/// By List, and Retrieve where values are wanted. A pair that goes meanwhile is left out.
fn listed(kv: &mut Kv, from: &[u8], entries: u32, values: bool) -> Result<PairList, HostError> {
    let mut list = PairList::default();
    let from = Some(from).filter(|from| !from.is_empty());
    let keys: Vec<_> = kv.list(from).take(entries as usize).collect::<Result<_, _>>()?;
    for key in keys {
        if !values {
            list.push(&key, &[]);
        } else if let Some(value) = kv.get(&key)? {
            list.push(&key, &value);
        }
    }
    Ok(list)
}

/// By an iterator of the device; on devices without, by List and Retrieve in their order.
fn sought(kv: &mut Kv, from: &[u8], entries: u32, backwards: bool) -> Result<PairList, HostError> {
    let range = KeyRange { from: if backwards { b"" } else { from }, ..KeyRange::default() };
    let Some(mut iterator) = kv.open_iterator(&range)? else {
        return if backwards { Err(HostError::NoOrder) } else { listed(kv, from, entries, true) };
    };
    let mut list = PairList::default();
    while list.len() < entries {
        let start = Some(from).filter(|_| backwards && list.is_empty());
        let batch = kv.next_pairs(&mut iterator, entries - list.len(), backwards, start)?;
        batch.pairs().for_each(|(key, value)| list.push(key, value));
        if batch.is_last() {
            break;
        }
    }
    kv.close_iterator(iterator)?;
    Ok(list)
}

impl<D: Door> Lane for DoorLane<D> {
    type Error = HostError;

    #[inline]
    fn submit(&mut self, share: Share<'_>, _: Instant) -> Submitted<'_> {
        match share.first() {
            Some(Op::Put(key, value)) => self.put(key, value),
            Some(Op::Get(key)) => self.get(key),
            Some(other) => self.submit_rarely(other),
            None => Submitted::Refused(Refusal::Unsupported("nothing")),
        }
    }

    fn look(&mut self, _: Instant) -> bool {
        self.broken.is_some()
    }

    /// Nothing is ever on its way: it tells only why an operation could not be carried out.
    fn poll<R>(&mut self, _: Instant, _: impl FnOnce(Completed<'_>) -> R) -> Result<Option<R>, HostError> {
        self.broken.take().map_or(Ok(None), Err)
    }

    fn ring(&mut self) {}

    fn work(&mut self) -> Work {
        Work::default()
    }

    fn in_flight(&self) -> usize {
        0
    }

    /// Queued puts have come to their end.
    fn drain(&mut self, _: Instant) -> Result<Drain, HostError> {
        self.door.with(Kv::drain).map(|()| Drain::Synced { failed: 0 })
    }
}
