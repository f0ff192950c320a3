// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Iterators: what they are and how many a queue may have. How pairs are read is the engine's business.

mod payload;
mod request;

pub use request::IteratorRequest;

use saker_engine::{AnyEngine, Engine, Scans, Snapshot};
use saker_nvme::Status;
use saker_segment_store::SegmentStore;

/// Most iterators of a queue in a namespace, unless the queue is told to have more. As many again may be opened beside others, so that
/// whoever has one can go on to another range of its moment.
pub const PER_QUEUE_MAX: usize = 16;
/// Other commands for iterators after which one that was not used has timed out.
const IDLE_COMMANDS_MAX: u64 = 1 << 20;
/// Most memory that is kept for the next payload: twice what hosts ask for, as vectors grow.
const KEPT_BYTES_MAX: usize = 128 << 10;
/// The part of a capacity that may be written meanwhile.
const IDLE_CAPACITY_PART: u64 = 8;

/// The range of an iterator; empty keys do not limit it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Range {
    from: Vec<u8>,
    to: Vec<u8>,
    prefix: Vec<u8>,
}

impl Range {
    /// Whether a key is at or behind the least one of the range.
    fn begins_at(&self, key: &[u8]) -> bool {
        key >= self.first()
    }

    /// Whether a key is before everything behind the range.
    fn ends_behind(&self, key: &[u8]) -> bool {
        // Most ranges have no prefix, and comparing with nothing takes its time too.
        let in_prefix =
            self.prefix.is_empty() || key.starts_with(&self.prefix) || key < self.prefix.as_slice();
        (self.to.is_empty() || key < self.to.as_slice()) && in_prefix
    }

    /// The least key that the range may have.
    fn first(&self) -> &[u8] {
        self.from.as_slice().max(&self.prefix)
    }

    /// The first key behind the range, if it has an end.
    fn end(&self) -> Option<Vec<u8>> {
        let to = Some(self.to.clone()).filter(|to| !to.is_empty());
        match (to, successor(&self.prefix)) {
            (Some(to), Some(behind)) => Some(to.min(behind)),
            (to, behind) => to.or(behind),
        }
    }
}

/// The first key behind all that begin with `prefix`; none if there is no such key.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let at = prefix.iter().rposition(|b| *b < u8::MAX)?;
    let mut behind = prefix[..=at].to_vec();
    behind[at] += 1;
    Some(behind)
}

/// Where an iterator stands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Position {
    /// Before the range.
    Begin,
    /// Before a key.
    Before(Vec<u8>),
    /// Behind a key.
    Behind(Vec<u8>),
}

#[derive(Clone, Debug)]
struct Open {
    number: u32,
    queue: u16,
    snapshot: Snapshot,
    range: Range,
    keys_only: bool,
    place: Position,
    /// Commands for iterators, and bytes written or refused, when it was used last.
    used: (u64, u64),
}

/// The iterators of a namespace.
#[derive(Clone, Debug)]
pub struct Iterators {
    open: Vec<Open>,
    last_number: u32,
    commands: u64,
    /// Bytes of writes that a full device has refused while there were iterators.
    refused: u64,
    per_queue_max: usize,
    /// What the last payload was in, to be used again.
    memory: Vec<u8>,
}

impl Default for Iterators {
    fn default() -> Self {
        Self {
            open: Vec::new(),
            last_number: 0,
            commands: 0,
            refused: 0,
            per_queue_max: PER_QUEUE_MAX,
            memory: Vec::new(),
        }
    }
}

impl Iterators {
    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    fn open(
        &mut self,
        queue: u16,
        range: Range,
        keys_only: bool,
        beside: Option<u32>,
        store: &mut AnyEngine,
    ) -> Result<u32, Status> {
        let most = if beside.is_some() { 2 * self.per_queue_max } else { self.per_queue_max };
        if self.open.iter().filter(|i| i.queue == queue).count() >= most {
            return Err(Status::CAPACITY_EXCEEDED);
        }
        let snapshot = match beside {
            None => store.snapshot().map_err(|_| Status::INVALID_OPCODE)?,
            Some(number) => {
                let snapshot = self.find(queue, number)?.snapshot;
                store.share(snapshot);
                snapshot
            }
        };
        self.last_number = self.last_number.wrapping_add(1).max(1);
        let (number, used, place) = (self.last_number, (self.commands, self.written(store)), Position::Begin);
        self.open.push(Open { number, queue, snapshot, range, keys_only, place, used });
        Ok(number)
    }

    fn find(&mut self, queue: u16, number: u32) -> Result<&mut Open, Status> {
        let mine = |i: &&mut Open| i.number == number && i.queue == queue;
        self.open.iter_mut().find(mine).ok_or(Status::KEY_DOES_NOT_EXIST)
    }

    fn close(&mut self, queue: u16, number: u32, store: &mut AnyEngine) -> Result<(), Status> {
        self.find(queue, number)?;
        self.close_where(store, |i| i.number == number);
        Ok(())
    }

    /// Ends those of a queue that is no more; `None`: of all queues.
    pub fn close_queue(&mut self, queue: Option<u16>, store: &mut AnyEngine) {
        self.close_where(store, |i| queue.is_none_or(|queue| i.queue == queue));
    }

    fn close_where(&mut self, store: &mut AnyEngine, ends: impl Fn(&Open) -> bool) {
        self.open.retain(|i| {
            if ends(i) {
                store.release(i.snapshot);
            }
            !ends(i)
        });
    }

    /// Keeps the memory of a payload, unless a long pair has made it large.
    fn keep(&mut self, memory: Vec<u8>) {
        if memory.capacity() <= KEPT_BYTES_MAX {
            self.memory = memory;
        }
    }

    /// A queue may have so many from now on: one that carries the commands of several hosts.
    pub fn allow(&mut self, per_queue_max: usize) {
        self.per_queue_max = per_queue_max;
    }

    /// Whether there is one of that number.
    pub fn has(&self, number: u32) -> bool {
        self.open.iter().any(|open| open.number == number)
    }

    /// Forgets them with the store they were of.
    pub fn clear(&mut self) {
        self.open.clear();
    }

    /// A write of so many bytes was refused because the device is full. It counts as one that was carried out: else an iterator that nobody
    /// uses would keep what was deleted for as long as the device is full.
    pub fn refuse<M: SegmentStore>(&mut self, bytes: u64, store: &mut AnyEngine, m: &M) {
        if !self.is_empty() {
            self.refused += bytes;
            self.expire(store, m);
        }
    }

    /// Bytes by which idleness is measured.
    fn written(&self, store: &AnyEngine) -> u64 {
        store.stats().user_bytes_written + self.refused
    }

    /// Ends those that were not used for long.
    pub fn expire<M: SegmentStore>(&mut self, store: &mut AnyEngine, m: &M) {
        let (commands, bytes) = (self.commands, self.written(store));
        let bytes_max = store.capacity_bytes(m) / IDLE_CAPACITY_PART;
        self.close_where(store, |i| {
            commands - i.used.0 > IDLE_COMMANDS_MAX || bytes.saturating_sub(i.used.1) > bytes_max
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: &[u8], to: &[u8], prefix: &[u8]) -> Range {
        Range { from: from.to_vec(), to: to.to_vec(), prefix: prefix.to_vec() }
    }

    #[test]
    fn ends_of_ranges() {
        assert_eq!(successor(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(successor(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!((successor(b"\xff"), successor(b"")), (None, None));
        assert_eq!(range(b"", b"", b"").end(), None);
        assert_eq!(range(b"", b"ab", b"a").end(), Some(b"ab".to_vec()));
        assert_eq!(range(b"", b"x", b"a").end(), Some(b"b".to_vec()));
        assert_eq!((range(b"b", b"", b"a").first(), range(b"", b"", b"a").first()), (&b"b"[..], &b"a"[..]));
    }

    #[test]
    fn what_lies_in_a_range() {
        let r = range(b"b", b"d", b"");
        let inside = |key: &[u8]| r.begins_at(key) && r.ends_behind(key);
        assert_eq!([&b"a"[..], b"b", b"c", b"d"].map(inside), [false, true, true, false]);
        let p = range(b"", b"", b"k");
        assert!(p.ends_behind(b"k\xff") && !p.ends_behind(b"l") && p.ends_behind(b"a") && !p.begins_at(b"a"));
    }
}
