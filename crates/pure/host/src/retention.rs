// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What leaves a store that serves as a cache: a full device refuses, which is of no use to somebody who would rather lose
//! the least useful pair than the newest.
//!
//! A policy over keys and sizes, without a store: who has one asks for victims before storing. Times come in.

use std::collections::BTreeMap;

use saker_nvme::Key;
use saker_sim::{Duration, Instant};

/// Which pair goes first.
///
/// ```
/// use saker_host::retention::{Retention, RetentionOptions, RetentionOrder};
/// # let (first, second) = (saker_nvme::Key::new(b"first")?, saker_nvme::Key::new(b"second")?);
/// # let now = saker_sim::Instant::ZERO;
/// let goes_first = |order| {
///     let mut pairs = Retention::new(RetentionOptions { order, ..RetentionOptions::default() });
///     pairs.stored(&first, 100, now);
///     pairs.stored(&second, 100, now);
///     pairs.used(&first);
///     pairs.first()
/// };
/// assert_eq!(goes_first(RetentionOrder::Lru), Some(second));
/// assert_eq!(goes_first(RetentionOrder::Fifo), Some(first));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetentionOrder {
    /// The one that was not stored or used for the longest time.
    #[default]
    Lru,
    /// The one that was stored first.
    Fifo,
}

/// How much is kept, and for how long.
///
/// ```
/// use saker_host::retention::{Retention, RetentionOptions};
/// use std::time::Duration;
/// let hour = Duration::from_secs(3600);
/// let options = RetentionOptions { bytes_max: Some(1 << 30), ttl: Some(hour.into()), ..RetentionOptions::default() };
/// let pairs = Retention::new(options);
/// assert!(pairs.admits(1 << 30) && !pairs.admits((1 << 30) + 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionOptions {
    /// Bytes of keys and values; `None`: as much as the store takes, or the part of it that who has the store thinks right.
    pub bytes_max: Option<u64>,
    /// Which pair goes first.
    pub order: RetentionOrder,
    /// Pairs older than this are gone; `None`: they do not age.
    pub ttl: Option<Duration>,
}

impl Default for RetentionOptions {
    /// As much as the store takes, least recently used first, for ever.
    fn default() -> Self {
        Self { bytes_max: None, order: RetentionOrder::Lru, ttl: None }
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    bytes: u64,
    /// Its place in the order.
    stamp: u64,
    stored: Instant,
}

/// The pairs of a store, in the order in which they go.
#[derive(Debug)]
pub struct Retention {
    options: RetentionOptions,
    entries: BTreeMap<Key, Entry>,
    order: BTreeMap<u64, Key>,
    ages: BTreeMap<(Instant, Key), ()>,
    bytes: u64,
    next_stamp: u64,
}

impl Retention {
    /// No pairs.
    #[must_use]
    pub const fn new(options: RetentionOptions) -> Self {
        Self {
            options,
            entries: BTreeMap::new(),
            order: BTreeMap::new(),
            ages: BTreeMap::new(),
            bytes: 0,
            next_stamp: 0,
        }
    }

    /// How much is kept, and for how long.
    #[must_use]
    pub const fn options(&self) -> RetentionOptions {
        self.options
    }

    /// Whether the pair is there and not too old.
    #[must_use]
    pub fn holds(&self, key: &Key, now: Instant) -> bool {
        self.entries.get(key).is_some_and(|entry| !self.is_over(entry.stored, now))
    }

    fn is_over(&self, stored: Instant, now: Instant) -> bool {
        self.options.ttl.is_some_and(|ttl| now >= stored + ttl)
    }

    /// Changes how many bytes there may be; what is beyond them is a [`victim`](Self::victim).
    pub fn set_bytes_max(&mut self, bytes: u64) {
        self.options.bytes_max = Some(bytes);
    }

    /// Whether a pair of so many bytes, key and value, could be kept with nothing beside it.
    #[must_use]
    pub fn admits(&self, bytes: u64) -> bool {
        self.options.bytes_max.is_none_or(|max| bytes <= max)
    }

    /// A pair was stored, in the place of an older one of its key.
    pub fn stored(&mut self, key: &Key, bytes: u64, now: Instant) {
        self.removed(key);
        let stamp = self.stamp();
        self.entries.insert(*key, Entry { bytes, stamp, stored: now });
        self.order.insert(stamp, *key);
        self.ages.insert((now, *key), ());
        self.bytes += bytes;
    }

    /// A pair was read.
    pub fn used(&mut self, key: &Key) {
        if self.options.order == RetentionOrder::Fifo || !self.entries.contains_key(key) {
            return;
        }
        let stamp = self.stamp();
        let entry = self.entries.get_mut(key).expect("looked up above");
        self.order.remove(&std::mem::replace(&mut entry.stamp, stamp));
        self.order.insert(stamp, *key);
    }

    fn stamp(&mut self) -> u64 {
        self.next_stamp += 1;
        self.next_stamp
    }

    /// A pair is gone.
    pub fn removed(&mut self, key: &Key) {
        let Some(entry) = self.entries.remove(key) else { return };
        self.order.remove(&entry.stamp);
        self.ages.remove(&(entry.stored, *key));
        self.bytes -= entry.bytes;
    }

    /// A pair that is too old.
    #[must_use]
    pub fn expired(&self, now: Instant) -> Option<Key> {
        let ((stored, key), ()) = self.ages.first_key_value()?;
        self.is_over(*stored, now).then_some(*key)
    }

    /// A pair that has to go before one of `bytes` can be stored; nothing if there is room.
    #[must_use]
    pub fn victim(&self, bytes: u64) -> Option<Key> {
        let max = self.options.bytes_max?;
        if self.bytes.saturating_add(bytes) > max { self.first() } else { None }
    }

    /// The pair that goes first.
    #[must_use]
    pub fn first(&self) -> Option<Key> {
        self.order.first_key_value().map(|(_, key)| *key)
    }

    /// Bytes of all pairs.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u8) -> Key {
        Key::new(&[n]).expect("one byte")
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_nanos(seconds * 1_000_000_000)
    }

    fn filled(order: RetentionOrder) -> Retention {
        let options = RetentionOptions { bytes_max: Some(30), order, ttl: None };
        let mut kept = Retention::new(options);
        (1..=3).for_each(|n| kept.stored(&key(n), 10, at(0)));
        kept.used(&key(1));
        kept
    }

    #[test]
    fn the_least_recently_used_or_the_first_goes() {
        assert_eq!(filled(RetentionOrder::Lru).victim(10), Some(key(2)));
        assert_eq!(filled(RetentionOrder::Fifo).victim(10), Some(key(1)));
    }

    #[test]
    fn nothing_goes_while_there_is_room() {
        let mut kept = filled(RetentionOrder::Lru);
        kept.removed(&key(3));
        assert_eq!((kept.victim(10), kept.victim(11), kept.bytes()), (None, Some(key(2)), 20));
        kept.stored(&key(1), 4, at(1));
        assert_eq!((kept.bytes(), kept.len(), kept.first()), (14, 2, Some(key(2))));
        assert!(kept.admits(30) && !kept.admits(31));
    }

    #[test]
    fn pairs_age_from_when_they_were_stored_last() {
        let ttl = Some(Duration::from_nanos(5_000_000_000));
        let mut kept = Retention::new(RetentionOptions { ttl, ..RetentionOptions::default() });
        kept.stored(&key(1), 1, at(0));
        kept.stored(&key(2), 1, at(3));
        assert!(kept.holds(&key(1), at(4)) && !kept.holds(&key(1), at(5)) && !kept.holds(&key(3), at(0)));
        assert_eq!((kept.expired(at(4)), kept.expired(at(5))), (None, Some(key(1))));
        kept.stored(&key(1), 1, at(6));
        assert_eq!((kept.expired(at(7)), kept.expired(at(8))), (None, Some(key(2))));
        assert_eq!(kept.victim(u64::MAX), None, "the store says when it is full");
    }
}
