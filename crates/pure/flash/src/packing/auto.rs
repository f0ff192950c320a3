//! Our own: backfilling as long as there is something to fill gaps with, packing else.
//!
//! BandSlim names such a controller as future work (section 4.3). A value that comes by DMA stays where it lands while the
//! gaps this leaves open are no more than one NAND page, which small values will close; otherwise it is copied to the end
//! of the log. So pages are nearly those of All, and copies are never more.

use super::{Arrival, BufferShape, Dlt, DltEntry, Packing, Placed};

/// What to save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// NAND pages.
    Pages,
    /// Time: while NAND keeps up, nothing is copied; while pages wait for it, larger gaps are left where programming them
    /// costs less than the copy.
    Time {
        /// Picoseconds to copy a byte.
        copy_byte_ps: u64,
        /// Picoseconds a page costs: its program time, divided among dies that work at once.
        page_ps: u64,
    },
}

/// Backfilling with a budget of gaps.
#[derive(Clone, Debug)]
pub struct Auto {
    shape: BufferShape,
    goal: Goal,
    write_pointer: u64,
    /// Behind the last value.
    end: u64,
    /// Bytes between the write pointer and the end that are not taken.
    open_bytes: u64,
    /// Half of the buffer waits for NAND.
    is_backed_up: bool,
    dlt: Dlt,
}

impl Auto {
    /// An empty log.
    pub fn new(shape: BufferShape, goal: Goal) -> Self {
        Self {
            shape,
            goal,
            write_pointer: 0,
            end: 0,
            open_bytes: 0,
            is_backed_up: false,
            dlt: Dlt::new(shape),
        }
    }

    fn jump(&mut self) {
        if let Some(entry) = self.dlt.pop() {
            self.open_bytes -= entry.at - self.write_pointer;
            self.write_pointer = entry.end();
        }
    }

    fn pack(&mut self, bytes: u32) -> u64 {
        while self.dlt.head().is_some_and(|e| self.write_pointer + u64::from(bytes) > e.at) {
            self.jump();
        }
        if self.dlt.head().is_some() {
            self.open_bytes -= u64::from(bytes);
        }
        let at = self.write_pointer;
        self.write_pointer += u64::from(bytes);
        self.end = self.end.max(self.write_pointer);
        at
    }

    /// Whether a value of `bytes` bytes may leave a gap of `gap` bytes.
    fn may_leave(&self, gap: u64, bytes: u32) -> bool {
        let page = u64::from(self.shape.page_bytes);
        let unfilled = (self.open_bytes + gap).saturating_sub(page);
        match self.goal {
            Goal::Pages => unfilled == 0,
            Goal::Time { copy_byte_ps, page_ps } => {
                unfilled.min(gap) * page_ps / page <= u64::from(bytes) * copy_byte_ps
            }
        }
    }

    fn land(&mut self, bytes: u32) -> Placed {
        let at = self.shape.aligned(self.end);
        let gap = at - self.end;
        let end = at + u64::from(bytes);
        let spans = self.shape.pages_to(end) - self.shape.page_of(self.write_pointer);
        let fits = !self.dlt.is_full() && spans <= u64::from(self.shape.pages);
        let gives_up_gaps = matches!(self.goal, Goal::Time { .. }) && !self.is_backed_up;
        if gap > 0 && !gives_up_gaps && !(fits && self.may_leave(gap, bytes)) {
            return self.append(bytes);
        }
        if gap == 0 && self.dlt.head().is_none() {
            (self.write_pointer, self.end) = (end, end);
            return Placed { at, copied_bytes: 0 };
        }
        while self.dlt.is_full() {
            self.jump();
        }
        self.dlt.push(DltEntry { at, bytes });
        self.open_bytes += gap;
        self.end = end;
        self.hold_to_buffer();
        Placed { at, copied_bytes: 0 }
    }

    /// Gaps that the buffer cannot hold open any longer stay empty.
    fn hold_to_buffer(&mut self) {
        let (shape, end) = (self.shape, self.end);
        let span = |wp| shape.pages_to(end) - shape.page_of(wp);
        while self.dlt.head().is_some() && span(self.write_pointer) > u64::from(self.shape.pages) {
            self.jump();
        }
    }

    /// Copies a value to the end of the log.
    fn append(&mut self, bytes: u32) -> Placed {
        let at = self.end;
        self.end += u64::from(bytes);
        if self.dlt.head().is_some() {
            self.dlt.extend_last(bytes);
        } else {
            self.write_pointer = self.end;
        }
        self.hold_to_buffer();
        Placed { at, copied_bytes: bytes }
    }
}

impl Packing for Auto {
    fn place(&mut self, value: Arrival) -> Placed {
        match value {
            Arrival::Piggybacked(bytes) => Placed { at: self.pack(bytes), copied_bytes: bytes },
            Arrival::Dma(bytes) => self.land(bytes),
        }
    }

    fn note_buffered(&mut self, pages: u32) {
        self.is_backed_up = 2 * pages > self.shape.pages;
    }

    fn end(&self) -> u64 {
        self.end
    }

    fn settled(&self) -> u64 {
        self.write_pointer
    }
}
