// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
use crate::nand::{Cell, Shape};
use crate::{FaultPlan, MemCells};
use saker_segment_store::{
    Completion, Geometry, Order, PageAddr, PageBuffer, PageHeader, PowerHistory, SegmentStore, SlotState,
    Stream, Tag,
};
use saker_sim::Class;
use std::collections::BTreeSet;

const OWNER: u16 = 1;
const GEOMETRY: Geometry = Geometry { page_bytes: 512, oob_bytes: 64, segment_pages: 4, segments: 4 };

/// Cells in memory behind a host that refuses as it is told.
#[derive(Debug)]
struct Refusing {
    cells: MemCells,
    /// Programs and erases are refused so.
    all: Option<CellError>,
    /// This page is.
    bad: Option<PageAddr>,
    is_due: bool,
    tries: u32,
}

impl Cells for Refusing {
    fn shape(&self) -> Shape {
        self.cells.shape()
    }
    fn cell(&self, at: PageAddr) -> Cell<'_> {
        self.cells.cell(at)
    }
    fn program(&mut self, at: PageAddr, data: &[u8], oob: &[u8]) -> Result<(), CellError> {
        self.tries += 1;
        let bad = self.bad.filter(|bad| *bad == at).map(|_| CellError::HostIo);
        self.all.or(bad).map_or(Ok(()), Err)?;
        self.cells.program(at, data, oob)
    }
    fn erase(&mut self, segment: SegmentId) -> Result<(), CellError> {
        self.all.map_or(Ok(()), Err)?;
        self.cells.erase(segment)
    }
    fn tear(&mut self, at: PageAddr) {
        self.cells.tear(at);
    }
    fn epoch(&self, segment: SegmentId) -> u32 {
        self.cells.epoch(segment)
    }
    fn written_pages(&self, segment: SegmentId) -> u32 {
        self.cells.written_pages(segment)
    }
    fn sync(&mut self) -> Result<(), CellError> {
        Ok(())
    }
    fn is_worth_trying(&self) -> bool {
        self.is_due
    }
    fn history(&self) -> PowerHistory {
        self.cells.history()
    }
    fn bytes_in_use(&self) -> u64 {
        self.cells.bytes_in_use()
    }
    fn erasing(&self) -> &BTreeSet<u16> {
        self.cells.erasing()
    }
    fn set_erasing(&mut self, owners: BTreeSet<u16>) -> Result<(), CellError> {
        self.cells.set_erasing(owners)
    }
    fn save(&mut self, owner: u16, error_on_delete: bool) -> Result<(), CellError> {
        self.cells.save(owner, error_on_delete)
    }
}

/// A flash whose first segment is the owner's.
fn refusing(all: Option<CellError>, bad: Option<PageAddr>) -> Flash {
    let cells = MemCells::new(Shape { geometry: GEOMETRY, channels: 1, luns: 1 });
    let media = Refusing { cells, all, bad, is_due: false, tries: 0 };
    let mut flash =
        Flash::power_on(Box::new(media), PageBuffer::heap(8, 512, 64), None, FaultPlan::default());
    flash.pool_mut().set_quota(OWNER, 4);
    assert_eq!(flash.view(OWNER, Class::Foreground).allocate(), Some(SegmentId(0)));
    flash
}

fn cells(flash: &mut Flash) -> &mut Refusing {
    flash.media_mut().get_mut().expect("cells that refuse")
}

/// Submits the program of a page full of its number.
fn program(flash: &mut Flash, page: u64) -> Tag {
    let at = PageAddr(page);
    let header = PageHeader {
        owner: OWNER,
        shard: 0,
        stream: Stream::User,
        epoch: flash.media().epoch(GEOMETRY.segment_of(at)),
        sequence: page + 1,
        addr: at,
        used_bytes: 512,
        first_record: 0,
        data_crc: 0,
    };
    let mut view = flash.view(OWNER, Class::Foreground);
    let slot = view.page_buffer_mut().open(&header).expect("a free slot");
    view.page_buffer_mut().data_mut(slot).fill(page as u8);
    view.page_buffer_mut().publish(slot, 512);
    view.page_buffer_mut().seal(slot, false);
    view.program(at, slot, Order::Any)
}

/// What has completed, by page or segment; slots of programs are given back.
fn completed(flash: &mut Flash) -> Vec<(u64, Result<(), CellError>)> {
    let mut all = Vec::new();
    while let Some((_, Completion { io, result, .. })) = flash.take_completion() {
        all.push(match io {
            Io::Program { at, slot } => {
                assert_eq!(
                    flash.page_buffer.state(slot),
                    SlotState::Sealed,
                    "until then it can be read there"
                );
                flash.page_buffer.release(slot);
                (at.0, result)
            }
            Io::Erase(segment) => (u64::from(segment.0), result),
            Io::Sync => unreachable!("nobody syncs"),
        });
    }
    all
}

#[test]
fn what_a_full_host_refused_is_programmed_in_order_when_there_is_room() {
    let mut flash = refusing(Some(CellError::HostFull), None);
    let first = program(&mut flash, 0);
    program(&mut flash, 1);
    assert_eq!((flash.refusal(), flash.finished()), (Some(CellError::HostFull), Tag(first.0 - 1)));
    assert!(flash.is_quiet() && completed(&mut flash).is_empty());
    assert!(!flash.resume() && !flash.resume_if_due(), "there is no room yet");
    assert_eq!(cells(&mut flash).tries, 2, "a program at its submission, one when somebody waited");
    assert!(matches!(flash.media().cell(PageAddr(0)), Cell::Erased), "no page is spent");
    cells(&mut flash).all = None;
    program(&mut flash, 2);
    assert!(completed(&mut flash).is_empty(), "it waits behind the others, and nobody has waited for them");
    cells(&mut flash).is_due = true;
    let last = program(&mut flash, 3);
    assert_eq!(completed(&mut flash), [(0, Ok(())), (1, Ok(())), (2, Ok(())), (3, Ok(()))]);
    assert_eq!((flash.refusal(), flash.finished(), flash.stats().failures), (None, last, 0));
    assert_eq!(flash.stats().pages_programmed, 4, "each counts once, however often it was tried");
}

#[test]
fn only_a_page_that_fails_while_others_do_not_is_spent() {
    let mut flash = refusing(None, Some(PageAddr(1)));
    for page in 0..2 {
        program(&mut flash, page);
    }
    assert_eq!(completed(&mut flash), [(0, Ok(()))]);
    assert!(!flash.resume() && flash.refusal() == Some(CellError::HostIo), "it may be the host's failure");
    program(&mut flash, 2);
    assert!(flash.resume());
    assert_eq!(completed(&mut flash), [(2, Ok(())), (1, Err(CellError::HostIo))]);
    assert!(matches!(flash.media().cell(PageAddr(1)), Cell::Torn) && !flash.is_held());
    let mut flash = refusing(Some(CellError::HostIo), None);
    for page in 0..4 {
        program(&mut flash, page);
    }
    cells(&mut flash).tries = 0;
    assert!(!flash.resume());
    assert_eq!(
        (cells(&mut flash).tries, completed(&mut flash).len()),
        (FAILED_MAX, 0),
        "all fail: none is spent"
    );
    cells(&mut flash).all = None;
    assert!(flash.resume());
    assert_eq!(completed(&mut flash), [(0, Ok(())), (1, Ok(())), (2, Ok(())), (3, Ok(()))]);
}

#[test]
fn an_erase_makes_room_for_what_waits() {
    let mut flash = refusing(None, None);
    program(&mut flash, 0);
    let other = flash.view(OWNER, Class::Foreground).allocate().expect("a free segment");
    assert_eq!(completed(&mut flash).len(), 1);
    cells(&mut flash).all = Some(CellError::HostFull);
    program(&mut flash, u64::from(other.0) * 4);
    flash.view(OWNER, Class::Background).erase(SegmentId(0));
    assert!(completed(&mut flash).is_empty(), "an erase can need room as well; the segment is not retired");
    cells(&mut flash).all = None;
    assert!(flash.resume());
    assert_eq!(completed(&mut flash), [(u64::from(other.0) * 4, Ok(())), (0, Ok(()))]);
    assert_eq!((flash.pool().retired(), flash.stats().segments_erased), (0, 1));
}

#[test]
fn an_erasure_of_an_owner_drops_what_waits_and_is_told_of_refusals() {
    let mut flash = refusing(Some(CellError::HostFull), None);
    program(&mut flash, 0);
    assert!(flash.is_quiet());
    assert_eq!(flash.begin_erasure(&[OWNER]), Ok(()));
    assert_eq!(completed(&mut flash), [(0, Err(CellError::HostFull))], "not even an erase is possible");
    assert_eq!(flash.page_buffer().free_slots(), 8);
    assert_eq!(flash.view(OWNER, Class::Foreground).free_segments(), 3, "that segment is not free yet");
    assert!(!flash.is_held(), "nobody erases what the owner may have written by then");
    cells(&mut flash).all = None;
    assert_eq!(flash.begin_erasure(&[OWNER]), Ok(()));
    assert_eq!(completed(&mut flash), [(0, Ok(()))]);
    assert_eq!(flash.end_erasure(&[OWNER]), Ok(()));
    assert_eq!((flash.view(OWNER, Class::Foreground).free_segments(), flash.pool().retired()), (4, 0));
    while flash.view(OWNER, Class::Foreground).allocate() != Some(SegmentId(0)) {}
    program(&mut flash, 0);
    assert!(!flash.resume());
    assert_eq!((completed(&mut flash), flash.media().written_pages(SegmentId(0))), (vec![(0, Ok(()))], 1));
}
