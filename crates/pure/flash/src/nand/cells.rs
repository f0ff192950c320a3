// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The state of the cells, wherever it is kept: in memory or in an image file.

use saker_segment_store::{CellError, Checked, Geometry, PageAddr, PowerHistory, SegmentId};
use std::any::Any;
use std::collections::BTreeSet;
use std::fmt::Debug;

/// The shape of the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Pages, segments (superblocks) and out-of-band sizes.
    pub geometry: Geometry,
    /// Channels.
    pub channels: u32,
    /// LUNs over all channels; the pages of a superblock go round them.
    pub luns: u32,
}

impl Shape {
    /// The LUN of a page.
    #[inline]
    pub fn lun(&self, at: PageAddr) -> u32 {
        self.geometry.index_of(at) % self.luns
    }

    /// The channel of a LUN.
    #[inline]
    pub fn channel(&self, lun: u32) -> u32 {
        lun % self.channels
    }
}

/// What a page's cells hold.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'a> {
    /// Nothing since the last erase.
    Erased,
    /// What was programmed.
    Programmed {
        /// `page_bytes` of data.
        data: &'a [u8],
        /// `oob_bytes` out of band.
        oob: &'a [u8],
    },
    /// A program or erase was cut short: neither erased nor readable.
    Torn,
}

/// What a device has done in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lasting {
    /// Commands that read user data.
    pub reads: u64,
    /// Bytes that they read.
    pub bytes_read: u64,
    /// Commands that wrote user data.
    pub writes: u64,
    /// Bytes that they wrote.
    pub bytes_written: u64,
    /// Commands that ended because data could not be read, or was not what had been written.
    pub media_errors: u64,
    /// I/O commands completed.
    pub commands: u64,
    /// Of these, with an error status.
    pub command_errors: u64,
    /// Pages programmed.
    pub pages_programmed: u64,
    /// Pages read from the array.
    pub pages_read: u64,
    /// Segments erased.
    pub segments_erased: u64,
    /// Openings to write.
    pub power_cycles: u64,
    /// Of these, behind a run that had no orderly end.
    pub unsafe_shutdowns: u64,
    /// Whole seconds that the device was open to write, run by run.
    pub power_on_seconds: u64,
}

/// Keeps cells. Rules (erase before program, order) are enforced by the flash above, not here.
pub trait Cells: Any + Debug + Send {
    /// The shape.
    fn shape(&self) -> Shape;
    /// A page.
    fn cell(&self, at: PageAddr) -> Cell<'_>;
    /// What the owner has checked of a page ([`saker_segment_store::SegmentStore::checked`]), where its bytes cannot change but by these calls.
    #[inline]
    fn checked(&self, at: PageAddr) -> Option<&Checked> {
        let _ = at;
        None
    }
    /// Nobody looks at a page now: what was only made for a look may go.
    #[inline]
    fn settle(&mut self) {}
    /// Brings in the memory that all pages will need, where they are kept in memory.
    fn bring_in(&mut self) {}
    /// Programs an erased page. An error of the host ([`CellError::is_of_host`]) leaves the page erased: it can be
    /// tried again.
    fn program(&mut self, at: PageAddr, data: &[u8], oob: &[u8]) -> Result<(), CellError>;
    /// Erases a segment and raises its epoch. An error of the host leaves the segment as it was.
    fn erase(&mut self, segment: SegmentId) -> Result<(), CellError>;
    /// [`Cells::erase`] of a segment whose owner is erased as a whole: nobody relies on what was in it, so it is in no order
    /// with anything else.
    fn erase_unordered(&mut self, segment: SegmentId) -> Result<(), CellError> {
        self.erase(segment)
    }
    /// Makes what is in a segment unreadable for good although its cells cannot be erased, as programming over them does.
    fn scrap(&mut self, segment: SegmentId) -> Result<(), CellError> {
        let geometry = self.shape().geometry;
        (0..self.written_pages(segment)).for_each(|index| self.tear(geometry.page(segment, index)));
        Ok(())
    }
    /// Owners whose erasure has begun and has not ended, whatever has happened since.
    fn erasing(&self) -> &BTreeSet<u16>;
    /// Replaces [`Cells::erasing`], all at once, and proof against whatever happens from here on. What was done to the cells
    /// before is to be synced first.
    ///
    /// # Errors
    /// Whether it was replaced is not known then; it counts as replaced if that names more owners.
    fn set_erasing(&mut self, owners: BTreeSet<u16>) -> Result<(), CellError>;
    /// What [`Cells::save`] has kept for an owner, where that is not kept with the owner's configuration.
    fn saved(&self, owner: u16) -> Option<bool> {
        let _ = owner;
        None
    }
    /// Keeps whether deleting a missing key is an error for an owner (feature 20h), as lasting as [`Cells::set_erasing`].
    ///
    /// # Errors
    /// Whether it is kept is not known then.
    fn save(&mut self, owner: u16, error_on_delete: bool) -> Result<(), CellError>;
    /// Leaves a page unreadable, as an interrupted program or erase does.
    fn tear(&mut self, at: PageAddr);
    /// How often a segment was erased.
    fn epoch(&self, segment: SegmentId) -> u32;
    /// Pages up to and including the last one that is not erased.
    fn written_pages(&self, segment: SegmentId) -> u32;
    /// Makes everything so far proof against an operating-system crash.
    fn sync(&mut self) -> Result<(), CellError>;
    /// Syncs may go on beside the device from here on ([`Cells::begin_sync`]): whoever runs it looks for their ends again and again. False:
    /// these cells have none.
    fn allow_syncs_beside(&mut self) -> bool {
        false
    }
    /// Begins a sync of everything so far, which goes on beside what is done next. One at a time, and only where they are
    /// allowed.
    fn begin_sync(&mut self) {
        unreachable!("cells without syncs beside are not asked for one");
    }
    /// What came of the sync that was begun, once it has ended.
    fn ended_sync(&mut self) -> Option<Result<(), CellError>> {
        None
    }
    /// Nothing else is asked of the cells: space of segments that were erased a while ago goes back to the host, some of it. True: there is more, now.
    fn give_space_back(&mut self) -> bool {
        false
    }
    /// How often the cells were synced, syncs that an erase needed included. Each covers the page buffer as well.
    fn syncs(&self) -> u64 {
        0
    }
    /// Whether somebody relies on what is on the disk: an erase then needs a sync before it, the page buffer included, so that
    /// the copies last before the originals go.
    fn erase_needs_sync(&self) -> bool {
        false
    }
    /// Whether what the host refused is worth trying again now, without anybody waiting for it. Cells in a file say no
    /// for a while after each refusal.
    fn is_worth_trying(&self) -> bool {
        true
    }
    /// Whether a sync failed: what the disk holds is not known any more, so nothing is written until the next power-on.
    #[inline]
    fn is_read_only(&self) -> bool {
        false
    }
    /// How the last run ended.
    fn history(&self) -> PowerHistory;
    /// A number that is higher at each power-on than at all before it, whatever was lost in between; never 0.
    fn power_ons(&self) -> u64 {
        1
    }
    /// Whether pages that a crash tore are not known to be torn: after a cut, every page must then be checked.
    fn tears_are_hidden(&self) -> bool {
        false
    }
    /// What was done in the device's life, as far as it is kept with the cells, this run's [`Cells::keep`] included.
    fn lasting(&self) -> Lasting {
        Lasting { power_cycles: 1, ..Lasting::default() }
    }
    /// Whether [`Cells::keep`] does anything.
    fn keeps_counters(&self) -> bool {
        false
    }
    /// Keeps what was done in the device's life by now. How the device was opened and for how long the cells know themselves. Nobody
    /// relies on it: it is on the medium a while later, at the end of the run for certain.
    fn keep(&mut self, lasting: Lasting) {
        let _ = lasting;
    }
    /// Bytes of flash in use: programmed pages, out-of-band part included.
    fn bytes_in_use(&self) -> u64;
}
