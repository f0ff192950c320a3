// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Block: every value begins at a memory page, and none straddles NAND pages (section 2.3, the baseline).

use super::{Arrival, BufferShape, Packing, Placed};

/// Values in whole memory pages.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    shape: BufferShape,
    write_pointer: u64,
}

impl Block {
    /// An empty log.
    pub fn new(shape: BufferShape) -> Self {
        Self { shape, write_pointer: 0 }
    }
}

impl Packing for Block {
    fn place(&mut self, value: Arrival) -> Placed {
        let page = u64::from(self.shape.page_bytes);
        let bytes = self.shape.aligned(u64::from(value.bytes()));
        if self.write_pointer % page + bytes > page {
            self.write_pointer = self.write_pointer.next_multiple_of(page);
        }
        let at = self.write_pointer;
        self.write_pointer += bytes;
        let copied_bytes = if let Arrival::Piggybacked(bytes) = value { bytes } else { 0 };
        Placed { at, copied_bytes }
    }

    fn end(&self) -> u64 {
        self.write_pointer
    }
}
