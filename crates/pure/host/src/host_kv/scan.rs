// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scans and snapshots: the engine's own. A scan that is not asked for under a snapshot takes one for itself, so that what it
//! shows is of one moment however often it waits for pages.

use super::op::{Answer, Outcome};
use super::{Context, HostKv};
use saker_engine::{Capability, Engine, KvError, Pairs, Scan, Scanned, Scans, Snapshot, Unsupported};
use saker_nvme::group::PairList;
use saker_segment_store::Step;
use saker_sim::Meter;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Snapshots that operations took, by number.
#[derive(Debug, Default)]
pub(super) struct Taken {
    all: BTreeMap<u32, Snapshot>,
    next: u32,
}

/// How far a scan is.
#[derive(Debug)]
pub(super) struct Scanning {
    snapshot: Snapshot,
    /// The last key that it has shown.
    last: Vec<u8>,
    pairs: PairList,
}

impl HostKv {
    /// Whether the engine has scans, and snapshots for them.
    pub fn takes_scans(&self) -> bool {
        let can = self.store.capabilities();
        can.has(Capability::Scan) && can.has(Capability::Snapshots)
    }

    pub(super) fn take_snapshot(&mut self) -> Outcome {
        let snapshot = self.store.snapshot()?;
        let number = self.snapshots.next;
        self.snapshots.next = number.wrapping_add(1);
        self.snapshots.all.insert(number, snapshot);
        Ok(Answer::Snapshot(number))
    }

    pub(super) fn release_snapshot(&mut self, number: u32) -> Outcome {
        let Some(snapshot) = self.snapshots.all.remove(&number) else { return Ok(Answer::NoSnapshot) };
        self.store.release(snapshot);
        Ok(Answer::Done)
    }

    /// A scan begins: `Err` if it ends at once.
    pub(super) fn begin_scan(&mut self, asked: Option<u32>) -> Result<Scanning, Outcome> {
        if !self.takes_scans() {
            return Err(Err(Unsupported(Capability::Scan).into()));
        }
        let (last, pairs) = (Vec::new(), PairList::default());
        if let Some(number) = asked {
            let snapshot = *self.snapshots.all.get(&number).ok_or(Ok(Answer::NoSnapshot))?;
            // It may be released while the scan goes on.
            self.store.share(snapshot);
            return Ok(Scanning { snapshot, last, pairs });
        }
        let snapshot = self.store.snapshot().map_err(|why| Err(KvError::from(why)))?;
        Ok(Scanning { snapshot, last, pairs })
    }

    /// Goes on with a scan, which ends with `Done`.
    pub(super) fn scan_on<W: Meter>(
        &mut self,
        scanning: &mut Scanning,
        (from, backwards, entries): (&[u8], bool, u32),
        w: &mut W,
    ) -> Step<Outcome> {
        loop {
            let mut shown = Shown::new(entries - scanning.pairs.len());
            let bound = match (scanning.last.as_slice(), from) {
                ([], []) => Bound::Unbounded,
                ([], from) => Bound::Included(from),
                (last, _) => Bound::Excluded(last),
            };
            let asked = Scan { snapshot: scanning.snapshot, from: bound, backwards, values: true };
            let step = self.store.scan(&asked, &mut shown, &mut Context::new(&mut self.medium, w));
            let scanned = match step {
                Step::Done(scanned) => scanned,
                Step::Need(pages) => return Step::Need(pages),
                Step::Blocked(stall) => return Step::Blocked(stall),
            };
            let is_over = match scanned {
                Err(why) => return Step::Done(Err(why)),
                Ok(scanned) => shown.count == 0 || scanned == Scanned::All,
            };
            scanning.add(shown);
            if is_over || scanning.pairs.len() == entries {
                return Step::Done(Ok(Answer::Pairs(std::mem::take(&mut scanning.pairs).finish())));
            }
        }
    }

    /// A scan is over.
    pub(super) fn end_scan(&mut self, scanning: &Scanning) {
        self.store.release(scanning.snapshot);
        self.scans_ended += 1;
    }
}

impl Scanning {
    fn add(&mut self, shown: Shown) {
        for (key, value) in &shown.pairs {
            self.pairs.push(key, value);
        }
        if let Some((key, _)) = shown.pairs.into_iter().next_back() {
            self.last = key;
        }
    }
}

/// What one call of the engine shows: nothing of it counts unless the call is done.
struct Shown {
    left: u32,
    count: u32,
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Shown {
    const fn new(left: u32) -> Self {
        Self { left, count: 0, pairs: Vec::new() }
    }
}

impl Pairs for Shown {
    fn wants(&mut self, _: &[u8], _: u32) -> bool {
        let wants = self.count < self.left;
        self.count += u32::from(wants);
        wants
    }

    fn pair(&mut self, key: &[u8], value_bytes: u32) {
        self.pairs.push((key.to_vec(), Vec::with_capacity(value_bytes as usize)));
    }

    fn value(&mut self, bytes: &[u8]) {
        if let Some((_, value)) = self.pairs.last_mut() {
            value.extend_from_slice(bytes);
        }
    }
}
