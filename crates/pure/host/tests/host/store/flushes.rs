// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When HostKV flushes its device for itself, and what becomes of a Flush that fails.

use super::disk::{Disk, Loss};
use super::expected::{Expected, value};
use super::{PAGE_BYTES, Rig, SEGMENT_PAGES, Subject, key, medium, nobody, subjects, writes};
use saker_engine::{EngineKind, KvError};
use saker_host::host_kv::{Answer, BlockQueue, BlockSegments, Op, Whose};
use saker_segment_store::{
    CellError, Io, Order, Page, PageAddr, PageHeader, SegmentId, SegmentStore, Stream,
};

fn subject() -> Subject {
    Subject::all_of(EngineKind::HASH_STORE)[0]
}

fn opened(disk: &Disk) -> BlockSegments {
    let mut medium = medium(disk);
    medium.survey_device(&mut || _ = disk.step());
    medium
}

/// Until nothing is on its way; whether a segment was told to be erased.
fn settle(m: &mut BlockSegments, disk: &Disk) -> Vec<Result<(), CellError>> {
    let mut erased = Vec::new();
    loop {
        m.queue_mut().ring();
        let stepped = disk.step();
        m.poll();
        while let Some(done) = m.take_completion() {
            if let Io::Erase(_) = done.io {
                erased.push(done.result);
            }
        }
        if !stepped && m.queue().unrung() == 0 {
            return erased;
        }
    }
}

/// Programs a page of a segment of that stream.
fn program(m: &mut BlockSegments, disk: &Disk, at: PageAddr, sequence: u64) {
    let used_bytes = m.geometry().page_bytes;
    let (owner, shard, stream, epoch, first_record) = (1, 0, Stream::User, 0, 0);
    let data_crc = saker_segment_store::header::page_crc(&vec![sequence as u8; used_bytes as usize], &[]);
    let header =
        PageHeader { owner, shard, stream, epoch, sequence, addr: at, used_bytes, first_record, data_crc };
    let slot = m.page_buffer_mut().open(&header).expect("a free slot");
    m.page_buffer_mut().data_mut(slot).fill(sequence as u8);
    m.page_buffer_mut().publish(slot, used_bytes);
    m.page_buffer_mut().seal(slot, true);
    m.program(at, slot, Order::Any);
    settle(m, disk);
    m.page_buffer_mut().release(slot);
}

fn page_is_there(disk: &Disk, at: PageAddr) -> bool {
    let mut m = medium(disk);
    m.bring(&[at], Whose::Operation);
    settle(&mut m, disk);
    matches!(m.page(at), Page::Resident { .. })
}

/// A page that was written before an erase is durable when the deallocation is sent, and that is when the segment is free.
#[test]
fn an_erase_waits_for_a_flush_and_the_segment_for_another() {
    let disk = subject().disk(true, 1);
    let mut m = opened(&disk);
    let (old, new) = (m.allocate().expect("a segment"), m.allocate().expect("another"));
    let (old_page, new_page) = (m.geometry().page(old, 0), m.geometry().page(new, 0));
    program(&mut m, &disk, old_page, 1);
    program(&mut m, &disk, new_page, 2);
    let before = m.stats();
    m.erase(old);
    m.queue_mut().ring();
    assert_eq!((m.stats().flushes, m.stats().deallocations), (before.flushes + 1, 0), "a Flush goes first");
    disk.step();
    assert!(page_is_there(&disk.cut(Loss::Everything, 1), new_page), "what replaces it is durable");
    m.poll();
    m.queue_mut().ring();
    assert_eq!(m.stats().deallocations, 1);
    disk.step();
    m.poll();
    assert!(m.take_completion().is_none_or(|done| done.io != Io::Erase(old)), "it may come back yet");
    assert_eq!(settle(&mut m, &disk), [Ok(())]);
    assert!(!page_is_there(&disk.cut(Loss::Everything, 1), old_page), "it does not any more");
    assert_eq!(m.stats().flushes, before.flushes + 2);
}

/// Segments that wait together share Flushes.
#[test]
fn one_flush_serves_all_that_wait() {
    let disk = subject().disk(true, 1);
    let mut m = opened(&disk);
    let all: Vec<_> = (0..6).map(|_| m.allocate().expect("a segment")).collect();
    let flushes = m.stats().flushes;
    all.iter().for_each(|id| _ = m.erase(*id));
    assert_eq!(settle(&mut m, &disk), [Ok(()); 6]);
    // The first segment has one for itself and the others share the next. Deallocations end one by one.
    assert!(m.stats().flushes - flushes <= 2 + 6, "{:?}", m.stats());
}

#[test]
fn a_device_without_a_write_cache_is_not_flushed_for_erases() {
    let disk = subject().disk(false, 1);
    let mut m = opened(&disk);
    let id = m.allocate().expect("a segment");
    m.erase(id);
    assert_eq!(settle(&mut m, &disk), [Ok(())]);
    assert_eq!((m.stats().flushes, m.stats().deallocations), (0, 1));
}

/// What a failed Flush was for is not deallocated, and not used again.
#[test]
fn a_segment_whose_flush_failed_is_left_alone() {
    for failing in [1, 2] {
        let disk = subject().disk(true, 1);
        let mut m = opened(&disk);
        let id = m.allocate().expect("a segment");
        let at = m.geometry().page(id, 0);
        program(&mut m, &disk, at, 1);
        let free = m.free_segments();
        m.erase(id);
        if failing == 2 {
            m.queue_mut().ring();
            disk.step();
            m.poll();
        }
        disk.fail_flushes(1);
        assert_eq!(settle(&mut m, &disk), [Err(CellError::Erase)], "Flush {failing} fails");
        assert_eq!((m.free_segments(), m.stats().deallocations), (free, failing - 1));
    }
}

/// What is found is durable: a process may have died without its device.
#[test]
fn opening_makes_durable_what_it_finds() {
    let disk = subject().disk(true, 1);
    let mut m = opened(&disk);
    let id = m.allocate().expect("a segment");
    let at = m.geometry().page(id, 0);
    program(&mut m, &disk, at, 1);
    assert!(!page_is_there(&disk.cut(Loss::Everything, 1), at));
    drop(m);
    let m = opened(&disk);
    assert_eq!(m.survey().len(), 1);
    assert!(page_is_there(&disk.cut(Loss::Everything, 1), at));
}

/// However many pages before it are lost, a page that is there is found, and its segment is not free.
#[test]
fn a_page_behind_many_that_are_lost_is_found() {
    const PAGES: u64 = 200;
    let subject = Subject { segments: 100, ..subject() };
    let disk = subject.disk(false, 1);
    let mut m = BlockSegments::with_pages(disk.clone(), PAGES * u64::from(PAGE_BYTES), PAGE_BYTES);
    m.take_empty();
    let id = m.allocate().expect("a segment");
    let at = m.geometry().page(id, 150);
    program(&mut m, &disk, at, 1);
    let mut m = BlockSegments::with_pages(disk.clone(), PAGES * u64::from(PAGE_BYTES), PAGE_BYTES);
    m.survey_device(&mut || _ = disk.step());
    let found: Vec<_> = m.survey().iter().map(|view| (view.id, view.written_pages)).collect();
    assert_eq!(found, [(id, 151)]);
    assert_eq!(u64::from(m.free_segments()), subject.segments * SEGMENT_PAGES / PAGES - 1);
}

/// A segment of which nothing whole is left is used again.
#[test]
fn a_segment_of_torn_pages_is_free_again() {
    for is_volatile in [true, false] {
        let mut disk = subject().disk(is_volatile, 1);
        let blocks = u64::from(PAGE_BYTES / disk.block_bytes());
        // A block of the third segment's second page.
        let first = (2 * SEGMENT_PAGES + 1) * blocks;
        disk.write(first, vec![7; disk.block_bytes() as usize]).expect("room");
        disk.ring();
        disk.step();
        disk.poll();
        let mut m = opened(&disk);
        let segments = m.geometry().segments;
        assert_eq!(m.survey(), [], "no engine can need it");
        assert_eq!(settle(&mut m, &disk), [], "no engine is told: none asked");
        assert_eq!(m.free_segments(), segments);
        let at = m.geometry().page(SegmentId(2), 1);
        m.bring(&[at], Whose::Operation);
        settle(&mut m, &disk);
        assert!(matches!(m.page(at), Page::Erased));
    }
}

/// The device could not: whoever asked is told, and who asks again is not.
#[test]
fn a_flush_that_fails_is_an_error() {
    for subject in subjects() {
        let mut rig = Rig::new(subject, subject.disk(true, 1));
        let mut expected = Expected::default();
        let op = writes(&mut expected, &[(1, true)]);
        assert_eq!(rig.run(op, &mut nobody), Ok(Answer::Done));
        rig.disk.fail_flushes(1);
        assert_eq!(
            rig.run(Op::Flush, &mut nobody),
            Err(KvError::Unrecovered(CellError::HostIo)),
            "{subject:?}"
        );
        assert_eq!(rig.run(Op::Flush, &mut nobody), Ok(Answer::Done), "{subject:?}");
        let cut = rig.disk.cut(Loss::Everything, 1);
        let mut again = Rig::open(subject, cut, &mut nobody).expect("sound");
        assert_eq!(again.get(1), Some(value(1, 1)), "{subject:?}");
    }
}

/// A store of any engine is opened as what it is over blocks.
#[test]
fn every_engine_is_opened_as_it_was_made() {
    for kind in EngineKind::ALL {
        let subject = Subject { kind: *kind, ..subject() };
        let mut rig = Rig::new(subject, subject.disk(true, 1));
        let put = rig.run(Op::Put(key(1), b"there".to_vec()), &mut nobody);
        assert_eq!((put, rig.run(Op::Flush, &mut nobody)), (Ok(Answer::Done), Ok(Answer::Done)), "{kind:?}");
        let cut = rig.disk.cut(Loss::Everything, 1);
        let mut again = Rig::open(subject, cut, &mut nobody).expect("sound");
        assert_eq!(again.get(1), Some(b"there".to_vec()), "{kind:?}");
        assert_eq!(again.store.engine_name(), rig.store.engine_name());
    }
}
