//! Data between host memory and the device: PRP lists resolved once, bytes copied once.

use saker_engine::{Sink, Source, SourceError};
use saker_link::{DmaSpace, PAGE_BYTES};
use saker_nvme::{Sqe, Status, prp};

/// The pieces of host memory a command names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pieces {
    /// One contiguous piece, which is nearly always.
    One(u64, u32),
    /// Several, in order.
    Many(Vec<(u64, u32)>),
}

impl Pieces {
    /// No data.
    pub const NONE: Self = Self::One(0, 0);

    /// Resolves a command's PRPs for `bytes` of data. Nothing is read for zero bytes.
    #[inline]
    pub fn of_prps(sqe: &Sqe, bytes: u32, space: &DmaSpace) -> Result<Self, Status> {
        let (prp1, page) = (sqe.prp1.get(), PAGE_BYTES as u64);
        if bytes == 0 {
            return Ok(Self::NONE);
        }
        if u64::from(bytes) <= page - prp1 % page && prp1.is_multiple_of(4) {
            return Ok(Self::One(prp1, bytes));
        }
        Self::of_list(sqe, bytes, space)
    }

    fn of_list(sqe: &Sqe, bytes: u32, space: &DmaSpace) -> Result<Self, Status> {
        let mut pieces: Vec<(u64, u32)> = Vec::new();
        prp::walk(
            sqe.prp1.get(),
            sqe.prp2.get(),
            bytes,
            PAGE_BYTES as u32,
            |at| space.read_u64(at),
            |at, len| {
                match pieces.last_mut() {
                    Some((start, n)) if *start + u64::from(*n) == at => *n += len,
                    _ => pieces.push((at, len)),
                }
                Ok(())
            },
        )
        .map_err(|e| e.status(|_| Status::DATA_TRANSFER_ERROR))?;
        Ok(Self::Many(pieces))
    }

    /// Total bytes.
    pub fn bytes(&self) -> u32 {
        match self {
            Self::One(_, n) => *n,
            Self::Many(pieces) => pieces.iter().map(|(_, n)| n).sum(),
        }
    }

    /// Calls `f(address, range of the data)` for the pieces that make up `len` bytes from `offset`.
    fn each(
        &self,
        offset: u32,
        len: u32,
        mut f: impl FnMut(u64, std::ops::Range<usize>) -> Result<(), SourceError>,
    ) -> Result<(), SourceError> {
        let Self::Many(pieces) = self else {
            let Self::One(at, _) = self else { unreachable!() };
            return f(*at + u64::from(offset), 0..len as usize);
        };
        let (mut start, end) = (0, offset + len);
        for (at, n) in pieces {
            let (from, to) = (start.max(offset), (start + n).min(end));
            if from < to {
                f(at + u64::from(from - start), (from - offset) as usize..(to - offset) as usize)?;
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

    /// Pages that a PRP transfer of this much data moves (BandSlim, ICPP'24, section 2.4).
    #[inline]
    pub fn pages(bytes: u32) -> u64 {
        u64::from(bytes).div_ceil(PAGE_BYTES as u64)
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
}

impl Source for HostData<'_> {
    #[inline]
    fn bytes(&self) -> u32 {
        self.bytes
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
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), SourceError> {
        self.pieces.write(self.space, offset, bytes)
    }
}
