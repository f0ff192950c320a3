// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device as a cache, as a store: a group of `exists` asks for a prefix, a put keeps what is there, a pair may be gone any time.

use super::ORDER;
use saker::KvCache;
use saker_host::HostError;
use saker_sim::Instant;
use saker_store::{Completed, Drain, KvStore, Lane, Op, Order, Outcome, Refusal, Share, Submitted, Work};

/// The cache of one thread.
#[derive(Debug)]
pub(crate) struct CacheStore<'k> {
    cache: Option<&'k mut KvCache>,
    value_bytes_max: usize,
}

impl<'k> CacheStore<'k> {
    /// Values of at most so many bytes are read.
    pub fn new(cache: &'k mut KvCache, value_bytes_max: usize) -> Self {
        Self { cache: Some(cache), value_bytes_max }
    }
}

impl<'k> KvStore for CacheStore<'k> {
    type Lane = CacheLane<'k>;

    fn open_lane(&mut self) -> Result<Self::Lane, Refusal> {
        let cache = self.cache.take().ok_or(Refusal::Lanes)?;
        Ok(CacheLane { cache, buffer: vec![0; self.value_bytes_max], broken: None })
    }

    /// Groups are of `exists` alone.
    fn capabilities(&self) -> Vec<&'static str> {
        vec!["put", "get", "group"]
    }

    fn order(&self) -> Order {
        ORDER
    }

    fn stats(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// Its thread's way into a cache.
#[derive(Debug)]
pub(crate) struct CacheLane<'k> {
    cache: &'k mut KvCache,
    buffer: Vec<u8>,
    broken: Option<HostError>,
}

/// What an operation came to.
enum Ended {
    Done,
    Absent,
    /// So many bytes in the buffer.
    Value(usize),
    /// Operations of a group that found nothing.
    Missing(u32),
    Refused(&'static str),
}

impl CacheLane<'_> {
    fn carry_out(&mut self, op: &Op) -> Result<Ended, HostError> {
        Ok(match op {
            Op::Put(key, value) => self.cache.put_if_absent(key, value).map(|_| Ended::Done)?,
            Op::Get(key) => match self.cache.get_into(key, &mut self.buffer)? {
                Some(bytes) => Ended::Value(bytes.min(self.buffer.len())),
                None => Ended::Absent,
            },
            Op::Group { operations, .. } => self.prefix(operations)?,
            other => Ended::Refused(other.name()),
        })
    }

    /// Those from the first gap on count as missing: who asks for a prefix has no use for them.
    fn prefix(&mut self, operations: &[Op]) -> Result<Ended, HostError> {
        let mut keys = Vec::with_capacity(operations.len());
        for op in operations {
            let Op::Exists(key) = op else { return Ok(Ended::Refused("group of anything but exists")) };
            keys.push(key.as_slice());
        }
        let there = self.cache.prefix(&keys)?;
        Ok(Ended::Missing((keys.len() - there) as u32))
    }
}

impl Lane for CacheLane<'_> {
    type Error = HostError;

    fn submit(&mut self, share: Share<'_>, _: Instant) -> Submitted<'_> {
        let Some(op) = share.first() else {
            return Submitted::Refused(Refusal::Unsupported("nothing"));
        };
        match self.carry_out(op) {
            Ok(Ended::Done) => Submitted::Done(Outcome::DONE),
            Ok(Ended::Absent) => Submitted::Done(Outcome::Absent),
            Ok(Ended::Value(bytes)) => Submitted::Done(Outcome::value(&self.buffer[..bytes])),
            Ok(Ended::Missing(failed)) => Submitted::Done(Outcome::Group { failed, data: &[] }),
            Ok(Ended::Refused(name)) => Submitted::Refused(Refusal::Unsupported(name)),
            Err(error) => {
                self.broken = Some(error);
                Submitted::Refused(Refusal::Broken("the device could not carry it out"))
            }
        }
    }

    fn look(&mut self, _: Instant) -> bool {
        self.broken.is_some()
    }

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

    fn drain(&mut self, _: Instant) -> Result<Drain, HostError> {
        Ok(Drain::Over)
    }
}
