// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Opening an image: lock, header, epochs, pages, ring, and how the last run ended.
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

use super::early::Early;
use super::header::{self, Copies, Fault, Header, Life, State};
use super::layout::Layout;
use super::life::Run;
use super::lock::{Access, Locked};
use super::map::{self, AnyCells};
use super::space::Space;
use super::table::PageTable;
use super::trouble::Trouble;
use super::{BootId, FileCells, ImageConfig, ImageError, epochs, host};
use memmap2::MmapMut;
use saker_flash::nand::{Cell, Cells};
use saker_segment_store::header::page_crc;
use saker_segment_store::{PageBuffer, PageBufferMemory, PageHeader, PowerHistory, SegmentId, SlotView};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// An open image.
#[derive(Debug)]
pub struct OpenImage {
    /// What it was made for.
    pub config: ImageConfig,
    /// The cells.
    pub media: FileCells,
    /// The memory of the ring; it keeps the image locked like the media does.
    pub ring: PageBufferMemory,
    /// How the last run ended.
    pub history: PowerHistory,
}

/// Opens an image. With [`Access::Write`] it is marked as in use before this returns.
///
/// # Errors
/// [`ImageError`]: in use, not an image, of a later version, damaged, or refused by the system.
pub fn open(path: &Path, access: Access) -> Result<OpenImage, ImageError> {
    open_as(path, access, BootId::current())
}

/// [`open`], as in another run of the kernel.
///
/// # Errors
/// As [`open`].
pub fn open_as(path: &Path, access: Access, boot: BootId) -> Result<OpenImage, ImageError> {
    let file = Locked::open(path, access)?;
    let copies = header::read_copies(&file).map_err(ImageError::io(path, "read"))?;
    let (mut header, kept) = header::choose(&copies).map_err(|fault| refuse(path, fault))?;
    header.take_newest_life(&copies);
    check_length(&file, path, &header.layout)?;
    let history = header.life.history(boot, header.config.capacitor);
    let epochs = read_epochs(&file, path, &header.layout)?;
    let (table, raised) =
        PageTable::load(&file, path, &header.layout, epochs, matches!(history, PowerHistory::Cut { .. }))?;
    let mapped = map_regions(&file, &header.layout, access);
    let (cells, ring) = mapped.map_err(ImageError::map(path, header.layout.file_bytes))?;
    let mut media = media_of(file, path, cells, table, history, header);
    let ring = media.begin(ring, &raised, kept, boot)?;
    Ok(OpenImage { config: media.header.config.clone(), media, ring, history })
}

/// Cells over the parts of an image.
pub(super) fn media_of(
    file: Locked,
    path: &Path,
    cells: AnyCells,
    table: PageTable,
    history: PowerHistory,
    header: Header,
) -> FileCells {
    FileCells {
        file: Arc::new(file),
        path: path.to_path_buf(),
        cells,
        table,
        history,
        unsynced: false,
        early: Early::default(),
        beside: None,
        told_later: None,
        syncs: 0,
        // The first generation is that of creation: nobody has opened this image before.
        promised: header.generation > 1,
        run: Run::new(header.lasting().1),
        header,
        sync_failed: None,
        trouble: Trouble::default(),
        space: Space::default(),
    }
}

impl FileCells {
    /// Settles what the last run left and marks the image as in use.
    pub(super) fn begin(
        &mut self,
        mut ring: MmapMut,
        raised: &[SegmentId],
        kept: u64,
        boot: BootId,
    ) -> Result<PageBufferMemory, ImageError> {
        if self.history == (PowerHistory::Cut { ring_kept: false }) {
            ring.fill(0);
        }
        if self.header.life.system_crashed(boot) {
            self.settle_ring(&mut ring)?;
        }
        if self.is_writable() {
            self.settle(raised, kept, boot).map_err(ImageError::io(&self.path, "write"))?;
            if self.history != PowerHistory::Clean {
                self.find_space().map_err(ImageError::io(&self.path, "examine"))?;
            }
        }
        Ok(map::ring_memory(ring, Arc::clone(&self.file)))
    }

    /// The ring is brought to what the last sync saw, at the first open after a crash of the operating system.
    fn settle_ring(&self, map: &mut MmapMut) -> Result<(), ImageError> {
        let config = &self.header.config;
        let g = config.geometry;
        let mut ring =
            PageBuffer::new(PageBufferMemory::from_bytes(map), config.ring_slots, g.page_bytes, g.oob_bytes);
        let settled = ring.settle_after_crash(|view| is_programmed(self, view));
        settled.map_err(|error| ImageError::damaged(&self.path, error.to_string()))?;
        map.iter_mut().zip(ring.memory()).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    /// Epochs and ring are on the disk before the header says that the image is in use: until then the next
    /// open does all of this again.
    fn settle(&mut self, raised: &[SegmentId], kept: u64, boot: BootId) -> io::Result<()> {
        for segment in raised {
            epochs::write(&self.file, &self.header.layout, *segment, self.table.epoch(*segment))?;
        }
        host::sync_data(&self.file)?;
        let lasting = self.run.begin(self.history == PowerHistory::Clean);
        self.header.set_lasting(&lasting);
        self.header.advance(Life {
            state: State::Dirty,
            unsettled: matches!(self.history, PowerHistory::Cut { .. }),
            boot,
        });
        header::write_copies(&self.file, &self.header, kept)
    }
}

/// Whether the page of a slot is in its place as a whole.
pub(super) fn is_programmed(media: &FileCells, view: &SlotView) -> bool {
    let geometry = media.header.layout.geometry;
    if !geometry.contains(view.addr) || media.epoch(geometry.segment_of(view.addr)) != view.epoch {
        return false;
    }
    let Cell::Programmed { data, oob } = media.cell(view.addr) else { return false };
    let header = PageHeader::decode(oob, view.addr).ok().flatten();
    header.is_some_and(|h| {
        h.sequence == view.sequence && h.data_crc == page_crc(data, PageHeader::owner_oob(oob))
    })
}

/// The error of an image without a header.
pub(super) fn refuse(path: &Path, fault: Fault) -> ImageError {
    match fault {
        Fault::Foreign => ImageError::NotImage { path: path.to_path_buf() },
        Fault::Unsupported(what) => ImageError::Unsupported { path: path.to_path_buf(), what },
        Fault::Bad(what) => ImageError::damaged(path, format!("neither header copy is good: {what}")),
    }
}

/// What is wrong with a file of that length.
pub(super) fn wrong_length(found: u64, layout: &Layout) -> Option<String> {
    (found != layout.file_bytes).then(|| format!("the file has {found} bytes, not {}", layout.file_bytes))
}

pub(super) fn check_length(file: &File, path: &Path, layout: &Layout) -> Result<(), ImageError> {
    let found = file.metadata().map_err(ImageError::io(path, "examine"))?.len();
    wrong_length(found, layout).map_or(Ok(()), |what| Err(ImageError::damaged(path, what)))
}

fn read_epochs(file: &File, path: &Path, layout: &Layout) -> Result<Vec<u32>, ImageError> {
    let entries = epochs::read_all(file, layout).map_err(ImageError::io(path, "read"))?;
    if let Some(segment) = entries.iter().position(Option::is_none) {
        return Err(ImageError::damaged(path, bad_epoch(segment)));
    }
    Ok(entries.into_iter().flatten().collect())
}

/// How a damaged entry of the epoch table is named.
pub(super) fn bad_epoch(segment: usize) -> String {
    format!("epoch table, segment {segment}: the entry does not match its check")
}

pub(super) fn map_regions(file: &File, layout: &Layout, access: Access) -> io::Result<(AnyCells, MmapMut)> {
    match access {
        Access::Write => Ok((AnyCells::shared(file, layout)?, map::shared_ring(file, layout)?)),
        Access::Read => Ok((AnyCells::overlaid(file, layout)?, map::private_ring(file, layout)?)),
    }
}

/// Why a header copy is bad, for each that is.
pub(super) fn bad_copies(copies: &Copies) -> impl Iterator<Item = (usize, String)> {
    copies.iter().enumerate().filter_map(|(n, copy)| match copy.as_ref().err()? {
        Fault::Foreign => Some((n, "it is not a header".to_string())),
        Fault::Unsupported(what) | Fault::Bad(what) => Some((n, what.clone())),
    })
}

/// Whether one copy is behind the other, or different at the same generation.
pub(super) fn compare_copies(copies: &Copies) -> Option<(bool, &'static str)> {
    let [Ok(a), Ok(b)] = copies else { return None };
    match (a.generation == b.generation, Header::agrees_with(a, b)) {
        (true, true) => None,
        (true, false) => Some((true, "the copies are of one generation and differ")),
        (false, _) => Some((false, "one copy is behind: an update was interrupted")),
    }
}
