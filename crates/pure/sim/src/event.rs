// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A queue of future events in a total order: time first, then the order in which they were scheduled.

mod near;

use crate::Instant;
use near::Near;
use std::collections::BinaryHeap;

/// Future events of type `E`. Two events at the same instant come out in the order they went in.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    near: Near<E>,
    /// Events that the wheel of the near ones did not reach when they were scheduled.
    far: BinaryHeap<Entry<E>>,
    /// When the first event happens; [`Instant::FAR`], which is later than any, if there is none.
    next: Instant,
    sequence: u64,
    len: usize,
}

/// An event under one number that decides the order, so that comparing two takes no branch: its time, then its sequence,
/// inverted because the heap gives the greatest first.
#[derive(Clone, Debug)]
struct Entry<E> {
    key: u128,
    event: E,
}

impl<E> Entry<E> {
    fn new(at: Instant, sequence: u64, event: E) -> Self {
        Self { key: Self::key_of(at, sequence), event }
    }

    #[inline]
    fn key_of(at: Instant, sequence: u64) -> u128 {
        !(u128::from(at.as_nanos()) << 64 | u128::from(sequence))
    }

    #[inline]
    fn at(&self) -> Instant {
        Instant::from_nanos((!self.key >> 64) as u64)
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl<E> Eq for Entry<E> {}
impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
    #[inline]
    fn le(&self, other: &Self) -> bool {
        self.key <= other.key
    }
}
impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self { near: Near::default(), far: BinaryHeap::new(), next: Instant::FAR, sequence: 0, len: 0 }
    }
}

impl<E> EventQueue<E> {
    /// Schedules `event` for `at`, which is before [`Instant::FAR`].
    #[inline]
    pub fn push(&mut self, at: Instant, event: E) {
        debug_assert!(at < Instant::FAR, "nothing happens that late");
        let sequence = self.sequence;
        self.sequence += 1;
        self.len += 1;
        self.next = self.next.min(at);
        if self.near.reaches(at) {
            self.near.push(at, sequence, event);
        } else {
            self.push_far(at, sequence, event);
        }
    }

    #[inline(never)]
    fn push_far(&mut self, at: Instant, sequence: u64, event: E) {
        self.far.push(Entry::new(at, sequence, event));
    }

    /// When the next event happens.
    #[inline]
    pub fn next_at(&self) -> Option<Instant> {
        (self.next < Instant::FAR).then_some(self.next)
    }

    /// Takes the next event if it happens at or before `now`.
    #[inline]
    pub fn pop_until(&mut self, now: Instant) -> Option<(Instant, E)> {
        if self.next > now || self.len == 0 {
            return None;
        }
        self.len -= 1;
        if !self.far.is_empty() {
            return self.pop_first();
        }
        let taken = self.near.pop();
        self.next = self.near.next_at();
        taken
    }

    /// Takes the first event of the near and the far ones.
    #[inline(never)]
    fn pop_first(&mut self) -> Option<(Instant, E)> {
        let taken = if self.is_far_next() { self.pop_far() } else { self.near.pop() };
        self.next = self.near.next_at().min(self.far.peek().map_or(Instant::FAR, Entry::at));
        taken
    }

    /// Whether the first of all events is a far one; there are some.
    #[inline]
    fn is_far_next(&self) -> bool {
        let Some(far) = self.far.peek() else { return false };
        self.near.peek().is_none_or(|(at, sequence)| Entry::<E>::key_of(at, sequence) < far.key)
    }

    fn pop_far(&mut self) -> Option<(Instant, E)> {
        let Entry { key, event } = self.far.pop()?;
        let at = Instant::from_nanos((!key >> 64) as u64);
        self.near.turn_to(at);
        Some((at, event))
    }

    /// Number of events that have not happened yet.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is scheduled.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_keep_their_order() {
        let mut q = EventQueue::default();
        for (at, name) in [(5, 'c'), (1, 'a'), (5, 'd'), (1, 'b')] {
            q.push(Instant::from_nanos(at), name);
        }
        let mut order = String::new();
        while let Some((_, name)) = q.pop_until(Instant::FAR) {
            order.push(name);
        }
        assert_eq!(order, "abcd");
    }

    #[test]
    fn the_future_stays_in_the_queue() {
        let mut q = EventQueue::default();
        q.push(Instant::from_nanos(10), ());
        assert!(q.pop_until(Instant::from_nanos(9)).is_none());
        assert!(q.pop_until(Instant::from_nanos(10)).is_some());
        assert!(q.is_empty());
    }

    /// Times in crowds, in the next moments, a turn of the wheel and more away, and in the past.
    #[test]
    fn any_times_come_out_in_order() {
        let mut rng = crate::Seed(6).rng();
        let (mut queue, mut model) = (EventQueue::default(), std::collections::BTreeMap::new());
        let (mut now, mut pushed) = (0u64, 0u64);
        for round in 0..60_000u64 {
            let few = round / 3000 % 2 == 0;
            if rng.below(10) < if few { 4 } else { 6 } {
                let at = match rng.below(8) {
                    0 => now,
                    1..=3 => now + rng.below(300),
                    4 | 5 => now + rng.below(20_000),
                    6 => now + 131_072 - 130 + rng.below(260),
                    _ if rng.below(20) == 0 => now.saturating_sub(rng.below(1000)),
                    _ => now + rng.below(3_000_000),
                };
                queue.push(Instant::from_nanos(at), pushed);
                model.insert((at, pushed), pushed);
                pushed += 1;
            } else {
                let until = now + rng.below(30_000);
                let first = model.first_key_value().map(|(key, _)| *key).filter(|(at, _)| *at <= until);
                let taken = queue.pop_until(Instant::from_nanos(until));
                assert_eq!(taken.map(|(at, n)| (at.as_nanos(), n)), first);
                if let Some(key) = first {
                    model.remove(&key);
                    now = now.max(key.0);
                }
            }
            assert_eq!(queue.next_at().map(Instant::as_nanos), model.keys().next().map(|(at, _)| *at));
            assert_eq!(queue.len(), model.len());
        }
        assert!(pushed > 20_000 && model.len() > 100);
    }
}
