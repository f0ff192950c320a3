//! Opening an image that is damaged, to save what can be saved: what one changed byte explains is put right, in this
//! process only. The file is never written.
//!
//! A changed byte is looked for where a checksum covers it, and taken for right only where something else agrees: a page
//! header has to name its own page, an epoch has to be the only one that fits, and of a record the value is never given out
//! (`docs/damage.md`).

use super::header;
use super::layout::Layout;
use super::lock::Locked;
use super::map::Cells;
use super::oob::{self, Oob};
use super::open::{bad_epoch, check_length, is_programmed, map_regions, media_of, refuse};
use super::states::PageState;
use super::table::PageTable;
use super::{Access, BootId, FileMedia, ImageError, OpenImage, epochs, scan};
use memmap2::MmapMut;
use saker_flash::nand::{Cell, Media};
use saker_medium::flip::{explain, explain_with_sum};
use saker_medium::header::{HEADER_BYTES, crc32c, page_crc};
use saker_medium::{Flip, PageAddr, PageHeader, PowerHistory, Ring, RingMemory, SegmentId, SlotState, Stream};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
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
    let (cells, ring) =
        map_regions(&file, &header.layout, Access::Read).map_err(ImageError::io(path, "map"))?;
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
    opening.apply(patches);
    let Opening { mut media, ring, mends, flips, .. } = opening;
    let ring = media.begin(ring, &raised, kept, boot)?;
    let opened = OpenImage { config: media.header.config.clone(), media, ring, history };
    Ok(MendedImage { opened, mends, flips })
}

fn lost(place: String) -> Mended {
    Mended { place, is_whole: false }
}

fn whole(place: String) -> Mended {
    Mended { place, is_whole: true }
}

fn mend_epochs(
    file: &File,
    path: &Path,
    layout: &Layout,
    mends: &mut Vec<Mended>,
) -> Result<Vec<u32>, ImageError> {
    let failed = |e| ImageError::io(path, "read")(e);
    let entries = epochs::read_all(file, layout).map_err(failed)?;
    let mut found = Vec::with_capacity(entries.len());
    for (segment, entry) in (0..).map(SegmentId).zip(entries) {
        let Some(epoch) = entry else {
            let bytes = epochs::read(file, layout, segment).map_err(failed)?;
            let explained = epochs::mend(segment, bytes);
            let place = bad_epoch(segment.0 as usize);
            mends.push(Mended { place, is_whole: explained.is_some() });
            found.push(explained.map_or_else(|| newest_epoch(file, path, layout, segment), Ok)?);
            continue;
        };
        found.push(epoch);
    }
    Ok(found)
}

/// The newest erase cycle of which a segment has a page.
fn newest_epoch(file: &File, path: &Path, layout: &Layout, wanted: SegmentId) -> Result<u32, ImageError> {
    let mut newest = 0;
    scan::written_oob(file, layout, &mut |at, oob| {
        if layout.geometry.segment_of(at) == wanted
            && let Ok(Some(header)) = PageHeader::decode(oob, at)
        {
            newest = newest.max(header.epoch);
        }
    })
    .map_err(ImageError::io(path, "read"))?;
    Ok(newest)
}

/// Out-of-band bytes that differ in one byte from sound ones, as they were.
fn mend_headers(
    file: &File,
    path: &Path,
    layout: &Layout,
    epochs: &[u32],
    mends: &mut Vec<Mended>,
) -> Result<BTreeMap<PageAddr, Vec<u8>>, ImageError> {
    let mut mended = BTreeMap::new();
    scan::written_oob(file, layout, &mut |at, oob| {
        let epoch = epochs[layout.geometry.segment_of(at).0 as usize];
        if let Oob::Damaged(_) = oob::read(oob, at, epoch)
            && let Some(bytes) = mend_oob(oob, at)
        {
            mends.push(whole(page_place(layout, at, "its header")));
            mended.insert(at, bytes);
        }
    })
    .map_err(ImageError::io(path, "read"))?;
    Ok(mended)
}

fn page_place(layout: &Layout, at: PageAddr, what: &str) -> String {
    let g = &layout.geometry;
    format!("page {} (segment {}, index {}): {what}", at.0, g.segment_of(at).0, g.index_of(at))
}

/// Sound out-of-band bytes that these differ from in one byte of the header's place.
fn mend_oob(oob: &[u8], at: PageAddr) -> Option<Vec<u8>> {
    let mut bytes = oob.to_vec();
    if oob.iter().filter(|b| **b != 0).count() == 1 {
        bytes.fill(0);
        return Some(bytes);
    }
    let is_sound = |bytes: &[u8]| !matches!(oob::read(bytes, at, 0), Oob::Damaged(_) | Oob::Erased);
    let mut try_sum = |covered: usize| {
        let noted = u32::from_le_bytes(oob.get(covered..covered + 4)?.try_into().ok()?);
        let flips = explain_with_sum(crc32c(&oob[..covered]), noted, 0, covered, covered as u64);
        let [flip] = flips[..] else { return None };
        bytes[flip.at as usize] ^= flip.mask;
        let sound = is_sound(&bytes).then(|| bytes.clone());
        bytes[flip.at as usize] ^= flip.mask;
        sound
    };
    try_sum(HEADER_BYTES - 4).or_else(|| try_sum(oob::TORN_BYTES - 4))
}

struct Opening {
    media: FileMedia,
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
        if let Cells::Overlaid(_, pages) = &mut self.media.cells {
            pages.insert(at, [data, oob].concat());
        }
    }

    fn slots(&self) -> Ring {
        let (config, g) = (&self.media.header.config, self.media.header.config.geometry);
        Ring::new(RingMemory::from_bytes(&self.ring), config.ring_slots, g.page_bytes, g.oob_bytes)
    }

    fn mend_ring(&mut self, boot: BootId) {
        let (slots, g) = (self.media.header.config.ring_slots, self.media.header.config.geometry);
        if self.media.history == (PowerHistory::Cut { ring_kept: false }) {
            return;
        }
        for mend in Ring::mend(&mut self.ring, slots, g.page_bytes, g.oob_bytes) {
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
            Ring::free_in(&mut self.ring, saker_medium::SlotId(error.slot), g.page_bytes, g.oob_bytes);
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
            let (oob_at, data_at) = Ring::content_at(slot, g.page_bytes, g.oob_bytes);
            let place = format!("ring: slot {} (for page {})", slot.0, view.addr.0);
            if is_programmed(&self.media, &view)
                && let Cell::Programmed { data, oob } = self.media.cell(view.addr)
            {
                self.ring[oob_at..data_at].copy_from_slice(oob);
                self.ring[data_at..][..data.len()].copy_from_slice(data);
                self.mends.push(whole(place));
                continue;
            }
            let mut oob = ring.oob(slot).to_vec();
            if PageHeader::decode(&oob, view.addr).is_err()
                && let Some(mended) = mend_oob(&oob, view.addr)
            {
                oob = mended;
                self.ring[oob_at..data_at].copy_from_slice(&oob);
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
        let ring = self.slots();
        let in_ring: BTreeSet<PageAddr> =
            ring.survey().unwrap_or_default().iter().map(|(_, view)| view.addr).collect();
        for flip in found.into_iter().filter(|f| !in_ring.contains(&f.at)) {
            self.flip(flip);
        }
    }

    /// Puts a byte right wherever the page is.
    fn flip(&mut self, wrong: PageFlip) {
        let g = self.media.header.config.geometry;
        let PageFlip { at, flip: Flip { at: byte, mask } } = wrong;
        let (byte, data_bytes) = (byte as usize, g.page_bytes as usize);
        self.flips.insert(wrong);
        if self.media.table.state(at) == PageState::Programmed {
            let (data, oob) = self.media.cells.page(at, &self.media.header.layout);
            let (mut data, mut oob) = (data.to_vec(), oob.to_vec());
            if let Some(b) = data.get_mut(byte) {
                *b ^= mask;
            } else if let Some(b) = oob.get_mut(byte - data_bytes) {
                *b ^= mask;
            }
            self.put(at, &data, &oob);
        }
        for (slot, _) in self.slots().survey().unwrap_or_default().iter().filter(|(_, v)| v.addr == at) {
            let (oob_at, data_at) = Ring::content_at(*slot, g.page_bytes, g.oob_bytes);
            let place = if byte < data_bytes { data_at + byte } else { oob_at + byte - data_bytes };
            self.ring[place] ^= mask;
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
            let is_open = view.state == SlotState::Open && patches.without_open_checkpoint.contains(&view.owner);
            let is_checkpoint = view.stream == Stream::Checkpoint
                && (is_open || patches.without_checkpoint.contains(&view.owner));
            if patches.freed.contains(&slot.0) || torn.contains(&view.addr) || is_checkpoint {
                Ring::free_in(&mut self.ring, slot, g.page_bytes, g.oob_bytes);
            }
        }
        for at in torn {
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

/// The changed byte of a page whose header is sound, if there is one and no other explains it.
fn explained(data: &[u8], oob: &[u8], at: PageAddr) -> Option<Flip> {
    let header = PageHeader::decode(oob, at).ok().flatten()?;
    let owners = &oob[HEADER_BYTES..];
    let flips = explain(page_crc(data, owners), header.data_crc, data.len() + owners.len());
    let [flip] = flips[..] else { return None };
    // The header lies between both parts.
    let behind = if flip.at < data.len() as u64 { 0 } else { HEADER_BYTES as u64 };
    Some(Flip { at: flip.at + behind, ..flip })
}
