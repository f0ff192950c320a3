//! A queue of future events in a total order: time first, then the order in which they were scheduled.

use crate::Instant;
use std::collections::BinaryHeap;

/// Future events of type `E`. Two events at the same instant come out in the order they went in.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Entry<E>>,
    sequence: u64,
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
        Self { key: !(u128::from(at.as_nanos()) << 64 | u128::from(sequence)), event }
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
        Self { heap: BinaryHeap::new(), sequence: 0 }
    }
}

impl<E> EventQueue<E> {
    /// Schedules `event` for `at`.
    pub fn push(&mut self, at: Instant, event: E) {
        self.heap.push(Entry::new(at, self.sequence, event));
        self.sequence += 1;
    }

    /// When the next event happens.
    #[inline]
    pub fn next_at(&self) -> Option<Instant> {
        self.heap.peek().map(Entry::at)
    }

    /// Takes the next event if it happens at or before `now`.
    pub fn pop_until(&mut self, now: Instant) -> Option<(Instant, E)> {
        if self.next_at()? > now {
            return None;
        }
        self.heap.pop().map(|e| (e.at(), e.event))
    }

    /// Number of events that have not happened yet.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether nothing is scheduled.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
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
}
