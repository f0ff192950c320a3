// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A page buffer in which pages only wait to be filled: whatever needs more slots than are free gets on without another write.

use crate::lsm::Bench;
use crate::ordered::bench::{OWNER, Sent};
use crate::ordered::layout::{Answered, Entry, Payload};
use saker_engine::{Condition, Context, Engine, GroupOp, Groups, LsmConfig, Packing};
use saker_flash::FaultPlan;
use saker_flash::nand::Shape;
use saker_segment_store::{Geometry, SegmentStore, Step};
use saker_sim::{Class, Free};

/// Segments of 1 MiB: a collection gains more than the longest record could lose.
const GEOMETRY: Geometry = Geometry { page_bytes: 8192, oob_bytes: 64, segment_pages: 128, segments: 24 };
/// Of the page buffer's 24 slots a quarter holds what may be filled, the open page included.
const FREE_BESIDE_GAPS: usize = 18;
/// More than what is free then, and no more than the 23 slots that are free without gaps: 15 pages, two that it may touch besides,
/// and those that a store (6) or a collection (2) leaves to others.
const LONG: usize = 125_000;
/// What is done again is done at most so often.
const TRIES: usize = 100;

fn bench() -> Bench {
    let config = LsmConfig {
        packing: Some(Packing::Backfill),
        checkpoint_bytes_min: u64::MAX,
        ..LsmConfig::new(OWNER, &GEOMETRY, GEOMETRY.segments, true)
    };
    let mut bench =
        Bench::shaped(Shape { geometry: GEOMETRY, channels: 2, luns: 4 }, config, FaultPlan::default());
    bench.digests = false;
    bench
}

impl Bench {
    fn free_slots(&mut self) -> usize {
        self.settle();
        self.flash.view(OWNER, Class::Foreground).page_buffer().free_slots()
    }

    /// A store that waits for nothing but what is on its way to the flash.
    fn store_and_settle(&mut self, key: &[u8], value: &[u8]) {
        for _ in 0..TRIES {
            let view = &mut self.flash.view(OWNER, Class::Foreground);
            let step = self.store.store(
                key,
                &mut Sent(value),
                Condition::Always,
                &mut Context::new(view, &mut Free),
            );
            self.settle();
            if let Step::Done(done) = step {
                return assert!(done.is_ok(), "{done:?}");
            }
        }
        panic!("{} bytes wait for ever with {} slots free", value.len(), self.free_slots());
    }

    /// Values by DMA with a gap before each, until no more pages stay.
    fn leave_gaps(&mut self) {
        for n in 0..12_u8 {
            self.store_and_settle(&[b'g', n], &[n; 5000]);
        }
        assert_eq!(self.free_slots(), FREE_BESIDE_GAPS, "pages wait to be filled");
        assert_eq!(self.store.packing_stats().backfilled_values, 0);
    }
}

#[test]
fn a_long_value_finds_slots() {
    let mut bench = bench();
    bench.leave_gaps();
    bench.store_and_settle(b"long", &[7; LONG]);
    assert_eq!(bench.get(b"long"), Ok(vec![7; LONG]));
}

#[test]
fn a_group_finds_slots() {
    let mut bench = bench();
    bench.leave_gaps();
    let one = |n: u8| Entry { op: GroupOp::Store, key: vec![b'm', n], value: vec![n; LONG / 100] };
    let entries: Vec<_> = (0..100).map(one).collect();
    for _ in 0..TRIES {
        let (mut source, mut answers) = (Payload::of(&entries), Answered::default());
        let view = &mut bench.flash.view(OWNER, Class::Foreground);
        let step = bench.store.group(&mut source, &mut answers, &mut Context::new(view, &mut Free));
        bench.settle();
        if let Step::Done(done) = step {
            assert_eq!(done, Ok(()));
            return assert_eq!(bench.get(&[b'm', 99]), Ok(vec![99; LONG / 100]));
        }
    }
    panic!("a group waits for ever with {} slots free", bench.free_slots());
}

/// In each segment one pair of eight is not replaced: a collection gets on only if there is room for it.
#[test]
fn a_collection_finds_slots() {
    let mut bench = bench();
    let mut kept = 0_u8;
    while bench.store.job(&bench.flash.view(OWNER, Class::Foreground)).is_none() {
        bench.store_and_settle(&[b'k', kept], &[kept; LONG]);
        (0..7).for_each(|n| bench.store_and_settle(b"replaced", &[n; LONG]));
        kept += 1;
    }
    bench.leave_gaps();
    for _ in 0..TRIES {
        bench.background();
    }
    let moved = bench.store.stats().gc_records_copied;
    assert!(moved > 0, "nothing was moved, with {} slots free", bench.free_slots());
    for n in 0..kept {
        assert_eq!(bench.get(&[b'k', n]), Ok(vec![n; LONG]));
    }
}
