// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Data between host memory and the device: PRP lists resolved once, bytes copied once.

mod segments;

use saker_engine::{Sink, Source, SourceError};
use saker_link::{Data, DmaSpace, PAGE_BYTES, prp_pieces};
use saker_nvme::sqe::Psdt;
use saker_nvme::{Sqe, Status, sgl};
use segments::{count_blocks, segments};

/// The pieces of host memory a command names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pieces {
    /// One contiguous piece, which is nearly always.
    One(u64, u32),
    /// Several, in order.
    Many(Vec<(u64, u32)>),
    /// One data block of an SGL, moved by its exact bytes.
    Block(u64, u32),
    /// Several data blocks of an SGL, moved by their exact bytes, and the bytes of the descriptors that name them.
    Blocks(Vec<(u64, u32)>, u32),
    /// Bytes that came with commands and are in the device already.
    Gathered(Vec<u8>),
    /// Pages in host memory and a tail that is in the device already.
    Hybrid(Box<Hybrid>),
}

/// What a command makes the device fetch beside the data that its entry names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aside {
    /// Fetches of exact bytes.
    pub exact: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whole pages.
    pub pages: u64,
    /// Round trips that follow one another.
    pub rounds: u64,
}

impl Aside {
    /// Bytes on the link.
    pub fn link_bytes(&self) -> u64 {
        self.bytes + self.pages * PAGE_BYTES as u64
    }
}

/// A value of which only whole pages are in host memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hybrid {
    /// Where the pages are.
    pub pages: Pieces,
    /// Bytes of the pages.
    pub page_bytes: u32,
    /// What follows them.
    pub tail: Vec<u8>,
}

impl Pieces {
    /// Units of a DMA engine (BandSlim, section 2.5: aligned 4 KiB) that the first `bytes` bytes of an SGL take: each block has its own.
    pub fn units(&self, bytes: u32) -> u64 {
        let of = |bytes: u32| u64::from(bytes).div_ceil(PAGE_BYTES as u64);
        match self {
            Self::Blocks(blocks, _) => {
                let mut left = bytes;
                let taken = blocks.iter().map(|(_, length)| {
                    let taken = left.min(*length);
                    left -= taken;
                    of(taken)
                });
                taken.sum()
            }
            _ => of(bytes),
        }
    }

    /// No data.
    pub const NONE: Self = Self::One(0, 0);

    /// Resolves a command's PRPs for `bytes` of data. Nothing is read for zero bytes.
    #[inline]
    pub fn of_prps(sqe: &Sqe, bytes: u32, space: &DmaSpace) -> Result<Self, Status> {
        match Self::one_piece(sqe, bytes) {
            _ if bytes == 0 => Ok(Self::NONE),
            Some(at) => Ok(Self::One(at, bytes)),
            None => prp_pieces(sqe, bytes, space).map(Self::Many),
        }
    }

    /// The address of `bytes` bytes of data that are within the page of PRP1.
    #[inline]
    pub fn one_piece(sqe: &Sqe, bytes: u32) -> Option<u64> {
        let (prp1, page) = (sqe.prp1.get(), PAGE_BYTES as u64);
        let fits = u64::from(bytes) <= page - prp1 % page && prp1.is_multiple_of(4);
        (fits || bytes == 0).then_some(prp1)
    }

    /// Resolves a command's data pointer, PRPs or an SGL, for `bytes` of data. Nothing is read for zero bytes.
    #[inline]
    pub fn of(sqe: &Sqe, bytes: u32, space: &DmaSpace) -> Result<Self, Status> {
        match sqe.psdt() {
            Psdt::Prp => Self::of_prps(sqe, bytes, space),
            Psdt::Sgl => Self::of_sgl(sqe, bytes, space),
            Psdt::SglMetadataSgl | Psdt::Reserved => Err(Status::INVALID_FIELD),
        }
    }

    /// One data block in the entry, or segments of them; other descriptors are 11h.
    fn of_sgl(sqe: &Sqe, bytes: u32, space: &DmaSpace) -> Result<Self, Status> {
        let descriptor = sqe.sgl();
        if bytes == 0 {
            return Ok(Self::NONE);
        }
        if descriptor.kind != sgl::kind::DATA_BLOCK {
            return segments(&descriptor, bytes, space);
        }
        if descriptor.length.get() < bytes {
            return Err(Status::DATA_SGL_LENGTH_INVALID);
        }
        Ok(Self::Block(descriptor.address.get(), bytes))
    }

    /// Total bytes.
    pub fn bytes(&self) -> u32 {
        match self {
            Self::One(_, n) | Self::Block(_, n) => *n,
            Self::Many(pieces) | Self::Blocks(pieces, _) => pieces.iter().map(|(_, n)| n).sum(),
            Self::Gathered(bytes) => bytes.len() as u32,
            Self::Hybrid(h) => h.page_bytes + h.tail.len() as u32,
        }
    }

    /// Calls `f(address, range of the data)` for the pieces that make up `len` bytes from `offset`.
    fn each(
        &self,
        offset: u32,
        len: u32,
        mut f: impl FnMut(u64, std::ops::Range<usize>) -> Result<(), SourceError>,
    ) -> Result<(), SourceError> {
        let pieces = match self {
            Self::Many(pieces) | Self::Blocks(pieces, _) => pieces,
            Self::One(at, _) | Self::Block(at, _) => {
                return f(at.wrapping_add(u64::from(offset)), 0..len as usize);
            }
            Self::Gathered(_) | Self::Hybrid(_) => return Err(SourceError),
        };
        let (mut start, end) = (0, offset + len);
        for (at, n) in pieces {
            let (from, to) = (start.max(offset), (start + n).min(end));
            if from < to {
                f(
                    at.wrapping_add(u64::from(from - start)),
                    (from - offset) as usize..(to - offset) as usize,
                )?;
            }
            start += n;
        }
        Ok(())
    }

    /// Copies from host memory.
    #[inline]
    pub fn read(&self, space: &DmaSpace, offset: u32, out: &mut [u8]) -> Result<(), SourceError> {
        if let Self::One(at, _) = self {
            return space.read(at + u64::from(offset), out).map_err(|_| SourceError);
        }
        match self {
            Self::Gathered(bytes) => return copy_of(bytes, offset, out),
            Self::Hybrid(h) => return h.read(space, offset, out),
            _ => {}
        }
        self.each(offset, out.len() as u32, |at, range| {
            space.read(at, &mut out[range]).map_err(|_| SourceError)
        })
    }

    /// Copies to host memory.
    #[inline]
    pub fn write(&self, space: &DmaSpace, offset: u32, bytes: &[u8]) -> Result<(), SourceError> {
        if let Self::One(at, _) = self {
            return space.write(at + u64::from(offset), bytes).map_err(|_| SourceError);
        }
        self.each(offset, bytes.len() as u32, |at, range| {
            space.write(at, &bytes[range]).map_err(|_| SourceError)
        })
    }

    /// Counts a transfer of `bytes` bytes, from the host or to it.
    #[inline]
    pub fn count(&self, bytes: u32, data: &mut Data) {
        match self {
            Self::One(..) | Self::Many(_) => data.add_pages(Self::pages(bytes)),
            Self::Block(at, _) => data.add_exact(*at, u64::from(bytes)),
            Self::Blocks(blocks, _) => count_blocks(blocks, bytes, data),
            Self::Gathered(_) => {}
            Self::Hybrid(h) => h.pages.count(h.page_bytes, data),
        }
    }

    /// Bytes on the link for `bytes` bytes of data, and how many pages an engine is set up for.
    pub fn link_bytes(&self, bytes: u32) -> (u64, u64) {
        let pages = match self {
            Self::One(..) | Self::Many(_) => Self::pages(bytes),
            Self::Block(..) | Self::Blocks(..) => return (u64::from(bytes), 0),
            Self::Gathered(_) => 0,
            Self::Hybrid(h) => return h.pages.link_bytes(h.page_bytes),
        };
        (pages * PAGE_BYTES as u64, pages)
    }

    /// Takes the buffer of a gathered value out.
    #[inline]
    pub fn into_buffer(self) -> Option<Vec<u8>> {
        match self {
            Self::Gathered(bytes) => Some(bytes),
            Self::Hybrid(h) => Some(h.tail),
            _ => None,
        }
    }

    /// Bytes of a gathered value that the device holds.
    pub fn held_bytes(&self) -> u32 {
        match self {
            Self::Gathered(bytes) => bytes.len() as u32,
            Self::Hybrid(h) => h.tail.len() as u32,
            _ => 0,
        }
    }

    /// Pages that a PRP transfer of this much data moves (BandSlim, ICPP'24, section 2.4).
    #[inline]
    pub fn pages(bytes: u32) -> u64 {
        u64::from(bytes).div_ceil(PAGE_BYTES as u64)
    }
}

impl Hybrid {
    fn read(&self, space: &DmaSpace, offset: u32, out: &mut [u8]) -> Result<(), SourceError> {
        let in_pages = (self.page_bytes.saturating_sub(offset) as usize).min(out.len());
        let (pages, tail) = out.split_at_mut(in_pages);
        if !pages.is_empty() {
            self.pages.read(space, offset, pages)?;
        }
        copy_of(&self.tail, (offset + in_pages as u32).saturating_sub(self.page_bytes), tail)
    }
}

#[inline]
fn copy_of(bytes: &[u8], offset: u32, out: &mut [u8]) -> Result<(), SourceError> {
    let part = bytes.get(offset as usize..).and_then(|rest| rest.get(..out.len())).ok_or(SourceError)?;
    out.copy_from_slice(part);
    Ok(())
}

/// A value, or room for one, in one piece of host memory.
pub struct OnePiece<'a> {
    /// The host's memory.
    pub space: &'a DmaSpace,
    /// Address of the first byte.
    pub at: u64,
    /// Length in bytes.
    pub bytes: u32,
}

impl Source for OnePiece<'_> {
    #[inline]
    fn bytes(&self) -> u32 {
        self.bytes
    }

    #[inline]
    fn bytes_held(&self) -> u32 {
        0
    }

    #[inline]
    fn read(&mut self, offset: u32, out: &mut [u8]) -> Result<(), SourceError> {
        if out.is_empty() {
            return Ok(());
        }
        self.space.read(self.at.wrapping_add(u64::from(offset)), out).map_err(|_| SourceError)
    }
}

impl Sink for OnePiece<'_> {
    #[inline]
    fn room(&self) -> u32 {
        self.bytes
    }

    #[inline]
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), SourceError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.space.write(self.at.wrapping_add(u64::from(offset)), bytes).map_err(|_| SourceError)
    }
}

/// A command's data as an engine reads or fills it.
pub struct HostData<'a> {
    /// The host's memory.
    pub space: &'a DmaSpace,
    /// Where in it.
    pub pieces: &'a Pieces,
    /// Length of the command's data in bytes.
    pub bytes: u32,
    /// Whether an engine moves host data, without a core.
    pub dma_engine: bool,
}

impl Source for HostData<'_> {
    #[inline]
    fn bytes(&self) -> u32 {
        self.bytes
    }

    #[inline]
    fn bytes_by_core(&self) -> u32 {
        if self.dma_engine { self.pieces.held_bytes() } else { self.bytes }
    }

    #[inline]
    fn bytes_held(&self) -> u32 {
        self.pieces.held_bytes()
    }

    #[inline]
    fn read(&mut self, offset: u32, out: &mut [u8]) -> Result<(), SourceError> {
        if out.is_empty() {
            return Ok(());
        }
        self.pieces.read(self.space, offset, out)
    }
}

impl Sink for HostData<'_> {
    #[inline]
    fn room(&self) -> u32 {
        self.bytes
    }

    #[inline]
    fn is_copied_by_core(&self) -> bool {
        !self.dma_engine
    }

    #[inline]
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), SourceError> {
        self.pieces.write(self.space, offset, bytes)
    }
}
