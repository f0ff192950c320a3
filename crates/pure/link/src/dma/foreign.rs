// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory that another process shares with this one: of a guest whose device is here, or of a device that is elsewhere.
//!
//! Nobody here knows what the other side does with it meanwhile, so it is only ever touched as whole atomic words, as the
//! arena is. What the other side may do besides, such as cutting the file off behind the mapping, is the owner's business
//! ([`ForeignOwner`]): the words stay readable and writable, and the owner tells that they are no longer the other side's.

use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use thiserror::Error;

use super::{DmaFault, PAGE_BYTES, copy};
use crate::sync::AtomicU64;

const WORD_BYTES: usize = 8;

/// What keeps the words of a [`ForeignMemory`].
pub trait ForeignOwner: fmt::Debug + Send + Sync {
    /// Whether the other side has taken memory away behind the mapping: what is read from it then means nothing.
    fn is_lost(&self) -> bool;
}

/// Words that another process shares.
///
/// Invariant: `first` points to `bytes` bytes that are whole pages, page-aligned, readable (and writable if
/// `is_writable`) for as long as `owner` lives, and touched in this process by atomic operations only.
pub struct ForeignMemory {
    first: NonNull<AtomicU64>,
    bytes: usize,
    is_writable: bool,
    owner: Arc<dyn ForeignOwner>,
}

// SAFETY: it is a shared reference to atomics together with the Arc that keeps them alive.
unsafe impl Send for ForeignMemory {}
// SAFETY: as for Send; all access is atomic.
unsafe impl Sync for ForeignMemory {}

impl ForeignMemory {
    /// Memory of `bytes` bytes at `first`.
    ///
    /// # Safety
    /// The bytes are readable, and writable if `is_writable`, as long as `owner` lives, whatever the other process does;
    /// this process touches them by atomic operations only.
    ///
    /// # Panics
    /// Unless they are whole pages, page-aligned.
    pub unsafe fn new(
        first: NonNull<u8>,
        bytes: usize,
        is_writable: bool,
        owner: Arc<dyn ForeignOwner>,
    ) -> Arc<Self> {
        let whole = bytes.is_multiple_of(PAGE_BYTES) && first.addr().get().is_multiple_of(PAGE_BYTES);
        assert!(whole, "foreign memory comes in whole pages");
        Arc::new(Self { first: first.cast(), bytes, is_writable, owner })
    }

    /// Zeroed memory of this process.
    ///
    /// # Panics
    /// Unless it is whole pages.
    #[must_use]
    pub fn zeroed(bytes: usize) -> Arc<Self> {
        assert!(bytes > 0 && bytes.is_multiple_of(PAGE_BYTES), "foreign memory comes in whole pages");
        let words = Own((0..(bytes + PAGE_BYTES) / WORD_BYTES).map(|_| AtomicU64::new(0)).collect());
        let first = words.0.as_ptr().cast::<u8>().cast_mut();
        let skip = first.align_offset(PAGE_BYTES);
        let owner = Arc::new(words);
        // SAFETY: a page more than wanted was allocated, so the aligned bytes are within it.
        let first = unsafe { NonNull::new_unchecked(first.add(skip)) };
        // SAFETY: the bytes are atomic words, which live as long as their owner.
        unsafe { Self::new(first, bytes, true, owner) }
    }

    /// Length in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the other side has taken memory away.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.owner.is_lost()
    }

    /// Copies bytes from `offset` on. False beyond the end; nothing is copied then.
    #[must_use]
    pub fn load(&self, offset: usize, into: &mut [u8]) -> bool {
        let fits = offset.checked_add(into.len()).is_some_and(|end| end <= self.bytes);
        if fits && !into.is_empty() {
            copy::load(&self.words()[offset / WORD_BYTES..], offset % WORD_BYTES, into);
        }
        fits
    }

    /// Copies bytes to `offset` on. False beyond the end; nothing is copied then.
    #[must_use]
    pub fn store(&self, offset: usize, from: &[u8]) -> bool {
        let fits = offset.checked_add(from.len()).is_some_and(|end| end <= self.bytes);
        if fits && !from.is_empty() {
            copy::store(&self.words()[offset / WORD_BYTES..], offset % WORD_BYTES, from);
        }
        fits
    }

    /// All words.
    #[inline]
    pub(super) fn words(&self) -> &[AtomicU64] {
        // SAFETY: see the invariant of the type.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.bytes / WORD_BYTES) }
    }
}

impl fmt::Debug for ForeignMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ForeignMemory({} bytes, {:?})", self.bytes, self.owner)
    }
}

/// Words of this process.
#[derive(Debug)]
struct Own(Box<[AtomicU64]>);

impl ForeignOwner for Own {
    fn is_lost(&self) -> bool {
        false
    }
}

/// Why foreign memory cannot be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ForeignError {
    /// Not whole pages, none at all, or beyond the end of the address space.
    #[error("{bytes} bytes at IOVA {iova:#x} are not whole pages of the address space")]
    Range {
        /// First address.
        iova: u64,
        /// Length.
        bytes: u64,
    },
    /// Some of it is mapped already.
    #[error("{bytes} bytes at IOVA {iova:#x} are mapped in part already")]
    Overlap {
        /// First address.
        iova: u64,
        /// Length.
        bytes: u64,
    },
    /// Regions are unmapped as they were mapped, whole.
    #[error("{bytes} bytes at IOVA {iova:#x} are not regions that were mapped")]
    NotMapped {
        /// First address.
        iova: u64,
        /// Length.
        bytes: u64,
    },
    /// As many as there may be are mapped.
    #[error("{0} regions are mapped already")]
    TooMany(usize),
}

#[derive(Debug)]
struct Region {
    iova: u64,
    bytes: u64,
    /// `None`: the other side can reach it and this process cannot.
    memory: Option<Arc<ForeignMemory>>,
}

impl Region {
    /// Address of the last byte.
    const fn last(&self) -> u64 {
        self.iova + (self.bytes - 1)
    }
}

/// Regions that do not overlap, in ascending order, and the one in front of them: memory of the device's own, which is reached
/// wherever it is, whatever is mapped behind it.
#[derive(Debug, Default)]
struct Regions {
    mapped: Vec<Region>,
    front: Option<Region>,
}

/// What is mapped where.
#[derive(Debug, Default)]
pub(super) struct Foreign(RwLock<Regions>);

impl Foreign {
    fn regions(&self) -> RwLockReadGuard<'_, Regions> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn regions_mut(&self) -> RwLockWriteGuard<'_, Regions> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn map(
        &self,
        (iova, bytes): (u64, u64),
        memory: Option<Arc<ForeignMemory>>,
        max: usize,
    ) -> Result<(), ForeignError> {
        check_range(iova, bytes)?;
        let is_whole = memory.as_ref().is_none_or(|memory| memory.bytes as u64 == bytes);
        assert!(is_whole, "a region is mapped whole");
        let mut guard = self.regions_mut();
        let regions = &mut guard.mapped;
        if regions.len() >= max {
            return Err(ForeignError::TooMany(regions.len()));
        }
        let new = Region { iova, bytes, memory };
        let at = regions.partition_point(|region| region.last() < iova);
        if regions.get(at).is_some_and(|region| region.iova <= new.last()) {
            return Err(ForeignError::Overlap { iova, bytes });
        }
        regions.insert(at, new);
        Ok(())
    }

    /// Waits for copies that are going on.
    pub fn unmap(&self, iova: u64, bytes: u64) -> Result<(), ForeignError> {
        check_range(iova, bytes)?;
        let (last, mut guard) = (iova + (bytes - 1), self.regions_mut());
        let regions = &mut guard.mapped;
        let begin = regions.partition_point(|region| region.last() < iova);
        let end = regions.partition_point(|region| region.iova <= last);
        let inside = regions.get(begin..end).unwrap_or_default();
        let is_cut = inside.first().is_none_or(|region| region.iova < iova)
            || inside.last().is_none_or(|region| region.last() > last);
        if is_cut {
            return Err(ForeignError::NotMapped { iova, bytes });
        }
        regions.drain(begin..end);
        Ok(())
    }

    pub fn clear(&self) {
        self.regions_mut().mapped.clear();
    }

    /// Puts memory of the device's own in front of everything, or takes it away. False for addresses that cannot be; nothing is in
    /// front then.
    pub fn set_front(&self, front: Option<(u64, Arc<ForeignMemory>)>) -> bool {
        let region =
            front.map(|(iova, memory)| Region { iova, bytes: memory.bytes as u64, memory: Some(memory) });
        let can_be = region.as_ref().is_none_or(|region| check_range(region.iova, region.bytes).is_ok());
        self.regions_mut().front = region.filter(|_| can_be);
        can_be
    }

    pub fn is_lost(&self) -> bool {
        self.regions()
            .mapped
            .iter()
            .any(|region| region.memory.as_ref().is_some_and(|memory| memory.is_lost()))
    }

    #[inline]
    pub fn read(&self, iova: u64, into: &mut [u8]) -> Result<(), DmaFault> {
        let regions = self.regions();
        each_part(&regions, iova, into.len(), false, |_, _, _| ())?;
        let mut rest = into;
        let mut lost = false;
        each_part(&regions, iova, rest.len(), false, |memory, offset, bytes| {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(bytes);
            copy::load(&memory.words()[offset / WORD_BYTES..], offset % WORD_BYTES, part);
            lost |= memory.is_lost();
            rest = after;
        })?;
        if lost { Err(DmaFault::Unmapped) } else { Ok(()) }
    }

    #[inline]
    pub fn write(&self, iova: u64, from: &[u8]) -> Result<(), DmaFault> {
        let regions = self.regions();
        each_part(&regions, iova, from.len(), true, |_, _, _| ())?;
        let mut rest = from;
        let mut lost = false;
        each_part(&regions, iova, rest.len(), true, |memory, offset, bytes| {
            let (part, after) = rest.split_at(bytes);
            copy::store(&memory.words()[offset / WORD_BYTES..], offset % WORD_BYTES, part);
            lost |= memory.is_lost();
            rest = after;
        })?;
        if lost { Err(DmaFault::Unmapped) } else { Ok(()) }
    }

    /// The memory of `bytes` bytes from `iova` on, which begin at a page and lie within one region, and their offset in it.
    pub fn ring(&self, iova: u64, bytes: usize, writes: bool) -> Option<(Arc<ForeignMemory>, usize)> {
        let regions = self.regions();
        let (region, within) = find(&regions, iova)?;
        let offset = (iova - region.iova) as usize;
        let memory = region.memory.as_ref().filter(|memory| memory.is_writable || !writes)?;
        let fits = bytes as u64 <= within && iova.is_multiple_of(PAGE_BYTES as u64);
        (fits && !memory.is_lost()).then(|| (Arc::clone(memory), offset))
    }
}

fn check_range(iova: u64, bytes: u64) -> Result<(), ForeignError> {
    let page = PAGE_BYTES as u64;
    let is_whole = bytes > 0 && bytes.is_multiple_of(page) && iova.is_multiple_of(page);
    let fits = iova.checked_add(bytes.saturating_sub(1)).is_some() && usize::try_from(bytes).is_ok();
    if is_whole && fits { Ok(()) } else { Err(ForeignError::Range { iova, bytes }) }
}

/// The region of an address, and how many of its bytes from there on are reached.
#[inline]
fn find(regions: &Regions, iova: u64) -> Option<(&Region, u64)> {
    let within = |region: &Region| region.bytes - (iova - region.iova);
    let front = regions.front.as_ref();
    if let Some(front) = front
        && front.iova <= iova
        && iova <= front.last()
    {
        return Some((front, within(front)));
    }
    // A guest has few; the largest is where most accesses go.
    let at = regions.mapped.partition_point(|region| region.last() < iova);
    let region = regions.mapped.get(at).filter(|region| region.iova <= iova)?;
    let up_to = front.filter(|front| front.iova > iova).map_or(u64::MAX, |front| front.iova - iova);
    Some((region, within(region).min(up_to)))
}

/// Calls `f(memory, offset in it, bytes)` for the parts that make up a range, of which each byte is mapped.
#[inline]
fn each_part(
    regions: &Regions,
    iova: u64,
    bytes: usize,
    writes: bool,
    mut f: impl FnMut(&ForeignMemory, usize, usize),
) -> Result<(), DmaFault> {
    let (mut at, mut left) = (iova, bytes);
    while left > 0 {
        let (region, within) = find(regions, at).ok_or(DmaFault::Unmapped)?;
        let memory = region.memory.as_deref().ok_or(DmaFault::Unmapped)?;
        if writes && !memory.is_writable {
            return Err(DmaFault::ReadOnly);
        }
        let offset = (at - region.iova) as usize;
        let part = left.min(usize::try_from(within).unwrap_or(usize::MAX));
        f(memory, offset, part);
        left -= part;
        at = match at.checked_add(part as u64) {
            Some(next) => next,
            None if left == 0 => break,
            None => return Err(DmaFault::Unmapped),
        };
    }
    Ok(())
}
