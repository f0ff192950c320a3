//! Pages that an operation of HostKV holds while they are written and deallocated.

use saker_host::host_kv::{BlockDone, BlockQueue, BlockSegments};
use saker_nvme::Status;
use saker_segment_store::{Order, Page, PageAddr, PageHeader, SegmentId, SegmentStore, Stream};
use std::any::Any;
use std::collections::{BTreeMap, VecDeque};

const BLOCK_BYTES: u32 = 512;
const BLOCKS: u64 = 64;
/// The first page, of a block.
const AT: PageAddr = PageAddr(0);

/// Block commands that take effect at once; reads are answered when the test says so, with what they found.
#[derive(Default)]
struct SlowReads {
    blocks: BTreeMap<u64, Vec<u8>>,
    next: u64,
    done: VecDeque<BlockDone>,
    reads: VecDeque<BlockDone>,
}

impl SlowReads {
    fn done(&mut self, data: Option<Vec<u8>>) -> BlockDone {
        self.next += 1;
        BlockDone { ticket: self.next, status: Status::SUCCESS, data }
    }

    fn written(&mut self) -> u64 {
        let done = self.done(None);
        self.done.push_back(done);
        self.next
    }

    /// The oldest read is answered.
    fn answer(&mut self) {
        self.done.extend(self.reads.pop_front());
    }
}

impl BlockQueue for SlowReads {
    fn block_bytes(&self) -> u32 {
        BLOCK_BYTES
    }

    fn blocks(&self) -> u64 {
        BLOCKS
    }

    fn is_volatile(&self) -> bool {
        false
    }

    fn write(&mut self, first: u64, data: Vec<u8>) -> Result<u64, Vec<u8>> {
        self.blocks.insert(first, data);
        Ok(self.written())
    }

    fn read(&mut self, first: u64, _: u32) -> Option<u64> {
        let found = self.blocks.get(&first).cloned().unwrap_or_else(|| vec![0; BLOCK_BYTES as usize]);
        let done = self.done(Some(found));
        self.reads.push_back(done);
        Some(self.next)
    }

    fn deallocate(&mut self, first: u64, blocks: u64) -> Option<u64> {
        self.blocks.retain(|at, _| !(first..first + blocks).contains(at));
        Some(self.written())
    }

    fn flush(&mut self) -> Option<u64> {
        Some(self.written())
    }

    fn poll(&mut self) -> Option<BlockDone> {
        self.done.pop_front()
    }
}

/// Four pages of a block each are an extent.
fn medium() -> BlockSegments {
    let mut medium = BlockSegments::with_pages(SlowReads::default(), 4 * u64::from(BLOCK_BYTES), BLOCK_BYTES);
    medium.take_empty();
    assert_eq!(medium.allocate(), Some(SegmentId(0)));
    medium
}

/// Writes the first page, full of `byte`.
fn program(m: &mut BlockSegments, byte: u8) {
    let used_bytes = m.geometry().page_bytes;
    let header = PageHeader {
        owner: 1,
        shard: 0,
        stream: Stream::User,
        epoch: 0,
        sequence: u64::from(byte),
        addr: AT,
        used_bytes,
        first_record: 0,
        data_crc: 0,
    };
    let slot = m.page_buffer_mut().open(&header).expect("a free slot");
    m.page_buffer_mut().data_mut(slot).fill(byte);
    m.page_buffer_mut().publish(slot, used_bytes);
    m.page_buffer_mut().seal(slot, false);
    m.program(AT, slot, Order::Any);
    m.poll();
    m.page_buffer_mut().release(slot);
}

fn seen(m: &BlockSegments) -> Option<u8> {
    match m.page(AT) {
        Page::Resident { data, .. } => Some(data[0]),
        _ => None,
    }
}

fn answer(m: &mut BlockSegments) {
    let queue: &mut dyn Any = m.queue_mut();
    queue.downcast_mut::<SlowReads>().expect("slow reads").answer();
    m.poll();
}

#[test]
fn a_held_page_follows_what_is_written() {
    let mut m = medium();
    program(&mut m, 1);
    m.bring(&[AT]);
    answer(&mut m);
    assert_eq!(seen(&m), Some(1));
    m.erase(SegmentId(0));
    assert!(matches!(m.page(AT), Page::Erased));
    program(&mut m, 2);
    assert_eq!(seen(&m), Some(2));
    let reads = m.stats().reads;
    m.bring_instead(&[AT], &[AT]);
    assert_eq!((seen(&m), m.stats().reads), (Some(2), reads), "asked for again, and held throughout");
    m.release_pages(&[AT]);
    assert!(matches!(m.page(AT), Page::Absent));
}

#[test]
fn a_read_that_was_overtaken_brings_nothing_back() {
    let mut m = medium();
    program(&mut m, 1);
    m.bring(&[AT]);
    m.erase(SegmentId(0));
    program(&mut m, 2);
    answer(&mut m);
    assert_eq!(seen(&m), Some(2), "who waited has the new page");
    // Nor does the read of somebody who has gone enter a page for the next who asks.
    m.release_pages(&[AT]);
    m.bring(&[AT]);
    m.release_pages(&[AT]);
    m.erase(SegmentId(0));
    program(&mut m, 3);
    m.bring(&[AT]);
    answer(&mut m);
    assert!(matches!(m.page(AT), Page::Absent), "page 2 was read for nobody");
    answer(&mut m);
    assert_eq!(seen(&m), Some(3));
}
