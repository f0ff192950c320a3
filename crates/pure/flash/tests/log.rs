// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The log over flash: finding checkpoints again, and repairs that leave something behind.

use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, MemCells, PowerCut};
use saker_log::append::Reserve;
use saker_log::{CheckpointSearch, CheckpointWriter, Log, Searched, page_of, survey};
use saker_segment_store::{
    Geometry, Page, PageAddr, PageBuffer, PageBufferMemory, PowerHistory, Step, Stream,
};
use saker_sim::{Chance, Class};

const OWNER: u16 = 1;
const SLOTS: u16 = 32;
const GEOMETRY: Geometry = Geometry { page_bytes: 512, oob_bytes: 64, segment_pages: 16, segments: 16 };
const NO_RESERVE: Reserve = Reserve { slots: 0, segments: 0 };

struct Bench {
    flash: Flash,
    log: Log,
}

impl Bench {
    fn on(media: MemCells, page_buffer: PageBuffer, faults: FaultPlan) -> Self {
        let mut flash = Flash::power_on(media, page_buffer, None, faults);
        flash.pool_mut().set_quota(OWNER, GEOMETRY.segments);
        Self { flash, log: Log::new(OWNER, GEOMETRY, true) }
    }

    fn new(faults: FaultPlan) -> Self {
        let media = MemCells::new(Shape { geometry: GEOMETRY, channels: 2, luns: 4 });
        Self::on(media, PageBuffer::heap(SLOTS, GEOMETRY.page_bytes, GEOMETRY.oob_bytes), faults)
    }

    fn settle(&mut self) {
        while let Some((_, done)) = self.flash.take_completion() {
            self.log.completed(&done, &mut self.flash.view(OWNER, Class::Background));
        }
    }

    /// A checkpoint with one chunk; it ends only if it is to be whole.
    fn checkpoint(&mut self, generation: u64, chunk: &[u8], is_whole: bool) {
        let view = &mut self.flash.view(OWNER, Class::Background);
        let begun = CheckpointWriter::begin(&mut self.log, view, generation, 10 * generation, 64, 1);
        let mut writer = begun.expect("there is room");
        assert_eq!(writer.chunk(&mut self.log, view, chunk), Ok(()));
        while is_whole && !writer.is_finished() {
            let finished = self.flash.finished();
            let _ = writer.finish(&mut self.log, &mut self.flash.view(OWNER, Class::Background), finished);
            self.settle();
        }
        self.settle();
        assert_eq!(self.log.check(&self.flash.view(OWNER, Class::Background)), Ok(()));
        // Nobody keeps it: power will be cut.
        drop(writer.resting());
    }

    fn restart(self) -> (Self, CheckpointSearch) {
        let (mut media, page_buffer) = self.flash.cut(PowerCut { seed: 1, ring_kept: true });
        media.set_history(PowerHistory::Cut { ring_kept: true });
        let memory = PageBufferMemory::from_bytes(page_buffer.memory());
        let page_buffer = PageBuffer::new(memory, SLOTS, GEOMETRY.page_bytes, GEOMETRY.oob_bytes);
        let mut bench = Self::on(media, page_buffer, FaultPlan::default());
        let Step::Done(Ok(image)) = survey(&mut bench.log, &mut bench.flash.view(OWNER, Class::Foreground))
        else {
            panic!("nothing is damaged")
        };
        (bench, CheckpointSearch::new(&image))
    }

    fn news(&mut self, search: &mut CheckpointSearch) -> Searched {
        match search.step(&mut self.log, &mut self.flash.view(OWNER, Class::Foreground)) {
            Step::Done(Ok(news)) => news,
            other => panic!("{other:?}"),
        }
    }
}

/// Two whole ones, the older of which nobody gave back, and one that did not come to its end.
fn three_checkpoints() -> (Bench, CheckpointSearch) {
    let mut bench = Bench::new(FaultPlan::default());
    bench.checkpoint(1, b"one", true);
    bench.checkpoint(2, b"two", true);
    bench.checkpoint(3, b"three", false);
    bench.restart()
}

#[test]
fn the_youngest_whole_checkpoint_is_found() {
    let (mut bench, mut search) = three_checkpoints();
    assert!(matches!(bench.news(&mut search), Searched::Chunk(chunk) if chunk == b"three"));
    assert!(matches!(bench.news(&mut search), Searched::Forget));
    assert!(matches!(bench.news(&mut search), Searched::Chunk(chunk) if chunk == b"two"));
    let Searched::Whole(whole) = bench.news(&mut search) else { panic!("it is whole") };
    assert_eq!((whole.generation, whole.cut.version, whole.segments.len()), (2, 20, 1));
}

#[test]
fn what_makes_no_sense_is_passed_over_for_an_older_one() {
    let (mut bench, mut search) = three_checkpoints();
    assert!(matches!(bench.news(&mut search), Searched::Chunk(chunk) if chunk == b"three"));
    search.refuse();
    assert!(matches!(bench.news(&mut search), Searched::Chunk(chunk) if chunk == b"two"));
    search.refuse();
    assert!(matches!(bench.news(&mut search), Searched::Chunk(chunk) if chunk == b"one"));
    search.refuse();
    assert!(matches!(bench.news(&mut search), Searched::None));
    assert_eq!(bench.log.releasing(), 3, "nobody needs any of them");
}

#[test]
fn failed_pages_are_read_from_their_slots_until_a_pinned_repair_is_done_again() {
    let mut bench = Bench::new(FaultPlan { program: Chance::one_in(1), ..FaultPlan::default() });
    let bytes = GEOMETRY.page_bytes;
    let view = &mut bench.flash.view(OWNER, Class::Foreground);
    bench.log.room(view, Stream::User, bytes, NO_RESERVE).expect("it is empty");
    let writer = bench.log.begin(view, Stream::User, bytes);
    let at = PageAddr(writer.log_addr().0 / u64::from(bytes));
    bench.log.put(view, &writer, 0, &[7; 512]);
    bench.log.commit(view, writer);
    bench.settle();
    assert!(bench.log.must_evacuate());
    let id = GEOMETRY.segment_of(at);
    let finished = bench.flash.finished();
    let view = &mut bench.flash.view(OWNER, Class::Background);
    bench.log.end_repair_pinned(id, view);
    bench.log.pump(finished, view);
    assert!(matches!(page_of(&bench.log, view, at), Page::Resident { .. }));
    assert!(!bench.log.must_evacuate() && bench.log.has_failures());
    bench.log.unpin_repairs();
    assert!(bench.log.must_evacuate(), "it begins again");
    bench.log.end_repair(id, view);
    bench.log.pump(finished, view);
    assert!(!matches!(page_of(&bench.log, view, at), Page::Resident { .. }) && !bench.log.has_failures());
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "dropped, but a writer is committed or abandoned")]
fn a_writer_is_not_forgotten() {
    let mut bench = Bench::new(FaultPlan::default());
    let view = &mut bench.flash.view(OWNER, Class::Foreground);
    assert_eq!(bench.log.room(view, Stream::User, 64, NO_RESERVE), Ok(()));
    drop(bench.log.begin(view, Stream::User, 64));
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "dropped, but a checkpoint is completed or given up")]
fn a_checkpoint_is_not_forgotten() {
    let mut bench = Bench::new(FaultPlan::default());
    let view = &mut bench.flash.view(OWNER, Class::Background);
    drop(CheckpointWriter::begin(&mut bench.log, view, 1, 10, 64, 1));
}
