// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A value is landed in the page buffer as a whole. With the limit of `EngineConfig::landing_in` the longest one always is, and a
//! longer one is refused at once; without the limit it would wait for ever.

use saker_engine::{Condition, EngineKind, KvError};
use saker_engine_suite::{OWNER, Setup, Size};
use saker_flash::FaultPlan;
use saker_sim::Class;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn setup(kind: EngineKind, slots: u16) -> Setup {
    Setup { slots, ..Setup::sized(kind, Size(1024, 128, 120), true) }
}

/// The same told what its page buffer can take, and how much that is.
fn limited(kind: EngineKind, slots: u16) -> (Setup, u32) {
    let mut setup = setup(kind, slots);
    let mut bench = setup.clone().start(FaultPlan::default());
    setup.config = setup.config.landing_in(&bench.flash.view(OWNER, Class::Foreground), 1);
    let most = setup.config.value_bytes_max;
    (setup, most)
}

#[test]
fn the_longest_value_lands_whatever_is_open() {
    for kind in EngineKind::ALL {
        for slots in [16, 24, 40] {
            let (setup, most) = limited(*kind, slots);
            let mut bench = setup.start(FaultPlan::default());
            let what = format!("{kind:?}, {slots} slots, {most} bytes");
            for round in 0..40_u8 {
                let short = vec![round; 300];
                assert_eq!(bench.put(&[1, round], &short, Condition::Always), Ok(()), "{what}");
                let long = vec![round; most as usize];
                assert_eq!(bench.put(b"long", &long, Condition::Always), Ok(()), "{what}, round {round}");
                assert_eq!(bench.get(b"long"), Ok(long), "{what}");
                assert_eq!(bench.delete(&[1, round]), Ok(()), "{what}");
            }
            let longer = vec![0; most as usize + 1];
            assert_eq!(bench.put(b"long", &longer, Condition::Always), Err(KvError::ValueSize), "{what}");
        }
    }
}

/// What the limit is for: a value of more pages than there are slots is let in by nobody else.
#[test]
fn without_the_limit_a_value_that_no_page_buffer_takes_waits_for_ever() {
    let mut bench = setup(EngineKind::HASH_STORE, 16).start(FaultPlan::default());
    let value = vec![7; 17 * 1024];
    let stuck = catch_unwind(AssertUnwindSafe(|| bench.put(b"long", &value, Condition::Always)));
    let told = stuck.expect_err("it is never done");
    let told = told.downcast_ref::<String>().map_or("", String::as_str);
    assert!(told.contains("no progress"), "{told}");
}
