// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packing values into the pages of the NAND page buffer (BandSlim, ICPP'24, section 3.3): where a value goes in the
//! linear space of the value log, and what is copied for it.
//!
//! A piggybacked value is copied wherever it goes. A DMA engine writes whole memory pages to addresses that are aligned
//! to them, so a value that comes by DMA costs a copy unless it may stay where the engine puts it. A policy decides; the
//! buffer's size bounds how far apart its write pointer and the end of the log may be.

mod all;
mod block;
mod selective;

pub use all::All;
pub use block::Block;
pub use selective::Selective;

/// The page buffer's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferShape {
    /// Bytes of a NAND page, which is an entry of the buffer.
    pub page_bytes: u32,
    /// Bytes of a memory page: the unit of DMA.
    pub unit_bytes: u32,
    /// Entries of the buffer.
    pub pages: u32,
}

impl BufferShape {
    /// The next address at or after `at` that DMA can write to.
    pub fn aligned(&self, at: u64) -> u64 {
        at.next_multiple_of(u64::from(self.unit_bytes))
    }

    /// Pages up to an end.
    pub fn pages_to(&self, end: u64) -> u64 {
        end.div_ceil(u64::from(self.page_bytes))
    }

    /// The page of an address.
    pub fn page_of(&self, at: u64) -> u64 {
        at / u64::from(self.page_bytes)
    }
}

/// How a value arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// In commands.
    Piggybacked(u32),
    /// By DMA of memory pages, wholly or in part.
    Dma(u32),
}

impl Arrival {
    /// Length of the value in bytes.
    pub fn bytes(self) -> u32 {
        match self {
            Self::Piggybacked(bytes) | Self::Dma(bytes) => bytes,
        }
    }
}

/// Where a value went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its address in the value log.
    pub at: u64,
    /// Bytes that a core copied for it.
    pub copied_bytes: u32,
}

/// A packing policy with its write pointer.
pub trait Packing {
    /// Finds a place for a value.
    fn place(&mut self, value: Arrival) -> Placed;
    /// The first address behind everything placed.
    fn end(&self) -> u64;
    /// Nothing will be placed below this address any more: the pages before it can be programmed.
    fn settled(&self) -> u64 {
        self.end()
    }
}

/// What packing a workload came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// NAND pages, the last one padded.
    pub pages: u64,
    /// Bytes that a core copied, for values that were piggybacked and for others.
    pub copied_piggybacked: u64,
    /// See `copied_piggybacked`.
    pub copied_dma: u64,
}

/// Packs a workload.
pub fn pack(shape: &BufferShape, policy: &mut dyn Packing, values: impl Iterator<Item = Arrival>) -> Packed {
    let mut packed = Packed::default();
    for value in values {
        let copied = u64::from(policy.place(value).copied_bytes);
        match value {
            Arrival::Piggybacked(_) => packed.copied_piggybacked += copied,
            Arrival::Dma(_) => packed.copied_dma += copied,
        }
    }
    packed.pages = shape.pages_to(policy.end());
    packed
}

#[cfg(test)]
mod tests;
