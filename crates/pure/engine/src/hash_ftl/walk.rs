// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The records of a page: garbage collection and recovery share it.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use super::HashFtl;
use super::record::{Head, Kind, Mark};
use saker_log::recover::{Carried, Damage, carried, scan_page};
use saker_log::{Bytes, LogAddr, page_of};
use saker_segment_store::{Page, PageAddr, PageHeader, Reads, SegmentStore, Step, ready};

/// A whole record as it was found.
#[derive(Clone, Copy, Debug)]
pub struct Walked {
    /// Its hash index.
    pub slot: u64,
    /// The one it was written with: the table can have doubled since.
    pub written: u64,
    /// Its first grain.
    pub grain: u64,
    /// Its grains.
    pub grains: u32,
    /// Its head.
    pub head: Head,
    /// The order of its page.
    pub sequence: u64,
}

impl HashFtl {
    /// The whole records that start in a page and are `wanted`. One that was never finished, because a cut took its end, is
    /// left out. Pages that were looked at beyond it are added to `looked`: whoever asks again needs them again, whatever
    /// becomes of their records.
    pub(super) fn records_in<M: SegmentStore>(
        &self,
        page: PageAddr,
        wanted: impl Fn(&Walked) -> bool,
        looked: &mut Reads,
        m: &M,
    ) -> Step<Result<Vec<Walked>, Damage>> {
        let scanned = match ready!(scan_page(&self.log, m, page)) {
            Ok(Some(scanned)) => scanned,
            Ok(None) => return Step::Done(Ok(Vec::new())),
            Err(damage) => return Step::Done(Err(damage)),
        };
        let Page::Resident { data, oob } = page_of(&self.log, m, page) else {
            return Step::Done(Ok(Vec::new()));
        };
        let (grain_bytes, mut found) = (self.config.grain_bytes, Vec::new());
        let (words, _) = PageHeader::owner_oob(oob).as_chunks::<8>();
        // What still fills in the page buffer has no checksum but those of its records, so each has to begin where the last one ends.
        let fills = self.log.slot_of(page).is_some();
        // What is before the first record belongs to one that began in an earlier page.
        let (mut at, mut next) = (scanned.first_record, scanned.first_record);
        if !at.is_multiple_of(grain_bytes) {
            return Step::Done(Err(self.broken(page, at, m)));
        }
        while at < scanned.used_bytes {
            let n = at / grain_bytes;
            let Some(word) = words.get(n as usize) else { return Step::Done(Err(self.broken(page, at, m))) };
            let Some(mark) = Mark::decode(*word) else {
                if fills && at == next {
                    return Step::Done(Err(self.broken(page, at, m)));
                }
                at += grain_bytes;
                continue;
            };
            let grain = page.0 * self.page_grains() + u64::from(n);
            let record = data.get(at as usize..).unwrap_or_default();
            let head = Head::decode(record).filter(|h| {
                h.kind == mark.kind
                    && self.grains_of(h) == u32::from(mark.grains)
                    && u64::from(mark.slot) < self.slots_max()
            });
            let Some((head, key)) = head.and_then(|head| Some((head, head.key_in(record)?))) else {
                return Step::Done(Err(self.broken(page, at, m)));
            };
            let written = u64::from(mark.slot);
            let is_group = head.kind == Kind::Group;
            let now = if is_group { Some(written) } else { self.probe.now(written, || self.probe.home(key)) };
            let Some(slot) = now else {
                return Step::Done(Err(self.broken(page, at, m)));
            };
            if fills && !is_group && !self.is_on_way(written, key) {
                return Step::Done(Err(self.broken(page, at, m)));
            }
            let walked = Walked {
                slot,
                written,
                grain,
                grains: u32::from(mark.grains),
                head,
                sequence: scanned.sequence,
            };
            if wanted(&walked) {
                looked.extend(self.range_of(&walked).pages(&self.log).skip(1));
                match ready!(self.is_whole(&walked, scanned.used_bytes, m)) {
                    Ok(true) => found.push(walked),
                    Ok(false) => {}
                    Err(damage) => return Step::Done(Err(damage)),
                }
            }
            at += u32::from(mark.grains) * grain_bytes;
            next = at;
        }
        Step::Done(Ok(found))
    }

    pub(super) fn range_of(&self, r: &Walked) -> Bytes {
        let grain_bytes = self.config.grain_bytes;
        Bytes::new(LogAddr(r.grain * u64::from(grain_bytes)), r.grains * grain_bytes)
    }

    /// Hash indexes, with those of all the table's sizes if it doubles.
    pub(super) fn slots_max(&self) -> u64 {
        let of = |sections: u32| u64::from(sections) * u64::from(self.table.section_slots);
        self.probe.levels().map_or(self.config.slots, |levels| of(levels.ids()))
    }

    /// `at`: where in the page the record begins.
    fn broken<M: SegmentStore>(&self, page: PageAddr, at: u32, m: &M) -> Damage {
        Damage::record(&self.log.geometry(), page, self.explain(page, at, m))
    }

    /// Whether a record is there to its end, and as it was written.
    fn is_whole<M: SegmentStore>(&self, r: &Walked, used: u32, m: &M) -> Step<Result<bool, Damage>> {
        let geometry = self.log.geometry();
        let (page, at) = self.page_of_grain(r.grain);
        let total = r.grains * self.config.grain_bytes;
        let log_addr = LogAddr(r.grain * u64::from(self.config.grain_bytes));
        let range = Bytes::new(log_addr, total);
        if at.saturating_add(total) > used && used < geometry.page_bytes {
            return Step::Done(Err(self.broken(page, at, m)));
        }
        let last = log_addr.0 + u64::from(total) - 1;
        if last / geometry.segment_bytes() != log_addr.0 / geometry.segment_bytes() {
            return Step::Done(Err(self.broken(page, at, m)));
        }
        if !ready!(self.goes_on(range, log_addr, total, m)) {
            return Step::Done(Ok(false));
        }
        if ready!(range.resident(&self.log, m)).is_err() {
            return Step::Done(Err(self.broken(page, at, m)));
        }
        let sound = self.range_crc(range, r.head.bytes(), m) == r.head.crc;
        Step::Done(if sound { Ok(true) } else { Err(self.broken(page, at, m)) })
    }

    /// Whether the pages after the first one carry the record on. One that was lost or torn does not; nor does one that was
    /// begun anew after a cut, whose first record starts elsewhere than where this one would end.
    fn goes_on<M: SegmentStore>(&self, range: Bytes, log_addr: LogAddr, total: u32, m: &M) -> Step<bool> {
        let page_bytes = u64::from(self.log.geometry().page_bytes);
        let mut absent = false;
        for page in range.pages(&self.log).skip(1) {
            let (first_record, used_bytes) = match carried(&self.log, m, page) {
                Carried::Absent => {
                    absent = true;
                    continue;
                }
                Carried::Lost => return Step::Done(false),
                Carried::Unreadable => continue,
                Carried::Here { first_record, used_bytes, .. } => (first_record, used_bytes),
            };
            let end = (log_addr.0 + u64::from(total) - page.0 * page_bytes).min(page_bytes) as u32;
            // What does not count any more is written over.
            if first_record != end || used_bytes < end {
                return Step::Done(false);
            }
        }
        if absent { Step::Need(range.pages(&self.log).collect()) } else { Step::Done(true) }
    }
}
