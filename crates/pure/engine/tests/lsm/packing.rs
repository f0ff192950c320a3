// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The suite of ordered stores with each packing policy.

use saker_engine::{LsmStore, Packing};
use std::cell::Cell;

thread_local! {
    /// Each test has a thread of its own.
    static ASKED_FOR: Cell<Option<Packing>> = const { Cell::new(None) };
}

/// The policy of the test that runs.
pub fn asked_for() -> Option<Packing> {
    ASKED_FOR.get()
}

macro_rules! with_policies {
    ($($name:ident: $packing:ident $($module:ident::$test:ident)*;)*) => {
        $(mod $name {
            use super::{ASKED_FOR, LsmStore, Packing};
            use crate::ordered;

            with_policies!(@tests $packing: histories { with_a_capacitor without_a_capacitor with_failing_programs });
            with_policies!(@tests $packing: cuts {
                kills_at_every_event power_cuts_at_every_event lost_rings_keep_what_was_flushed
            });
            with_policies!(@tests $packing: groups { kills_between_groups });
            with_policies!(@tests $packing: strict { every_need_names_all_pages });
            with_policies!(@tests $packing: space { a_full_store_still_reads_deletes_and_then_stores });
            $(with_policies!(@tests $packing: $module { $test });)*
        })*
    };
    (@tests $packing:ident: $module:ident { $($test:ident)* }) => {
        $(#[test]
        fn $test() {
            ASKED_FOR.set(Some(Packing::$packing));
            ordered::$module::$test::<LsmStore>();
        })*
    };
}

with_policies! {
    block: Block space::churn_leaks_no_space;
    all: All space::churn_leaks_no_space;
    selective: Selective space::churn_leaks_no_space;
    backfill: Backfill nearly_full::every_write_on_the_brink_ends space::churn_leaks_no_space;
    auto: Auto space::churn_leaks_no_space;
    auto_time: AutoTime space::churn_leaks_no_space;
}

/// Each value is alone in its page, so collections move all pairs again and again.
#[test]
fn refusals_find_the_same_capacity() {
    ASKED_FOR.set(Some(Packing::Block));
    crate::lsm::refusals::refusals_find_the_same_capacity();
}
