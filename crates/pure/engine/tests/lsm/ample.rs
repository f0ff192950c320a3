// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a store knows of room for its next pairs. Each put compares that with the capacity in every test; these tests change what it was found by.

use super::Bench;
use super::inside::ask_for;
use crate::ordered::Ordered;
use crate::ordered::bench::{OWNER, Sent, shape};
use saker_engine::{Condition, Context, Engine, KvError, LsmConfig, LsmStore, Put};
use saker_flash::FaultPlan;
use saker_flash::nand::Shape;
use saker_segment_store::{Geometry, Step};
use saker_sim::{Class, Free};

/// Bytes that live, and that may.
fn room(bench: &mut Bench) -> (u64, u64) {
    let view = bench.flash.view(OWNER, Class::Foreground);
    (bench.store.live_bytes(), bench.store.capacity_bytes(&view))
}

/// A store whose values are beside their keys if they are shorter.
fn empty(min_blob_size: u32, shape: Shape, adapt: fn(LsmConfig) -> LsmConfig) -> Bench {
    ask_for(min_blob_size, None);
    let config = adapt(LsmStore::defaults(&shape.geometry, true));
    let mut bench = Bench::shaped(shape, config, FaultPlan::default());
    bench.digests = false;
    bench
}

/// Stores pairs of a hundred bytes, from that number on, until so many percent of what it can hold are there.
fn fill(bench: &mut Bench, first: u32, percent: u64) -> u32 {
    let is_filled = |bench: &mut Bench| {
        let (live, capacity) = room(bench);
        live * 100 >= capacity * percent
    };
    let next = (first..).find(|n| {
        bench.put(&key(*n), &[*n as u8; 100], Condition::Always).expect("there is room");
        is_filled(bench)
    });
    next.expect("no store holds all") + 1
}

fn key(n: u32) -> Vec<u8> {
    format!("k{n:07}").into_bytes()
}

fn put(bench: &mut Bench, value: &[u8]) -> Step<Result<Put, KvError>> {
    let mut view = bench.flash.view(OWNER, Class::Foreground);
    let mut free = Free;
    let cx = &mut Context::new(&mut view, &mut free);
    bench.store.store(b"the next one", &mut Sent(value), Condition::Always, cx)
}

/// It fits no more: it waits until what is in the store is known, or is refused.
fn assert_has_none(bench: &mut Bench, value: &[u8]) {
    let step = put(bench, value);
    let has_none = matches!(step, Step::Blocked(_) | Step::Done(Err(KvError::CapacityExceeded)));
    assert!(has_none, "{step:?} with {:?} bytes", room(bench));
}

/// Goes on storing pairs. Before each, `change` is made to a copy, which must have no room then. What is known differs from one pair to the next.
fn assert_has_none_after(
    bench: &mut Bench,
    first: u32,
    puts: u32,
    change: impl Fn(&mut Bench),
    value: &[u8],
) {
    for n in first..first + puts {
        let mut copy = bench.clone();
        change(&mut copy);
        assert_has_none(&mut copy, value);
        bench.put(&key(n), &[n as u8; 100], Condition::Always).expect("there is room");
    }
}

/// Segments of 8 KiB, so many that a store knows of room for dozens of pairs.
fn large() -> Shape {
    Shape { geometry: Geometry { segments: 500, ..shape().geometry }, ..shape() }
}

#[test]
fn of_a_store_that_has_become_smaller() {
    let mut bench = empty(u32::MAX, shape(), |config| config);
    let next = fill(&mut bench, 0, 30);
    let shrink = |bench: &mut Bench| {
        let smaller = (1..bench.flash.pool_mut().quota(OWNER)).rev().find(|quota| {
            bench.flash.pool_mut().set_quota(OWNER, *quota);
            let (live, capacity) = room(bench);
            live > capacity
        });
        smaller.expect("some quota is too small for it");
    };
    assert_has_none_after(&mut bench, next, 30, shrink, &[1; 100]);
}

/// What segments lose at their ends goes by the longest record, of values in the value log.
#[test]
fn of_a_record_that_is_longer_than_all_before() {
    let mut bench = empty(64, large(), |config| config);
    let next = fill(&mut bench, 0, 70);
    let longest = bench.store.value_bytes_max() as usize;
    assert_has_none_after(&mut bench, next, 100, |_| (), &vec![1; longest]);
}

/// A delete makes the content no less before it is merged, and adds an entry.
#[test]
fn of_a_store_in_which_much_was_deleted() {
    let mut bench = empty(u32::MAX, large(), |config| LsmConfig { write_buffer_size: 256 << 10, ..config });
    let next = fill(&mut bench, 0, 97);
    let delete = |bench: &mut Bench| {
        for n in 0.. {
            bench.delete(&key(n)).expect("it is there");
            let (live, capacity) = room(bench);
            if live > capacity {
                return;
            }
        }
    };
    assert_has_none_after(&mut bench, next, 30, delete, &[1; 100]);
}

/// Stores of many values' lengths, since the capacity falls in steps where manifests need another segment.
#[test]
fn of_a_store_that_is_filled_to_the_brink() {
    for (min_blob_size, value_bytes) in
        [64, u32::MAX].into_iter().flat_map(|size| (40..160).step_by(6).map(move |n| (size, n)))
    {
        let shape = Shape { geometry: Geometry { segments: 150, ..shape().geometry }, ..shape() };
        let mut bench = empty(min_blob_size, shape, |config| config);
        let value = vec![7; value_bytes];
        let refused = (0..).find(|n| bench.put(&key(*n), &value, Condition::Always).is_err());
        assert!(refused > Some(1000), "{refused:?} pairs of {value_bytes} bytes fit");
    }
}
