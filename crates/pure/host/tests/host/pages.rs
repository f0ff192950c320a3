// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages that an operation of HostKV holds while they are written and deallocated.

use saker_host::host_kv::{BlockDone, BlockQueue, BlockSegments, Whose};
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
    /// First block and blocks of each read.
    asked: Vec<(u64, u32)>,
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
        let blocks = data.chunks(BLOCK_BYTES as usize).map(<[u8]>::to_vec);
        self.blocks.extend((first..).zip(blocks));
        Ok(self.written())
    }

    fn read(&mut self, first: u64, blocks: u32) -> Option<u64> {
        self.asked.push((first, blocks));
        let block = |at| self.blocks.get(&at).cloned().unwrap_or_else(|| vec![0; BLOCK_BYTES as usize]);
        let found = (first..first + u64::from(blocks)).flat_map(block).collect();
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
    medium_of(1)
}

/// The same with pages of so many blocks.
fn medium_of(page_blocks: u32) -> BlockSegments {
    let page_bytes = page_blocks * BLOCK_BYTES;
    let mut medium = BlockSegments::with_pages(SlowReads::default(), 4 * u64::from(page_bytes), page_bytes);
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

fn queue(m: &mut BlockSegments) -> &mut SlowReads {
    let queue: &mut dyn Any = m.queue_mut();
    queue.downcast_mut::<SlowReads>().expect("slow reads")
}

fn answer(m: &mut BlockSegments) {
    queue(m).answer();
    m.poll();
}

/// First block and blocks of the reads since the last call.
fn asked(m: &mut BlockSegments) -> Vec<(u64, u32)> {
    std::mem::take(&mut queue(m).asked)
}

/// The first byte of a part, if it is here.
fn seen_part(m: &BlockSegments, bytes: std::ops::Range<u32>) -> Option<u8> {
    match m.part(AT, bytes.clone()) {
        Page::Resident { data, .. } => Some(data[bytes.start as usize]),
        _ => None,
    }
}

/// Looks at a part, asks for it, and looks again.
fn look(m: &mut BlockSegments, bytes: std::ops::Range<u32>) -> Option<u8> {
    assert_eq!(seen_part(m, bytes.clone()), None);
    m.bring(&[AT], Whose::Operation);
    while !m.all_here(&[AT]) {
        answer(m);
    }
    seen_part(m, bytes)
}

#[test]
fn only_the_blocks_that_are_looked_at_are_read() {
    let mut m = medium_of(8);
    program(&mut m, 7);
    assert_eq!(look(&mut m, 1000..1400), Some(7));
    assert_eq!(asked(&mut m), [(1, 2)], "bytes 512 to 1536");
    assert_eq!(seen_part(&m, 600..700), Some(7), "what came along");
    assert!(matches!(m.page(AT), Page::Absent), "the whole page is not here");
    m.bring(&[AT], Whose::Operation);
    while !m.all_here(&[AT]) {
        answer(&mut m);
    }
    assert_eq!((seen(&m), asked(&mut m)), (Some(7), vec![(0, 8)]));
    (0..2).for_each(|_| m.release_pages(&[AT]));
    m.bring(&[AT], Whose::Operation);
    assert_eq!(asked(&mut m), [(0, 8)], "who did not look needs the whole page");
}

#[test]
fn a_block_that_was_read_is_in_the_cache_until_it_is_written() {
    let mut m = medium_of(8).with_block_cache(4 * u64::from(BLOCK_BYTES));
    program(&mut m, 7);
    for reads in [1, 0, 0] {
        assert_eq!(look(&mut m, 512..600), Some(7));
        assert_eq!(asked(&mut m).len(), reads);
        m.release_pages(&[AT]);
    }
    let stats = m.block_cache_stats();
    assert_eq!((stats.hits, stats.misses), (2, 1));
    m.erase(SegmentId(0));
    m.poll();
    program(&mut m, 9);
    assert_eq!((look(&mut m, 512..600), asked(&mut m)), (Some(9), vec![(1, 1)]), "it was forgotten");
    m.release_pages(&[AT]);
    // A read that was overtaken by a write brings nothing into the cache.
    assert_eq!(seen_part(&m, 1024..1100), None);
    m.bring(&[AT], Whose::Operation);
    m.erase(SegmentId(0));
    m.poll();
    answer(&mut m);
    m.release_pages(&[AT]);
    program(&mut m, 4);
    assert_eq!(look(&mut m, 1024..1100), Some(4));
}

#[test]
fn background_work_leaves_the_cache_alone() {
    let mut m = medium_of(8).with_block_cache(64 * u64::from(BLOCK_BYTES));
    program(&mut m, 7);
    assert_eq!(seen_part(&m, 0..100), None);
    m.bring(&[AT], Whose::Background);
    answer(&mut m);
    m.release_pages(&[AT]);
    assert_eq!((look(&mut m, 0..100), asked(&mut m).len()), (Some(7), 2));
    let stats = m.block_cache_stats();
    assert_eq!((stats.hits, stats.misses), (0, 1));
}

#[test]
fn a_held_page_follows_what_is_written() {
    let mut m = medium();
    program(&mut m, 1);
    m.bring(&[AT], Whose::Operation);
    answer(&mut m);
    assert_eq!(seen(&m), Some(1));
    m.erase(SegmentId(0));
    assert!(matches!(m.page(AT), Page::Erased));
    program(&mut m, 2);
    assert_eq!(seen(&m), Some(2));
    let reads = m.stats().reads;
    m.bring_instead(&[AT], &[AT], Whose::Operation);
    assert_eq!((seen(&m), m.stats().reads), (Some(2), reads), "asked for again, and held throughout");
    m.release_pages(&[AT]);
    assert!(matches!(m.page(AT), Page::Absent));
}

#[test]
fn a_read_that_was_overtaken_brings_nothing_back() {
    let mut m = medium();
    program(&mut m, 1);
    m.bring(&[AT], Whose::Operation);
    m.erase(SegmentId(0));
    program(&mut m, 2);
    answer(&mut m);
    assert_eq!(seen(&m), Some(2), "who waited has the new page");
    // Nor does the read of somebody who has gone enter a page for the next who asks.
    m.release_pages(&[AT]);
    m.bring(&[AT], Whose::Operation);
    m.release_pages(&[AT]);
    m.erase(SegmentId(0));
    program(&mut m, 3);
    m.bring(&[AT], Whose::Operation);
    answer(&mut m);
    assert!(matches!(m.page(AT), Page::Absent), "page 2 was read for nobody");
    answer(&mut m);
    assert_eq!(seen(&m), Some(3));
}
