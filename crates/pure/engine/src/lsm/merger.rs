// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a flush or a compaction computes: entries of its inputs, in order, become pages of tables. It looks at no medium, and what it
//! asks its store for is in [`Around`], so it can be done on another thread ([`super::task`]).

use super::around::Around;
use super::builder::{Builder, Memory, Written};
use super::grandparents::Grandparents;
use super::input::Input;
use super::marked::Reason;
use super::pairs::With;
use super::settings::PAGES_MIN;
use super::table::Table;
use crate::ordered::key::{Entry, Key};
use saker_sim::{Meter, Unit};
use std::ops::Range;

/// Entries a quantum merges.
const QUANTUM_ENTRIES: u32 = 512;

/// A merge as far as it has come.
#[derive(Clone, Debug, Default)]
pub struct Merger {
    /// The newest first.
    pub inputs: Vec<Input>,
    builder: Option<Builder>,
    /// The last entry that came along.
    last: Option<(Key, u64)>,
    /// Tombstones of its key that hide nothing yet.
    tombstones: Vec<(Entry, Reason)>,
    /// Keys before which a table ends, the next one last.
    pub cuts: Vec<Key>,
    /// What its tables will be merged with.
    pub below: Grandparents,
    /// Numbers of its tables, if they are not the next ones.
    pub numbers: Option<Range<u64>>,
}

impl Merger {
    /// A merge of those inputs, the newest first.
    pub fn of(inputs: Vec<Input>) -> Self {
        Self { inputs, ..Self::default() }
    }

    /// The open table, without what is in pages that were taken.
    pub fn builder(&mut self) -> Option<&mut Builder> {
        self.builder.as_mut()
    }

    /// Whether a table is open.
    pub fn has_builder(&self) -> bool {
        self.builder.is_some()
    }

    /// Whether all entries of the open table are in it: its last pages are to be written before the merge goes on.
    pub fn is_sealed(&self) -> bool {
        self.builder.as_ref().is_some_and(Builder::is_sealed)
    }

    /// Full pages that were not taken.
    pub fn pages_out(&self) -> usize {
        self.builder.as_ref().map_or(0, Builder::pages_out)
    }

    /// The table that has ended, whose pages were written there.
    pub fn finish(&mut self, written: Written) -> Option<(Table, Memory)> {
        self.builder.take().map(|builder| builder.finish(written))
    }

    /// Whether no entry is left, at hand or to be loaded.
    pub fn is_through(&self) -> bool {
        self.builder.is_none() && self.least().is_none() && self.inputs.iter().all(|i| i.wants().is_none())
    }

    /// Whether an input goes on with a block that is not at hand.
    pub fn wants(&self) -> bool {
        self.inputs.iter().any(|i| i.wants().is_some())
    }

    /// Whether a block was not as it was written.
    pub fn is_corrupt(&self) -> bool {
        self.inputs.iter().any(Input::is_corrupt)
    }

    /// The input with the next entry: of equal ones the newest.
    fn least(&self) -> Option<usize> {
        let mut least: Option<(usize, &Entry)> = None;
        for (n, input) in self.inputs.iter().enumerate() {
            let Some(e) = input.head() else { continue };
            if least.is_none_or(|(_, other)| e.order(other).is_lt()) {
                least = Some((n, e));
            }
        }
        least.map(|(n, _)| n)
    }

    /// Merges until a page is full, a block is used up, or the quantum is. Every input stands at an entry or at its end.
    pub fn go_on<A: Around, W: Meter>(&mut self, around: &mut A, w: &mut W) {
        if self.wants() {
            return;
        }
        let before = self.pages_out();
        for _ in 0..QUANTUM_ENTRIES {
            let Some(n) = self.least() else { break };
            let e = *self.inputs[n].head().expect("it has an entry");
            if self.last.is_none_or(|(key, _)| key != e.key) && self.seal_if_full(&e, around) {
                return;
            }
            w.work(Unit::Compare, self.inputs.len() as u64);
            w.work(Unit::Move, 1);
            self.inputs[n].touch_ahead(w);
            self.take_along(e, n, around, w);
            self.inputs[n].advance();
            if self.pages_out() > before || self.inputs[n].wants().is_some() {
                return;
            }
        }
        if self.least().is_none()
            && let Some(builder) = &mut self.builder
        {
            builder.seal();
        }
    }

    fn seal_if_full<A: Around>(&mut self, next: &Entry, around: &mut A) -> bool {
        let is_cut = self.cuts.pop_if(|cut| *cut <= next.key).is_some() || self.meets_too_much(next, around);
        let Some(builder) = &mut self.builder else { return false };
        let is_full = builder.is_full(next, around.config().target_file_pages);
        if is_full && !is_cut {
            builder.note_full();
        }
        if is_full || is_cut {
            builder.seal();
        }
        is_full || is_cut
    }

    /// Whether the open table would be merged with more than a compaction should have, if it had the next entry. A table of few pages goes on:
    /// its description would be a large part of it.
    fn meets_too_much<A: Around>(&mut self, next: &Entry, around: &mut A) -> bool {
        let (met, page_bytes) = (self.below.come_to(&next.key), u64::from(around.page_bytes()));
        let Some((met, builder)) = met.zip(self.builder.as_ref()) else { return false };
        let has = builder.bytes() as u64;
        let is_too_much = met + has > around.config().compaction_bytes_max(page_bytes);
        let ends = is_too_much && has >= u64::from(PAGES_MIN) * page_bytes;
        if ends {
            around.note_ended_early();
        }
        ends
    }

    /// Takes an entry along if it is wanted. A tombstone that hides nothing outside of the merge waits for what it hides
    /// in it.
    fn take_along<A: Around, W: Meter>(&mut self, e: Entry, input: usize, around: &mut A, w: &mut W) {
        if self.last.is_some_and(|(key, _)| key != e.key) {
            self.tombstones.clear();
        }
        let Some(reason) = self.judge(&e, around) else { return };
        if e.is_tombstone() && !around.hides_others(&e) {
            return self.tombstones.push((e, reason));
        }
        for (tombstone, reason) in std::mem::take(&mut self.tombstones) {
            self.push(tombstone, None, reason, around);
        }
        self.push(e, Some(input), reason, around);
        w.work(Unit::CopyByte, if e.is_inside() { u64::from(e.addr.value_bytes_inside()) } else { 0 });
    }

    /// Adds an entry to the open table, with the value that is beside the head of that input.
    fn push<A: Around>(&mut self, e: Entry, input: Option<usize>, reason: Reason, around: &mut A) {
        let Self { builder, inputs, below, numbers, .. } = self;
        let builder = builder.get_or_insert_with(|| {
            below.begin();
            let number = match numbers {
                Some(own) => own.next().expect("there is one for each page that it reads"),
                None => around.next_number(),
            };
            let (page_bytes, config) = (around.page_bytes(), around.config());
            let builder =
                Builder::new(number, e.key, page_bytes, config.bloom_bits_per_key, config.layout(page_bytes));
            builder.with_memory(around.memory())
        });
        around.refer(builder.refs_mut(), &e);
        builder.push(e, input.map_or(With::NOTHING, |n| inputs[n].with()));
        builder.kept_mut().add(reason);
    }

    /// Why an entry is still wanted: the newest of its key, one that a snapshot sees, and tombstones while anything
    /// could be below them.
    fn judge<A: Around>(&mut self, e: &Entry, around: &mut A) -> Option<Reason> {
        let newer = self.last.filter(|(key, _)| *key == e.key).map(|(_, version)| version);
        self.last = Some((e.key, e.version));
        if let Some(newer) = newer {
            around.forget_record(e);
            return around.snapshot_within(e.version, newer).map(Reason::Snapshot);
        }
        if !e.is_tombstone() {
            return Some(Reason::Newest);
        }
        if let Some(snapshot) = around.snapshot_within(0, e.version) {
            return Some(Reason::Snapshot(snapshot));
        }
        around.hides_others(e).then_some(Reason::Hides(e.version))
    }
}
