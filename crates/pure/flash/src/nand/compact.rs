// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cells in memory whose runs of equal bytes are counted: for long runs whose values are mostly filler. What is read is what was
//! programmed; only memory differs, and the processor time that it takes.

mod runs;

use super::{Cell, Cells, Shape};
use runs::{Counter, spread};
use saker_segment_store::{CellError, PageAddr, PowerHistory, SegmentId};
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;
use std::sync::Arc;

/// Bytes of pages that are spread out, so that they can be looked at, at most behind [`Cells::settle`].
const SPREAD_BYTES_MAX: usize = 16 << 20;
/// A page.
#[derive(Debug, Default)]
enum Page {
    #[default]
    Erased,
    Torn,
    Programmed {
        /// Data and out of band, one after the other, their runs counted. Copies share it.
        counted: Arc<[u8]>,
        /// The same bytes as they were programmed, while somebody looks.
        spread: OnceCell<Box<[u8]>>,
    },
}

impl Clone for Page {
    fn clone(&self) -> Self {
        match self {
            Self::Erased => Self::Erased,
            Self::Torn => Self::Torn,
            Self::Programmed { counted, .. } => {
                Self::Programmed { counted: Arc::clone(counted), spread: OnceCell::new() }
            }
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Segment {
    epoch: u32,
    /// As far as pages were programmed.
    pages: Vec<Page>,
}

/// Flash cells in memory, their runs of equal bytes counted. Power is not cut over them.
#[derive(Clone, Debug)]
pub struct CompactCells {
    shape: Shape,
    segments: Vec<Segment>,
    programmed: u64,
    erasing: BTreeSet<u16>,
    saved: BTreeMap<u16, bool>,
    /// Pages that are spread out.
    looked_at: RefCell<Vec<PageAddr>>,
    counter: Counter,
}

impl CompactCells {
    /// Erased flash of that shape.
    pub fn new(shape: Shape) -> Self {
        let segments = vec![Segment::default(); shape.geometry.segments as usize];
        Self {
            shape,
            segments,
            programmed: 0,
            erasing: BTreeSet::new(),
            saved: BTreeMap::new(),
            looked_at: RefCell::default(),
            counter: Counter::default(),
        }
    }

    /// Sets a page.
    fn put(&mut self, at: PageAddr, page: Page) {
        let g = self.shape.geometry;
        let (pages, n) = (&mut self.segments[g.segment_of(at).0 as usize].pages, g.index_of(at) as usize);
        pages.resize(pages.len().max(n + 1), Page::Erased);
        let counts = |page: &Page| u64::from(matches!(page, Page::Programmed { .. }));
        self.programmed += counts(&page);
        self.programmed -= counts(&std::mem::replace(&mut pages[n], page));
    }
}

impl Cells for CompactCells {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn cell(&self, at: PageAddr) -> Cell<'_> {
        let g = &self.shape.geometry;
        let pages = &self.segments[g.segment_of(at).0 as usize].pages;
        let page_bytes = g.page_bytes as usize;
        match pages.get(g.index_of(at) as usize) {
            None | Some(Page::Erased) => Cell::Erased,
            Some(Page::Torn) => Cell::Torn,
            Some(Page::Programmed { counted, spread: seen }) => {
                let bytes = seen.get_or_init(|| {
                    self.looked_at.borrow_mut().push(at);
                    spread(counted, page_bytes + g.oob_bytes as usize)
                });
                let (data, oob) = bytes.split_at(page_bytes);
                Cell::Programmed { data, oob }
            }
        }
    }

    fn settle(&mut self) {
        let g = self.shape.geometry;
        if self.looked_at.get_mut().len() * (g.page_bytes as usize) < SPREAD_BYTES_MAX {
            return;
        }
        for at in take(self.looked_at.get_mut()) {
            let pages = &mut self.segments[g.segment_of(at).0 as usize].pages;
            if let Some(Page::Programmed { spread, .. }) = pages.get_mut(g.index_of(at) as usize) {
                spread.take();
            }
        }
    }

    fn program(&mut self, at: PageAddr, data: &[u8], oob: &[u8]) -> Result<(), CellError> {
        self.settle();
        let counted = self.counter.count([data, oob]);
        self.put(at, Page::Programmed { counted, spread: OnceCell::new() });
        Ok(())
    }

    fn erase(&mut self, segment: SegmentId) -> Result<(), CellError> {
        let s = &mut self.segments[segment.0 as usize];
        let programmed = |page: &&Page| matches!(page, Page::Programmed { .. });
        self.programmed -= take(&mut s.pages).iter().filter(programmed).count() as u64;
        s.epoch += 1;
        Ok(())
    }

    fn erasing(&self) -> &BTreeSet<u16> {
        &self.erasing
    }

    fn set_erasing(&mut self, owners: BTreeSet<u16>) -> Result<(), CellError> {
        self.erasing = owners;
        Ok(())
    }

    fn saved(&self, owner: u16) -> Option<bool> {
        self.saved.get(&owner).copied()
    }

    fn save(&mut self, owner: u16, error_on_delete: bool) -> Result<(), CellError> {
        self.saved.insert(owner, error_on_delete);
        Ok(())
    }

    fn tear(&mut self, at: PageAddr) {
        self.put(at, Page::Torn);
    }

    fn epoch(&self, segment: SegmentId) -> u32 {
        self.segments[segment.0 as usize].epoch
    }

    fn written_pages(&self, segment: SegmentId) -> u32 {
        let pages = &self.segments[segment.0 as usize].pages;
        pages.iter().rposition(|page| !matches!(page, Page::Erased)).map_or(0, |n| n as u32 + 1)
    }

    fn sync(&mut self) -> Result<(), CellError> {
        Ok(())
    }

    fn history(&self) -> PowerHistory {
        PowerHistory::Clean
    }

    fn bytes_in_use(&self) -> u64 {
        let g = &self.shape.geometry;
        self.programmed * u64::from(g.page_bytes + g.oob_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::runs::tests::bytes;
    use super::*;
    use crate::nand::MemCells;
    use saker_segment_store::Geometry;
    use saker_sim::Seed;

    const G: Geometry = Geometry { page_bytes: 512, oob_bytes: 64, segment_pages: 8, segments: 4 };
    const SHAPE: Shape = Shape { geometry: G, channels: 1, luns: 2 };

    /// Whatever is done, they are cells that cannot be told from plain ones.
    #[test]
    fn they_hold_what_plain_cells_hold() {
        let mut rng = Seed(1).rng();
        let (mut plain, mut compact) = (MemCells::new(SHAPE), CompactCells::new(SHAPE));
        for _ in 0..2000 {
            let at = PageAddr(rng.below(32));
            let (data, oob) = (bytes(&mut rng, 512), bytes(&mut rng, 64));
            let (segment, what) = (G.segment_of(at), rng.below(12));
            for cells in [&mut plain as &mut dyn Cells, &mut compact] {
                match what {
                    0 => cells.erase(segment).expect("memory takes everything"),
                    1 => cells.tear(at),
                    _ => cells.program(at, &data, &oob).expect("memory takes everything"),
                }
            }
            let (a, b) = (plain.cell(at), compact.cell(at));
            assert_eq!(format!("{a:?}"), format!("{b:?}"));
            let told = |c: &dyn Cells| (c.epoch(segment), c.written_pages(segment), c.bytes_in_use());
            assert_eq!(told(&plain), told(&compact));
        }
    }

    /// Memory: a copy shares pages, and pages that were looked at do not stay spread out.
    #[test]
    fn filler_takes_no_memory() {
        let geometry = Geometry { page_bytes: 16384, oob_bytes: 64, segment_pages: 2048, segments: 1 };
        let mut cells = CompactCells::new(Shape { geometry, channels: 1, luns: 1 });
        for n in 0..2048 {
            cells.program(PageAddr(n), &[7; 16384], &[1; 64]).expect("memory takes everything");
            assert!(matches!(cells.cell(PageAddr(n)), Cell::Programmed { data, .. } if data == [7; 16384]));
        }
        let spread = cells.looked_at.get_mut().len() * 16384;
        assert!((1..=SPREAD_BYTES_MAX).contains(&spread), "{spread} bytes");
        let copy = cells.clone();
        let Page::Programmed { counted, .. } = &copy.segments[0].pages[2047] else { panic!("programmed") };
        assert_eq!((counted.len(), Arc::strong_count(counted)), (22, 2));
    }
}
