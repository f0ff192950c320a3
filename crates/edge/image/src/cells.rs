// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flash cells in the image file.
//!
//! # Why a crash of the operating system loses nothing that a Flush covered
//! The page cache may then reach the disk in any order, and only up to the last fdatasync for certain. The
//! owner of a segment erases it when all that lives in it has been programmed elsewhere. So before an erase
//! everything since the last sync is synced: the copies are on the disk before the original can change. The
//! same sync makes earlier erases last, which keeps their order: a delete record can go once no older record
//! of its key is left, and its own erase is never on the disk without the erase of those. An image that held
//! nothing when it was opened and was never flushed has promised nothing yet and skips these syncs.
//!
//! The copies can be in the ring, too, so whoever owns that syncs it before it erases (see
//! [`Cells::erase_needs_sync`]).
//!
//! After the erase the epoch may be on the disk or not when pages of the new cycle overwrite the old ones.
//! If it is not, pages of the old cycle may fail their checksum, which recovery takes for torn after such a
//! crash; and a sound page of the new cycle raises the epoch when the image is opened.
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

use super::beside::Beside;
use super::early::Early;
use super::header::{self, Header, Life, State};
use super::layout::{BLOCK_BYTES, Layout};
use super::life::{self, Run};
use super::lock::Locked;
use super::map::AnyCells;
use super::space::Space;
use super::states::PageState;
use super::table::PageTable;
use super::trouble::{self, Trouble};
use super::{BootId, ImageError, NamespaceRecord, epochs, host, oob};
use saker_flash::Lasting;
use saker_flash::nand::{Cell, Cells, Shape};
use saker_segment_store::{CellError, PageAddr, PowerHistory, SegmentId};
use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Flash cells in an image file. Dropping it without [`FileCells::close`] is what a crash looks like to the
/// next open. The lock is released when this and the ring's memory are both gone.
#[derive(Debug)]
pub struct FileCells {
    /// Before the file, so that it is unmapped before the lock goes.
    pub(super) cells: AnyCells,
    pub(super) file: Arc<Locked>,
    pub(super) path: PathBuf,
    pub(super) table: PageTable,
    pub(super) header: Header,
    pub(super) history: PowerHistory,
    /// Something was written since the last sync.
    pub(super) unsynced: bool,
    /// What was asked of the kernel before a sync.
    pub(super) early: Early,
    /// The thread that syncs, where that is allowed.
    pub(super) beside: Option<Beside>,
    /// What came of a sync beside, which another sync had to wait for, and which its owner has not been told.
    pub(super) told_later: Option<Result<(), CellError>>,
    /// Successful fdatasyncs of flash and ring.
    pub(super) syncs: u64,
    /// Somebody may rely on what the file holds: see the module's argument.
    pub(super) promised: bool,
    /// A sync failed. The kernel drops what it could not write and reports that once, so no later sync
    /// can vouch for it.
    pub(super) sync_failed: Option<CellError>,
    /// What the device has done in its life.
    pub(super) run: Run,
    /// What the host file system refused.
    pub(super) trouble: Trouble,
    /// Erased segments whose space was not given back.
    pub(super) space: Space,
}

impl FileCells {
    /// Syncs everything, the mapped ring included, and records an orderly end. After
    /// [`FileCells::set_cut`] the end stays a power cut.
    ///
    /// # Errors
    /// The image stays dirty, so the next open recovers as after a crash.
    pub fn close(mut self) -> Result<(), ImageError> {
        self.finish()
    }

    /// [`FileCells::close`] for an owner that cannot give the media away. Programs and erases are refused
    /// afterwards, and nothing may be stored in the ring.
    ///
    /// # Errors
    /// As [`FileCells::close`].
    pub fn finish(&mut self) -> Result<(), ImageError> {
        if !self.is_writable() {
            return Ok(());
        }
        self.give_all_back();
        self.sync_file().map_err(self.io_error("sync"))?;
        match self.header.life.state {
            State::Cut => Ok(()),
            _ => self.write_life(Life { state: State::Clean, unsettled: false, ..self.header.life }),
        }
    }

    /// Ends the run of a device that nobody was served by, because something in the image is damaged: it is closed in order. It would look
    /// used otherwise, and after a crash of the operating system damage in an image that was in use counts as torn by the crash, which is
    /// nothing that anybody is told. An image that is being recovered from such a crash stays marked.
    pub fn leave(&mut self) {
        let was_whole = matches!(self.history, PowerHistory::Clean | PowerHistory::Killed);
        if was_whole && self.sync_failed.is_none() && self.trouble.is_over() {
            // If it cannot be written it stays marked.
            let _ = self.finish();
        }
    }

    /// Records that a planned power cut ends this run: the next open keeps the ring only with a capacitor.
    ///
    /// # Errors
    /// [`ImageError::Io`], also for an image opened to read.
    pub fn set_cut(&mut self) -> Result<(), ImageError> {
        self.write_life(Life { state: State::Cut, ..self.header.life })
    }

    /// Records other namespaces.
    ///
    /// # Errors
    /// [`ImageError::Config`] for too many or doubled ones, [`ImageError::Io`].
    pub fn set_namespaces(&mut self, records: Vec<NamespaceRecord>) -> Result<(), ImageError> {
        super::config::check_namespaces(&records).map_err(ImageError::Config)?;
        let mut next = self.header.clone();
        next.set_namespaces(records);
        self.write_header(next, self.header.life)
    }

    /// The configuration, with the namespaces as they are now.
    pub fn config(&self) -> &super::ImageConfig {
        &self.header.config
    }

    /// Whether the file is written, or only a private view of it.
    pub fn is_writable(&self) -> bool {
        matches!(self.cells, AnyCells::Shared(_))
    }

    pub(super) fn write_life(&mut self, life: Life) -> Result<(), ImageError> {
        self.write_header(self.header.clone(), life)
    }

    /// As [`FileCells::write_header`], for the device above.
    fn write_header_block(&mut self, mut next: Header) -> Result<(), CellError> {
        self.refuse_if_finished()
            .and_then(|()| self.refuse_if_failed())
            .map_err(|e| host::media_error(&e))?;
        next.set_lasting(&self.run.lasting());
        next.advance(self.header.life);
        let mut write = |place| header::write_copy(&self.file, &next, place).and_then(|()| self.sync_file());
        let written = [1, 0].into_iter().try_for_each(&mut write);
        match written {
            Ok(()) => self.header = next,
            // Its generation may be on the disk: no other header may have it.
            Err(_) => self.header.advance(self.header.life),
        }
        written.map_err(|e| host::media_error(&e))
    }

    fn write_header(&mut self, mut next: Header, life: Life) -> Result<(), ImageError> {
        if !self.is_writable() {
            return Err(self.io_error("write")(io::ErrorKind::ReadOnlyFilesystem.into()));
        }
        self.refuse_if_failed().map_err(self.io_error("write the header of"))?;
        next.set_lasting(&self.run.lasting());
        next.advance(life);
        // Both copies are alike since the open, so either may go first.
        for place in [1, 0] {
            let written = header::write_copy(&self.file, &next, place).and_then(|()| self.sync_file());
            written.map_err(self.io_error("write the header of"))?;
        }
        self.header = next;
        Ok(())
    }

    fn io_error(&self, doing: &'static str) -> impl FnOnce(io::Error) -> ImageError + use<> {
        ImageError::io(&self.path, doing)
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.header.layout
    }

    /// fdatasync. On Linux that writes dirty pages of shared mappings as well, so it covers the ring.
    fn sync_file(&mut self) -> io::Result<()> {
        if let Some(result) = self.beside.as_mut().and_then(Beside::wait) {
            self.told_later = Some(self.note_sync(result));
        }
        self.refuse_if_failed()?;
        host::sync_data(&self.file).inspect_err(|error| self.fail(error))?;
        self.unsynced = false;
        self.syncs += 1;
        Ok(())
    }

    /// A sync beside has ended.
    fn note_sync(&mut self, result: io::Result<()>) -> Result<(), CellError> {
        match result {
            Ok(()) => self.syncs += 1,
            Err(error) if self.sync_failed.is_none() => self.fail(&error),
            Err(_) => {}
        }
        self.sync_failed.map_or(Ok(()), Err)
    }

    fn refuse_if_failed(&self) -> io::Result<()> {
        match self.sync_failed {
            None => Ok(()),
            Some(_) => Err(io::Error::other("an earlier sync failed; open the image again")),
        }
    }

    /// A sync failed. What was written since the last one may be lost, as after a crash of the operating system: the
    /// header says so to the next open, as far as it can still be written.
    #[cold]
    fn fail(&mut self, error: &io::Error) {
        self.sync_failed = Some(host::media_error(error));
        trouble::sync_failed(&self.path, error);
        if self.header.life.state == State::Clean {
            return;
        }
        self.header.advance(Life { boot: BootId::UNKNOWN, ..self.header.life });
        // One copy is whole at any instant: the other is left alone unless the first is on the disk. That is enough for
        // the next process; after a crash of the operating system the boot is another one anyway.
        let _ = header::write_copies(&self.file, &self.header, 0);
    }

    fn sync_media(&mut self) -> Result<(), CellError> {
        self.sync_file().map_err(|error| self.sync_failed.unwrap_or(host::media_error(&error)))
    }

    /// Data first, then the header with their checksum: a program that stops half-way did not happen.
    fn write_page(&mut self, at: PageAddr, data: &[u8], oob: &[u8]) -> io::Result<()> {
        self.unsynced = true;
        if let AnyCells::Overlaid(_, pages) = &mut self.cells {
            pages.insert(at, [data, oob].concat());
            return Ok(());
        }
        let (data_at, oob_at) = (self.layout().data_of(at), self.layout().oob_of(at));
        self.refuse_if_finished()?;
        self.refuse_if_failed()?;
        let write = |file: &Locked| {
            host::write_at(file, data, data_at).and_then(|()| host::write_at(file, oob, oob_at))
        };
        let mut written = write(&self.file);
        if written.as_ref().is_err_and(host::is_full) && self.give_all_back() {
            written = write(&self.file);
        }
        self.trouble.note(&self.path, &written);
        if self.promised && written.is_ok() {
            self.early.note(&self.file, data.len(), self.header.layout.oob_at);
        }
        written
    }

    /// A write behind the orderly end would make the header lie.
    fn refuse_if_finished(&self) -> io::Result<()> {
        if self.header.life.state == State::Clean {
            Err(io::Error::other("the image was closed"))
        } else {
            Ok(())
        }
    }

    fn write_erase(&mut self, segment: SegmentId, epoch: u32) -> Result<(), CellError> {
        self.refuse_if_finished().map_err(|e| host::media_error(&e))?;
        self.unsynced = true;
        let raised = epochs::write(&self.file, self.layout(), segment, epoch);
        if raised.is_err() {
            // That it succeeds says nothing of pages: the table is allocated.
            self.trouble.note(&self.path, &raised);
        }
        raised.map_err(|e| host::media_error(&e))?;
        self.note_space(segment, epoch);
        Ok(())
    }
}

impl Cells for FileCells {
    fn lasting(&self) -> Lasting {
        self.run.lasting()
    }

    fn keeps_counters(&self) -> bool {
        self.is_writable()
    }

    fn keep(&mut self, lasting: Lasting) {
        self.run.note(lasting);
        let may_write =
            self.is_writable() && self.sync_failed.is_none() && self.header.life.state == State::Dirty;
        if may_write && self.run.is_due() {
            self.header.set_lasting(&self.run.lasting());
            // Later numbers follow soon, and with the end of the run for certain.
            let _ = self.file.write_all_at(self.header.block(), life::PLACE * BLOCK_BYTES);
        }
    }

    fn syncs(&self) -> u64 {
        self.syncs
    }

    fn tears_are_hidden(&self) -> bool {
        true
    }

    fn shape(&self) -> Shape {
        self.header.config.shape()
    }

    #[inline]
    fn cell(&self, at: PageAddr) -> Cell<'_> {
        // Erased pages are never looked at through the mapping: a hole may need space even to be read.
        match self.table.state(at) {
            PageState::Erased => Cell::Erased,
            PageState::Torn => Cell::Torn,
            PageState::Programmed => {
                let (data, oob) = self.cells.page(at, self.layout());
                Cell::Programmed { data, oob }
            }
        }
    }

    fn program(&mut self, at: PageAddr, data: &[u8], oob: &[u8]) -> Result<(), CellError> {
        let g = self.layout().geometry;
        assert_eq!(
            (data.len(), oob.len()),
            (g.page_bytes as usize, g.oob_bytes as usize),
            "whole pages only"
        );
        self.write_page(at, data, oob).map_err(|e| host::media_error(&e))?;
        self.table.set(at, PageState::Programmed);
        Ok(())
    }

    fn erase(&mut self, segment: SegmentId) -> Result<(), CellError> {
        if self.promised && self.unsynced && self.is_writable() {
            self.sync_media()?;
        }
        self.erase_unordered(segment)
    }

    fn erase_unordered(&mut self, segment: SegmentId) -> Result<(), CellError> {
        let epoch = self.epoch(segment).checked_add(1).ok_or(CellError::Erase)?;
        if self.is_writable() {
            self.write_erase(segment, epoch)?;
        }
        self.table.clear(segment, epoch);
        Ok(())
    }

    /// The epoch does it at once, and failures are seen.
    fn scrap(&mut self, segment: SegmentId) -> Result<(), CellError> {
        self.erase_unordered(segment)
    }

    fn erasing(&self) -> &BTreeSet<u16> {
        self.header.erasing()
    }

    fn set_erasing(&mut self, owners: BTreeSet<u16>) -> Result<(), CellError> {
        let mut next = self.header.clone();
        let grows = owners.iter().any(|owner| !self.header.erasing().contains(owner));
        next.set_erasing(owners);
        if !self.is_writable() {
            self.header = next;
            return Ok(());
        }
        if grows {
            // If this fails, one copy may say so already: then the next opening erases, and nothing here may say otherwise.
            self.header = next.clone();
        }
        self.write_header_block(next)
    }

    fn save(&mut self, owner: u16, error_on_delete: bool) -> Result<(), CellError> {
        let mut records = self.header.config.namespaces.clone();
        for record in records.iter_mut().filter(|record| record.nsid == u32::from(owner)) {
            let others = record.flags & !NamespaceRecord::EDNEK;
            record.flags = others | if error_on_delete { NamespaceRecord::EDNEK } else { 0 };
        }
        let mut next = self.header.clone();
        next.set_namespaces(records);
        if self.is_writable() {
            return self.write_header_block(next);
        }
        self.header = next;
        Ok(())
    }

    /// Without space for the marker the page is torn until the image is closed and erased afterwards, which
    /// is as good: its content counts in neither case.
    fn tear(&mut self, at: PageAddr) {
        if self.is_writable() && self.refuse_if_finished().is_ok() {
            let epoch = self.epoch(self.layout().geometry.segment_of(at));
            self.unsynced = true;
            let _ = host::write_at(&self.file, &oob::torn_marker(at, epoch), self.layout().oob_of(at));
        }
        self.table.set(at, PageState::Torn);
    }

    #[inline]
    fn epoch(&self, segment: SegmentId) -> u32 {
        self.table.epoch(segment)
    }

    fn written_pages(&self, segment: SegmentId) -> u32 {
        self.table.written(segment)
    }

    fn sync(&mut self) -> Result<(), CellError> {
        if self.is_writable() {
            self.sync_media()?;
            self.promised = true;
        }
        Ok(())
    }

    fn allow_syncs_beside(&mut self) -> bool {
        if self.is_writable() && self.beside.is_none() {
            // Without a thread all syncs are waited for.
            self.beside = Beside::start(&self.file).ok();
        }
        self.beside.is_some()
    }

    fn give_space_back(&mut self) -> bool {
        self.is_writable() && self.refuse_if_finished().is_ok() && self.give_back_when_idle(Instant::now())
    }

    fn begin_sync(&mut self) {
        let may = self.refuse_if_finished().and_then(|()| self.refuse_if_failed());
        let Some(beside) = self.beside.as_mut() else { unreachable!("syncs beside are allowed") };
        match may {
            Ok(()) => {
                self.unsynced = false;
                self.promised = true;
                beside.begin();
            }
            Err(error) => self.told_later = Some(Err(self.sync_failed.unwrap_or(host::media_error(&error)))),
        }
    }

    fn ended_sync(&mut self) -> Option<Result<(), CellError>> {
        if let Some(told) = self.told_later.take() {
            return Some(told);
        }
        let ended = self.beside.as_mut()?.ended()?;
        Some(self.note_sync(ended))
    }

    fn erase_needs_sync(&self) -> bool {
        self.promised && self.is_writable()
    }

    fn is_worth_trying(&self) -> bool {
        self.sync_failed.is_none() && self.trouble.is_worth_trying()
    }

    #[inline]
    fn is_read_only(&self) -> bool {
        self.sync_failed.is_some()
    }

    /// Each open for writing raises the header's generation before anything else happens.
    fn power_ons(&self) -> u64 {
        self.header.generation
    }

    fn history(&self) -> PowerHistory {
        self.history
    }

    fn bytes_in_use(&self) -> u64 {
        let g = &self.layout().geometry;
        self.table.programmed() * u64::from(g.page_bytes + g.oob_bytes)
    }
}
