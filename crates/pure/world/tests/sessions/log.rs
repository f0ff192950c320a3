// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the clients of a history did and saw.

use crate::sessions::checker::{Act, Event, Time, Verdict, check};
use std::sync::{Mutex, MutexGuard};

/// Keys of a history.
pub const KEYS: usize = 8;

/// A write of a history: key and number of its event.
pub type Written = (usize, usize);

#[derive(Debug, Default)]
struct Inner {
    clock: Time,
    writes: u16,
    keys: Vec<Vec<Event>>,
}

/// Shared by all clients.
#[derive(Debug)]
pub struct Log(Mutex<Inner>);

impl Log {
    pub fn new() -> Self {
        Self(Mutex::new(Inner { clock: 0, writes: 0, keys: vec![Vec::new(); KEYS] }))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("no client has panicked")
    }

    /// The next moment.
    pub fn now(&self) -> Time {
        let mut inner = self.inner();
        inner.clock += 1;
        inner.clock
    }

    /// A number for a write.
    pub fn number(&self) -> u16 {
        let mut inner = self.inner();
        inner.writes += 1;
        inner.writes
    }

    /// A write begins.
    pub fn begin(&self, key: usize, act: Act) -> Written {
        let from = self.now();
        let mut inner = self.inner();
        inner.keys[key].push(Event { from, to: None, act, acknowledged: None, fails_until: None });
        (key, inner.keys[key].len() - 1)
    }

    /// It returned.
    pub fn end(&self, (key, n): Written) {
        let now = self.now();
        self.inner().keys[key][n].to = Some(now);
    }

    /// It turned out to be a read, or nothing.
    pub fn becomes(&self, (key, n): Written, act: Act) {
        self.inner().keys[key][n].act = act;
    }

    /// It is durable.
    pub fn acknowledge(&self, (key, n): Written) {
        let now = self.now();
        let event = &mut self.inner().keys[key][n];
        (event.acknowledged, event.fails_until) = (Some(now), Some(0));
    }

    /// It was told to have failed, or another of its key.
    pub fn failed(&self, (key, n): Written) {
        let now = self.now();
        self.inner().keys[key][n].fails_until = Some(now);
    }

    /// A read returned that began at `from`.
    pub fn read(&self, key: usize, from: Time, act: Act) {
        let now = self.now();
        self.inner().keys[key].push(Event::new(from, now, act));
    }

    /// Power is cut.
    pub fn cut(&self) {
        let now = self.now();
        self.inner().keys.iter_mut().for_each(|events| events.push(Event::new(now, now, Act::Cut)));
    }

    /// Keys whose events nothing explains, or for which the search gave up.
    pub fn violations(&self) -> Vec<String> {
        let inner = self.inner();
        let judged = inner.keys.iter().enumerate().map(|(key, events)| (key, check(events), events));
        judged
            .filter(|(_, verdict, _)| *verdict != Verdict::Good)
            .map(|(key, verdict, events)| format!("key {key}: {verdict:?}:\n{}", listing(events)))
            .collect()
    }

    /// Events of all keys.
    pub fn len(&self) -> usize {
        self.inner().keys.iter().map(Vec::len).sum()
    }
}

/// A line for each event, in the order in which they began.
fn listing(events: &[Event]) -> String {
    let mut events = events.to_vec();
    events.sort_by_key(|e| e.from);
    let line = |e: &Event| {
        let Event { from, to, act, acknowledged, fails_until } = e;
        format!("{from:4} to {to:?}: {act:?}, acknowledged {acknowledged:?}, fails until {fails_until:?}\n")
    };
    events.iter().map(line).collect()
}
