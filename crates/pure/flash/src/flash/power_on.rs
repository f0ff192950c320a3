// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Powering on: what is in the cells, whose it is, and what an earlier end left to do.
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

use super::held::Held;
use super::jobs::Jobs;
use super::ordered::Ordered;
use super::reads::ReadPins;
use super::syncs::Syncs;
use super::{Flash, FlashStats};
use crate::ftl::Superblocks;
use crate::nand::{AnyCells, Cell, Cells, FaultPlan, Faults, TimingModel, Timings};
use saker_segment_store::header::page_crc;
use saker_segment_store::{PageAddr, PageBuffer, PageHeader, PowerHistory, SegmentId, SlotState};
use saker_sim::{Class, Instant};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

impl Flash {
    /// Powers flash on: looks at every superblock, gives it to its owner or to the pool, and completes from the
    /// page buffer what a killed process left unfinished.
    pub fn power_on(
        media: impl Into<AnyCells>,
        page_buffer: PageBuffer,
        timings: Option<Timings>,
        faults: FaultPlan,
    ) -> Self {
        Self::with_cells(media.into(), page_buffer, timings, faults)
    }

    fn with_cells(
        media: AnyCells,
        page_buffer: PageBuffer,
        timings: Option<Timings>,
        faults: FaultPlan,
    ) -> Self {
        let shape = media.shape();
        let mut flash = Self {
            pool: Superblocks::new(shape.geometry.segments),
            model: timings.map(|t| TimingModel::new(t, shape)),
            faults: Faults::new(faults),
            now: Instant::ZERO,
            next_tag: 0,
            outstanding: BTreeSet::new(),
            completions: VecDeque::new(),
            jobs: Jobs::default(),
            held: Held::default(),
            ordered: Ordered::default(),
            syncs: Syncs::default(),
            reads: ReadPins::default(),
            programmed: vec![0; shape.geometry.segments as usize * shape.luns as usize],
            powered: true,
            nand: true,
            class: Class::Foreground,
            stats: FlashStats::default(),
            unclaimed: Vec::new(),
            media,
            page_buffer,
            shape,
        };
        match flash.media.history() {
            PowerHistory::Clean => {}
            PowerHistory::Killed => flash.complete_from_ring(),
            PowerHistory::Cut { .. } if flash.media.tears_are_hidden() => flash.find_torn(),
            PowerHistory::Cut { .. } => {}
        }
        flash.find_owners();
        if flash.media.erase_needs_sync() {
            // What was found is relied on from here on. If this fails, so does every Flush.
            let _ = flash.sync_and_cover();
        }
        flash.page_buffer.cover();
        flash
    }

    /// The process died while programs ran; their slots are whole, so they are finished now.
    fn complete_from_ring(&mut self) {
        let Ok(slots) = self.page_buffer.survey() else { return };
        for (slot, view) in slots {
            let segment = self.shape.geometry.segment_of(view.addr);
            let current = self.shape.geometry.contains(view.addr) && self.media.epoch(segment) == view.epoch;
            if view.state == SlotState::Sealed && current {
                // A failure shows as a page that is not whole, which recovery handles.
                let _ =
                    self.media.program(view.addr, self.page_buffer.data(slot), self.page_buffer.oob(slot));
            }
        }
    }

    /// The operating system crashed: a page that is not whole was being written. It is marked, so that a later
    /// run can tell it from damage.
    fn find_torn(&mut self) {
        let geometry = self.shape.geometry;
        for n in 0..geometry.segments {
            for index in 0..self.media.written_pages(SegmentId(n)) {
                let at = geometry.page(SegmentId(n), index);
                let Cell::Programmed { data, oob } = self.media.cell(at) else { continue };
                let whole = |h: PageHeader| h.data_crc == page_crc(data, PageHeader::owner_oob(oob));
                if !PageHeader::decode(oob, at).is_ok_and(|h| h.is_some_and(whole)) {
                    self.media.tear(at);
                }
            }
        }
    }

    fn find_owners(&mut self) {
        let mut by_slot = BTreeMap::new();
        for (_, view) in self.page_buffer.survey().unwrap_or_default() {
            let segment = self.shape.geometry.segment_of(view.addr);
            if self.shape.geometry.contains(view.addr) && self.media.epoch(segment) == view.epoch {
                by_slot.insert(segment, view.owner);
            }
        }
        for n in 0..self.shape.geometry.segments {
            let id = SegmentId(n);
            let written = self.media.written_pages(id);
            let owner = self.header_owner(id, written).or(by_slot.get(&id).copied());
            match owner {
                Some(owner) => {
                    self.pool.adopt(id, owner);
                    self.note_written(id, written);
                }
                None if written == 0 => self.pool.add_free(id, self.media.epoch(id)),
                None => match self.first_programmed(id, written) {
                    // Somebody's data, whoever that is: nobody gets the segment.
                    Some(at) => self.unclaimed.push(at),
                    None => self.erase_again(id),
                },
            }
        }
    }

    /// A half-erased segment is erased again before anybody gets it.
    fn erase_again(&mut self, id: SegmentId) {
        match self.media.erase(id) {
            Ok(()) => self.pool.add_free(id, self.media.epoch(id)),
            Err(error) if error.is_of_host() => self.erase_later(id, error),
            Err(_) => self.pool.retire(id),
        }
    }

    fn first_programmed(&self, id: SegmentId, written: u32) -> Option<PageAddr> {
        let mut pages = (0..written).map(|n| self.shape.geometry.page(id, n));
        pages.find(|at| matches!(self.media.cell(*at), Cell::Programmed { .. }))
    }

    /// The owner named by the first readable page of a segment.
    pub(super) fn header_owner(&self, id: SegmentId, written: u32) -> Option<u16> {
        (0..written).find_map(|n| {
            let at = self.shape.geometry.page(id, n);
            let Cell::Programmed { oob, .. } = self.media.cell(at) else { return None };
            PageHeader::decode(oob, at).ok().flatten().map(|h| h.owner)
        })
    }

    fn note_written(&mut self, id: SegmentId, written: u32) {
        for index in 0..written {
            let at = self.shape.geometry.page(id, index);
            if !matches!(self.media.cell(at), Cell::Erased) {
                let row = (index / self.shape.luns) as u16 + 1;
                let n = self.order_index(at);
                if let Some(last) = self.programmed.get_mut(n) {
                    *last = row.max(*last);
                }
            }
        }
    }
}
