// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Selective Packing: piggybacked values are packed, others stay where DMA puts them (section 3.3.2).

use super::{Arrival, BufferShape, Packing, Placed};

/// The write pointer moves to the end of a value that came by DMA.
#[derive(Clone, Copy, Debug)]
pub struct Selective {
    shape: BufferShape,
    write_pointer: u64,
}

impl Selective {
    /// An empty log.
    pub fn new(shape: BufferShape) -> Self {
        Self { shape, write_pointer: 0 }
    }
}

impl Packing for Selective {
    fn place(&mut self, value: Arrival) -> Placed {
        let (at, copied_bytes) = match value {
            Arrival::Piggybacked(bytes) => (self.write_pointer, bytes),
            Arrival::Dma(_) => (self.shape.aligned(self.write_pointer), 0),
        };
        self.write_pointer = at + u64::from(value.bytes());
        Placed { at, copied_bytes }
    }

    fn end(&self) -> u64 {
        self.write_pointer
    }
}
