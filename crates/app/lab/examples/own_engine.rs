//! An engine of one's own over a medium: the smallest that keeps the laws, behind the type by which drivers know any engine. Each
//! pair takes a page, the index is a B-tree in memory, there is no garbage collection and no recovery.
//!
//! What every engine owes: it never waits (`Need` and `Blocked` leave it as it was), a value's bytes are copied once, into
//! the slot that will be programmed, and CPU work is metered.
//!
//! `cargo run -p saker-lab --example own_engine`

use saker_engine::{
    AnyEngine, Background, Capabilities, Condition, Context, Engine, Groups, Hints, Inspect, Job, KvError,
    List, Put, Scans, Sink, Source, StoreStats, Version,
};
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, MemMedia};
use saker_medium::{
    Completion, Geometry, Io, Medium, Page, PageAddr, PageHeader, Ring, SegmentId, SlotId, Stall, Step,
    Stream, Tag,
};
use saker_sim::{Class, Digest, Free, Meter, Unit};
use std::collections::BTreeMap;

const OWNER: u16 = 1;
const PAIRS: u32 = 40;

/// Where a value is: its page, and its slot until the program has finished.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: PageAddr,
    bytes: u32,
    slot: Option<SlotId>,
}

#[derive(Clone, Debug, Default)]
struct PageStore {
    index: BTreeMap<Vec<u8>, Place>,
    /// The segment that is being filled, and its next page.
    open: Option<(SegmentId, u32)>,
    sequence: u64,
}

/// What every engine does.
impl Engine for PageStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities::NONE
    }

    fn store<M: Medium, W: Meter, S: Source>(
        &mut self,
        key: &[u8],
        value: &mut S,
        condition: Condition,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Put, KvError>> {
        let (m, w) = cx.parts();
        let (geometry, bytes) = (m.geometry(), value.bytes());
        if bytes > geometry.page_bytes {
            return Step::Done(Err(KvError::ValueSize));
        }
        match (condition, self.index.contains_key(key)) {
            (Condition::MustExist, false) => return Step::Done(Err(KvError::NotFound)),
            (Condition::MustNotExist, true) => return Step::Done(Err(KvError::Exists)),
            _ => {}
        }
        if m.ring().free_slots() == 0 {
            return Step::Blocked(Stall::NoSlot);
        }
        let full = |(_, page): &(SegmentId, u32)| *page < geometry.segment_pages;
        let Some((segment, page)) = self.open.filter(full).or_else(|| Some((m.allocate()?, 0))) else {
            return Step::Done(Err(KvError::CapacityExceeded));
        };
        let at = geometry.page(segment, page);
        let header = self.header(at, m.epoch(segment));
        let slot = m.ring_mut().open(&header).expect("a slot was free");
        w.work(Unit::CopyByte, u64::from(value.bytes_by_core()));
        let landed = value.read(0, &mut m.ring_mut().data_mut(slot)[..bytes as usize]);
        self.open = Some((segment, page + 1));
        if landed.is_err() {
            m.ring_mut().release(slot);
            return Step::Done(Err(KvError::Transfer));
        }
        m.ring_mut().publish(slot, bytes);
        m.ring_mut().seal(slot, false);
        m.program(at, slot);
        self.index.insert(key.to_vec(), Place { at, bytes, slot: Some(slot) });
        Step::Done(Ok(Put::Done(Version(self.sequence))))
    }

    fn retrieve<M: Medium, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        sink: &mut K,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<u32, KvError>> {
        let Some(place) = self.index.get(key) else { return Step::Done(Err(KvError::NotFound)) };
        let bytes = match (place.slot, cx.medium.page(place.at)) {
            (Some(slot), _) => cx.medium.ring().data(slot),
            (None, Page::Resident { data, .. }) => data,
            (None, Page::Absent) => return Step::Need(vec![place.at]),
            (None, Page::Erased | Page::Torn | Page::Failed) => return Step::Done(Err(KvError::Corrupt)),
        };
        let wanted = place.bytes.min(sink.room()) as usize;
        cx.meter.work(Unit::CopyByte, wanted as u64);
        Step::Done(sink.write(0, &bytes[..wanted]).map(|()| place.bytes).map_err(|_| KvError::Transfer))
    }

    /// In memory only: this engine forgets everything when power goes.
    fn delete<M: Medium, W: Meter>(
        &mut self,
        key: &[u8],
        _: &mut Context<'_, M, W>,
    ) -> Step<Result<Version, KvError>> {
        Step::Done(self.index.remove(key).map(|_| Version(self.sequence)).ok_or(KvError::NotFound))
    }

    fn exists<M: Medium, W: Meter>(
        &mut self,
        key: &[u8],
        _: &mut Context<'_, M, W>,
    ) -> Step<Result<(), KvError>> {
        Step::Done(self.index.get(key).map(|_| ()).ok_or(KvError::NotFound))
    }

    /// Each value is programmed at once, so what is outstanding is all there is to wait for.
    fn flush<M: Medium>(&mut self, medium: &mut M) -> Tag {
        medium.last_tag()
    }

    fn is_flushed(&self, tag: Tag, finished: Tag) -> bool {
        tag <= finished
    }

    /// A program has finished: its slot is free, the page has the value.
    fn completed<M: Medium>(&mut self, done: &Completion, medium: &mut M) {
        let Io::Program { at, slot } = done.io else { return };
        medium.ring_mut().release(slot);
        self.index.values_mut().filter(|place| place.at == at).for_each(|place| place.slot = None);
    }

    fn job<M: Medium>(&self, _: &M) -> Option<Job> {
        None
    }

    fn background<M: Medium, W: Meter>(
        &mut self,
        _: Job,
        _: Tag,
        _: &mut Context<'_, M, W>,
    ) -> Step<Background> {
        Step::Done(Background::Idle)
    }

    fn stats(&self) -> StoreStats {
        StoreStats { pairs: self.index.len() as u64, ..StoreStats::default() }
    }

    fn live_bytes(&self) -> u64 {
        self.index.values().map(|place| u64::from(place.bytes)).sum()
    }

    fn capacity_bytes<M: Medium>(&self, medium: &M) -> u64 {
        medium.geometry().segment_bytes() * u64::from(medium.quota_segments())
    }

    fn pairs_that_fit<M: Medium>(&self, _: u32, value_bytes: u32, medium: &M) -> u64 {
        let pages = u64::from(medium.geometry().segment_pages) * u64::from(medium.quota_segments());
        if value_bytes > medium.geometry().page_bytes { 0 } else { pages }
    }

    fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        for (key, place) in &self.index {
            digest.bytes(key);
            digest.number(place.at.0);
        }
        digest.value()
    }
}

// What it lacks: what is asked for all the same is refused by name.
impl List for PageStore {}
impl Scans for PageStore {}
impl Groups for PageStore {}
impl Hints for PageStore {}
impl Inspect for PageStore {}

impl PageStore {
    fn header(&mut self, addr: PageAddr, epoch: u32) -> PageHeader {
        self.sequence += 1;
        PageHeader {
            owner: OWNER,
            shard: 0,
            stream: Stream::User,
            epoch,
            sequence: self.sequence,
            addr,
            used_bytes: 0,
            first_record: 0,
            data_crc: 0,
        }
    }
}

/// What the driver does: hands completions to the engine.
fn settle(flash: &mut Flash, engine: &mut AnyEngine) {
    while let Some((_, done)) = flash.take_completion() {
        engine.completed(&done, &mut flash.view(OWNER, Class::Foreground));
    }
}

fn main() -> Result<(), KvError> {
    let geometry = Geometry { page_bytes: 512, oob_bytes: 64, segment_pages: 16, segments: 4 };
    let shape = Shape { geometry, channels: 2, luns: 4 };
    let mut flash = Flash::power_on(MemMedia::new(shape), Ring::heap(8, 512, 64), None, FaultPlan::default());
    flash.pool_mut().set_quota(OWNER, geometry.segments);
    // Drivers take any engine as this type.
    let (mut engine, mut meter) = (AnyEngine::other(PageStore::default()), Free);
    for n in 0..PAIRS {
        let value = n.to_le_bytes().repeat(8);
        let (mut view, mut meter) = (flash.view(OWNER, Class::Foreground), Free);
        let cx = &mut Context::new(&mut view, &mut meter);
        let stored = engine.store(&n.to_be_bytes(), &mut &value[..], Condition::Always, cx);
        assert!(matches!(stored, Step::Done(Ok(Put::Done(_)))), "untimed flash never stalls: {stored:?}");
        settle(&mut flash, &mut engine);
    }
    let (mut view, mut meter) = (flash.view(OWNER, Class::Foreground), Free);
    let cx = &mut Context::new(&mut view, &mut meter);
    for n in 0..PAIRS {
        let mut found = Vec::new();
        assert_eq!(engine.retrieve(&n.to_be_bytes(), &mut found, cx), Step::Done(Ok(32)));
        assert_eq!(found, n.to_le_bytes().repeat(8));
    }
    let listed = engine.list(&[], |_| true, cx);
    let Step::Done(Err(refused @ KvError::Unsupported(_))) = listed else { panic!("{listed:?}") };
    println!(
        "{PAIRS} pairs stored and read back, {} pages programmed; {refused}",
        flash.stats().pages_programmed
    );
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
