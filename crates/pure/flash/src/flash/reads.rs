// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages that somebody waits for, and pages that are held until everybody has looked at them.

use super::Flash;
use super::jobs::JobKind;
use super::pin_table::PinTable;
use crate::nand::Cells;
use crate::nand::timing::Work;
use saker_duty::Duty;
use saker_segment_store::PageAddr;
use saker_sim::Class;
use std::collections::VecDeque;

/// Names a set of pages that somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadBatch(u64);

impl ReadBatch {
    fn new(place: usize, generation: u32) -> Self {
        Self(u64::from(generation) << 32 | place as u64)
    }

    /// A small number that no other batch has at the same time.
    pub const fn place(self) -> usize {
        self.0 as u32 as usize
    }

    const fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Pages that are held, or on their way, until [`Flash::unpin`].
#[derive(Debug)]
#[must_use = "pages are held until they are let go"]
pub struct Pinned {
    batch: ReadBatch,
    duty: Duty,
}

impl Pinned {
    fn new(batch: ReadBatch) -> Self {
        Self { batch, duty: Duty::new("pages that are held are let go by `Flash::unpin`") }
    }

    /// Their name.
    #[inline]
    pub fn batch(&self) -> ReadBatch {
        self.batch
    }

    /// Whoever holds them goes as a whole, with the flash: nobody lets go of anything.
    pub fn rest(&mut self) {
        self.duty.rest();
    }
}

/// Where a page is that somebody asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Not here: nobody has asked, or it was programmed or erased since it was read.
    #[default]
    Away,
    OnWay,
    Here,
}

#[derive(Clone, Debug, Default)]
struct Pin {
    holders: u32,
    state: State,
    /// Who waits, the first apart: nearly always there is no other.
    waiting: Option<ReadBatch>,
    others: Vec<ReadBatch>,
}

impl Pin {
    fn wait(&mut self, id: ReadBatch) {
        match self.waiting {
            None => self.waiting = Some(id),
            Some(_) => self.others.push(id),
        }
    }
}

/// A batch, or a place for one.
#[derive(Clone, Debug, Default)]
struct Batch {
    /// Raised when the batch goes, so that its name is nobody else's.
    generation: u32,
    missing: u32,
    pages: Vec<PageAddr>,
}

/// Pages read for somebody. Each is read once, however many wait for it.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadPins {
    pins: PinTable<Pin>,
    batches: Vec<Batch>,
    free: Vec<usize>,
    ready: VecDeque<ReadBatch>,
}

impl ReadPins {
    /// Whether a page has been read and is held.
    #[inline]
    pub fn is_here(&self, at: PageAddr) -> bool {
        self.pins.get(at).is_some_and(|pin| pin.state == State::Here)
    }

    /// A new batch, of no pages yet.
    fn open(&mut self) -> ReadBatch {
        let place = self.free.pop().unwrap_or_else(|| {
            self.batches.push(Batch::default());
            self.batches.len() - 1
        });
        let batch = &mut self.batches[place];
        batch.missing = 0;
        ReadBatch::new(place, batch.generation)
    }

    /// Holds a page for an open batch. True if it must be read now.
    fn hold(&mut self, id: ReadBatch, page: PageAddr) -> bool {
        let batch = &mut self.batches[id.place()];
        batch.pages.push(page);
        let pin = self.pins.entry(page);
        pin.holders += 1;
        if pin.state == State::Here {
            return false;
        }
        batch.missing += 1;
        pin.wait(id);
        std::mem::replace(&mut pin.state, State::OnWay) == State::Away
    }

    /// A batch has all its pages.
    fn close(&mut self, id: ReadBatch) {
        if self.batches[id.place()].missing == 0 {
            self.ready.push_back(id);
        }
    }

    /// A page has been read.
    pub fn arrive(&mut self, page: PageAddr) {
        let pin = self.pins.get_mut(page).expect("a page is read for its pins");
        pin.state = State::Here;
        let (first, others) = (pin.waiting.take(), std::mem::take(&mut pin.others));
        first.into_iter().chain(others).for_each(|id| self.come(id));
    }

    /// A page has come for a batch that waits.
    fn come(&mut self, id: ReadBatch) {
        let batch = &mut self.batches[id.place()];
        assert_eq!(batch.generation, id.generation(), "waiting batches exist");
        batch.missing -= 1;
        self.close(id);
    }

    /// A page has been programmed or erased: what was read of it is worth nothing, and whoever holds it asks again. A read that
    /// is on its way gives what there is at its end.
    pub fn outdate(&mut self, page: PageAddr) {
        if let Some(pin) = self.pins.get_mut(page).filter(|pin| pin.state == State::Here) {
            pin.state = State::Away;
        }
    }

    fn release(&mut self, id: ReadBatch) {
        let batch = &mut self.batches[id.place()];
        if batch.generation != id.generation() {
            return;
        }
        batch.generation = batch.generation.wrapping_add(1);
        for page in batch.pages.drain(..) {
            let pin = self.pins.get_mut(page).expect("a batch holds its pages");
            pin.holders -= 1;
            if pin.holders == 0 {
                self.pins.remove(page);
            }
        }
        self.free.push(id.place());
    }
}

impl Flash {
    /// Asks for pages; they are pinned until [`Flash::unpin`]. `None`: they are all here (always without a model).
    pub fn bring(&mut self, pages: &[PageAddr], class: Class) -> Option<Pinned> {
        self.media.settle();
        self.model.as_ref()?;
        let id = self.reads.open();
        for page in pages {
            if self.reads.hold(id, *page) {
                self.start(JobKind::Read(*page), Work::Read(*page), class);
            }
        }
        self.reads.close(id);
        Some(Pinned::new(id))
    }

    /// A batch whose pages are all here.
    pub fn take_ready(&mut self) -> Option<ReadBatch> {
        self.reads.ready.pop_front()
    }

    /// Lets go of a batch's pages.
    #[inline]
    pub fn unpin(&mut self, pinned: Pinned) {
        self.reads.release(pinned.batch);
        pinned.duty.done();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::{Shape, Timings};
    use crate::{FaultPlan, MemCells};
    use saker_segment_store::{
        Geometry, Order, Page, PageBuffer, PageHeader, SegmentId, SegmentStore, Stream,
    };

    fn pages(pages: &[u64]) -> Vec<PageAddr> {
        pages.iter().copied().map(PageAddr).collect()
    }

    /// A batch of those pages; what must be read for it goes to `asked`.
    fn hold(reads: &mut ReadPins, pages: &[PageAddr], asked: &mut Vec<PageAddr>) -> ReadBatch {
        let id = reads.open();
        asked.extend(pages.iter().filter(|page| reads.hold(id, **page)));
        reads.close(id);
        id
    }

    #[test]
    fn a_page_is_read_once_and_held_until_the_last_has_let_go() {
        let (mut reads, mut asked) = (ReadPins::default(), Vec::new());
        let one = hold(&mut reads, &pages(&[1, 2]), &mut asked);
        let two = hold(&mut reads, &pages(&[2]), &mut asked);
        assert_eq!(asked, pages(&[1, 2]));
        reads.arrive(PageAddr(2));
        assert_eq!((reads.ready.pop_front(), reads.ready.pop_front()), (Some(two), None));
        assert!(reads.is_here(PageAddr(2)) && !reads.is_here(PageAddr(1)));
        reads.arrive(PageAddr(1));
        assert_eq!(reads.ready.pop_front(), Some(one));
        reads.release(one);
        assert!(reads.is_here(PageAddr(2)) && !reads.is_here(PageAddr(1)));
        reads.release(two);
        assert!(!reads.is_here(PageAddr(2)) && reads.pins.is_empty());
    }

    /// A page that changed under its holders is read again, once, for whoever asks next, and is there for all of them.
    #[test]
    fn a_held_page_that_changes_is_read_again() {
        let (mut reads, mut asked) = (ReadPins::default(), Vec::new());
        let old = hold(&mut reads, &pages(&[1, 2]), &mut asked);
        reads.arrive(PageAddr(1));
        reads.outdate(PageAddr(2));
        reads.arrive(PageAddr(2));
        assert_eq!(reads.ready.pop_front(), Some(old), "the read on its way goes on");
        reads.outdate(PageAddr(1));
        reads.outdate(PageAddr(3));
        assert!(!reads.is_here(PageAddr(1)) && reads.is_here(PageAddr(2)));
        let one = hold(&mut reads, &pages(&[1]), &mut asked);
        let two = hold(&mut reads, &pages(&[1, 2]), &mut asked);
        assert_eq!(asked, pages(&[1, 2, 1]));
        reads.release(old);
        reads.arrive(PageAddr(1));
        assert_eq!((reads.ready.pop_front(), reads.ready.pop_front()), (Some(one), Some(two)));
        assert!(reads.is_here(PageAddr(1)) && reads.is_here(PageAddr(2)));
        reads.release(one);
        reads.release(two);
        assert!(reads.pins.is_empty());
    }

    #[test]
    fn the_name_of_a_batch_that_went_means_nothing_to_its_successor() {
        let mut reads = ReadPins::default();
        let old = hold(&mut reads, &pages(&[1]), &mut Vec::new());
        reads.arrive(PageAddr(1));
        reads.release(old);
        let new = hold(&mut reads, &pages(&[1]), &mut Vec::new());
        assert_eq!(old.place(), new.place(), "places are used again");
        reads.arrive(PageAddr(1));
        reads.release(old);
        assert!(reads.is_here(PageAddr(1)), "it is the new batch's");
        reads.release(new);
        assert!(!reads.is_here(PageAddr(1)));
    }

    const OWNER: u16 = 1;
    const AT: PageAddr = PageAddr(0);

    /// Programs the first page anew, full of `byte`, and lets that end.
    fn program(flash: &mut Flash, byte: u8) {
        let mut view = flash.view(OWNER, Class::Background);
        let header = PageHeader {
            owner: OWNER,
            shard: 0,
            stream: Stream::User,
            epoch: view.epoch(SegmentId(0)),
            sequence: u64::from(byte),
            addr: AT,
            used_bytes: 512,
            first_record: 0,
            data_crc: 0,
        };
        let slot = view.page_buffer_mut().open(&header).expect("a free slot");
        view.page_buffer_mut().data_mut(slot).fill(byte);
        view.page_buffer_mut().publish(slot, 512);
        view.page_buffer_mut().seal(slot, false);
        view.program(AT, slot, Order::Any);
        run(flash);
        flash.page_buffer.release(slot);
    }

    fn run(flash: &mut Flash) {
        while let Some(at) = flash.next_at() {
            flash.step(at);
        }
        while flash.take_completion().is_some() {}
    }

    /// The first byte of the first page, if it is here.
    fn seen(flash: &mut Flash) -> Option<u8> {
        match flash.view(OWNER, Class::Foreground).page(AT) {
            Page::Resident { data, .. } => Some(data[0]),
            _ => None,
        }
    }

    /// A flash whose first segment is the owner's.
    fn with_a_segment() -> Flash {
        let geometry = Geometry { page_bytes: 512, oob_bytes: 64, segment_pages: 4, segments: 4 };
        let media = MemCells::new(Shape { geometry, channels: 1, luns: 1 });
        let page_buffer = PageBuffer::heap(4, 512, 64);
        let mut flash = Flash::power_on(media, page_buffer, Some(Timings::FREE), FaultPlan::default());
        flash.pool_mut().set_quota(OWNER, 4);
        assert_eq!(flash.view(OWNER, Class::Foreground).allocate(), Some(SegmentId(0)));
        flash
    }

    /// A command holds a page while its superblock is erased and programmed again: it must not see it without a read, and the read
    /// brings what is there now.
    #[test]
    fn who_holds_a_page_that_was_rewritten_reads_the_new_one() {
        let mut flash = with_a_segment();
        program(&mut flash, 1);
        let held = flash.bring(&[AT], Class::Foreground).expect("timed");
        run(&mut flash);
        assert_eq!((flash.take_ready(), seen(&mut flash)), (Some(held.batch()), Some(1)));
        flash.view(OWNER, Class::Background).erase(SegmentId(0));
        assert_eq!(seen(&mut flash), Some(1), "the erase has not ended");
        run(&mut flash);
        assert!(matches!(flash.view(OWNER, Class::Foreground).page(AT), Page::Absent));
        program(&mut flash, 2);
        assert_eq!(seen(&mut flash), None);
        let read = flash.stats().pages_read;
        let again = flash.bring(&[AT], Class::Foreground).expect("timed");
        flash.unpin(held);
        run(&mut flash);
        assert_eq!((flash.take_ready(), seen(&mut flash)), (Some(again.batch()), Some(2)));
        assert_eq!(flash.stats().pages_read, read + 1);
        flash.unpin(again);
        assert_eq!(seen(&mut flash), None, "nobody holds it");
    }

    /// Who held a page before it was programmed does not go on seeing it erased.
    #[test]
    fn who_holds_an_erased_page_reads_what_is_programmed() {
        let mut flash = with_a_segment();
        let held = flash.bring(&[AT], Class::Foreground).expect("timed");
        run(&mut flash);
        assert_eq!(flash.take_ready(), Some(held.batch()));
        assert!(matches!(flash.view(OWNER, Class::Foreground).page(AT), Page::Erased));
        program(&mut flash, 1);
        assert!(matches!(flash.view(OWNER, Class::Foreground).page(AT), Page::Absent));
        let again = flash.bring(&[AT], Class::Foreground).expect("timed");
        run(&mut flash);
        assert_eq!((flash.take_ready(), seen(&mut flash)), (Some(again.batch()), Some(1)));
        flash.unpin(held);
        flash.unpin(again);
    }

    #[cfg(debug_assertions)]
    #[test]
    #[should_panic(expected = "pages that are held are let go")]
    fn pages_that_are_held_are_not_forgotten() {
        let mut flash = with_a_segment();
        drop(flash.bring(&[AT], Class::Foreground));
    }
}
