// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Opening an image that is damaged, to save what can be saved: what one changed byte explains is put right, in this
//! process only. The file is never written.
//!
//! A changed byte is looked for where a checksum covers it, and taken for right only where something else agrees: a page
//! header has to name its own page, an epoch has to be the only one that fits, and of a record the value is never given out
//! (`docs/damage.md`).
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

mod explain;

use super::header;
use super::lock::Locked;
use super::map::AnyCells;
use super::open::{check_length, is_programmed, map_regions, media_of, refuse};
use super::states::PageState;
use super::table::PageTable;
use super::{Access, BootId, FileCells, ImageError, OpenImage, host};
use explain::{explained, mend_epochs, mend_headers, mend_oob, page_place};
use memmap2::MmapMut;
use saker_flash::nand::{Cell, Cells};
use saker_segment_store::{
    Flip, PageAddr, PageBuffer, PageBufferMemory, PageHeader, PowerHistory, SegmentId, SlotState, Stream,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

/// A changed byte of a page, wherever the page is: in its place or in a slot of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageFlip {
    /// The page.
    pub at: PageAddr,
    /// The byte of it: first come the data, then the out-of-band bytes.
    pub flip: Flip,
}

/// What is known of the damage beyond what an opening finds out by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patches {
    /// Bytes to put right.
    pub flips: BTreeSet<PageFlip>,
    /// Pages that count as if a program had been interrupted.
    pub torn: BTreeSet<PageAddr>,
    /// Slots of the ring that count as free.
    pub freed: BTreeSet<u16>,
    /// Owners whose checkpoint that was being written does not count. Until it is whole, the one before it is there.
    pub without_open_checkpoint: BTreeSet<u16>,
    /// Owners whose checkpoints do not count.
    pub without_checkpoint: BTreeSet<u16>,
}

/// One thing that an opening put right, or could not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mended {
    /// Region and place.
    pub place: String,
    /// Whether it is as it was. Otherwise what it said is lost, and nobody knows what that was.
    pub is_whole: bool,
}

/// An image that was opened with its damage put right as far as that goes.
#[derive(Debug)]
pub struct MendedImage {
    /// The image, for reading.
    pub opened: OpenImage,
    /// What was done.
    pub mends: Vec<Mended>,
    /// Bytes of pages that were put right, those of the patches included.
    pub flips: BTreeSet<PageFlip>,
}

/// Opens a damaged image to read it. Stays in this process, like [`super::open`] with [`Access::Read`].
///
/// # Errors
/// [`ImageError`]: in use, not an image, of a later version, without a sound header, or refused by the system.
pub fn open_mended(path: &Path, patches: &Patches) -> Result<MendedImage, ImageError> {
    let boot = BootId::current();
    let file = Locked::open(path, Access::Read)?;
    let copies = header::read_copies(&file).map_err(ImageError::io(path, "read"))?;
    let (header, kept) = header::choose(&copies).map_err(|fault| refuse(path, fault))?;
    check_length(&file, path, &header.layout)?;
    let mut mends = Vec::new();
    let epochs = mend_epochs(&file, path, &header.layout, &mut mends)?;
    let mended = mend_headers(&file, path, &header.layout, &epochs, &mut mends)?;
    let history = header.life.history(boot, header.config.capacitor);
    let raise = true;
    let (table, raised) = PageTable::load_mended(&file, path, &header.layout, epochs, raise, &mended)?;
    let is_raised = !raised.is_empty() && !matches!(history, PowerHistory::Cut { .. });
    mends.extend(is_raised.then(|| lost("epoch table: a segment is of a later erase cycle".into())));
    let mapped = map_regions(&file, &header.layout, Access::Read);
    let (cells, ring) = mapped.map_err(ImageError::map(path, header.layout.file_bytes))?;
    let mut opening = Opening {
        is_settled: history == PowerHistory::Clean || history == PowerHistory::Killed,
        media: media_of(file, path, cells, table, history, header),
        ring,
        mends,
        flips: BTreeSet::new(),
    };
    opening.enter_headers(mended);
    opening.mend_ring(boot);
    opening.mend_pages();
    opening.find_headless().map_err(ImageError::io(path, "read"))?;
    opening.apply(patches);
    let Opening { mut media, ring, mends, flips, .. } = opening;
    let ring = media.begin(ring, &raised, kept, boot)?;
    let opened = OpenImage { config: media.header.config.clone(), media, ring, history };
    Ok(MendedImage { opened, mends, flips })
}

fn lost(place: String) -> Mended {
    Mended { place, is_whole: false }
}

/// Bytes of a ring, if there is such a place.
fn put_at(ring: &mut [u8], at: usize, bytes: &[u8]) {
    let place = ring.get_mut(at..).and_then(|rest| rest.get_mut(..bytes.len()));
    if let Some(place) = place {
        place.copy_from_slice(bytes);
    }
}

fn whole(place: String) -> Mended {
    Mended { place, is_whole: true }
}

struct Opening {
    media: FileCells,
    ring: MmapMut,
    /// What is not whole is damage, and not the work of a crash of the operating system.
    is_settled: bool,
    mends: Vec<Mended>,
    flips: BTreeSet<PageFlip>,
}

impl Opening {
    /// Pages whose header was put right are read with that.
    fn enter_headers(&mut self, mended: BTreeMap<PageAddr, Vec<u8>>) {
        for (at, oob) in mended {
            if self.media.table.state(at) == PageState::Programmed {
                let data = self.media.cells.page(at, &self.media.header.layout).0.to_vec();
                self.put(at, &data, &oob);
            }
        }
    }

    fn put(&mut self, at: PageAddr, data: &[u8], oob: &[u8]) {
        if let AnyCells::Overlaid(_, pages) = &mut self.media.cells {
            pages.insert(at, [data, oob].concat());
        }
    }

    fn slots(&self) -> PageBuffer {
        let (config, g) = (&self.media.header.config, self.media.header.config.geometry);
        PageBuffer::new(
            PageBufferMemory::from_bytes(&self.ring),
            config.ring_slots,
            g.page_bytes,
            g.oob_bytes,
        )
    }

    fn mend_ring(&mut self, boot: BootId) {
        let (slots, g) = (self.media.header.config.ring_slots, self.media.header.config.geometry);
        if self.media.history == (PowerHistory::Cut { ring_kept: false }) {
            return;
        }
        for mend in PageBuffer::mend(&mut self.ring, slots, g.page_bytes, g.oob_bytes) {
            let place = format!("ring: power-safe slot {} is damaged: {}", mend.slot.0, mend.what);
            self.mends.push(Mended { place, is_whole: mend.is_mended });
        }
        if self.media.header.life.system_crashed(boot) {
            self.free_unsettled();
        }
        self.mend_sealed();
    }

    /// Slots that do not match what the last sync saw are lost.
    fn free_unsettled(&mut self) {
        let g = self.media.header.config.geometry;
        while let Err(error) = self.slots().settle_after_crash(|view| is_programmed(&self.media, view)) {
            PageBuffer::free_in(
                &mut self.ring,
                saker_segment_store::SlotId(error.slot),
                g.page_bytes,
                g.oob_bytes,
            );
            self.mends.push(lost(format!("ring: {error}")));
        }
    }

    /// Sealed slots are pages with a checksum, though not in their place yet. Where the page is in its place as a whole, that
    /// is taken.
    fn mend_sealed(&mut self) {
        let (ring, g) = (self.slots(), self.media.header.config.geometry);
        for (slot, view) in ring.survey().unwrap_or_default() {
            if view.state != SlotState::Sealed || ring.is_whole(slot, &view) || !g.contains(view.addr) {
                continue;
            }
            let (oob_at, data_at) = PageBuffer::content_at(slot, g.page_bytes, g.oob_bytes);
            let place = format!("ring: slot {} (for page {})", slot.0, view.addr.0);
            if is_programmed(&self.media, &view)
                && let Cell::Programmed { data, oob } = self.media.cell(view.addr)
            {
                put_at(&mut self.ring, oob_at, oob);
                put_at(&mut self.ring, data_at, data);
                self.mends.push(whole(place));
                continue;
            }
            let mut oob = ring.oob(slot).to_vec();
            if PageHeader::decode(&oob, view.addr).is_err()
                && let Some(mended) = mend_oob(&oob, view.addr)
            {
                oob = mended;
                put_at(&mut self.ring, oob_at, &oob);
                self.mends.push(whole(place));
            }
            if let Some(flip) = explained(ring.data(slot), &oob, view.addr) {
                self.flip(PageFlip { at: view.addr, flip });
            }
        }
    }

    /// Looks at every page.
    fn mend_pages(&mut self) {
        // After a crash of the operating system what is not whole was being written: it is torn, and nothing is relied on.
        if !self.is_settled {
            return;
        }
        let g = self.media.header.config.geometry;
        let mut found = Vec::new();
        for segment in (0..g.segments).map(SegmentId) {
            for at in (0..self.media.table.written(segment)).map(|n| g.page(segment, n)) {
                if let Cell::Programmed { data, oob } = self.media.cell(at) {
                    found.extend(explained(data, oob, at).map(|flip| PageFlip { at, flip }));
                }
            }
        }
        let in_ring = self.in_ring();
        for flip in found.into_iter().filter(|f| !in_ring.contains(&f.at)) {
            self.flip(flip);
        }
    }

    /// Pages with data and without a header were written and lost it: zeros there look as if nothing had been written. One byte
    /// alone is no data.
    fn find_headless(&mut self) -> io::Result<()> {
        if !self.is_settled {
            return Ok(());
        }
        let layout = self.media.header.layout;
        let in_ring = self.in_ring();
        let page_bytes = u64::from(layout.geometry.page_bytes);
        let pages = u64::from(layout.geometry.segments) * u64::from(layout.geometry.segment_pages);
        let (mut from, end) = (layout.data_at, layout.data_at + pages * page_bytes);
        while let Some((start, stop)) = host::next_extent(&self.media.file, from, end)? {
            let last = (stop - 1 - layout.data_at) / page_bytes;
            for at in ((start - layout.data_at) / page_bytes..=last).map(PageAddr) {
                let is_blank = self.media.table.state(at) == PageState::Erased && !in_ring.contains(&at);
                if is_blank && self.is_headless(at)? {
                    self.mends.push(lost(page_place(&layout, at, "there are data and no header")));
                }
            }
            from = layout.data_at + (last + 1) * page_bytes;
        }
        Ok(())
    }

    fn is_headless(&self, at: PageAddr) -> io::Result<bool> {
        let layout = &self.media.header.layout;
        let mut oob = vec![0; layout.geometry.oob_bytes as usize];
        host::read_at(&self.media.file, &mut oob, layout.oob_of(at))?;
        if !saker_segment_store::is_zero(&oob) {
            return Ok(false);
        }
        let mut data = vec![0; layout.geometry.page_bytes as usize];
        host::read_at(&self.media.file, &mut data, layout.data_of(at))?;
        Ok(!saker_segment_store::is_zero(&data) && data.iter().filter(|b| **b != 0).nth(1).is_some())
    }

    fn in_ring(&self) -> BTreeSet<PageAddr> {
        let ring = self.slots();
        ring.survey().unwrap_or_default().iter().map(|(_, view)| view.addr).collect()
    }

    /// Puts a byte right wherever the page is.
    fn flip(&mut self, wrong: PageFlip) {
        let g = self.media.header.config.geometry;
        let PageFlip { at, flip } = wrong;
        if !g.contains(at) {
            return;
        }
        let data_bytes = u64::from(g.page_bytes);
        let in_oob = flip.at.checked_sub(data_bytes).map(|byte| Flip { at: byte, ..flip });
        self.flips.insert(wrong);
        if self.media.table.state(at) == PageState::Programmed {
            let (data, oob) = self.media.cells.page(at, &self.media.header.layout);
            let (mut data, mut oob) = (data.to_vec(), oob.to_vec());
            match in_oob {
                None => flip.apply(&mut data),
                Some(flip) => flip.apply(&mut oob),
            }
            self.put(at, &data, &oob);
        }
        for (slot, _) in self.slots().survey().unwrap_or_default().iter().filter(|(_, v)| v.addr == at) {
            let (oob_at, data_at) = PageBuffer::content_at(*slot, g.page_bytes, g.oob_bytes);
            let (flip, part) = in_oob.map_or((flip, data_at), |flip| (flip, oob_at));
            if let Some(bytes) = self.ring.get_mut(part..) {
                flip.apply(bytes);
            }
        }
    }

    fn apply(&mut self, patches: &Patches) {
        let g = self.media.header.config.geometry;
        patches.flips.iter().for_each(|flip| self.flip(*flip));
        let mut torn = patches.torn.clone();
        for segment in (0..g.segments).map(SegmentId) {
            let pages = (0..self.media.table.written(segment)).map(|n| g.page(segment, n));
            torn.extend(pages.filter(|at| self.is_checkpoint_of(*at, &patches.without_checkpoint)));
        }
        let ring = self.slots();
        for (slot, view) in ring.survey().unwrap_or_default() {
            let is_open =
                view.state == SlotState::Open && patches.without_open_checkpoint.contains(&view.owner);
            let is_checkpoint = view.stream == Stream::Checkpoint
                && (is_open || patches.without_checkpoint.contains(&view.owner));
            if patches.freed.contains(&slot.0) || torn.contains(&view.addr) || is_checkpoint {
                PageBuffer::free_in(&mut self.ring, slot, g.page_bytes, g.oob_bytes);
            }
        }
        for at in torn.into_iter().filter(|at| g.contains(*at)) {
            if self.media.table.state(at) != PageState::Erased {
                self.media.table.set(at, PageState::Torn);
            }
        }
    }

    fn is_checkpoint_of(&self, at: PageAddr, owners: &BTreeSet<u16>) -> bool {
        let Cell::Programmed { oob, .. } = self.media.cell(at) else { return false };
        let header = PageHeader::decode(oob, at).ok().flatten();
        header.is_some_and(|h| h.stream == Stream::Checkpoint && owners.contains(&h.owner))
    }
}
