// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The cells of a flash, wherever they are kept. Those in memory are known by their type, so that calls of them cost nothing;
//! all others are behind a pointer. So nothing above the cells is compiled once for each way to keep them.

use super::{Cell, Cells, CompactCells, Lasting, MemCells, Shape};
use saker_segment_store::{CellError, Checked, PageAddr, PowerHistory, SegmentId};
use std::any::Any;
use std::collections::BTreeSet;

/// Cells in memory or elsewhere.
#[derive(Debug)]
pub enum AnyCells {
    /// In memory.
    Memory(MemCells),
    /// In memory, their runs of equal bytes counted.
    Compact(CompactCells),
    /// Anywhere else.
    Other(Box<dyn Cells>),
}

impl AnyCells {
    /// The cells, if they are of that type.
    pub fn get<M: Cells>(&self) -> Option<&M> {
        let any: &dyn Any = match self {
            Self::Memory(cells) => cells,
            Self::Compact(cells) => cells,
            Self::Other(cells) => cells.as_ref(),
        };
        any.downcast_ref()
    }

    /// The cells, if they are of that type.
    pub fn get_mut<M: Cells>(&mut self) -> Option<&mut M> {
        let any: &mut dyn Any = match self {
            Self::Memory(cells) => cells,
            Self::Compact(cells) => cells,
            Self::Other(cells) => cells.as_mut(),
        };
        any.downcast_mut()
    }
}

impl Clone for AnyCells {
    /// A copy of cells in memory.
    ///
    /// # Panics
    /// When they are elsewhere: there is one image and no second.
    fn clone(&self) -> Self {
        match self {
            Self::Memory(cells) => Self::Memory(cells.clone()),
            Self::Compact(cells) => Self::Compact(cells.clone()),
            Self::Other(cells) => panic!("cells outside memory are not copied: {cells:?}"),
        }
    }
}

impl From<MemCells> for AnyCells {
    fn from(cells: MemCells) -> Self {
        Self::Memory(cells)
    }
}

impl From<CompactCells> for AnyCells {
    fn from(cells: CompactCells) -> Self {
        Self::Compact(cells)
    }
}

impl<M: Cells> From<Box<M>> for AnyCells {
    fn from(cells: Box<M>) -> Self {
        Self::Other(cells)
    }
}

/// The same call of whichever cells these are.
macro_rules! each {
    ($self:expr, $cells:ident => $call:expr) => {
        match $self {
            AnyCells::Memory($cells) => $call,
            AnyCells::Compact($cells) => $call,
            AnyCells::Other($cells) => $call,
        }
    };
}

impl Cells for AnyCells {
    #[inline]
    fn shape(&self) -> Shape {
        each!(self, c => c.shape())
    }

    #[inline]
    fn cell(&self, at: PageAddr) -> Cell<'_> {
        each!(self, c => c.cell(at))
    }

    #[inline]
    fn checked(&self, at: PageAddr) -> Option<&Checked> {
        each!(self, c => c.checked(at))
    }

    #[inline]
    fn settle(&mut self) {
        each!(self, c => c.settle());
    }

    fn bring_in(&mut self) {
        each!(self, c => c.bring_in());
    }

    #[inline]
    fn program(&mut self, at: PageAddr, data: &[u8], oob: &[u8]) -> Result<(), CellError> {
        each!(self, c => c.program(at, data, oob))
    }

    fn erase(&mut self, segment: SegmentId) -> Result<(), CellError> {
        each!(self, c => c.erase(segment))
    }

    fn erase_unordered(&mut self, segment: SegmentId) -> Result<(), CellError> {
        each!(self, c => c.erase_unordered(segment))
    }

    fn scrap(&mut self, segment: SegmentId) -> Result<(), CellError> {
        each!(self, c => c.scrap(segment))
    }

    fn erasing(&self) -> &BTreeSet<u16> {
        each!(self, c => c.erasing())
    }

    fn set_erasing(&mut self, owners: BTreeSet<u16>) -> Result<(), CellError> {
        each!(self, c => c.set_erasing(owners))
    }

    fn saved(&self, owner: u16) -> Option<bool> {
        each!(self, c => c.saved(owner))
    }

    fn save(&mut self, owner: u16, error_on_delete: bool) -> Result<(), CellError> {
        each!(self, c => c.save(owner, error_on_delete))
    }

    fn lasting(&self) -> Lasting {
        each!(self, c => c.lasting())
    }

    #[inline]
    fn keeps_counters(&self) -> bool {
        match self {
            Self::Memory(_) | Self::Compact(_) => false,
            Self::Other(cells) => cells.keeps_counters(),
        }
    }

    fn keep(&mut self, lasting: Lasting) {
        each!(self, c => c.keep(lasting));
    }

    fn tear(&mut self, at: PageAddr) {
        each!(self, c => c.tear(at));
    }

    #[inline]
    fn epoch(&self, segment: SegmentId) -> u32 {
        each!(self, c => c.epoch(segment))
    }

    #[inline]
    fn written_pages(&self, segment: SegmentId) -> u32 {
        each!(self, c => c.written_pages(segment))
    }

    fn sync(&mut self) -> Result<(), CellError> {
        each!(self, c => c.sync())
    }

    fn allow_syncs_beside(&mut self) -> bool {
        each!(self, c => c.allow_syncs_beside())
    }

    fn begin_sync(&mut self) {
        each!(self, c => c.begin_sync());
    }

    fn ended_sync(&mut self) -> Option<Result<(), CellError>> {
        each!(self, c => c.ended_sync())
    }

    fn give_space_back(&mut self) -> bool {
        each!(self, c => c.give_space_back())
    }

    fn syncs(&self) -> u64 {
        each!(self, c => c.syncs())
    }

    fn erase_needs_sync(&self) -> bool {
        each!(self, c => c.erase_needs_sync())
    }

    fn is_worth_trying(&self) -> bool {
        each!(self, c => c.is_worth_trying())
    }

    #[inline]
    fn is_read_only(&self) -> bool {
        each!(self, c => c.is_read_only())
    }

    fn history(&self) -> PowerHistory {
        each!(self, c => c.history())
    }

    fn power_ons(&self) -> u64 {
        each!(self, c => c.power_ons())
    }

    fn tears_are_hidden(&self) -> bool {
        each!(self, c => c.tears_are_hidden())
    }

    fn bytes_in_use(&self) -> u64 {
        each!(self, c => c.bytes_in_use())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_segment_store::Geometry;

    /// A call that is not passed on would get the trait's default.
    #[test]
    fn what_is_kept_is_found_whichever_way_the_cells_are_known() {
        let geometry = Geometry { page_bytes: 512, oob_bytes: 64, segment_pages: 4, segments: 4 };
        let memory = || MemCells::new(Shape { geometry, channels: 1, luns: 1 });
        let compact = CompactCells::new(memory().shape());
        for mut cells in [AnyCells::from(memory()), compact.into(), AnyCells::from(Box::new(memory()))] {
            assert_eq!(cells.saved(3), None);
            cells.save(3, true).expect("memory takes everything");
            cells.set_erasing(BTreeSet::from([7])).expect("memory takes everything");
            assert_eq!((cells.saved(3), cells.erasing()), (Some(true), &BTreeSet::from([7])));
            let found = cells
                .get::<MemCells>()
                .map(|c| c.saved(3))
                .or(cells.get::<CompactCells>().map(|c| c.saved(3)));
            assert_eq!(found, Some(Some(true)));
        }
    }
}
