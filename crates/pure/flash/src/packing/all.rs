// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All Packing: every value follows the one before it (section 3.3.1, after KAML).

use super::{Arrival, BufferShape, Packing, Placed};

/// Values without gaps. One that comes by DMA is copied unless the write pointer happens to be aligned.
#[derive(Clone, Copy, Debug)]
pub struct All {
    shape: BufferShape,
    write_pointer: u64,
}

impl All {
    /// An empty log.
    pub fn new(shape: BufferShape) -> Self {
        Self { shape, write_pointer: 0 }
    }
}

impl Packing for All {
    fn place(&mut self, value: Arrival) -> Placed {
        let at = self.write_pointer;
        self.write_pointer += u64::from(value.bytes());
        let lands_here = matches!(value, Arrival::Dma(_)) && self.shape.aligned(at) == at;
        Placed { at, copied_bytes: if lands_here { 0 } else { value.bytes() } }
    }

    fn end(&self) -> u64 {
        self.write_pointer
    }
}
