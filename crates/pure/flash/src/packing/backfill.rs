//! Selective Packing with Backfilling: piggybacked values fill the gaps before values that came by DMA (section 3.3.3).

use super::{Arrival, BufferShape, Dlt, DltEntry, Packing, Placed};

/// The write pointer stays behind values that come by DMA, and jumps over one when the next value does not fit before it.
#[derive(Clone, Debug)]
pub struct Backfill {
    shape: BufferShape,
    write_pointer: u64,
    /// Behind the last value that came by DMA.
    dma_end: u64,
    dlt: Dlt,
}

impl Backfill {
    /// An empty log.
    pub fn new(shape: BufferShape) -> Self {
        Self { shape, write_pointer: 0, dma_end: 0, dlt: Dlt::new(shape) }
    }

    fn jump(&mut self) {
        if let Some(entry) = self.dlt.pop() {
            self.write_pointer = entry.end();
        }
    }

    fn pack(&mut self, bytes: u32) -> u64 {
        while self.dlt.head().is_some_and(|e| self.write_pointer + u64::from(bytes) > e.at) {
            self.jump();
        }
        let at = self.write_pointer;
        self.write_pointer += u64::from(bytes);
        at
    }

    fn land(&mut self, bytes: u32) -> u64 {
        let at = self.shape.aligned(self.end());
        let end = at + u64::from(bytes);
        // The buffer is limited: gaps that it cannot hold open any longer stay empty (section 4.3).
        let shape = self.shape;
        let span = |wp| shape.pages_to(end) - shape.page_of(wp);
        while self.dlt.is_full()
            || self.dlt.head().is_some() && span(self.write_pointer) > u64::from(self.shape.pages)
        {
            self.jump();
        }
        self.dlt.push(DltEntry { at, bytes });
        self.dma_end = end;
        at
    }
}

impl Packing for Backfill {
    fn place(&mut self, value: Arrival) -> Placed {
        match value {
            Arrival::Piggybacked(bytes) => Placed { at: self.pack(bytes), copied_bytes: bytes },
            Arrival::Dma(bytes) => Placed { at: self.land(bytes), copied_bytes: 0 },
        }
    }

    fn end(&self) -> u64 {
        self.write_pointer.max(self.dma_end)
    }

    fn settled(&self) -> u64 {
        self.write_pointer
    }
}
