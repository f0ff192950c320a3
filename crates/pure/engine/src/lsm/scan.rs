// SPDX-License-Identifier: Apache-2.0 OR MIT
//! List and range scans: all sources merged, from any key on.

use super::LsmStore;
use super::lookup::Seen;
use super::sources::{Source, least};
use crate::ordered::key::{Entry, Key};
use saker_engine_api::KvError;
use saker_segment_store::{Looked, SegmentStore, Step, ready};
use saker_sim::{Meter, Unit};
use std::ops::Bound;

impl LsmStore {
    /// Visits the pairs that a version sees, in the order of their keys. Whether `visit` ended it; and the pages looked at.
    pub(super) fn visit<'a, M: SegmentStore, W: Meter>(
        &'a self,
        (from, has_values): (Bound<Key>, bool),
        version: u64,
        mut visit: impl FnMut(&Entry, &'a [u8]) -> bool,
        m: &'a M,
        w: &mut W,
    ) -> Step<(Result<bool, KvError>, Looked)> {
        // A key that the scan begins behind counts as seen.
        let (from, mut last) = match from {
            Bound::Unbounded => (None, None),
            Bound::Included(key) => (Some(key), None),
            Bound::Excluded(key) => (Some(key), Some(key)),
        };
        let mut sources = self.sources((from.as_ref(), has_values), m, w);
        let mut looked = Looked::new();
        w.work(Unit::Probe, 2 * sources.len() as u64);
        let mut is_open = false;
        loop {
            if !is_open
                && let Err(e) = ready!(self.open_blocks(&mut sources, from.as_ref(), &mut looked, m, w))
            {
                return Step::Done((Err(e), looked));
            }
            let Some((n, others)) = least(&sources) else { return Step::Done((Ok(false), looked)) };
            let source = &mut sources[n];
            while let Some(head) = source.head {
                let (e, value) = (source.whose.mark(head), source.value(&head));
                source.advance(w);
                w.work(Unit::ListEntry, 1);
                if e.version <= version && last != Some(e.key) {
                    last = Some(e.key);
                    if !e.is_tombstone() && !visit(&e, value) {
                        return Step::Done((Ok(true), looked));
                    }
                }
                if !source.is_before(others.as_ref()) {
                    break;
                }
            }
            is_open = source.head.is_some();
        }
    }

    fn open_blocks<'a, M: SegmentStore, W: Meter>(
        &'a self,
        sources: &mut [Source<'a>],
        from: Option<&Key>,
        looked: &mut Looked,
        m: &'a M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        let mut absent = false;
        for source in sources {
            while let Some((table, n)) = source.wants() {
                self.note_page(table, n, looked);
                match self.block(table, n, m) {
                    Seen::Here(block) => source.opened((table, n), block, from),
                    Seen::Bad(e) => return Step::Done(Err(e)),
                    Seen::Absent => {
                        absent = true;
                        break;
                    }
                }
                w.work(Unit::Decode, 1);
            }
        }
        if absent { Step::Need(looked.take()) } else { Step::Done(Ok(())) }
    }
}
