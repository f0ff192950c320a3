// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scans of pairs: entries in order, then their values together.

use super::Store;
use super::key::{Entry, Key};
use super::placement::Seen;
use super::structure::{Structure, Visited};
use saker_engine_api::{
    Context, KvError, List, Pairs, SCAN_PAIRS_MAX, Scan, Scanned, Scans, Sink, Snapshot, SourceError,
    Unsupported,
};
use saker_log::{Bytes, Log, LogAddr};
use saker_segment_store::{Reads, SegmentStore, Step, ready};
use saker_sim::{Meter, Unit};
use saker_value_log::Records;
use saker_value_log::check::check_whole;
use saker_value_log::group::seal::WORD_BYTES;
use std::ops::Bound;

const CACHE_LINE: usize = 64;
/// Of a longer record the processor fetches the rest by itself.
const TOUCHED_LINES_MAX: usize = 8;

impl<S: Structure> List for Store<S> {
    fn list<M: SegmentStore, W: Meter>(
        &mut self,
        from: &[u8],
        mut visit: impl FnMut(&[u8]) -> bool,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<(), KvError>> {
        let from = match (from, Key::new(from)) {
            ([], _) => Bound::Unbounded,
            (_, Some(key)) => Bound::Included(key),
            (_, None) => return Step::Done(Err(KvError::KeySize)),
        };
        let visit = |e: &Entry, _: &[u8]| visit(&e.key.padded()[..e.key.len()]);
        S::visit(self, Visited::keys_from(from), None, visit, cx.medium, cx.meter)
            .map(|(done, _)| done.map(|_| ()))
    }
}

impl<S: Structure> Scans for Store<S> {
    fn snapshot(&mut self) -> Result<Snapshot, Unsupported> {
        Ok(self.own.snapshot(self.version - 1))
    }

    fn share(&mut self, snapshot: Snapshot) {
        self.own.share(snapshot);
    }

    fn release(&mut self, snapshot: Snapshot) {
        S::release(self, snapshot);
        self.upkeep.unstick();
        self.log.unpin_repairs();
    }

    fn scan<M: SegmentStore, W: Meter, P: Pairs>(
        &mut self,
        scan: &Scan<'_>,
        pairs: &mut P,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Scanned, KvError>> {
        let (m, w) = cx.parts();
        let (store, m) = (&*self, &*m);
        let Some(from) = bound(scan.from) else { return Step::Done(Err(KvError::KeySize)) };
        let (mut found, mut shown) = (Vec::new(), AtOnce::default());
        let (counts, mut seen) = (scan.values && store.settings.is_auto(), Seen::default());
        let take = |e: &Entry, value| {
            let value_bytes_max = if scan.values { e.addr.bytes().saturating_sub(WORD_BYTES) } else { 0 };
            let padded = e.key.padded();
            let key = &padded[..e.key.len()];
            if found.len() + shown.pairs >= SCAN_PAIRS_MAX || !pairs.wants(key, value_bytes_max) {
                return false;
            }
            // Behind one whose record is to be looked for each waits for its turn.
            if !found.is_empty() || !shown.show(scan.values, (e, key, value), pairs) {
                found.push((*e, value));
            }
            if counts {
                seen.note(e);
            }
            true
        };
        let visited = Visited { from, backwards: scan.backwards, has_values: scan.values };
        let (stopped, looked) = ready!(S::visit(store, visited, Some(scan.snapshot), take, m, w));
        let ended = match stopped {
            Ok(true) => Scanned::Some,
            Ok(false) => Scanned::All,
            Err(e) => return Step::Done(Err(e)),
        };
        let rest = ready!(store.show_all(&found, looked.into(), pairs, m, w));
        w.work(Unit::CopyByte, shown.bytes);
        if counts {
            self.placement.saw(&seen);
        }
        Step::Done(rest.map(|()| ended))
    }
}

/// What was shown as soon as it was found: without values, or with values that are at hand.
#[derive(Default)]
struct AtOnce {
    pairs: usize,
    bytes: u64,
}

impl AtOnce {
    /// Shows a pair, unless its value is to be looked for.
    #[inline]
    fn show<P: Pairs>(
        &mut self,
        has_value: bool,
        (e, key, value): (&Entry, &[u8], &[u8]),
        pairs: &mut P,
    ) -> bool {
        if !has_value {
            pairs.pair(key, 0);
        } else if e.is_inside() && value.len() == e.addr.value_bytes_inside() as usize {
            pairs.whole(key, value);
            self.bytes += value.len() as u64;
        } else {
            return false;
        }
        self.pairs += 1;
        true
    }
}

impl<S: Structure> Store<S> {
    /// Shows pairs with their values, some of which are at hand. `looked`: the pages that were looked at before, which the next call looks at again.
    fn show_all<M: SegmentStore, W: Meter, P: Pairs>(
        &self,
        found: &[(Entry, &[u8])],
        looked: Reads,
        pairs: &mut P,
        m: &M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        let mut records = Vec::with_capacity(found.len());
        if let Err(e) = ready!(resident(&self.log, found, looked, &mut records, m, w)) {
            return Step::Done(Err(e));
        }
        Step::Done(found.iter().zip(records).try_for_each(|((e, value), record)| {
            if e.is_inside() {
                return self.show_inside((e, value), pairs, m, w);
            }
            show((&self.log, self.settings.owner), (e, record), pairs, m, w)
        }))
    }

    /// A value beside its key came with it; one that is not at hand is looked for in its pages.
    fn show_inside<M: SegmentStore, W: Meter, P: Pairs>(
        &self,
        (e, value): (&Entry, &[u8]),
        pairs: &mut P,
        m: &M,
        w: &mut W,
    ) -> Result<(), KvError> {
        let bytes = e.addr.value_bytes_inside();
        w.work(Unit::CopyByte, u64::from(bytes));
        if !value.is_empty() && value.len() == bytes as usize {
            pairs.whole(&e.key.padded()[..e.key.len()], value);
            return Ok(());
        }
        pairs.pair(&e.key.padded()[..e.key.len()], bytes);
        self.deliver_inside(e, bytes, &mut Value(pairs), m)
    }
}

/// Whether the records are; `Need` names them and what was looked at before. `records`: those that lie in one piece.
fn resident<'m, M: SegmentStore, W: Meter>(
    log: &'m Log,
    found: &[(Entry, &[u8])],
    mut looked: Reads,
    records: &mut Vec<Option<&'m [u8]>>,
    m: &'m M,
    w: &mut W,
) -> Step<Result<(), KvError>> {
    let mut is_absent = false;
    for (e, _) in found {
        if e.is_inside() {
            records.push(None);
            continue;
        }
        let range = Bytes::new(LogAddr(e.addr.position()), e.addr.bytes());
        let record = range.whole(log, m);
        records.push(record);
        if let Some(record) = record {
            // Their cache misses overlap.
            if w.touches() {
                record.chunks(CACHE_LINE).take(TOUCHED_LINES_MAX).for_each(|line| w.touch(&line[0]));
            }
            continue;
        }
        match range.resident(log, m) {
            Step::Done(Err(e)) => return Step::Done(Err(e.into())),
            Step::Done(Ok(())) => {}
            _ => is_absent = true,
        }
    }
    if !is_absent {
        return Step::Done(Ok(()));
    }
    for (e, _) in found.iter().filter(|(e, _)| !e.is_inside()) {
        looked.extend(Bytes::new(LogAddr(e.addr.position()), e.addr.bytes()).pages(log));
    }
    looked.sort_unstable();
    looked.dedup();
    Step::Need(looked)
}

fn show<M: SegmentStore, W: Meter, P: Pairs>(
    (log, owner): (&Log, u16),
    (e, record): (&Entry, Option<&[u8]>),
    pairs: &mut P,
    m: &M,
    w: &mut W,
) -> Result<(), KvError> {
    let (key, records) = (&e.key.padded()[..e.key.len()], Records { log });
    let whole = record.filter(|_| !e.addr.is_member());
    let (start, bytes) = match whole {
        Some(record) => check_whole(record, key, e.addr, owner).ok_or(KvError::Corrupt)?,
        None => records.check(key, e.addr, owner, m)?,
    };
    w.work(Unit::ChecksumByte, u64::from(e.addr.bytes()));
    w.work(Unit::CopyByte, u64::from(bytes));
    if let Some(value) = record.and_then(|record| record.get(start as usize..(start + bytes) as usize)) {
        pairs.whole(key, value);
        return Ok(());
    }
    pairs.pair(key, bytes);
    records.deliver(e.addr, start, bytes, &mut Value(pairs), m)
}

/// The end of a range; `None` if its key cannot be one.
fn bound(from: Bound<&[u8]>) -> Option<Bound<Key>> {
    Some(match from {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(key) => Bound::Included(Key::new(key)?),
        Bound::Excluded(key) => Bound::Excluded(Key::new(key)?),
    })
}

/// A value on its way to who takes the pairs.
struct Value<'a, P>(&'a mut P);

impl<P: Pairs> Sink for Value<'_, P> {
    fn room(&self) -> u32 {
        u32::MAX
    }

    fn write(&mut self, _: u32, bytes: &[u8]) -> Result<(), SourceError> {
        self.0.value(bytes);
        Ok(())
    }
}
