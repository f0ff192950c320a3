// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whatever is done to them, cells in a file and cells in memory give the same answers.

use crate::image::support::{image, page};
use proptest::prelude::*;
use saker::image::{Access, FileCells, check, open};
use saker_flash::nand::{Cell, Shape};
use saker_flash::{Cells, MemCells};
use saker_segment_store::{PageAddr, SegmentId};
use std::path::Path;

#[derive(Clone, Copy, Debug)]
enum Op {
    Program(u64, u8),
    Erase(u32),
    Tear(u64),
    Sync,
    /// With or without an orderly end.
    Reopen(bool),
}

/// Few pages, so that operations meet.
fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        12 => (0u64..64, any::<u8>()).prop_map(|(at, fill)| Op::Program(at * 5, fill)),
        3 => (0u32..20).prop_map(Op::Erase),
        2 => (0u64..64).prop_map(|at| Op::Tear(at * 5)),
        1 => Just(Op::Sync),
        1 => any::<bool>().prop_map(Op::Reopen),
    ];
    proptest::collection::vec(op, 1..120)
}

fn apply(media: &mut impl Cells, op: Op) {
    match op {
        Op::Program(at, fill) => {
            let at = PageAddr(at);
            if matches!(media.cell(at), Cell::Erased) {
                let (data, oob) = page(media, at, fill);
                media.program(at, &data, &oob).expect("programs");
            }
        }
        Op::Erase(n) => media.erase(SegmentId(n)).expect("erases"),
        Op::Tear(at) => media.tear(PageAddr(at)),
        Op::Sync => media.sync().expect("syncs"),
        Op::Reopen(_) => {}
    }
}

fn same_cell(a: Cell<'_>, b: Cell<'_>) -> bool {
    match (a, b) {
        (Cell::Erased, Cell::Erased) | (Cell::Torn, Cell::Torn) => true,
        (Cell::Programmed { data, oob }, Cell::Programmed { data: data2, oob: oob2 }) => {
            data == data2 && oob == oob2
        }
        _ => false,
    }
}

fn compare(file: &FileCells, mem: &MemCells) {
    let Shape { geometry: g, .. } = file.shape();
    assert_eq!(file.bytes_in_use(), mem.bytes_in_use());
    for segment in (0..g.segments).map(SegmentId) {
        assert_eq!(file.epoch(segment), mem.epoch(segment));
        assert_eq!(file.written_pages(segment), mem.written_pages(segment));
        for at in (0..g.segment_pages).map(|n| g.page(segment, n)) {
            assert!(same_cell(file.cell(at), mem.cell(at)), "page {}", at.0);
        }
    }
}

fn reopen(media: FileCells, path: &Path, access: Access, is_orderly: bool) -> FileCells {
    if is_orderly {
        media.close().expect("closes");
    } else {
        drop(media);
    }
    open(path, access).expect("opens").media
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn file_and_memory_agree(ops in ops()) {
        let (_dir, path) = image(true);
        let mut file = open(&path, Access::Write).expect("opens").media;
        let mut mem = MemCells::new(file.shape());
        for op in ops {
            apply(&mut file, op);
            apply(&mut mem, op);
            if let Op::Reopen(is_orderly) = op {
                file = reopen(file, &path, Access::Write, is_orderly);
            }
        }
        compare(&file, &mem);
        let file = reopen(file, &path, Access::Read, false);
        compare(&file, &mem);
        drop(file);
        let report = check(&path, &mut |_| {}).expect("checks");
        prop_assert!(report.findings.is_empty(), "{:?}", report.findings);
        prop_assert_eq!(report.counts.bytes_in_use, mem.bytes_in_use());
    }

    #[test]
    fn a_view_to_read_behaves_like_memory(ops in ops()) {
        let (_dir, path) = image(true);
        let mut file = open(&path, Access::Read).expect("opens").media;
        let mut mem = MemCells::new(file.shape());
        for op in ops {
            apply(&mut file, op);
            apply(&mut mem, op);
        }
        compare(&file, &mem);
    }
}
