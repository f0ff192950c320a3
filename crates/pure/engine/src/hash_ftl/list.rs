// SPDX-License-Identifier: Apache-2.0 OR MIT
//! List: the order is that of the keys' first hash indexes, then of the keys. It is total over all possible keys and no
//! change moves a key in it, nor does a table that doubles: its homes are those of the largest. Pairs that were displaced are
//! looked for where their search would find them.

use super::HashFtl;
use super::stats::Cause;
use saker_engine_api::{Context, KvError, List, Scans};
use saker_segment_store::{PageAddr, Reads, SegmentStore, Step, ready};
use saker_sim::{Meter, Unit};

/// Pages that are asked for at once.
const PAGES_AT_ONCE: usize = 64;

/// What a pass has looked at.
#[derive(Default)]
struct Pass {
    looked: Reads,
    missing: usize,
}

impl Pass {
    /// All that was looked at, and these.
    fn all(mut self, more: Reads) -> Reads {
        self.looked.extend(more);
        self.looked.sort_unstable();
        self.looked.dedup();
        self.looked
    }
}

/// What was shown before another answer than `Done` counts for nothing.
impl List for HashFtl {
    fn list<M: SegmentStore, W: Meter>(
        &mut self,
        from: &[u8],
        visit: impl FnMut(&[u8]) -> bool,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<(), KvError>> {
        self.attempt(|this| this.list_once(from, visit, cx.medium, cx.meter))
    }
}

/// Of what is replaced nothing is kept.
impl Scans for HashFtl {}

impl HashFtl {
    fn list_once<M: SegmentStore, W: Meter>(
        &mut self,
        from: &[u8],
        mut visit: impl FnMut(&[u8]) -> bool,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        let first = match from {
            [] => 0,
            key => match self.probe.home(key) {
                Some(home) => home,
                None => return Step::Done(Err(KvError::KeySize)),
            },
        };
        let (mut pass, mut home) = (Pass::default(), first);
        while home < self.probe.homes() {
            if self.is_unused(self.table.split(self.probe.slot(home, 0)).0) {
                home = (u64::from(self.table.split(home).0) + 1) * u64::from(self.table.section_slots);
                continue;
            }
            let mut keys = match self.keys_of(home, &mut pass, m, w) {
                Step::Done(Ok(keys)) => keys,
                Step::Done(Err(e)) => return Step::Done(Err(e)),
                Step::Need(reads) => return Step::Need(pass.all(reads)),
                Step::Blocked(stall) => return Step::Blocked(stall),
            };
            keys.sort_unstable();
            for key in keys.iter().filter(|k| home > first || k.as_slice() >= from) {
                w.work(Unit::ListEntry, 1);
                if pass.missing == 0 && !visit(key) {
                    return Step::Done(Ok(()));
                }
            }
            if pass.missing >= PAGES_AT_ONCE {
                break;
            }
            home += 1;
        }
        if pass.missing > 0 {
            return Step::Need(pass.all(Reads::new()));
        }
        Step::Done(Ok(()))
    }

    /// The keys whose first hash index is `home`, as far as their pages are here.
    fn keys_of<M: SegmentStore, W: Meter>(
        &mut self,
        home: u64,
        pass: &mut Pass,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Vec<Vec<u8>>, KvError>> {
        let mut keys = Vec::new();
        self.operation += 1;
        for n in 0..self.probe.probes_max() {
            let slot = self.probe.slot(home, n);
            self.note_section(slot, pass);
            let at = match ready!(self.load(self.table.split(slot).0, Cause::User, m, w)) {
                Ok(at) => at,
                Err(e) => return Step::Done(Err(e)),
            };
            let entry = self.entry(at, slot, w);
            if let Some(grain) = entry.grain()
                && entry.tag() == self.probe.tag(home)
            {
                self.look(home, grain, &mut keys, pass, m);
            }
            if !entry.is_passed() {
                break;
            }
        }
        Step::Done(Ok(keys))
    }

    /// A section that may be gone from memory when the list is asked for again is read again.
    fn note_section(&self, slot: u64, pass: &mut Pass) {
        let id = self.table.split(slot).0;
        let place = &self.table.places[self.undivided(id).unwrap_or(id) as usize];
        if self.table.cache.is_nearly_full()
            && let Some(page) = place.page()
            && pass.looked.last() != Some(&page)
        {
            pass.looked.push(page);
        }
    }

    /// Damaged records have no key to list.
    fn look<M: SegmentStore>(&self, home: u64, grain: u64, keys: &mut Vec<Vec<u8>>, pass: &mut Pass, m: &M) {
        let page: PageAddr = self.page_of_grain(grain).0;
        pass.looked.push(page);
        match self.key_at(grain, m) {
            Step::Done(Ok(key)) if self.probe.home(&key) == Some(home) => keys.push(key),
            Step::Need(_) => pass.missing += 1,
            _ => {}
        }
    }
}
