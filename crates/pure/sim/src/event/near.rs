// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The events of the near future: a wheel of short spans of time (Brown, Calendar queues, CACM 1988).
//!
//! Each span has the events of one stretch of time in their order, as a list through one slab, so that entering and
//! taking an event costs the same however many there are.

use crate::Instant;

/// Nanoseconds of a span, as a power of two. It decides nothing but speed: spans are short enough that few events share
/// one, and long enough that most events happen within a turn of the wheel.
const SPAN_BITS: u32 = 7;
const SPANS: usize = 1024;
const WORD_BITS: usize = u64::BITS as usize;
const WORDS: usize = SPANS / WORD_BITS;
/// No node.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Node<E> {
    at: Instant,
    sequence: u64,
    next: u32,
    event: Option<E>,
}

/// The first and the last node of a span.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

/// Events from the current span on, for a turn of the wheel.
#[derive(Clone, Debug)]
pub(super) struct Near<E> {
    /// Empty until the first event.
    spans: Box<[List]>,
    /// Which spans have events, and which words of this have any.
    used: [u64; WORDS],
    used_words: u64,
    /// The number of the current span since the beginning of time.
    current: u64,
    nodes: Vec<Node<E>>,
    free: u32,
    /// The first node of all, and its time; [`NONE`] and [`Instant::FAR`] if there is none.
    head: u32,
    head_at: Instant,
}

impl<E> Default for Near<E> {
    fn default() -> Self {
        Self {
            spans: Box::default(),
            used: [0; WORDS],
            used_words: 0,
            current: 0,
            nodes: Vec::new(),
            free: NONE,
            head: NONE,
            head_at: Instant::FAR,
        }
    }
}

const fn span_of(at: Instant) -> u64 {
    at.as_nanos() >> SPAN_BITS
}

impl<E> Near<E> {
    /// Whether the wheel reaches that time.
    #[inline]
    pub fn reaches(&self, at: Instant) -> bool {
        span_of(at).wrapping_sub(self.current) < SPANS as u64
    }

    /// Enters an event at a time that the wheel reaches, with a greater sequence than all before.
    #[inline]
    pub fn push(&mut self, at: Instant, sequence: u64, event: E) {
        let span = span_of(at) as usize % SPANS;
        let node = self.node(Node { at, sequence, next: NONE, event: Some(event) });
        if at < self.head_at {
            (self.head, self.head_at) = (node, at);
        }
        let Some(list) = self.spans.get_mut(span) else { return self.begin(span, node) };
        let Some(last) = self.nodes.get_mut(list.last as usize) else {
            *list = List { first: node, last: node };
            self.used[span / WORD_BITS] |= 1 << (span % WORD_BITS);
            self.used_words |= 1 << (span / WORD_BITS);
            return;
        };
        if last.at <= at {
            last.next = node;
            list.last = node;
        } else {
            list.first = push_before(&mut self.nodes, list.first, node);
        }
    }

    /// Makes the spans, with the first node of all.
    #[cold]
    fn begin(&mut self, span: usize, node: u32) {
        self.spans = vec![List { first: NONE, last: NONE }; SPANS].into();
        self.spans[span] = List { first: node, last: node };
        self.used[span / WORD_BITS] |= 1 << (span % WORD_BITS);
        self.used_words |= 1 << (span / WORD_BITS);
    }

    #[inline]
    fn node(&mut self, node: Node<E>) -> u32 {
        let free = self.free;
        let Some(place) = self.nodes.get_mut(free as usize) else { return self.add_node(node) };
        self.free = place.next;
        *place = node;
        free
    }

    #[cold]
    #[inline(never)]
    fn add_node(&mut self, node: Node<E>) -> u32 {
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    /// The first span with events, from the current one on.
    #[inline]
    fn first_span(&self) -> Option<usize> {
        let current = self.current as usize % SPANS;
        let (word, bit) = (current / WORD_BITS, current % WORD_BITS);
        let here = self.used[word] >> bit;
        if here != 0 {
            return Some(current + here.trailing_zeros() as usize);
        }
        // Words behind this one, then those from the first on; of this word itself, what is left is a turn later.
        let behind = self.used_words & (u64::MAX << word << 1);
        let words = if behind != 0 { behind } else { self.used_words };
        if words == 0 {
            return None;
        }
        let word = words.trailing_zeros() as usize;
        Some(word * WORD_BITS + self.used[word].trailing_zeros() as usize)
    }

    /// The time of the first event; [`Instant::FAR`] if there is none.
    #[inline]
    pub fn next_at(&self) -> Instant {
        self.head_at
    }

    /// Time and sequence of the first event.
    #[inline]
    pub fn peek(&self) -> Option<(Instant, u64)> {
        self.nodes.get(self.head as usize).map(|node| (node.at, node.sequence))
    }

    /// Takes the first event; the wheel turns to its time.
    #[inline]
    pub fn pop(&mut self) -> Option<(Instant, E)> {
        let taken = self.head;
        let node = self.nodes.get_mut(taken as usize)?;
        let (at, event) = (node.at, node.event.take());
        let behind = std::mem::replace(&mut node.next, self.free);
        self.free = taken;
        self.turn_to(at);
        let span = span_of(at) as usize % SPANS;
        if behind == NONE {
            self.empty(span);
        } else {
            self.spans[span].first = behind;
            (self.head, self.head_at) = (behind, self.nodes[behind as usize].at);
        }
        Some((at, event.expect("a node in a list has an event")))
    }

    /// The last node of a span has gone, which was the first of all.
    #[inline]
    fn empty(&mut self, span: usize) {
        self.spans[span] = List { first: NONE, last: NONE };
        let word = &mut self.used[span / WORD_BITS];
        *word &= !(1 << (span % WORD_BITS));
        if *word == 0 {
            self.used_words &= !(1 << (span / WORD_BITS));
        }
        let Some(first) = self.first_span() else {
            (self.head, self.head_at) = (NONE, Instant::FAR);
            return;
        };
        self.head = self.spans[first].first;
        self.head_at = self.nodes[self.head as usize].at;
    }

    /// Time has come to `at`, which is no later than any event here: the wheel turns.
    #[inline]
    pub fn turn_to(&mut self, at: Instant) {
        self.current = self.current.max(span_of(at));
    }
}

/// Enters a node that is earlier than the last of its list, which begins with `first`. Returns the new first one.
#[inline(never)]
fn push_before<E>(nodes: &mut [Node<E>], first: u32, node: u32) -> u32 {
    let at = nodes[node as usize].at;
    let (mut before, mut behind) = (NONE, first);
    while nodes[behind as usize].at <= at {
        (before, behind) = (behind, nodes[behind as usize].next);
    }
    nodes[node as usize].next = behind;
    let Some(before) = nodes.get_mut(before as usize) else { return node };
    before.next = node;
    first
}
