// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Looking an image over without changing it.
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

use super::header::{self, Copies, Fault, Header, State};
use super::layout::Layout;
use super::lock::Locked;
use super::oob::{self, Oob};
use super::open::{bad_copies, bad_epoch, compare_copies, refuse, wrong_length};
use super::report::{Report, Severity};
use super::table::late_page;
use super::{Access, BootId, ImageError, epochs, scan};
use saker_segment_store::header::page_crc;
use saker_segment_store::{
    Geometry, PageAddr, PageBuffer, PageBufferMemory, PageHeader, PowerHistory, SlotId, SlotState, SlotView,
};
use std::collections::BTreeSet;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How far a check is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Segments looked through.
    pub segments_done: u32,
    /// All segments.
    pub segments: u32,
}

/// Verifies both header copies, the epoch table, the ring's slots and every written page, under a shared
/// lock. `progress` is called now and then. To verify what the namespaces hold as well, run recovery over
/// [`super::open`] with [`Access::Read`], which leaves the file alone.
///
/// # Errors
/// Only when the file cannot be looked at: missing, in use, no image, of a later version. Damage is in the
/// report.
pub fn check(path: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Report, ImageError> {
    let file = Locked::open(path, Access::Read)?;
    let copies = header::read_copies(&file).map_err(ImageError::io(path, "read"))?;
    let mut report = Report::default();
    let header = match header::choose(&copies) {
        Ok((header, _)) => header,
        Err(Fault::Bad(_)) => {
            note_copies(&copies, Severity::Damage, &mut report);
            return Ok(report);
        }
        Err(fault) => return Err(refuse(path, fault)),
    };
    note_copies(&copies, Severity::Repairable, &mut report);
    for nsid in header.erasing() {
        let what = format!("namespace {nsid}: its erasure was interrupted; the next opening ends it");
        report.add(Severity::Repairable, what);
    }
    let found = file.metadata().map_err(ImageError::io(path, "examine"))?.len();
    let mut check = Check::new(file, header, report);
    match wrong_length(found, &check.header.layout) {
        Some(what) => check.report.add(Severity::Damage, what),
        None => check.run(progress).map_err(ImageError::io(path, "read"))?,
    }
    Ok(check.report)
}

/// What is damaged in the ring of an image that nobody writes.
pub(super) fn ring_damage(file: Locked, header: Header) -> std::io::Result<Vec<String>> {
    let mut check = Check::new(file, header, Report::default());
    let layout = check.header.layout;
    check.epochs = epochs::read_all(&check.file, &layout)?;
    if check.history != (PowerHistory::Cut { ring_kept: false }) {
        check.check_ring(&layout)?;
    }
    let damage = check.report.findings.into_iter().filter(|finding| finding.severity == Severity::Damage);
    Ok(damage.map(|finding| finding.what).collect())
}

fn note_copies(copies: &Copies, bad: Severity, report: &mut Report) {
    for (n, what) in bad_copies(copies) {
        let repair = if bad == Severity::Repairable { "; the next write repairs it" } else { "" };
        report.add(bad, format!("header copy {n}: {what}{repair}"));
    }
    if let Some((is_damage, what)) = compare_copies(copies) {
        let severity = if is_damage { Severity::Damage } else { Severity::Repairable };
        report.add(severity, format!("header: {what}"));
    }
}

struct Check {
    file: Locked,
    header: Header,
    history: PowerHistory,
    /// What is not whole may be the work of an operating-system crash. (After a planned cut alone it may
    /// not: the device wrote everything else, and marked what it tore.)
    may_tear: bool,
    epochs: Vec<Option<u32>>,
    /// Pages that the next open completes from the ring.
    completed: BTreeSet<PageAddr>,
    page: Vec<u8>,
    last_segment: Option<u32>,
    report: Report,
}

impl Check {
    fn new(file: Locked, header: Header, mut report: Report) -> Self {
        let history = header.life.history(BootId::current(), header.config.capacitor);
        let planned = header.life.state == State::Cut && !header.life.unsettled;
        report.config = Some(header.config.clone());
        report.history = Some(history);
        Self {
            file,
            history,
            may_tear: matches!(history, PowerHistory::Cut { .. }) && !planned,
            epochs: Vec::new(),
            completed: BTreeSet::new(),
            page: vec![0; header.layout.geometry.page_bytes as usize],
            last_segment: None,
            header,
            report,
        }
    }

    fn run(&mut self, progress: &mut dyn FnMut(Progress)) -> std::io::Result<()> {
        let layout = self.header.layout;
        self.check_epochs(&layout)?;
        if self.history != (PowerHistory::Cut { ring_kept: false }) {
            self.check_ring(&layout)?;
        }
        let segments = layout.geometry.segments;
        // A second handle on the open file, because `self` is changed while the pages are walked.
        let file = self.file.try_clone()?;
        scan::written_oob(&file, &layout, &mut |at, oob| {
            let segment = layout.geometry.segment_of(at).0;
            if layout.geometry.index_of(at) == 0 {
                progress(Progress { segments_done: segment, segments });
            }
            self.check_page(&layout, at, oob);
        })?;
        progress(Progress { segments_done: segments, segments });
        let page = u64::from(layout.geometry.page_bytes + layout.geometry.oob_bytes);
        self.report.counts.bytes_in_use =
            page * (self.report.counts.pages_sound + self.report.counts.pages_bad);
        Ok(())
    }

    fn check_epochs(&mut self, layout: &Layout) -> std::io::Result<()> {
        self.epochs = epochs::read_all(&self.file, layout)?;
        for (segment, _) in self.epochs.iter().enumerate().filter(|(_, epoch)| epoch.is_none()) {
            self.report.add(Severity::Damage, bad_epoch(segment));
        }
        self.report.counts.erases = self.epochs.iter().flatten().map(|epoch| u64::from(*epoch)).sum();
        Ok(())
    }

    fn check_ring(&mut self, layout: &Layout) -> std::io::Result<()> {
        let mut bytes = vec![0; layout.ring_bytes as usize];
        self.file.read_exact_at(&mut bytes, layout.ring_at)?;
        let (slots, g) = (self.header.config.ring_slots, layout.geometry);
        let mut ring =
            PageBuffer::new(PageBufferMemory::from_bytes(&bytes), slots, g.page_bytes, g.oob_bytes);
        if self.header.life.system_crashed(BootId::current()) {
            // What the next open does.
            let settled = ring.settle_after_crash(|view| self.is_programmed(layout, view));
            if let Err(error) = settled {
                self.report.add(Severity::Damage, format!("ring: {error}"));
            }
        }
        for slot in (0..slots).map(SlotId) {
            match ring.view(slot) {
                Ok(None) => {}
                Ok(Some(view)) => self.check_slot(&ring, slot, &view),
                Err(error) => self.report.add(Severity::Damage, format!("ring: {error}")),
            }
        }
        Ok(())
    }

    /// Whether the page of a slot is in its place as a whole.
    fn is_programmed(&self, layout: &Layout, view: &SlotView) -> bool {
        if !layout.geometry.contains(view.addr) || self.epoch_of(view.addr) != Some(view.epoch) {
            return false;
        }
        let mut oob = vec![0; layout.geometry.oob_bytes as usize];
        let mut data = vec![0; layout.geometry.page_bytes as usize];
        let read = self.file.read_exact_at(&mut oob, layout.oob_of(view.addr));
        let read = read.and_then(|()| self.file.read_exact_at(&mut data, layout.data_of(view.addr)));
        let header = PageHeader::decode(&oob, view.addr).ok().flatten();
        read.is_ok()
            && header.is_some_and(|h| h.sequence == view.sequence && header_fault(&h, &data, &oob).is_none())
    }

    fn check_slot(&mut self, ring: &PageBuffer, slot: SlotId, view: &SlotView) {
        self.report.counts.ring_slots_used += 1;
        let geometry = self.header.layout.geometry;
        if !geometry.contains(view.addr) {
            let what = format!("ring: slot {} is for page {}, which does not exist", slot.0, view.addr.0);
            self.report.add(Severity::Damage, what);
            return;
        }
        if view.state != SlotState::Sealed {
            return;
        }
        match sealed_fault(ring, slot, view) {
            Some(fault) => self.add_bad(format!("ring: slot {} (for page {}): {fault}", slot.0, view.addr.0)),
            None if self.epoch_of(view.addr) == Some(view.epoch) => {
                self.completed.insert(view.addr);
            }
            None => {}
        }
    }

    fn epoch_of(&self, at: PageAddr) -> Option<u32> {
        self.epochs.get(self.header.layout.geometry.segment_of(at).0 as usize).copied().flatten()
    }

    fn check_page(&mut self, layout: &Layout, at: PageAddr, oob: &[u8]) {
        // Pages of a segment without an epoch cannot be judged; the segment is reported.
        let Some(epoch) = self.epoch_of(at) else { return };
        let fault = match oob::read(oob, at, epoch) {
            Oob::Erased => return,
            Oob::Torn => {
                self.report.counts.pages_torn += 1;
                return self.count_segment(at);
            }
            Oob::Sound(header) => self.data_fault(layout, at, &header, oob),
            Oob::Later(_) => return self.add_bad(late_page(&layout.geometry, at)),
            Oob::Damaged(None) => Some("there are bytes behind an empty header".to_string()),
            Oob::Damaged(Some(error)) => Some(error.to_string()),
        };
        self.count_segment(at);
        match fault {
            None => self.report.counts.pages_sound += 1,
            Some(fault) => self.add_page(at, &fault),
        }
    }

    fn count_segment(&mut self, at: PageAddr) {
        let segment = self.header.layout.geometry.segment_of(at).0;
        self.report.counts.segments_written += u32::from(self.last_segment != Some(segment));
        self.last_segment = Some(segment);
    }

    fn data_fault(
        &mut self,
        layout: &Layout,
        at: PageAddr,
        header: &PageHeader,
        oob: &[u8],
    ) -> Option<String> {
        if let Err(error) = self.file.read_exact_at(&mut self.page, layout.data_of(at)) {
            return Some(format!("its data cannot be read: {error}"));
        }
        header_fault(header, &self.page, oob)
    }

    fn add_page(&mut self, at: PageAddr, fault: &str) {
        self.report.counts.pages_bad += 1;
        let place = place_of(&self.header.layout.geometry, at);
        if self.history == PowerHistory::Killed && self.completed.contains(&at) {
            self.report.add(Severity::Repairable, format!("{place}: {fault}; the ring completes it"));
        } else {
            self.add_bad(format!("{place}: {fault}"));
        }
    }

    fn add_bad(&mut self, what: String) {
        if self.may_tear {
            self.report.add(Severity::Repairable, format!("{what}; it may be torn by the crash"));
        } else {
            self.report.add(Severity::Damage, what);
        }
    }
}

/// What is wrong with a sealed slot's page.
fn sealed_fault(ring: &PageBuffer, slot: SlotId, view: &SlotView) -> Option<String> {
    match PageHeader::decode(ring.oob(slot), view.addr) {
        Err(error) => Some(error.to_string()),
        Ok(None) => Some("it is sealed without a header".to_string()),
        Ok(Some(header)) if (header.sequence, header.epoch) != (view.sequence, view.epoch) => {
            Some("its header is of another page than its control".to_string())
        }
        Ok(Some(header)) => header_fault(&header, ring.data(slot), ring.oob(slot)),
    }
}

/// How a page is named.
pub(super) fn place_of(geometry: &Geometry, at: PageAddr) -> String {
    format!("page {} (segment {}, index {})", at.0, geometry.segment_of(at).0, geometry.index_of(at))
}

/// What contradicts a sound header.
pub(super) fn header_fault(header: &PageHeader, data: &[u8], oob: &[u8]) -> Option<String> {
    if header.data_crc != page_crc(data, PageHeader::owner_oob(oob)) {
        return Some("its data do not match their checksum".to_string());
    }
    let is_inside = |bytes: u32| bytes as usize <= data.len();
    (!is_inside(header.used_bytes) || !is_inside(header.first_record))
        .then(|| "its header points behind the page".to_string())
}
