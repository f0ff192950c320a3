// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finding a log again after power-on: which segments there are, what the page buffer still holds, where to go on.
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

mod damage;
mod pages;

pub use damage::{Damage, LogFlip};
pub use pages::{Carried, ScannedPage, carried, scan_page};

use crate::Log;
use crate::log::Append;
use crate::segment::SegmentState;
use saker_segment_store::header::page_crc;
use saker_segment_store::planted::{self, Fault};
use saker_segment_store::{
    Order, Page, PageAddr, PageHeader, Reads, SegmentId, SegmentStore, SegmentView, SlotError, SlotId,
    SlotState, SlotView, Step, Stream,
};
use std::collections::BTreeMap;

/// How far something is that comes back after power-on, piece by piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Progress {
    /// There is more to do: call again.
    More,
    /// It is there.
    Finished,
}

/// Slots in use and what they say.
type Slots = Vec<(SlotId, SlotView)>;

/// A segment found after power-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Which.
    pub id: SegmentId,
    /// Its stream.
    pub stream: Stream,
    /// Pages to look at, slots included.
    pub pages: u32,
    /// Sequence numbers of its first and last readable pages.
    pub first_sequence: u64,
    /// See `first_sequence`.
    pub last_sequence: u64,
}

/// The segments of a log after power-on, in the order they were begun.
#[derive(Clone, Debug, Default)]
pub struct LogImage {
    /// The segments.
    pub segments: Vec<Recovered>,
}

/// Takes stock: adopts the page buffer's slots, reads the first and last page of each segment, sets the append
/// points. Call again with the needed pages until `Done`. `log` must be new.
pub fn survey<M: SegmentStore>(log: &mut Log, m: &mut M) -> Step<Result<LogImage, Damage>> {
    let slots = match m.page_buffer().survey() {
        Ok(slots) => slots,
        Err(damage) => return Step::Done(Err(damage.into())),
    };
    let mine: Vec<_> = slots.into_iter().filter(|(_, v)| v.owner == log.owner).collect();
    // What became of the page of each slot decides what becomes of the slot.
    let exists = |v: &SlotView| log.geometry.contains(v.addr);
    let looked: Reads = mine.iter().filter(|(_, v)| exists(v)).map(|(_, v)| v.addr).collect();
    let missing = looked.iter().any(|at| matches!(m.page(*at), Page::Absent));
    // A number is never given twice, not even that of a page that came to nothing: a crash can bring its slot back.
    let newest = mine.iter().map(|(_, v)| v.sequence.saturating_add(1)).max().unwrap_or(0);
    let mine = mine.into_iter();
    // A mapped slot waits for a sync before it is overwritten: its segment may have been erased meanwhile. After
    // a crash of the operating system an open slot may be older than its page, which was programmed later.
    let is_current = |v: &SlotView| {
        log.geometry.contains(v.addr)
            && m.epoch(log.geometry.segment_of(v.addr)) == v.epoch
            && !is_overtaken(m, v)
    };
    let (mine, stale): (Vec<_>, Vec<_>) = mine.partition(|(_, v)| is_current(v));
    let (mine, doubled) = newest_of_each_page(mine);
    let (kept, mut orphans) = split_orphans(&mine, log.geometry.page_bytes);
    orphans.extend(stale.iter().chain(&doubled).map(|(slot, _)| *slot));
    let views = m.survey();
    if let Some(foreign) = foreign_slot(log, &kept, &views) {
        return Step::Done(Err(foreign.into()));
    }
    let mut probe = Probe { log, m, kept: &kept, looked, missing, damage: None };
    let found: Vec<_> = views.iter().filter_map(|v| probe.segment(v.id, v.written_pages)).collect();
    let (looked, missing, damage) = (probe.looked, probe.missing, probe.damage);
    if let Some(damage) = damage {
        return Step::Done(Err(damage));
    }
    if missing {
        // All of them again: what was brought for this call may be gone at the next.
        return Step::Need(looked);
    }
    let mut image = LogImage { segments: found };
    image.segments.sort_by_key(|s| s.first_sequence);
    log.next_sequence = log.next_sequence.max(newest);
    adopt(log, m, &image, &kept, &orphans);
    if !orphans.is_empty() && m.page_buffer().is_mapped() {
        // They are free for a crash of the operating system, too, before their pages get other content.
        m.sync();
    }
    Step::Done(Ok(image))
}

/// Whether the page of an open slot was programmed after all.
fn is_overtaken<M: SegmentStore>(m: &M, v: &SlotView) -> bool {
    let Page::Resident { data, oob } = m.page(v.addr) else { return false };
    let header = PageHeader::decode(oob, v.addr).ok().flatten();
    v.state == SlotState::Open
        && header.is_some_and(|h| {
            h.sequence == v.sequence && h.data_crc == page_crc(data, PageHeader::owner_oob(oob))
        })
}

/// Of several slots of one page the one that was opened last.
fn newest_of_each_page(mut mine: Slots) -> (Slots, Slots) {
    mine.sort_by_key(|(slot, v)| (v.addr, v.sequence, *slot));
    let last: BTreeMap<PageAddr, SlotId> = mine.iter().map(|(slot, v)| (v.addr, *slot)).collect();
    mine.sort_by_key(|(slot, _)| *slot);
    mine.into_iter().partition(|(slot, v)| last.get(&v.addr) == Some(slot))
}

/// A slot of a page in a segment that is another's by the headers there.
fn foreign_slot(log: &Log, kept: &[(SlotId, SlotView)], views: &[SegmentView]) -> Option<SlotError> {
    let is_mine = |v: &SlotView| views.iter().any(|view| view.id == log.geometry.segment_of(v.addr));
    let (slot, _) = kept.iter().find(|(_, v)| !is_mine(v))?;
    Some(SlotError { slot: slot.0, what: "it is for a page in a segment of another namespace" })
}

/// Slots of records that were never committed: everything of a stream after its first page that is not full.
fn split_orphans(mine: &[(SlotId, SlotView)], page_bytes: u32) -> (Vec<(SlotId, SlotView)>, Vec<SlotId>) {
    let (mut kept, mut orphans) = (Vec::new(), Vec::new());
    for stream in Stream::ALL {
        let mut of: Vec<_> = mine.iter().filter(|(_, v)| v.stream == stream).copied().collect();
        of.sort_by_key(|(_, v)| v.sequence);
        let tail = of.iter().position(|(_, v)| v.state == SlotState::Open && v.published < page_bytes);
        let forgotten = planted::is(Fault::OpenPageForgotten);
        let end = tail.map_or(of.len(), |t| t + usize::from(!forgotten));
        kept.extend(of.iter().take(end));
        orphans.extend(of.iter().skip(end).map(|(s, _)| *s));
    }
    (kept, orphans)
}

struct Probe<'a, M> {
    log: &'a Log,
    m: &'a M,
    kept: &'a [(SlotId, SlotView)],
    /// Every page that was looked at, and whether one of them was not here.
    looked: Reads,
    missing: bool,
    damage: Option<Damage>,
}

impl<M: SegmentStore> Probe<'_, M> {
    fn segment(&mut self, id: SegmentId, written: u32) -> Option<Recovered> {
        let geometry = self.log.geometry;
        let slots = self.kept.iter().filter(|(_, v)| geometry.segment_of(v.addr) == id);
        let slot_pages = slots.map(|(_, v)| geometry.index_of(v.addr) + 1).max().unwrap_or(0);
        let pages = written.max(slot_pages);
        let first = (0..pages).find_map(|n| self.header(geometry.page(id, n)))?;
        let last = (0..pages).rev().find_map(|n| self.header(geometry.page(id, n)))?;
        self.check_streams(id, first.1, last.1);
        Some(Recovered { id, stream: first.1, pages, first_sequence: first.0, last_sequence: last.0 })
    }

    /// A segment is written by one append point. Two of them in it would program its pages out of order.
    fn check_streams(&mut self, id: SegmentId, first: Stream, last: Stream) {
        if self.missing {
            return;
        }
        let geometry = self.log.geometry;
        let mut slots = self.kept.iter().filter(|(_, v)| geometry.segment_of(v.addr) == id);
        if let Some((slot, _)) = slots.find(|(_, v)| v.stream != first) {
            let what = "it is for a page in a segment of another append point";
            self.damage.get_or_insert(SlotError { slot: slot.0, what }.into());
        } else if first != last {
            let what = "its segment was begun by another append point";
            let at = geometry.page(id, 0);
            self.damage.get_or_insert(Damage::page(&geometry, at, what));
        }
    }

    /// Sequence and stream of a page; notes what is missing or damaged.
    fn header(&mut self, at: PageAddr) -> Option<(u64, Stream)> {
        if let Some((_, v)) = self.kept.iter().find(|(_, v)| v.addr == at) {
            return Some((v.sequence, v.stream));
        }
        self.looked.push(at);
        match header_at(self.m, at) {
            Step::Done(Ok(header)) => header.map(|h| (h.sequence, h.stream)),
            Step::Done(Err(what)) => {
                self.damage.get_or_insert(Damage::page(&self.log.geometry, at, what));
                None
            }
            _ => {
                self.missing = true;
                // Any answer ends the search until the page is here.
                Some((0, Stream::User))
            }
        }
    }
}

/// Programs always write a header, and cells that are not whole are torn. So something behind an empty header is
/// damage, and taking it for an erased page would let the append point pass over it.
const HEADERLESS: &str = "it is not erased and has no header";

fn header_at<M: SegmentStore>(m: &M, at: PageAddr) -> Step<Result<Option<PageHeader>, String>> {
    match m.page(at) {
        Page::Resident { oob, .. } => Step::Done(match PageHeader::decode(oob, at) {
            Ok(None) => Err(HEADERLESS.into()),
            header => header.map_err(|e| e.to_string()),
        }),
        Page::Absent => Step::Need(vec![at]),
        Page::Erased | Page::Torn => Step::Done(Ok(None)),
        Page::Failed => Step::Done(Err("it cannot be read".into())),
    }
}

/// Enters segments, slots and append points into the log.
fn adopt<M: SegmentStore>(
    log: &mut Log,
    m: &mut M,
    image: &LogImage,
    kept: &[(SlotId, SlotView)],
    orphans: &[SlotId],
) {
    for slot in orphans {
        m.page_buffer_mut().release(*slot);
    }
    for r in &image.segments {
        let segment = log.segment_mut(r.id);
        segment.state = SegmentState::Closed;
        segment.stream = r.stream as u8;
        segment.next_page = r.pages;
        log.held += 1;
        log.next_sequence = log.next_sequence.max(r.last_sequence.saturating_add(1));
    }
    let written: Vec<_> = m.survey();
    // Pages of a segment are programmed in order, whatever their sequence numbers say.
    let mut kept = kept.to_vec();
    kept.sort_by_key(|(_, v)| v.addr);
    for (slot, v) in &kept {
        log.next_sequence = log.next_sequence.max(v.sequence.saturating_add(1));
        let segment = log.geometry.segment_of(v.addr);
        let pages = written.iter().find(|w| w.id == segment).map_or(0, |w| w.written_pages);
        adopt_slot(log, m, *slot, v, pages > log.geometry.index_of(v.addr) + 1);
    }
    close_evacuated(log, m);
    for stream in Stream::ALL {
        resume(log, m, stream, image);
    }
}

/// `passed`: a later page of the segment is programmed, so this one may not be any more.
fn adopt_slot<M: SegmentStore>(log: &mut Log, m: &mut M, slot: SlotId, v: &SlotView, passed: bool) {
    let (id, index) = (log.geometry.segment_of(v.addr), log.geometry.index_of(v.addr));
    let whole = v.state == SlotState::Sealed
        && matches!(m.page(v.addr), Page::Resident { data, oob }
        if data == m.page_buffer().data(slot) && oob == m.page_buffer().oob(slot));
    if whole {
        m.page_buffer_mut().release(slot);
        return;
    }
    let pages = log.geometry.segment_pages;
    log.segment_mut(id).set_slot(index, slot, pages);
    let blank = matches!(m.page(v.addr), Page::Erased) && !passed;
    let is_last = log.segment(id).next_page == index + 1;
    if v.state == SlotState::Open && v.published < log.geometry.page_bytes && blank && is_last {
        *log.append_point(v.stream) = Append {
            segment: Some(id),
            open: Some((slot, v.addr)),
            offset: v.published,
            ..Append::default()
        };
        log.segment_mut(id).state = SegmentState::Open;
        return;
    }
    if v.state == SlotState::Open {
        m.page_buffer_mut().seal(slot, true);
    }
    if blank {
        log.segment_mut(id).in_flight += 1;
        m.program(v.addr, slot, Order::Any);
    } else {
        // Torn: the page is spent, its content is in the slot until the segment is collected.
        log.segment_mut(id).evacuate = true;
        log.set_failed(id, index, saker_segment_store::Tag::default());
    }
}

/// An append point in a segment that must be evacuated stops there: only closed segments are collected.
fn close_evacuated<M: SegmentStore>(log: &mut Log, m: &mut M) {
    for stream in Stream::ALL {
        if log.append_point(stream).segment.is_some_and(|id| log.segment(id).evacuate) {
            log.close_segment(stream, m);
        }
    }
}

/// A stream goes on in its youngest segment if that has pages left and is sound.
fn resume<M: SegmentStore>(log: &mut Log, _m: &mut M, stream: Stream, image: &LogImage) {
    if log.append_point(stream).segment.is_some() || stream == Stream::Checkpoint {
        return;
    }
    let youngest = image.segments.iter().filter(|r| r.stream == stream).max_by_key(|r| r.last_sequence);
    let Some(r) = youngest else { return };
    if r.pages < log.geometry.segment_pages && !log.segment(r.id).evacuate {
        log.segment_mut(r.id).state = SegmentState::Open;
        *log.append_point(stream) = Append { segment: Some(r.id), ..Append::default() };
    }
}
