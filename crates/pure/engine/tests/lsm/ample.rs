// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store that knows of room for its next pairs does not when something changes. What it knows is compared with the capacity at each put, in every
//! test: these are those in which it would be wrong.

use super::Bench;
use super::inside::ask_for;
use crate::ordered::Ordered;
use crate::ordered::bench::{OWNER, Sent, shape};
use saker_engine::{Condition, Context, Engine, KvError, LsmStore, Put};
use saker_flash::FaultPlan;
use saker_flash::nand::Shape;
use saker_segment_store::{Geometry, Step};
use saker_sim::{Class, Free};

/// Bytes that live, and that may.
fn room(bench: &mut Bench) -> (u64, u64) {
    let view = bench.flash.view(OWNER, Class::Foreground);
    (bench.store.live_bytes(), bench.store.capacity_bytes(&view))
}

/// A store with so many of a hundred bytes that it can hold, and that has just stored one of them.
fn filled(min_blob_size: u32, percent: u64, shape: Shape) -> Bench {
    ask_for(min_blob_size, None);
    let config = LsmStore::defaults(&shape.geometry, true);
    let mut bench = Bench::shaped(shape, config, FaultPlan::default());
    bench.digests = false;
    for n in 0.. {
        let (live, capacity) = room(&mut bench);
        if live * 100 >= capacity * percent {
            break;
        }
        bench.put(format!("k{n:07}").as_bytes(), &[n as u8; 100], Condition::Always).expect("there is room");
    }
    bench
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

#[test]
fn of_a_store_that_has_become_smaller() {
    let mut bench = filled(u32::MAX, 30, shape());
    for quota in (1..bench.flash.pool_mut().quota(OWNER)).rev() {
        bench.flash.pool_mut().set_quota(OWNER, quota);
        let (live, capacity) = room(&mut bench);
        if live > capacity {
            return assert_has_none(&mut bench, &[1; 100]);
        }
    }
    panic!("no quota is too small for it");
}

/// What segments lose at their ends goes by the longest record, of values in the value log. A store of so many segments knows of room for more than
/// such a record.
#[test]
fn of_a_record_that_is_longer_than_all_before() {
    let geometry = Geometry { segments: 500, ..shape().geometry };
    let mut bench = filled(64, 70, Shape { geometry, ..shape() });
    let longest = bench.store.value_bytes_max() as usize;
    let fits = |step: &Step<_>| matches!(step, Step::Done(Ok(_)));
    assert!(fits(&put(&mut bench, &[1; 100])), "there is room for a short one");
    assert_has_none(&mut bench, &vec![1; longest]);
}
