// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Disk space: little for much that is not written, given back by erases, and a status when there is none.

use crate::image::support::{config, image, page, program};
use saker::image::{Access, ImageConfig, ImageError, check, create, open};
use saker_flash::Cells;
use saker_flash::nand::Cell;
use saker_segment_store::{CellError, Geometry, PageAddr, SegmentId};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

fn disk_bytes(path: &Path) -> u64 {
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

#[test]
fn an_erase_gives_space_back() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    let geometry = Geometry { page_bytes: 4096, oob_bytes: 64, segment_pages: 256, segments: 4 };
    create(&path, &ImageConfig { geometry, ..config(true) }).expect("creates");
    let mut one = open(&path, Access::Write).expect("opens");
    let empty = disk_bytes(&path);
    (0..256).for_each(|n| program(&mut one.media, geometry.page(SegmentId(1), n), 7));
    one.media.sync().expect("syncs");
    assert!(disk_bytes(&path) >= empty + (1 << 20));
    one.media.erase(SegmentId(1)).expect("erases");
    one.media.sync().expect("syncs");
    assert!(disk_bytes(&path) <= empty + 65536, "{} after {empty}", disk_bytes(&path));
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
    one.media.erase(SegmentId(0)).expect("erasing needs no space");
    program(&mut one.media, PageAddr(0), 8);
    one.ring.fill(0);
    one.media.close().expect("closes");
    drop(one.ring);
    let report = check(&path, &mut |_| {}).expect("checks");
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let programmed = at.0 - 64 + 1;
    assert_eq!(report.counts.pages_sound, programmed);
    assert_eq!(open(&path, Access::Read).expect("opens").media.bytes_in_use(), programmed * (4096 + 64));
}

#[test]
fn a_small_image_is_small() {
    let (_dir, path) = image(true);
    assert!(disk_bytes(&path) <= 64 << 10, "{}", disk_bytes(&path));
}
