// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Create, open, close, and what each kind of end is taken for.

use crate::image::support::{config, image, program};
use saker::image::{
    Access, BootId, ImageConfig, ImageError, NamespaceKind, NamespaceRecord, OpenImage, check, create, open,
    open_as,
};
use saker_flash::Cells;
use saker_flash::nand::Cell;
use saker_segment_store::{CellError, PageAddr, PowerHistory, SegmentId};
use std::path::Path;

const CUT_KEPT: PowerHistory = PowerHistory::Cut { ring_kept: true };

fn reopen(path: &Path) -> OpenImage {
    open(path, Access::Write).expect("opens")
}

fn holds(media: &impl Cells, at: u64, fill: u8) -> bool {
    matches!(media.cell(PageAddr(at)), Cell::Programmed { data, oob } if data == [fill; 512] && oob[64..] == [fill; 8])
}

#[test]
fn content_survives_an_orderly_end() {
    let (_dir, path) = image(false);
    let mut first = reopen(&path);
    assert_eq!((first.history, &first.config), (PowerHistory::Clean, &config(false)));
    program(&mut first.media, PageAddr(17), 3);
    first.media.erase(SegmentId(4)).expect("erases");
    first.ring[100] = 9;
    first.media.close().expect("closes");
    drop(first.ring);
    let again = reopen(&path);
    assert_eq!((again.history, again.ring[100]), (PowerHistory::Clean, 9));
    assert!(holds(&again.media, 17, 3));
    assert!(matches!(again.media.cell(PageAddr(16)), Cell::Erased));
    assert_eq!((again.media.epoch(SegmentId(4)), again.media.epoch(SegmentId(1))), (1, 0));
    assert_eq!((again.media.written_pages(SegmentId(1)), again.media.bytes_in_use()), (2, 512 + 72));
}

#[test]
fn a_dropped_image_was_killed_or_crashed_with_the_system() {
    let (_dir, path) = image(false);
    let boots = [BootId::of("a"), BootId::of("b")];
    let mut one = open_as(&path, Access::Write, boots[0]).expect("opens");
    program(&mut one.media, PageAddr(0), 1);
    one.ring[0] = 5;
    drop(one);
    let two = open_as(&path, Access::Write, boots[0]).expect("opens");
    assert_eq!((two.history, two.ring[0]), (PowerHistory::Killed, 5));
    assert!(holds(&two.media, 0, 1));
    drop(two);
    let three = open_as(&path, Access::Write, boots[1]).expect("opens");
    assert_eq!((three.history, three.ring[0]), (CUT_KEPT, 5));
    drop(three);
    // A process killed while it recovers from that may have left torn pages behind.
    let four = open_as(&path, Access::Write, boots[1]).expect("opens");
    assert_eq!(four.history, CUT_KEPT);
    four.media.close().expect("closes");
    drop(four.ring);
    let five = open_as(&path, Access::Write, boots[0]).expect("opens");
    assert_eq!(five.history, PowerHistory::Clean);
    drop(five);
    let six = open_as(&path, Access::Write, boots[0]).expect("opens");
    assert_eq!(six.history, PowerHistory::Killed);
}

#[test]
fn a_planned_cut_keeps_the_ring_with_a_capacitor_only() {
    for capacitor in [true, false] {
        let (_dir, path) = image(capacitor);
        let mut one = reopen(&path);
        program(&mut one.media, PageAddr(0), 1);
        one.media.tear(PageAddr(1));
        one.ring[64] = 5;
        one.media.set_cut().expect("marks");
        one.media.close().expect("closes");
        drop(one.ring);
        let read = open(&path, Access::Read).expect("opens");
        let (history, byte) = (PowerHistory::Cut { ring_kept: capacitor }, if capacitor { 5 } else { 0 });
        assert_eq!((read.history, read.ring[64]), (history, byte));
        drop(read);
        let two = reopen(&path);
        assert_eq!((two.history, two.ring[64]), (history, byte));
        assert!(holds(&two.media, 0, 1));
        assert!(matches!(two.media.cell(PageAddr(1)), Cell::Torn));
        two.media.close().expect("closes");
        drop(two.ring);
        assert_eq!(open(&path, Access::Read).expect("opens").ring[64], byte);
    }
}

#[test]
fn reading_changes_nothing_on_disk() {
    let (_dir, path) = image(true);
    let mut one = reopen(&path);
    program(&mut one.media, PageAddr(0), 1);
    drop(one);
    let before = std::fs::read(&path).expect("reads");
    let mut read = open(&path, Access::Read).expect("opens");
    assert_eq!(read.history, PowerHistory::Killed);
    program(&mut read.media, PageAddr(1), 2);
    read.media.erase(SegmentId(1)).expect("erases");
    read.media.tear(PageAddr(40));
    read.ring[0] = 1;
    read.media.sync().expect("does nothing");
    assert!(holds(&read.media, 0, 1) && holds(&read.media, 1, 2));
    assert!(matches!(read.media.set_cut(), Err(ImageError::Io { .. })));
    let OpenImage { media, ring, .. } = read;
    media.close().expect("nothing to do");
    drop(ring);
    assert!(before == std::fs::read(&path).expect("reads"), "the file has not changed");
}

#[test]
fn locks_keep_writers_alone() {
    let (_dir, path) = image(true);
    let one = reopen(&path);
    for access in [Access::Write, Access::Read] {
        let error = open(&path, access).expect_err("locked");
        assert!(matches!(error, ImageError::InUse { .. }));
        let text = error.to_string();
        assert!(text.contains("disk.img") && text.contains("another process"), "{text}");
    }
    assert!(matches!(check(&path, &mut |_| {}), Err(ImageError::InUse { .. })));
    let OpenImage { media, ring, .. } = one;
    drop(media);
    assert!(matches!(open(&path, Access::Write), Err(ImageError::InUse { .. })), "the ring is still mapped");
    drop(ring);
    let readers = [open(&path, Access::Read), open(&path, Access::Read)].map(|r| r.expect("readers share"));
    assert!(matches!(open(&path, Access::Write), Err(ImageError::InUse { .. })));
    drop(readers);
    drop(reopen(&path));
}

#[test]
fn what_is_no_image_is_refused() {
    let (dir, path) = image(true);
    assert!(matches!(create(&path, &config(true)), Err(ImageError::Exists { .. })));
    drop(reopen(&path));
    let other = dir.path().join("other");
    std::fs::write(&other, b"hello").expect("writes");
    for not_image in [other.as_path(), dir.path(), Path::new("/dev/null")] {
        assert!(
            matches!(open(not_image, Access::Read), Err(ImageError::NotImage { .. })),
            "{}",
            not_image.display()
        );
        assert!(matches!(check(not_image, &mut |_| {}), Err(ImageError::NotImage { .. })));
    }
    let missing = open(&dir.path().join("missing"), Access::Read).expect_err("missing");
    assert!(missing.to_string().contains("missing: No such file"), "{missing}");
}

#[test]
fn impossible_shapes_leave_no_file() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    let refused = |change: fn(&mut ImageConfig)| {
        let mut config = config(true);
        change(&mut config);
        assert!(matches!(create(&path, &config), Err(ImageError::Config(_))));
        assert!(!path.exists());
    };
    refused(|c| c.geometry.oob_bytes = 56);
    refused(|c| c.geometry.page_bytes = 511);
    refused(|c| c.ring_slots = 0);
    refused(|c| c.channels = 5);
    refused(|c| c.profile = "x".repeat(65));
    refused(|c| c.namespaces = vec![namespace(1); 2]);
    refused(|c| c.namespaces = (1..=17).map(namespace).collect());
}

fn namespace(nsid: u32) -> NamespaceRecord {
    let (kind, block_bytes, blocks) = (NamespaceKind::Block, 4096, 1 << 20);
    NamespaceRecord {
        nsid,
        kind,
        engine: saker_engine::EngineKind::default(),
        quota_segments: 3,
        block_bytes,
        blocks,
        flags: 0,
        value_bytes_max: 0,
        seed: 11,
    }
}

#[test]
fn namespaces_are_recorded() {
    let (_dir, path) = image(true);
    let mut one = reopen(&path);
    let records = vec![namespace(1), NamespaceRecord { kind: NamespaceKind::Kv, ..namespace(7) }];
    one.media.set_namespaces(records.clone()).expect("writes");
    assert!(one.media.set_namespaces((1..=17).map(namespace).collect()).is_err());
    drop(one);
    let two = reopen(&path);
    assert_eq!((&two.config.namespaces, two.history), (&records, PowerHistory::Killed));
}

#[test]
fn nothing_is_written_behind_an_orderly_end() {
    let (_dir, path) = image(true);
    let mut one = reopen(&path);
    one.media.finish().expect("closes");
    assert_eq!(one.media.program(PageAddr(0), &[1; 512], &[1; 72]), Err(CellError::HostIo));
    assert_eq!(one.media.erase(SegmentId(0)), Err(CellError::HostIo));
    assert_eq!((one.media.epoch(SegmentId(0)), one.media.written_pages(SegmentId(0))), (0, 0));
}
