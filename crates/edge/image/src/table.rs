// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is known in memory about cells: epochs and page states, found at open and kept up to date.
//!
//! Pages and segments are counted, or were held against the geometry by who read their numbers somewhere.

use super::layout::Layout;
use super::oob::{self, Oob};
use super::states::{PageState, PageStates};
use super::{ImageError, scan};
use saker_segment_store::{Geometry, PageAddr, SegmentId};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// Epochs and page states.
#[derive(Debug)]
pub(super) struct PageTable {
    geometry: Geometry,
    epochs: Vec<u32>,
    states: PageStates,
    /// Pages up to and including the last one that is not erased, for each segment.
    written: Vec<u32>,
    programmed: u64,
}

impl PageTable {
    /// All erased, with those epochs.
    pub fn new(geometry: Geometry, epochs: Vec<u32>) -> Self {
        let pages = u64::from(geometry.segments) * u64::from(geometry.segment_pages);
        let written = vec![0; epochs.len()];
        Self { geometry, epochs, states: PageStates::new(pages), written, programmed: 0 }
    }

    /// The table of a file. `raise`: whether an epoch may be behind, as after a crash of the operating system;
    /// a sound header of a later cycle proves the erase that the table forgot. Such segments are returned too.
    pub fn load(file: &File, path: &Path, layout: &Layout, epochs: Vec<u32>, raise: bool) -> Loaded {
        Self::load_mended(file, path, layout, epochs, raise, &BTreeMap::new())
    }

    /// The same with other out-of-band bytes for some pages.
    pub fn load_mended(
        file: &File,
        path: &Path,
        layout: &Layout,
        epochs: Vec<u32>,
        raise: bool,
        mended: &BTreeMap<PageAddr, Vec<u8>>,
    ) -> Loaded {
        let mut table = Self::new(layout.geometry, epochs);
        let (mut raised, mut late) = (Vec::new(), None);
        let see = &mut |at, oob: &[u8]| {
            let oob = mended.get(&at).map_or(oob, Vec::as_slice);
            match table.enter(at, oob) {
                Some(epoch) if raise => {
                    let segment = layout.geometry.segment_of(at);
                    table.clear(segment, epoch);
                    raised.push(segment);
                    table.enter(at, oob);
                }
                Some(_) => late = late.or(Some(at)),
                None => {}
            }
        };
        scan::written_oob(file, layout, see).map_err(ImageError::io(path, "read"))?;
        match late {
            Some(at) => Err(ImageError::damaged(path, late_page(&layout.geometry, at))),
            None => Ok((table, raised)),
        }
    }

    /// Notes what is at a page; gives the epoch if that is later than the table's.
    fn enter(&mut self, at: PageAddr, bytes: &[u8]) -> Option<u32> {
        match oob::read(bytes, at, self.epoch(self.geometry.segment_of(at))) {
            Oob::Erased => {}
            Oob::Torn => self.set(at, PageState::Torn),
            // Bad pages are shown as they are: the checks above name them.
            Oob::Sound(_) | Oob::Damaged(_) => self.set(at, PageState::Programmed),
            Oob::Later(epoch) => return Some(epoch),
        }
        None
    }

    #[inline]
    pub fn state(&self, at: PageAddr) -> PageState {
        self.states.get(at.0)
    }

    /// Notes a page that is no longer erased.
    pub fn set(&mut self, at: PageAddr, state: PageState) {
        debug_assert_ne!(state, PageState::Erased, "pages are erased by the segment");
        self.programmed -= u64::from(self.state(at) == PageState::Programmed);
        self.programmed += u64::from(state == PageState::Programmed);
        self.states.set(at.0, state);
        let written = &mut self.written[self.geometry.segment_of(at).0 as usize];
        *written = (*written).max(self.geometry.index_of(at) + 1);
    }

    /// Erases a segment, which enters that cycle.
    pub fn clear(&mut self, segment: SegmentId, epoch: u32) {
        for index in 0..self.written(segment) {
            let page = self.geometry.page(segment, index).0;
            self.programmed -= u64::from(self.states.get(page) == PageState::Programmed);
            self.states.set(page, PageState::Erased);
        }
        self.written[segment.0 as usize] = 0;
        self.epochs[segment.0 as usize] = epoch;
    }

    #[inline]
    pub fn epoch(&self, segment: SegmentId) -> u32 {
        self.epochs[segment.0 as usize]
    }

    /// Whether a segment is in that cycle and nothing was written to it.
    pub fn is_blank(&self, segment: SegmentId, epoch: u32) -> bool {
        self.written(segment) == 0 && self.epoch(segment) == epoch
    }

    pub fn written(&self, segment: SegmentId) -> u32 {
        self.written[segment.0 as usize]
    }

    pub fn programmed(&self) -> u64 {
        self.programmed
    }
}

/// The table, and segments whose epoch must be written.
pub(super) type Loaded = Result<(PageTable, Vec<SegmentId>), ImageError>;

/// How a page of a later cycle is named.
pub(super) fn late_page(geometry: &Geometry, at: PageAddr) -> String {
    let (segment, index) = (geometry.segment_of(at).0, geometry.index_of(at));
    format!("page {} (segment {segment}, index {index}) is of a later erase cycle than the epoch table", at.0)
}
