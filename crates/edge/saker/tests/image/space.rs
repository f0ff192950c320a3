// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Disk space: little for much that is not written, given back by erases, and a status when there is none.

use crate::image::support::{config, image, page, program};
use saker::image::{Access, ImageConfig, ImageError, OpenImage, check, create, open};
use saker_flash::Cells;
use saker_flash::nand::Cell;
use saker_segment_store::{CellError, Geometry, PageAddr, SegmentId};
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub(super) fn disk_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).expect("exists").blocks() * 512
}

#[test]
fn a_hundred_gigabytes_cost_what_is_written() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("big.img");
    let geometry = Geometry { page_bytes: 16384, oob_bytes: 64, segment_pages: 1024, segments: 6400 };
    create(&path, &ImageConfig { geometry, ring_slots: 64, ..config(true) }).expect("creates");
    assert!(std::fs::metadata(&path).expect("exists").len() > 100 << 30);
    assert!(disk_bytes(&path) < 2 << 20, "{}", disk_bytes(&path));
    let started = Instant::now();
    let mut one = open(&path, Access::Write).expect("opens");
    for segment in (0..6400).step_by(640) {
        program(&mut one.media, geometry.page(SegmentId(segment), 5), 1);
    }
    let written = one.media.bytes_in_use();
    drop(one);
    let two = open(&path, Access::Write).expect("opens");
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    assert_eq!((two.media.bytes_in_use(), written), (written, 10 * (16384 + 64)));
    assert_eq!(two.media.written_pages(SegmentId(640)), 6);
    assert!(disk_bytes(&path) < 3 << 20, "{}", disk_bytes(&path));
}

/// Four segments of a mebibyte. The file, and what it needs while they are empty.
pub(super) fn four_segments(dir: &Path) -> (PathBuf, Geometry, u64) {
    let path = dir.join("disk.img");
    let geometry = Geometry { page_bytes: 4096, oob_bytes: 64, segment_pages: 256, segments: 4 };
    create(&path, &ImageConfig { geometry, ..config(true) }).expect("creates");
    drop(open(&path, Access::Write).expect("opens"));
    let empty = disk_bytes(&path);
    (path, geometry, empty)
}

pub(super) fn fill(one: &mut OpenImage, geometry: Geometry, segment: u32) {
    (0..256).for_each(|n| program(&mut one.media, geometry.page(SegmentId(segment), n), 7));
    one.media.sync().expect("syncs");
}

#[test]
fn an_erase_gives_space_back() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (path, geometry, empty) = four_segments(dir.path());
    let mut one = open(&path, Access::Write).expect("opens");
    fill(&mut one, geometry, 1);
    fill(&mut one, geometry, 2);
    assert!(disk_bytes(&path) >= empty + (2 << 20));
    one.media.erase(SegmentId(1)).expect("erases");
    one.media.erase(SegmentId(2)).expect("erases");
    one.media.sync().expect("syncs");
    assert!(disk_bytes(&path) >= empty + (2 << 20), "space stays for a while, since it is soon used again");
    let at = geometry.page(SegmentId(2), 0);
    program(&mut one.media, at, 9);
    one.media.close().expect("closes");
    drop(one.ring);
    let left = disk_bytes(&path);
    assert!((empty + (1 << 20)..empty + (1 << 20) + 65536).contains(&left), "{left} after {empty}");
    let two = open(&path, Access::Read).expect("opens");
    assert!(
        matches!(two.media.cell(at), Cell::Programmed { data, .. } if data == [9; 4096]),
        "it is in use again"
    );
    assert!((1..256).all(|n| matches!(two.media.cell(geometry.page(SegmentId(2), n)), Cell::Erased)));
    assert!(check(&path, &mut |_| {}).expect("checks").findings.is_empty());
}

#[test]
fn space_that_a_killed_run_had_erased_goes_back_after_it() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (path, geometry, empty) = four_segments(dir.path());
    let mut one = open(&path, Access::Write).expect("opens");
    fill(&mut one, geometry, 1);
    one.media.erase(SegmentId(1)).expect("erases");
    drop(one);
    assert!(disk_bytes(&path) >= empty + (1 << 20), "nobody has given it back");
    let report = check(&path, &mut |_| {}).expect("checks");
    assert_eq!((report.findings.len(), report.counts.pages_sound), (0, 0), "{:?}", report.findings);
    let two = open(&path, Access::Write).expect("opens");
    assert!((0..256).all(|n| matches!(two.media.cell(geometry.page(SegmentId(1), n)), Cell::Erased)));
    two.media.close().expect("closes");
    assert!(disk_bytes(&path) <= empty + 65536, "{} after {empty}", disk_bytes(&path));
}

#[test]
fn damaged_headers_of_an_erased_segment_do_not_come_back_after_a_kill() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (path, geometry, empty) = four_segments(dir.path());
    let mut one = open(&path, Access::Write).expect("opens");
    fill(&mut one, geometry, 1);
    let at = geometry.page(SegmentId(1), 3);
    let file = File::options().read(true).write(true).open(&path).expect("opens");
    // The header of the page, wherever it is: it is the only one that names the page.
    let (_, oob) = page(&one.media, at, 7);
    let bytes = std::fs::read(&path).expect("reads");
    let place = bytes.windows(oob.len()).position(|part| part == oob).expect("it is in the file");
    file.write_all_at(&[!oob[20]], place as u64 + 20).expect("writes");
    one.media.erase(SegmentId(1)).expect("erases");
    assert!(disk_bytes(&path) <= empty + 65536, "its cycle cannot be told, so nothing of it stays");
    drop(one);
    let report = check(&path, &mut |_| {}).expect("checks");
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

const TINY: &str = "SAKER_TEST_TINY_DIR";

/// Runs itself in a mount namespace of its own, over a file system of two megabytes.
#[test]
fn a_full_host_is_a_status() {
    if let Some(dir) = std::env::var_os(TINY) {
        return on_a_tiny_file_system(&PathBuf::from(dir));
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let script = r#"mount -t tmpfs -o size=2m tiny "$SAKER_TEST_TINY_DIR" || exit 77; exec "$0" --exact image::space::a_full_host_is_a_status"#;
    let mut unshare = Command::new("unshare");
    unshare
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .arg(this_binary())
        .env(TINY, dir.path());
    match unshare.output() {
        // libtest succeeds, too, where no test has that name.
        Ok(out) if out.status.success() => {
            assert!(String::from_utf8_lossy(&out.stdout).contains("1 passed"), "no test has that name");
        }
        Ok(out) if out.status.code() == Some(101) => panic!("{}", String::from_utf8_lossy(&out.stdout)),
        Ok(out) if out.status.code().is_none() => panic!("a signal has ended it: {out:?}"),
        other => eprintln!("skipped, mounting is not permitted here: {other:?}"),
    }
}

fn this_binary() -> PathBuf {
    std::env::current_exe().expect("a running test has a file")
}

fn on_a_tiny_file_system(dir: &Path) {
    let geometry = Geometry { page_bytes: 4096, oob_bytes: 64, segment_pages: 64, segments: 64 };
    let (small, big) = (
        ImageConfig { geometry, ..config(true) },
        ImageConfig { geometry, ring_slots: 4000, ..config(true) },
    );
    let path = dir.join("disk.img");
    let error = create(&path, &big).expect_err("the ring alone does not fit");
    assert!(matches!(error, ImageError::HostFull { .. }), "{error}");
    assert!(!path.exists(), "nothing is left over");
    create(&path, &small).expect("creates");
    let mut one = open(&path, Access::Write).expect("opens");
    let mut at = PageAddr(0);
    let full = loop {
        let (data, oob) = page(&one.media, at, 7);
        match one.media.program(at, &data, &oob) {
            Ok(()) => at.0 += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(full, CellError::HostFull);
    one.ring.fill(3);
    assert!(
        (0..at.0).all(
            |n| matches!(one.media.cell(PageAddr(n)), Cell::Programmed { data, .. } if data == [7; 4096])
        )
    );
    assert!(matches!(one.media.cell(at), Cell::Erased), "half a program did not happen");
    one.media.tear(at);
    // Its marker has no space, and neither has what is before it: an erase looks at neither.
    take_the_rest(dir);
    let bare = SegmentId(40);
    one.media.tear(geometry.page(bare, 63));
    one.media.erase(bare).expect("erases");
    one.media.erase(SegmentId(0)).expect("erasing needs no space");
    // A page that has no space takes that of what is erased, although that was erased a moment ago.
    let beyond = PageAddr(at.0.next_multiple_of(64));
    program(&mut one.media, beyond, 8);
    program(&mut one.media, PageAddr(0), 8);
    one.ring.fill(0);
    one.media.close().expect("closes");
    drop(one.ring);
    let report = check(&path, &mut |_| {}).expect("checks");
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let programmed = at.0 - 64 + 2;
    assert_eq!(report.counts.pages_sound, programmed);
    assert_eq!(open(&path, Access::Read).expect("opens").media.bytes_in_use(), programmed * (4096 + 64));
}

/// Another file takes the last free bytes.
fn take_the_rest(dir: &Path) {
    let mut filler = File::create(dir.join("filler")).expect("creates");
    while filler.write_all(&[1; 512]).is_ok() {}
}

#[test]
fn a_small_image_is_small() {
    let (_dir, path) = image(true);
    assert!(disk_bytes(&path) <= 64 << 10, "{}", disk_bytes(&path));
}
