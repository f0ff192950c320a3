// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flipped bits: survived where there are two of a thing, named where there is one, never a panic.

use crate::image::support::{GEOMETRY, config, image, program};
use proptest::prelude::*;
use saker::image::{Access, BootId, ImageError, Report, Severity, check, open, open_as};
use saker_flash::Cells;
use saker_flash::nand::Cell;
use saker_segment_store::{PageAddr, PageBuffer, PageHeader, SegmentId, Stream};
use std::path::Path;

const EPOCHS_AT: usize = 8192;
const RING_AT: usize = 12288;
/// 24 slots of 64 + 72 + 512 bytes, in multiples of 64.
const OOB_AT: usize = RING_AT + (24usize * 704).next_multiple_of(4096);
const OOB_STRIDE: usize = 128;
const DATA_AT: usize = 1 << 20;

fn look(path: &Path) -> Report {
    check(path, &mut |_| {}).expect("looks")
}

/// Flips bits of the file while `test` runs.
fn with_flip<T>(path: &Path, byte: usize, mask: u8, test: impl FnOnce() -> T) -> T {
    let mut bytes = std::fs::read(path).expect("reads");
    bytes[byte] ^= mask;
    std::fs::write(path, &bytes).expect("writes");
    let result = test();
    bytes[byte] ^= mask;
    std::fs::write(path, &bytes).expect("writes");
    result
}

fn findings(report: &Report) -> Vec<(Severity, &str)> {
    report.findings.iter().map(|f| (f.severity, f.what.as_str())).collect()
}

#[test]
fn a_bad_header_copy_is_reported_survived_and_repaired() {
    let (_dir, path) = image(true);
    open(&path, Access::Write).expect("opens").media.set_cut().expect("marks");
    for copy in [0, 1] {
        for byte in [0, 8, 16, 24, 32, 40, 44, 48, 72, 180, 260, 2000, 4092, 4095] {
            with_flip(&path, copy * 4096 + byte, 0x10, || {
                let report = look(&path);
                let found = findings(&report);
                assert_eq!((found.len(), found[0].0), (1, Severity::Repairable), "{found:?}");
                assert!(found[0].1.starts_with(&format!("header copy {copy}: ")), "{found:?}");
                let read = open(&path, Access::Read).expect("opens");
                assert_eq!(read.config, config(true));
                assert_eq!(read.history, saker_segment_store::PowerHistory::Cut { ring_kept: true });
            });
        }
        let mut bytes = std::fs::read(&path).expect("reads");
        bytes[copy * 4096 + 32] ^= 1;
        std::fs::write(&path, bytes).expect("writes");
        open(&path, Access::Write).expect("opens").media.set_cut().expect("marks");
        assert!(look(&path).findings.is_empty(), "copy {copy} was repaired");
    }
}

#[test]
fn two_bad_header_copies_are_damage() {
    let (_dir, path) = image(true);
    with_flip(&path, 100, 1, || {
        with_flip(&path, 4096 + 300, 1, || {
            let report = look(&path);
            assert_eq!(report.findings.len(), 2);
            assert!(!report.is_sound() && report.config.is_none());
            assert!(matches!(open(&path, Access::Write), Err(ImageError::Damaged { .. })));
        });
    });
    assert!(look(&path).findings.is_empty());
}

#[test]
fn every_flipped_bit_of_the_epoch_table_is_named() {
    let (_dir, path) = image(true);
    let mut one = open(&path, Access::Write).expect("opens");
    one.media.erase(SegmentId(2)).expect("erases");
    one.media.close().expect("closes");
    drop(one.ring);
    for bit in 0..20 * 64 {
        with_flip(&path, EPOCHS_AT + bit / 8, 1 << (bit % 8), || {
            let name = format!("epoch table, segment {}: ", bit / 64);
            let report = look(&path);
            assert_eq!(report.findings.len(), 1);
            assert_eq!(report.findings[0].severity, Severity::Damage);
            assert!(report.findings[0].what.starts_with(&name), "{:?}", report.findings);
            let error = open(&path, Access::Write).expect_err("damaged").to_string();
            assert!(error.contains(&name) && !error.contains('\n'), "{error}");
        });
    }
}

#[test]
fn damaged_pages_are_named_and_shown_as_they_are() {
    let (_dir, path) = image(true);
    let mut one = open(&path, Access::Write).expect("opens");
    [16, 17, 18].into_iter().for_each(|n| program(&mut one.media, PageAddr(n), 9));
    one.media.close().expect("closes");
    drop(one.ring);
    assert_eq!(look(&path).counts.pages_sound, 3);
    let in_oob = OOB_AT + 4096 + OOB_STRIDE;
    for byte in (in_oob..in_oob + 72).chain([DATA_AT + 17 * 512, DATA_AT + 18 * 512 - 1]) {
        with_flip(&path, byte, 0x40, || {
            let report = look(&path);
            let found = findings(&report);
            assert_eq!((found.len(), found[0].0), (1, Severity::Damage), "{byte}: {found:?}");
            assert!(found[0].1.starts_with("page 17 (segment 1, index 1): "), "{found:?}");
            assert_eq!((report.counts.pages_bad, report.counts.segments_written), (1, 1));
            let read = open(&path, Access::Read).expect("opens");
            assert!(matches!(read.media.cell(PageAddr(17)), Cell::Programmed { .. }));
            assert_eq!(read.media.bytes_in_use(), 3 * (512 + 72));
        });
    }
}

#[test]
fn a_forgotten_erase_is_damage_unless_the_system_crashed() {
    let (_dir, path) = image(true);
    let mut one = open_as(&path, Access::Write, BootId::of("a")).expect("opens");
    program(&mut one.media, PageAddr(0), 1);
    one.media.sync().expect("syncs");
    let epochs = std::fs::read(&path).expect("reads")[EPOCHS_AT..EPOCHS_AT + 8].to_vec();
    one.media.erase(SegmentId(0)).expect("erases");
    program(&mut one.media, PageAddr(1), 2);
    drop(one);
    let mut bytes = std::fs::read(&path).expect("reads");
    bytes[EPOCHS_AT..EPOCHS_AT + 8].copy_from_slice(&epochs);
    std::fs::write(&path, bytes).expect("writes");
    let error = open_as(&path, Access::Write, BootId::of("a")).expect_err("no crash explains this");
    assert!(error.to_string().contains("page 1 (segment 0, index 1) is of a later erase cycle"), "{error}");
    for _ in 0..2 {
        let after = open_as(&path, Access::Write, BootId::of("b")).expect("opens");
        assert_eq!(after.media.epoch(SegmentId(0)), 1);
        assert!(matches!(after.media.cell(PageAddr(0)), Cell::Erased));
        assert!(matches!(after.media.cell(PageAddr(1)), Cell::Programmed { .. }));
    }
}

#[test]
fn damaged_ring_slots_are_named() {
    let (_dir, path) = image(true);
    let one = open(&path, Access::Write).expect("opens");
    let mut ring = PageBuffer::new(one.ring, 24, 512, 72);
    let (stream, addr) = (Stream::User, PageAddr(3));
    let header = PageHeader {
        owner: 1,
        shard: 0,
        stream,
        epoch: 0,
        sequence: 1,
        addr,
        used_bytes: 0,
        first_record: 0,
        data_crc: 0,
    };
    let slot = ring.open(&header).expect("a free slot");
    ring.data_mut(slot).fill(4);
    ring.publish(slot, 104);
    ring.seal(slot, false);
    one.media.close().expect("closes");
    drop(ring);
    let at = RING_AT + usize::from(slot.0) * 704;
    assert_eq!((look(&path).findings.len(), look(&path).counts.ring_slots_used), (0, 1));
    for byte in [0, 4, 8, 16, 40, 60, 64, 100, 63 + 72, 64 + 72, 64 + 72 + 511] {
        with_flip(&path, at + byte, 2, || {
            let report = look(&path);
            assert_eq!(
                (report.findings.len(), report.is_sound()),
                (1, false),
                "byte {byte}: {:?}",
                report.findings
            );
            let what = &report.findings[0].what;
            assert!(what.contains("ring: ") && what.contains(&format!("slot {}", slot.0)), "{what}");
        });
    }
}

#[test]
fn a_file_of_another_length_is_damaged() {
    let (_dir, path) = image(true);
    let len = std::fs::metadata(&path).expect("exists").len();
    for other in [len - 1, len + 1, 8192, 100_000] {
        std::fs::OpenOptions::new().write(true).open(&path).and_then(|f| f.set_len(other)).expect("resizes");
        assert!(matches!(open(&path, Access::Write), Err(ImageError::Damaged { .. })), "{other}");
        let report = look(&path);
        assert!(report.findings.len() == 1 && report.findings[0].what.contains(&other.to_string()));
    }
}

fn busy_image() -> (tempfile::TempDir, std::path::PathBuf) {
    let (dir, path) = image(true);
    let mut one = open(&path, Access::Write).expect("opens");
    (0..40).for_each(|n| program(&mut one.media, PageAddr(n * 3), n as u8));
    one.media.erase(SegmentId(1)).expect("erases");
    one.media.tear(PageAddr(17));
    drop(one);
    (dir, path)
}

/// What a store does with an image that was opened: reads, programs and erases.
fn use_it(path: &Path) {
    let Ok(mut one) = open(path, Access::Write) else { return };
    let ring = PageBuffer::new(one.ring, 24, 512, 72);
    let _ = ring.survey();
    for n in 0..320 {
        if let Cell::Programmed { data, oob } = one.media.cell(PageAddr(n)) {
            assert_eq!((data.len(), oob.len()), (512, 72));
        }
    }
    assert_eq!(one.media.erase(SegmentId(1)), Ok(()));
    assert_eq!(one.media.written_pages(SegmentId(1)), 0);
    assert_eq!(one.media.shape().geometry, GEOMETRY);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(changes in proptest::collection::vec((any::<u32>(), any::<u8>()), 1..60), everywhere: bool) {
        let (_dir, path) = busy_image();
        let mut bytes = std::fs::read(&path).expect("reads");
        let end = if everywhere { bytes.len() } else { OOB_AT + 20 * 4096 };
        for (at, value) in changes {
            // Behind the header copies, which would only be refused.
            let at = EPOCHS_AT + 160 + at as usize % (end - EPOCHS_AT - 160);
            bytes[at] = value;
        }
        std::fs::write(&path, &bytes).expect("writes");
        let report = look(&path);
        prop_assert!(report.config.is_some());
        use_it(&path);
    }

    #[test]
    fn any_file_is_refused_or_looked_at(bytes in proptest::collection::vec(any::<u8>(), 0..9000)) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("noise");
        std::fs::write(&path, &bytes).expect("writes");
        let checked = check(&path, &mut |_| {});
        prop_assert!(checked.is_err());
        prop_assert!(open(&path, Access::Write).is_err());
    }
}
