// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The trait a store writes through.

use crate::{Checked, Geometry, PageAddr, PageBuffer, SegmentId, SlotId};
use std::ops::Range;
use thiserror::Error;

/// Names a submitted I/O. Tags rise; "wait for tag t" means: for it and everything submitted before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag(pub u64);

/// When a program may begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// At any time: it may be done before others that were submitted earlier.
    #[default]
    Any,
    /// When all programs that the owner submitted before it have ended. So where it is found, they are, too.
    Behind,
}

/// An I/O that was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// A slot's content to its page.
    Program {
        /// The page.
        at: PageAddr,
        /// The slot that holds it until the program is finished.
        slot: SlotId,
    },
    /// A whole segment.
    Erase(SegmentId),
    /// Everything finished so far becomes proof against an operating-system crash.
    Sync,
}

/// An I/O that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Its tag.
    pub tag: Tag,
    /// What it was.
    pub io: Io,
    /// How it ended.
    pub result: Result<(), CellError>,
}

/// What storage can answer instead of doing its work.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum CellError {
    /// A page could not be programmed. Its content is still in its slot.
    #[error("program failed")]
    Program,
    /// A segment could not be erased and must be retired.
    #[error("erase failed")]
    Erase,
    /// A page could not be read.
    #[error("unrecovered read error")]
    Read,
    /// The file that backs the medium could not grow (the host file system is full).
    #[error("no space left for the image file")]
    HostFull,
    /// The file that backs the medium failed otherwise.
    #[error("the image file failed")]
    HostIo,
}

impl CellError {
    /// Whether the file below refused: that says nothing of the page or segment, and may pass.
    pub const fn is_of_host(self) -> bool {
        matches!(self, Self::HostFull | Self::HostIo)
    }
}

/// A page as seen now. Looking never waits.
#[derive(Clone, Copy, Debug)]
pub enum Page<'a> {
    /// Here it is.
    Resident {
        /// `page_bytes` of data.
        data: &'a [u8],
        /// `oob_bytes` out of band.
        oob: &'a [u8],
    },
    /// Not in DRAM: ask the driver to bring it.
    Absent,
    /// Nothing was programmed there since the last erase.
    Erased,
    /// Its program or erase was interrupted by a power cut: neither erased nor readable, as is known.
    Torn,
    /// It was brought and cannot be read.
    Failed,
}

/// How the last power cycle ended; tells recovery whether torn pages are to be expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerHistory {
    /// New, or closed in order.
    Clean,
    /// The process died; page buffer and finished programs are whole, unfinished programs were completed.
    Killed,
    /// Power was cut. Programs in flight may be torn; the page buffer is there only with a capacitor.
    Cut {
        /// Whether the page buffer survived.
        ring_kept: bool,
    },
}

/// A segment of the caller's as the medium knows it after power-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentView {
    /// Which.
    pub id: SegmentId,
    /// Pages up to and including the last one that is not erased.
    pub written_pages: u32,
}

/// Storage of one owner. Submissions return at once; completions come back through the driver.
pub trait SegmentStore {
    /// The shape.
    fn geometry(&self) -> Geometry;
    /// The power-safe slots.
    fn page_buffer(&self) -> &PageBuffer;
    /// The power-safe slots.
    fn page_buffer_mut(&mut self) -> &mut PageBuffer;
    /// A page as it is now; pages in slots are not looked up here.
    fn page(&self, at: PageAddr) -> Page<'_>;
    /// The same for somebody who looks at those bytes of its data alone: a medium that can read less than a page brings no more for
    /// that. If it is resident, the other bytes of data and out of band may be zeros.
    #[inline]
    fn part(&self, at: PageAddr, bytes: Range<u32>) -> Page<'_> {
        let _ = bytes;
        self.page(at)
    }
    /// Memory of a page that has to be read first, from a byte on, where the medium has it in memory: only to be touched
    /// ([`saker_sim::Meter::touch`]), for what is there counts when the page is here.
    #[inline]
    fn ahead(&self, at: PageAddr, offset: u32) -> Option<&[u8]> {
        let _ = (at, offset);
        None
    }
    /// Which parts of a resident page its owner has checked since the page's bytes came into memory: a bit for each part, as the owner
    /// divides it. No bit is left when the bytes have changed. `None`: they may change without notice, as those of a mapped file do, or what a
    /// look costs is modelled. Then each look checks.
    #[inline]
    fn checked(&self, at: PageAddr) -> Option<&Checked> {
        let _ = at;
        None
    }
    /// Takes a free erased segment for the owner.
    fn allocate(&mut self) -> Option<SegmentId>;
    /// The erase cycle of a segment, for page headers.
    fn epoch(&self, segment: SegmentId) -> u32;
    /// Segments [`SegmentStore::allocate`] could still give.
    fn free_segments(&self) -> u32;
    /// Segments the owner may hold in all.
    fn quota_segments(&self) -> u32;
    /// Starts programming a sealed slot to the page its control names.
    fn program(&mut self, at: PageAddr, slot: SlotId, order: Order) -> Tag;
    /// Starts erasing; the segment is free again when that completes.
    fn erase(&mut self, segment: SegmentId) -> Tag;
    /// Starts a sync.
    fn sync(&mut self) -> Tag;
    /// The last tag given.
    fn last_tag(&self) -> Tag;
    /// The owner's segments found at power-on, in any order.
    fn survey(&self) -> Vec<SegmentView>;
    /// How the last power cycle ended.
    fn history(&self) -> PowerHistory;
    /// Why programs and erases wait for the host's file, if they do. What cannot go on is then no want of segments.
    fn refusal(&self) -> Option<CellError> {
        None
    }
}
