// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Walking the records of a segment: garbage collection and recovery share it.
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

use crate::gap::{GAP_WORD_BYTES, Gap};
use crate::group::seal::{Role, Seal, WORD_BYTES};
use crate::record::{HEADER_BYTES, Header, Kind};
use crate::record_addr::{MEMBER_BYTES_MAX, RECORD_BYTES_MAX, RecordAddr};
use crate::view::Records;
use saker_log::recover::{Carried, Damage, ScannedPage, carried, scan_page};
use saker_log::{Bytes, LogAddr};
use saker_segment_store::{SegmentId, SegmentStore, Step, ready};

/// A position in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walker {
    /// The segment.
    pub segment: SegmentId,
    /// Pages to look at.
    pub pages: u32,
    /// The page the next record starts in.
    pub page: u32,
    /// Where in the page; `None`: at the page's first record.
    pub offset: Option<u32>,
    /// The page, once its checksum has been looked at: once for all its records.
    checked: Option<ScannedPage>,
    /// The group whose members come next. `page` and `offset` are behind it already.
    inside: Option<Inside>,
    /// The gap whose records come next. `page` and `offset` are in it.
    gap: Option<InGap>,
}

/// A gap between records, as positions in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct InGap {
    /// Its word.
    at: u64,
    /// Behind the last record in it.
    filled_end: u64,
    /// Behind the gap.
    end: u64,
}

/// A place among the members of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Inside {
    /// The group's record.
    log_addr: LogAddr,
    header: Header,
    page: ScannedPage,
    /// Where the next member begins in the record.
    next: u32,
}

/// A record as it was found, or a member of a group's record as if it were one.
#[derive(Clone, Copy, Debug)]
pub struct Walked {
    /// Where the record is: of a member, the group's.
    pub log_addr: LogAddr,
    /// Its header.
    pub header: Header,
    /// Its key, padded.
    pub key: [u8; 16],
    /// The page the record starts in.
    pub page: ScannedPage,
    /// Length of the record: of a member, the group's, without which nobody finds the member again.
    pub bytes: u32,
    /// The place that an index entry has for it.
    pub addr: RecordAddr,
    /// Where its value is.
    pub value: LogAddr,
    /// What leads to it: the word of the gap that it is in, or itself.
    pub from: LogAddr,
}

/// What comes next in a segment.
#[derive(Debug)]
pub enum Next {
    /// A whole record.
    Record(Walked),
    /// Nothing more.
    End,
    /// A record that was never finished: a cut took its end. The rest of its page is skipped.
    Unfinished,
    /// A record that is not as it was written, or whose end cannot be read. The rest of its page is skipped.
    Broken(LogAddr),
}

impl Walker {
    /// Goes to the next page in which a record starts, unless it is there already.
    pub fn leave_page(&mut self, index: u32) {
        if self.offset.is_some() && self.page == index {
            *self = self.next_page();
        }
        self.inside = None;
    }

    /// Leaves the page, which cannot be read.
    pub fn skip_page(&mut self) {
        *self = Self { inside: None, ..self.next_page() };
    }

    /// At the first record of the page after this one.
    #[inline]
    fn next_page(self) -> Self {
        Self { page: self.page + 1, offset: None, gap: None, ..self }
    }

    /// From the beginning of a segment.
    #[inline]
    pub fn new(segment: SegmentId, pages: u32) -> Self {
        Self { segment, pages, page: 0, offset: None, checked: None, inside: None, gap: None }
    }
}

impl Records<'_> {
    /// The next record at the walker, which moves behind it. With `Need` it has moved over pages in which no
    /// record starts, and no further: only the needed pages are here next time, so what was skipped must not be
    /// asked for again.
    pub fn walk<M: SegmentStore>(&self, at: &mut Walker, m: &M) -> Step<Result<Next, Damage>> {
        loop {
            if let Some(next) = ready!(self.walk_members(at, m)) {
                return Step::Done(Ok(next));
            }
            match ready!(self.walk_on(at, m)) {
                Ok(None) => {}
                Ok(Some(next)) => return Step::Done(Ok(next)),
                Err(damage) => return Step::Done(Err(damage)),
            }
        }
    }

    /// The next record that is no member; `None`: it is a group, and the walker is at its members.
    fn walk_on<M: SegmentStore>(&self, at: &mut Walker, m: &M) -> Step<Result<Option<Next>, Damage>> {
        let geometry = self.log.geometry();
        let mut here = *at;
        loop {
            if here.page >= here.pages {
                *at = here;
                return Step::Done(Ok(Some(Next::End)));
            }
            let addr = geometry.page(here.segment, here.page);
            let checked = here.checked.filter(|page| page.addr == addr);
            let scanned = match checked {
                Some(page) => page,
                None => match ready!(scan_page(self.log, m, addr)) {
                    Ok(Some(page)) => page,
                    Ok(None) => {
                        here = here.next_page();
                        *at = here;
                        continue;
                    }
                    Err(damage) => return Step::Done(Err(damage)),
                },
            };
            here.checked = Some(scanned);
            let (offset, used) = (here.offset.unwrap_or(scanned.first_record), scanned.used_bytes);
            if offset + HEADER_BYTES > used && !self.crosses(offset, used) {
                here = here.next_page();
                *at = here;
                continue;
            }
            let log_addr = LogAddr(addr.0 * u64::from(geometry.page_bytes) + u64::from(offset));
            if here.gap.is_some_and(|gap| log_addr.0 >= gap.filled_end) {
                here = self.behind_gap(here);
                *at = here;
                continue;
            }
            match ready!(self.enter_gap(here, log_addr, scanned, m)) {
                Ok(None) => return self.walk_record(at, here, log_addr, scanned, m),
                Ok(Some(entered)) => here = entered,
                Err(next) => {
                    *at = here.next_page();
                    return Step::Done(Ok(Some(next)));
                }
            }
            *at = here;
        }
    }

    /// Whether a record's header starts at `offset` of a full page and goes on in the next one.
    fn crosses(&self, offset: u32, used: u32) -> bool {
        used == self.log.geometry().page_bytes && offset < used
    }

    fn walk_record<M: SegmentStore>(
        &self,
        at: &mut Walker,
        here: Walker,
        log_addr: LogAddr,
        page: ScannedPage,
        m: &M,
    ) -> Step<Result<Option<Next>, Damage>> {
        let geometry = self.log.geometry();
        let left =
            u64::from(here.pages) * u64::from(geometry.page_bytes) - log_addr.0 % geometry.segment_bytes();
        let give_up = |at: &mut Walker, next| {
            *at = here.next_page();
            Step::Done(Ok(Some(next)))
        };
        // Pages that carry on a gap say where that ends.
        let gap_left = here.gap.map(|gap| (gap.end - log_addr.0) as u32);
        if left < u64::from(HEADER_BYTES) || !ready!(self.goes_on(log_addr, HEADER_BYTES, gap_left, m)) {
            return give_up(at, Next::Unfinished);
        }
        let mut head = [0; HEADER_BYTES as usize];
        let range = Bytes::new(log_addr, HEADER_BYTES);
        if ready!(range.resident(self.log, m)).is_err() {
            return give_up(at, Next::Broken(log_addr));
        }
        range.copy_to(self.log, m, 0, &mut head);
        let Some(header) = Header::decode(&head).filter(|h| h.key_bytes <= 16) else {
            return give_up(at, Next::Broken(log_addr));
        };
        let bytes = header.record_bytes();
        if bytes > RECORD_BYTES_MAX {
            return give_up(at, Next::Broken(log_addr));
        }
        // Only the end of a full page is that of a record's first part. In the page buffer nothing but the record's own
        // checksum covers its length: one that leads out of what counts is damage, not a record cut short.
        let offset = (log_addr.0 % u64::from(geometry.page_bytes)) as u32;
        if page.used_bytes < geometry.page_bytes && bytes > page.used_bytes - offset {
            return give_up(at, Next::Broken(log_addr));
        }
        if here.gap.is_some_and(|gap| log_addr.0 + u64::from(bytes) > gap.filled_end) {
            return give_up(at, Next::Broken(log_addr));
        }
        let total = gap_left.unwrap_or(bytes);
        if u64::from(bytes) > left || !ready!(self.goes_on(log_addr, bytes, Some(total), m)) {
            return give_up(at, Next::Unfinished);
        }
        let range = Bytes::new(log_addr, bytes);
        if ready!(range.resident(self.log, m)).is_err() {
            return give_up(at, Next::Broken(log_addr));
        }
        let used = header.value_at() + header.value_bytes;
        if self.range_crc(range, used, m) != header.crc {
            return give_up(at, Next::Broken(log_addr));
        }
        let end = log_addr.0 % geometry.segment_bytes() + u64::from(bytes);
        let (end_page, end_offset) =
            (end / u64::from(geometry.page_bytes), end % u64::from(geometry.page_bytes));
        let stays = end_offset != 0 || gap_left.is_some() || end_page as u32 == here.page;
        *at = Walker { page: end_page as u32, offset: stays.then_some(end_offset as u32), ..here };
        if header.kind == Kind::Group {
            let next = HEADER_BYTES + WORD_BYTES + u32::from(header.lead_bytes);
            at.inside = Some(Inside { log_addr, header, page, next });
            return Step::Done(Ok(None));
        }
        let key = self.key_of(log_addr, HEADER_BYTES, header.key_bytes, m);
        let record_addr = RecordAddr::new(log_addr.0, bytes, header.key_bytes);
        let value = LogAddr(log_addr.0 + u64::from(header.value_at()));
        let from = here.gap.map_or(log_addr, |gap| LogAddr(gap.at));
        Step::Done(Ok(Some(Next::Record(Walked {
            log_addr,
            header,
            key,
            page,
            bytes,
            addr: record_addr,
            value,
            from,
        }))))
    }

    /// The key of up to 16 bytes at `offset` behind a log_addr, padded.
    fn key_of<M: SegmentStore>(&self, log_addr: LogAddr, offset: u32, bytes: u8, m: &M) -> [u8; 16] {
        let (mut key, bytes) = ([0; 16], u32::from(bytes.min(16)));
        if let Some(known) = key.get_mut(..bytes as usize) {
            Bytes::new(log_addr, offset + bytes).copy_to(self.log, m, offset, known);
        }
        key
    }

    /// If a gap begins here: the walker at the first record in it.
    fn enter_gap<M: SegmentStore>(
        &self,
        here: Walker,
        log_addr: LogAddr,
        page: ScannedPage,
        m: &M,
    ) -> Step<Result<Option<Walker>, Next>> {
        if here.gap.is_some() {
            return Step::Done(Ok(None));
        }
        let mut word = [0; GAP_WORD_BYTES as usize];
        let range = Bytes::new(log_addr, GAP_WORD_BYTES);
        if ready!(range.resident(self.log, m)).is_err() {
            return Step::Done(Err(Next::Broken(log_addr)));
        }
        range.copy_to(self.log, m, 0, &mut word);
        let word = u64::from_le_bytes(word);
        if !Gap::is_meant(word) {
            return Step::Done(Ok(None));
        }
        let geometry = self.log.geometry();
        let left = geometry.segment_bytes() - log_addr.0 % geometry.segment_bytes();
        let offset = (log_addr.0 % u64::from(geometry.page_bytes)) as u32;
        let is_cut =
            |gap: &Gap| page.used_bytes < geometry.page_bytes && gap.bytes > page.used_bytes - offset;
        let gap = Gap::decode(word, log_addr.0).filter(|gap| u64::from(gap.bytes) < left && !is_cut(gap));
        let Some(gap) = gap else { return Step::Done(Err(Next::Broken(log_addr))) };
        let (at, first) = (log_addr.0, log_addr.0 + u64::from(GAP_WORD_BYTES));
        let (filled_end, end) = (first + u64::from(gap.filled), log_addr.0 + u64::from(gap.bytes));
        Step::Done(Ok(Some(self.moved(Walker { gap: Some(InGap { at, filled_end, end }), ..here }, first))))
    }

    /// The walker at the record behind its gap. In a later page that is the first one.
    fn behind_gap(&self, here: Walker) -> Walker {
        let end = here.gap.map_or(0, |gap| gap.end);
        let there = self.moved(Walker { gap: None, ..here }, end);
        if there.page == here.page { there } else { here.next_page() }
    }

    fn moved(&self, here: Walker, to: u64) -> Walker {
        let geometry = self.log.geometry();
        let (page_bytes, within) = (u64::from(geometry.page_bytes), to % geometry.segment_bytes());
        Walker { page: (within / page_bytes) as u32, offset: Some((within % page_bytes) as u32), ..here }
    }

    /// The next member of the group the walker is in that is a pair or a tombstone. `None`: there is none left.
    fn walk_members<M: SegmentStore>(&self, at: &mut Walker, m: &M) -> Step<Option<Next>> {
        let Some(mut inside) = at.inside else { return Step::Done(None) };
        let record = Bytes::new(inside.log_addr, inside.header.record_bytes());
        if ready!(record.resident(self.log, m)).is_err() {
            at.inside = None;
            return Step::Done(Some(Next::Broken(inside.log_addr)));
        }
        let end = HEADER_BYTES + inside.header.value_bytes;
        while inside.next < end {
            let log_addr = LogAddr(inside.log_addr.0 + u64::from(inside.next));
            let seal = self.seal_at(log_addr, end - inside.next, m);
            let is_sound = |seal: &Seal| {
                let fits = seal.key_bytes <= 16 && seal.bytes() <= MEMBER_BYTES_MAX;
                (fits || !seal.role.is_kept()) && self.is_intact(log_addr, seal, m)
            };
            let Some(seal) = seal.filter(is_sound) else {
                at.inside = None;
                return Step::Done(Some(Next::Broken(inside.log_addr)));
            };
            inside.next += seal.bytes() + u32::from(inside.header.lead_bytes);
            if seal.role.is_kept() {
                at.inside = self.has_members(&inside, m).then_some(inside);
                return Step::Done(Some(Next::Record(self.walked_member(&inside, log_addr, seal, m))));
            }
        }
        at.inside = None;
        Step::Done(None)
    }

    /// Whether the walker comes to more members. Behind the last one it has left the group: what follows needs other pages.
    fn has_members<M: SegmentStore>(&self, inside: &Inside, m: &M) -> bool {
        let (mut next, end) = (inside.next, HEADER_BYTES + inside.header.value_bytes);
        while next < end {
            let log_addr = LogAddr(inside.log_addr.0 + u64::from(next));
            match self.seal_at(log_addr, end - next, m) {
                Some(seal) if !seal.role.is_kept() => {
                    next += seal.bytes() + u32::from(inside.header.lead_bytes);
                }
                // One that cannot be read is found by the next step.
                _ => return true,
            }
        }
        false
    }

    fn walked_member<M: SegmentStore>(
        &self,
        inside: &Inside,
        log_addr: LogAddr,
        seal: Seal,
        m: &M,
    ) -> Walked {
        let key = self.key_of(log_addr, WORD_BYTES, seal.key_bytes, m);
        let is_pair = seal.role == Role::Pair;
        let header = Header {
            kind: if is_pair { Kind::Pair } else { Kind::Tombstone },
            key_bytes: seal.key_bytes,
            value_bytes: seal.value_bytes,
            lead_bytes: 0,
            stays: seal.stays && is_pair,
            ..inside.header
        };
        let record_addr = RecordAddr::member(log_addr.0, seal.bytes(), seal.key_bytes);
        let value = LogAddr(log_addr.0 + u64::from(seal.value_at()));
        let bytes = inside.header.record_bytes();
        let from = inside.log_addr;
        Walked {
            log_addr: inside.log_addr,
            header,
            key,
            page: inside.page,
            bytes,
            addr: record_addr,
            value,
            from,
        }
    }

    /// Whether the pages after the first one carry on a record of `bytes` from `log_addr`. A page that was lost or
    /// torn does not; nor does one that was begun anew after a cut, whose header says that its first record
    /// starts elsewhere than where this one would end (`total`: its length, if known).
    fn goes_on<M: SegmentStore>(
        &self,
        log_addr: LogAddr,
        bytes: u32,
        total: Option<u32>,
        m: &M,
    ) -> Step<bool> {
        let page_bytes = u64::from(self.log.geometry().page_bytes);
        let range = Bytes::new(log_addr, bytes);
        if range.pages(self.log).nth(1).is_none() {
            return Step::Done(true);
        }
        let mut absent = false;
        for page in range.pages(self.log).skip(1) {
            let (first_record, used_bytes) = match carried(self.log, m, page) {
                Carried::Absent => {
                    absent = true;
                    continue;
                }
                Carried::Lost => return Step::Done(false),
                Carried::Unreadable => continue,
                Carried::Here { first_record, used_bytes, .. } => (first_record, used_bytes),
            };
            let ends = |n: u32| (log_addr.0 + u64::from(n) - page.0 * page_bytes).min(page_bytes) as u32;
            // What does not count any more is written over.
            if used_bytes < ends(bytes) {
                return Step::Done(false);
            }
            let expected = total.map(ends);
            if expected.map_or(first_record == 0, |e| e != first_record) {
                return Step::Done(false);
            }
        }
        if absent { Step::Need(range.pages(self.log).collect()) } else { Step::Done(true) }
    }
}
