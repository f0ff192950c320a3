// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cells in memory. A copy shares everything and copies a segment when one side writes it, so forking a
//! run to cut its power is cheap.

use super::{Cell, Cells, Shape};
use saker_segment_store::advice::{self, Ahead};
use saker_segment_store::{CellError, Checked, Geometry, PageAddr, PowerHistory, SegmentId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Memory of erased segments that is kept for the next ones, at least: giving it back and taking it again would zero it twice.
const KEPT_BYTES: u64 = 32 << 20;
/// The part of all flash that is kept if that is more: merges of long values leave much at once (docs/decisions/engines-ordered.md).
const KEPT_PART: u64 = 4;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Erased,
    Programmed,
    Torn,
}

/// The vectors reach as far as pages were programmed: memory is touched once, when it is filled.
#[derive(Clone, Debug, Default)]
struct Segment {
    epoch: u32,
    states: Vec<State>,
    data: Vec<u8>,
    oob: Vec<u8>,
    checked: Vec<Checked>,
    ahead: Ahead,
}

impl Segment {
    /// Makes room for the pages up to `n`, and says what the page holds now.
    fn put(&mut self, n: usize, state: State, data: &[u8], oob: &[u8], g: &Geometry) -> State {
        while self.states.len() < n {
            self.push(State::Erased, &[], &[], g);
        }
        if self.states.len() == n {
            self.push(state, data, oob, g);
            return State::Erased;
        }
        self.data[n * g.page_bytes as usize..][..data.len()].copy_from_slice(data);
        self.oob[n * g.oob_bytes as usize..][..oob.len()].copy_from_slice(oob);
        self.checked[n] = Checked::default();
        std::mem::replace(&mut self.states[n], state)
    }

    fn push(&mut self, state: State, data: &[u8], oob: &[u8], g: &Geometry) {
        self.states.push(state);
        self.checked.push(Checked::default());
        advice::append_far(&mut self.data, data);
        self.oob.extend_from_slice(oob);
        self.data.resize(self.states.len() * g.page_bytes as usize, 0);
        self.oob.resize(self.states.len() * g.oob_bytes as usize, 0);
    }
}

/// What memory is asked for early, and what was checked, says nothing of what is stored.
impl PartialEq for Segment {
    fn eq(&self, other: &Self) -> bool {
        let Self { epoch, states, data, oob, checked: _, ahead: _ } = self;
        (*epoch, states, data, oob) == (other.epoch, &other.states, &other.data, &other.oob)
    }
}

/// Flash cells in memory.
#[derive(Clone, Debug)]
pub struct MemCells {
    shape: Shape,
    /// Memory for segments to come: brought in ahead of use, or left by erased ones. A copy has none.
    ready: Vec<Vec<u8>>,
    /// Whether all memory of erased segments is kept for the next ones.
    keeps: bool,
    segments: Vec<Arc<Segment>>,
    history: PowerHistory,
    power_ons: u64,
    programmed: u64,
    /// What a device keeps in its system area.
    erasing: BTreeSet<u16>,
    saved: BTreeMap<u16, bool>,
}

/// Equal cells are those that a device which is switched on over them cannot tell apart.
impl PartialEq for MemCells {
    fn eq(&self, other: &Self) -> bool {
        let mut segments = self.segments.iter().zip(&other.segments);
        let is_told = |c: &Self| (c.shape, c.history, c.power_ons);
        is_told(self) == is_told(other)
            && (&self.erasing, &self.saved) == (&other.erasing, &other.saved)
            && segments.all(|(a, b)| Arc::ptr_eq(a, b) || a == b)
    }
}

impl MemCells {
    /// Erased flash of that shape. Memory is taken as pages are programmed.
    pub fn new(shape: Shape) -> Self {
        let blank = Arc::new(Segment::default());
        let segments = (0..shape.geometry.segments).map(|_| Arc::clone(&blank)).collect();
        Self {
            shape,
            ready: Vec::new(),
            keeps: false,
            segments,
            history: PowerHistory::Clean,
            power_ons: 1,
            programmed: 0,
            erasing: BTreeSet::new(),
            saved: BTreeMap::new(),
        }
    }

    /// Says how the last run ended; the next power-on sees it.
    pub fn set_history(&mut self, history: PowerHistory) {
        self.history = history;
        self.power_ons += 1;
    }

    /// Sets a page; returns what it was.
    fn put(&mut self, at: PageAddr, state: State, data: &[u8], oob: &[u8]) -> State {
        let g = self.shape.geometry;
        let s = Arc::make_mut(&mut self.segments[g.segment_of(at).0 as usize]);
        if s.data.capacity() == 0 {
            s.data =
                self.ready.pop().filter(|memory| memory.capacity() > 0).unwrap_or_else(|| new_segment(&g));
        }
        let was = s.put(g.index_of(at) as usize, state, data, oob, &g);
        if s.ahead.fill(&s.data, s.data.len()) && self.ready.is_empty() && advice::is_installed() {
            self.prepare();
        }
        was
    }

    /// The end of a segment's memory is near: memory for the next one, the first of it asked for.
    #[cold]
    fn prepare(&mut self) {
        let memory = new_segment(&self.shape.geometry);
        Ahead::default().fill(&memory, 0);
        self.ready.push(memory);
    }
}

/// Segments whose memory is kept: one at least, however long they are.
fn kept_max(g: &Geometry) -> usize {
    let kept = KEPT_BYTES.max(u64::from(g.segments) * g.segment_bytes() / KEPT_PART);
    (kept / g.segment_bytes()).max(1) as usize
}

/// Memory for the data of a segment, not touched yet.
fn new_segment(g: &Geometry) -> Vec<u8> {
    let memory = Vec::with_capacity(g.segment_bytes() as usize);
    advice::will_use(&memory);
    memory
}

impl Cells for MemCells {
    fn shape(&self) -> Shape {
        self.shape
    }

    #[inline]
    fn cell(&self, at: PageAddr) -> Cell<'_> {
        let g = &self.shape.geometry;
        let s = &self.segments[g.segment_of(at).0 as usize];
        let n = g.index_of(at) as usize;
        match s.states.get(n).copied().unwrap_or_default() {
            State::Erased => Cell::Erased,
            State::Torn => Cell::Torn,
            State::Programmed => {
                let (page, oob) = (g.page_bytes as usize, g.oob_bytes as usize);
                Cell::Programmed {
                    data: &s.data[n * page..(n + 1) * page],
                    oob: &s.oob[n * oob..(n + 1) * oob],
                }
            }
        }
    }

    #[inline]
    fn checked(&self, at: PageAddr) -> Option<&Checked> {
        let g = &self.shape.geometry;
        self.segments[g.segment_of(at).0 as usize].checked.get(g.index_of(at) as usize)
    }

    fn bring_in(&mut self) {
        let g = self.shape.geometry;
        let bare = self.segments.iter().filter(|s| s.data.capacity() == 0).count();
        for _ in self.ready.len()..bare {
            let memory = new_segment(&g);
            advice::bring_in(&memory);
            self.ready.push(memory);
        }
        self.keeps = true;
    }

    fn program(&mut self, at: PageAddr, data: &[u8], oob: &[u8]) -> Result<(), CellError> {
        let was = self.put(at, State::Programmed, data, oob);
        self.programmed += u64::from(was != State::Programmed);
        Ok(())
    }

    fn erase(&mut self, segment: SegmentId) -> Result<(), CellError> {
        let s = &mut self.segments[segment.0 as usize];
        self.programmed -= s.states.iter().filter(|s| **s == State::Programmed).count() as u64;
        let erased = Arc::new(Segment { epoch: s.epoch + 1, ..Segment::default() });
        let old = std::mem::replace(s, erased);
        if (self.keeps || self.ready.len() < kept_max(&self.shape.geometry))
            && let Some(old) = Arc::into_inner(old)
        {
            let mut memory = old.data;
            memory.clear();
            self.ready.push(memory);
        }
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
        let was = self.put(at, State::Torn, &[], &[]);
        self.programmed -= u64::from(was == State::Programmed);
    }

    fn epoch(&self, segment: SegmentId) -> u32 {
        self.segments[segment.0 as usize].epoch
    }

    fn written_pages(&self, segment: SegmentId) -> u32 {
        let states = &self.segments[segment.0 as usize].states;
        states.iter().rposition(|s| *s != State::Erased).map_or(0, |n| n as u32 + 1)
    }

    fn sync(&mut self) -> Result<(), CellError> {
        Ok(())
    }

    fn power_ons(&self) -> u64 {
        self.power_ons
    }

    fn history(&self) -> PowerHistory {
        self.history
    }

    fn bytes_in_use(&self) -> u64 {
        let g = &self.shape.geometry;
        self.programmed * u64::from(g.page_bytes + g.oob_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_segment_store::Geometry;

    #[test]
    fn memory_brought_in_changes_nothing() {
        let geometry = Geometry { page_bytes: 64, oob_bytes: 8, segment_pages: 4, segments: 2 };
        let shape = Shape { geometry, channels: 1, luns: 2 };
        let (mut plain, mut ready) = (MemCells::new(shape), MemCells::new(shape));
        ready.bring_in();
        assert_eq!(ready.ready.len(), 2);
        for m in [&mut plain, &mut ready] {
            m.program(PageAddr(1), &[7; 64], &[1; 8]).expect("erased");
            m.erase(SegmentId(0)).expect("sound");
            m.program(PageAddr(2), &[9; 64], &[2; 8]).expect("erased");
        }
        for page in 0..8 {
            let (a, b) = (plain.cell(PageAddr(page)), ready.cell(PageAddr(page)));
            assert_eq!(format!("{a:?}"), format!("{b:?}"), "page {page}");
        }
        assert_eq!((ready.ready.len(), ready.bytes_in_use()), (1, plain.bytes_in_use()));
    }

    #[test]
    fn memory_of_the_longest_segment_is_kept_too() {
        let geometry = Geometry { page_bytes: 1 << 20, oob_bytes: 8, segment_pages: 48, segments: 3 };
        assert!(geometry.segment_bytes() > KEPT_BYTES);
        let mut m = MemCells::new(Shape { geometry, channels: 1, luns: 1 });
        for segment in 0..2 {
            m.program(PageAddr(48 * segment), &[7; 64], &[1; 8]).expect("erased");
        }
        (0..2).for_each(|segment| m.erase(SegmentId(segment)).expect("sound"));
        assert_eq!(m.ready.len(), 1, "that of one");
        m.program(PageAddr(96), &[9; 64], &[2; 8]).expect("erased");
        assert!(m.ready.is_empty());
        let Cell::Programmed { data, .. } = m.cell(PageAddr(96)) else { panic!("programmed") };
        assert!(
            data[..64] == [9; 64] && data[64..].iter().all(|byte| *byte == 0),
            "nothing is left of the old"
        );
    }

    #[test]
    fn the_next_segment_is_prepared_before_the_last_one_is_full() {
        fn nothing(_: *const u8, _: usize) {}
        let append_far = Vec::extend_from_slice;
        advice::install(advice::Advice { huge: nothing, bring: nothing, soon: nothing, append_far });
        let geometry = Geometry { page_bytes: 64, oob_bytes: 8, segment_pages: 4, segments: 2 };
        let mut m = MemCells::new(Shape { geometry, channels: 1, luns: 2 });
        m.program(PageAddr(0), &[7; 64], &[1; 8]).expect("erased");
        let [prepared] = &m.ready[..] else { panic!("memory for one segment") };
        let memory = prepared.as_ptr();
        m.program(PageAddr(4), &[8; 64], &[2; 8]).expect("erased");
        assert!(matches!(m.cell(PageAddr(4)), Cell::Programmed { data, .. } if data.as_ptr() == memory));
    }

    #[test]
    fn a_fork_shares_until_one_side_writes() {
        let geometry = Geometry { page_bytes: 64, oob_bytes: 64, segment_pages: 4, segments: 2 };
        let mut a = MemCells::new(Shape { geometry, channels: 1, luns: 2 });
        a.program(PageAddr(0), &[1; 64], &[2; 64]).expect("erased");
        let mut b = a.clone();
        b.erase(SegmentId(0)).expect("erases");
        assert!(matches!(a.cell(PageAddr(0)), Cell::Programmed { data, .. } if data == [1; 64]));
        assert!(matches!(b.cell(PageAddr(0)), Cell::Erased));
        assert_eq!((a.epoch(SegmentId(0)), b.epoch(SegmentId(0))), (0, 1));
        assert_eq!((a.bytes_in_use(), b.bytes_in_use()), (128, 0));
        b.tear(PageAddr(6));
        assert_eq!((b.written_pages(SegmentId(1)), a.written_pages(SegmentId(1))), (3, 0));
    }
}
