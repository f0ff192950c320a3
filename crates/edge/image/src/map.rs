// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The mappings of an image.
//!
//! The argument for all of them: this process holds the file's lock (exclusive to write, shared to read), so
//! no process that follows the rules changes or shortens the file underneath. Whoever owns a mapping owns a
//! share of the lock and gives it back after unmapping.

use super::layout::Layout;
use super::lock::Locked;
use memmap2::{Mmap, MmapMut, MmapOptions};
use saker_segment_store::{PageAddr, PageBufferMemory};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// The out-of-band and data regions.
#[derive(Debug)]
pub(super) enum AnyCells {
    /// Read here, written with `pwrite`.
    Shared(Mmap),
    /// A file opened to read, and the pages that recovery has programmed since: data, then out-of-band bytes. They are
    /// kept apart, because a store to a private mapping of a hole needs room in the file where that is in memory
    /// (tmpfs), and without room it is a signal.
    Overlaid(Mmap, BTreeMap<PageAddr, Vec<u8>>),
}

impl AnyCells {
    pub fn shared(file: &File, layout: &Layout) -> io::Result<Self> {
        // SAFETY: the exclusive lock is held, so only this process writes. It writes these regions with
        // `pwrite` in methods that take `&mut FileCells`, while slices of the mapping borrow the same
        // `FileCells`; so no slice exists when bytes change. The length was checked against the layout.
        let map = unsafe { cells_options(layout).map(file) }?;
        Ok(Self::Shared(map))
    }

    pub fn overlaid(file: &File, layout: &Layout) -> io::Result<Self> {
        // SAFETY: the shared lock keeps writers away, and this process does not write the file.
        let map = unsafe { cells_options(layout).map(file) }?;
        Ok(Self::Overlaid(map, BTreeMap::new()))
    }

    /// Data and out-of-band bytes of a page that is programmed.
    #[inline]
    pub fn page(&self, at: PageAddr, layout: &Layout) -> (&[u8], &[u8]) {
        let (data_len, oob_len) = (layout.geometry.page_bytes as usize, layout.geometry.oob_bytes as usize);
        let map = match self {
            Self::Shared(map) => map,
            Self::Overlaid(map, pages) => match pages.get(&at) {
                Some(page) => return page.split_at(data_len),
                None => map,
            },
        };
        let data = (layout.data_of(at) - layout.oob_at) as usize;
        let oob = (layout.oob_of(at) - layout.oob_at) as usize;
        (&map[data..data + data_len], &map[oob..oob + oob_len])
    }
}

fn cells_options(layout: &Layout) -> MmapOptions {
    let mut options = MmapOptions::new();
    options.offset(layout.oob_at).len((layout.file_bytes - layout.oob_at) as usize);
    options
}

/// The ring, shared with the file: what is stored there outlives the process at once.
pub(super) fn shared_ring(file: &File, layout: &Layout) -> io::Result<MmapMut> {
    // SAFETY: the exclusive lock is held, nothing in this process touches the ring's region but the one
    // owner of this mapping, and the region is allocated, so a store cannot fail for lack of space.
    unsafe { ring_options(layout).map_mut(file) }
}

/// A view of the ring whose changes stay in this process.
pub(super) fn private_ring(file: &File, layout: &Layout) -> io::Result<MmapMut> {
    // SAFETY: the shared lock keeps writers away, and stores go to private pages.
    unsafe { ring_options(layout).map_copy(file) }
}

fn ring_options(layout: &Layout) -> MmapOptions {
    let mut options = MmapOptions::new();
    options.offset(layout.ring_at).len(layout.ring_bytes as usize);
    options
}

/// Hands the ring out, with a share of the lock.
pub(super) fn ring_memory(map: MmapMut, lock: Arc<Locked>) -> PageBufferMemory {
    PageBufferMemory::Mapped(Box::new(RingMap { map, _lock: lock }))
}

/// Fields are dropped in order: unmapped first, unlocked then.
struct RingMap {
    map: MmapMut,
    _lock: Arc<Locked>,
}

impl Deref for RingMap {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.map
    }
}

impl DerefMut for RingMap {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }
}
