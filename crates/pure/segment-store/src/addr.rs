// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Addresses and shapes.

/// A segment of the medium: the unit of allocation and erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId(pub u32);

/// A page of the medium, numbered through all segments: `segment * segment_pages + index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageAddr(pub u64);

/// The shape of a medium as a store sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Data bytes of a page; a multiple of 8.
    pub page_bytes: u32,
    /// Out-of-band bytes of a page: a [`crate::PageHeader`] and the owner's part after it.
    pub oob_bytes: u32,
    /// Pages of a segment.
    pub segment_pages: u32,
    /// Segments of the medium, those of other owners included.
    pub segments: u32,
}

impl Geometry {
    /// The page at `index` within `segment`.
    #[inline]
    pub fn page(&self, segment: SegmentId, index: u32) -> PageAddr {
        debug_assert!(index < self.segment_pages);
        PageAddr(u64::from(segment.0) * u64::from(self.segment_pages) + u64::from(index))
    }

    /// The segment of a page.
    #[inline]
    pub fn segment_of(&self, at: PageAddr) -> SegmentId {
        SegmentId((at.0 / u64::from(self.segment_pages)) as u32)
    }

    /// The index of a page within its segment.
    #[inline]
    pub fn index_of(&self, at: PageAddr) -> u32 {
        (at.0 % u64::from(self.segment_pages)) as u32
    }

    /// Data bytes of a segment.
    pub fn segment_bytes(&self) -> u64 {
        u64::from(self.segment_pages) * u64::from(self.page_bytes)
    }

    /// Whether the page exists.
    pub fn contains(&self, at: PageAddr) -> bool {
        at.0 < u64::from(self.segments) * u64::from(self.segment_pages)
    }
}
