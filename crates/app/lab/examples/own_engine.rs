//! An engine of one's own over a medium: the smallest that keeps the laws. Each pair takes a page, the index is a
//! B-tree in memory, there is no garbage collection and no recovery.
//!
//! What every engine owes: it never waits (`Need` and `Blocked` leave it as it was), a value's bytes are copied once, into
//! the slot that will be programmed, and CPU work is metered.
//!
//! `cargo run -p saker-lab --example own_engine`

use saker_engine::{KvError, Source};
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, MemMedia};
use saker_medium::{
    Geometry, Io, Medium, Page, PageAddr, PageHeader, Ring, SegmentId, SlotId, Stall, Step, Stream,
};
use saker_sim::{Class, Free, Meter, Unit};
use std::collections::BTreeMap;

const OWNER: u16 = 1;
const PAIRS: u32 = 40;

/// Where a value is: its page, and its slot until the program has finished.
#[derive(Clone, Copy)]
struct Place {
    at: PageAddr,
    bytes: u32,
    slot: Option<SlotId>,
}

#[derive(Default)]
struct PageStore {
    index: BTreeMap<Vec<u8>, Place>,
    /// The segment that is being filled, and its next page.
    open: Option<(SegmentId, u32)>,
    sequence: u64,
}

impl PageStore {
    fn store<M: Medium, W: Meter>(
        &mut self,
        key: &[u8],
        value: &mut impl Source,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        let (geometry, bytes) = (m.geometry(), value.bytes());
        if bytes > geometry.page_bytes {
            return Step::Done(Err(KvError::ValueSize));
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
        Step::Done(Ok(()))
    }

    fn retrieve<M: Medium>(&self, key: &[u8], m: &M) -> Step<Result<Vec<u8>, KvError>> {
        let Some(place) = self.index.get(key) else { return Step::Done(Err(KvError::NotFound)) };
        let bytes = place.bytes as usize;
        if let Some(slot) = place.slot {
            return Step::Done(Ok(m.ring().data(slot)[..bytes].to_vec()));
        }
        match m.page(place.at) {
            Page::Resident { data, .. } => Step::Done(Ok(data[..bytes].to_vec())),
            Page::Absent => Step::Need(vec![place.at]),
            Page::Erased | Page::Torn | Page::Failed => Step::Done(Err(KvError::Corrupt)),
        }
    }

    /// A program has finished: its slot is free, the page has the value.
    fn completed<M: Medium>(&mut self, io: Io, m: &mut M) {
        let Io::Program { at, slot } = io else { return };
        m.ring_mut().release(slot);
        self.index.values_mut().filter(|place| place.at == at).for_each(|place| place.slot = None);
    }

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
fn settle(flash: &mut Flash, engine: &mut PageStore) {
    while let Some((_, done)) = flash.take_completion() {
        engine.completed(done.io, &mut flash.view(OWNER, Class::Foreground));
    }
}

fn main() -> Result<(), KvError> {
    let geometry = Geometry { page_bytes: 512, oob_bytes: 64, segment_pages: 16, segments: 4 };
    let shape = Shape { geometry, channels: 2, luns: 4 };
    let mut flash = Flash::power_on(MemMedia::new(shape), Ring::heap(8, 512, 64), None, FaultPlan::default());
    flash.pool_mut().set_quota(OWNER, geometry.segments);
    let mut engine = PageStore::default();
    for n in 0..PAIRS {
        let value = n.to_le_bytes().repeat(8);
        let stored = engine.store(
            &n.to_be_bytes(),
            &mut &value[..],
            &mut flash.view(OWNER, Class::Foreground),
            &mut Free,
        );
        assert_eq!(stored, Step::Done(Ok(())), "untimed flash never stalls");
        settle(&mut flash, &mut engine);
    }
    for n in 0..PAIRS {
        let found = engine.retrieve(&n.to_be_bytes(), &flash.view(OWNER, Class::Foreground));
        assert_eq!(found, Step::Done(Ok(n.to_le_bytes().repeat(8))));
    }
    println!("{PAIRS} pairs stored and read back, {} pages programmed", flash.stats().pages_programmed);
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
