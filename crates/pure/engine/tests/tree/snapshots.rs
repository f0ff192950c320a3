// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a snapshot costs: the pages that change while it is held, whatever the size of the tree.

use crate::ordered::Ordered;
use crate::ordered::bench::OWNER;
use crate::tree::Bench;
use saker_engine::{Condition, Context, Inspect, Scans, TreeConfig, TreeStore};
use saker_flash::FaultPlan;
use saker_flash::nand::Shape;
use saker_segment_store::Geometry;

fn key(n: u64) -> [u8; 16] {
    let n = n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
    [n, n].concat().try_into().expect("16 bytes")
}

fn bench() -> Bench {
    let geometry = Geometry { page_bytes: 512, oob_bytes: 64, segment_pages: 32, segments: 600 };
    let config = TreeConfig { checkpoint_bytes_min: 1 << 20, ..TreeStore::small(true) };
    Bench::shaped(
        Shape { geometry, channels: 2, luns: 4 },
        TreeConfig { owner: OWNER, ..config },
        FaultPlan::default(),
    )
}

fn quiet(bench: &mut Bench) {
    while bench.background() {}
}

fn counter(bench: &Bench, name: &str) -> u64 {
    bench.store.counters().iter().find(|(n, _)| *n == name).expect("there is such a counter").1
}

/// Nodes that a snapshot keeps while so many pairs of a tree are replaced, the levels and the pages of that tree.
fn kept(pairs: u64, replaced: u64) -> (u64, u64, u64) {
    let mut bench = bench();
    for n in 0..pairs {
        bench.put(&key(n), b"value", Condition::Always).expect("there is room");
    }
    quiet(&mut bench);
    let live = bench.store.log_stats().pages_programmed;
    let snapshot = bench.store.snapshot().expect("a tree has snapshots");
    quiet(&mut bench);
    assert_eq!(bench.store.log_stats().pages_programmed, live, "a snapshot writes nothing");
    for n in 0..replaced {
        bench.put(&key(n), b"other", Condition::Always).expect("there is room");
    }
    quiet(&mut bench);
    let mut value = Vec::new();
    let mut view = bench.flash.view(OWNER, saker_sim::Class::Foreground);
    let read = bench.store.retrieve_seen(
        &key(3),
        snapshot,
        &mut value,
        &mut Context::new(&mut view, &mut saker_sim::Free),
    );
    assert_eq!((read, &value[..]), (saker_segment_store::Step::Done(Ok(5)), &b"value"[..]));
    let kept = counter(&bench, "nodes_kept_for_older_roots");
    bench.store.release(snapshot);
    let kept = kept - counter(&bench, "nodes_kept_for_older_roots");
    (kept, u64::from(bench.store.height()), bench.store.pages())
}

#[test]
fn a_snapshot_keeps_the_pages_that_changed() {
    assert_eq!(kept(4000, 0).0, 0, "a tree that does not change");
    for pairs in [1000, 4000, 12_000] {
        let (kept, height, pages) = kept(pairs, 40);
        // Keys are spread: each has a leaf of its own at worst, and a path of its own to the root. A buffer may have held as
        // many pairs before.
        assert!(kept > 0 && kept <= 2 * 40 * height, "{kept} of {pages} nodes for 40 pairs, {height} levels");
        println!("{pairs} pairs: {kept} of {pages} nodes, {height} levels");
    }
}
