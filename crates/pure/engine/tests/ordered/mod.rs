// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What holds for any store that keeps its keys in order over a value log: one suite, run by each such engine.

pub mod bench;
pub mod checked;
pub mod cuts;
pub mod elsewhere;
pub mod groups;
pub mod histories;
pub mod nearly_full;
pub mod pinned;
pub mod released;
pub mod space;
pub mod strict;

use saker_engine::{Engine, Recover};
pub use saker_engine_suite::layout;
use saker_segment_store::{Geometry, SegmentStore};
use saker_sim::{Chance, Rng};
use std::fmt::Debug;

/// An engine under the suite.
pub trait Ordered: Engine + 'static {
    /// Its settings.
    type Config: Copy + Debug;
    /// The store on its way back.
    type Recovery: Recover<Engine = Self>;
    /// Keys of its histories are numbered below this.
    const KEYS: u64;
    /// Histories of a kind in the check tier.
    const HISTORIES: u64;

    /// Settings under which everything happens often, on the smallest flash.
    fn small(ring_lasts: bool) -> Self::Config;

    /// Settings as devices have them.
    fn defaults(geometry: &Geometry, ring_lasts: bool) -> Self::Config;

    fn ring_lasts(config: &Self::Config) -> bool;

    fn checkpoint_bytes_min(config: &Self::Config) -> u64;

    fn make<M: SegmentStore>(config: Self::Config, m: &M) -> Self;

    fn recovery<M: SegmentStore>(config: Self::Config, m: &M) -> Self::Recovery;

    /// How often it did each of four things that a history must contain.
    fn work(&self) -> [u64; 4];

    /// Jobs that are under way.
    fn together(&self) -> usize {
        0
    }

    /// Asserts what holds after every write on a nearly full device.
    fn is_in_shape(&self) {}

    /// Whether writes leave what may wait to later calls.
    fn drives_late() -> bool {
        false
    }

    /// Quanta that work takes which is done elsewhere, if the driver has somebody who does it.
    fn computes_elsewhere() -> Option<u32> {
        None
    }

    /// How many programs fail where many do.
    fn failing() -> Chance {
        Chance::one_in(4)
    }

    /// More pairs of 100 bytes fit the smallest flash.
    fn least_pairs() -> usize {
        600
    }

    /// The key of a history's next operation.
    fn pick(rng: &mut Rng) -> Vec<u8>;

    /// Pieces of background work after that step of a history, due or not.
    fn idle(step: u64) -> u32 {
        let _ = step;
        0
    }
}

impl<S: Ordered> bench::Bench<S> {
    /// Time passes without an operation.
    pub fn idle(&mut self, step: u64) {
        (0..S::idle(step)).for_each(|_| _ = self.background());
    }
}

/// The suite's tests, for one engine.
#[macro_export]
macro_rules! ordered_suite {
    ($store:ty: $($module:ident { $($test:ident)* })*) => {
        $(mod $module {
            use super::*;
            $(#[test]
            fn $test() {
                $crate::ordered::$module::$test::<$store>();
            })*
        })*
    };
    ($store:ty) => {
        $crate::ordered_suite! { $store:
            histories { with_a_capacitor without_a_capacitor with_failing_programs }
            cuts {
                kills_at_every_event kills_at_every_event_without_a_capacitor power_cuts_at_every_event
                lost_rings_keep_what_was_flushed
            }
            groups {
                kills_between_groups power_cuts_between_groups a_lost_ring_loses_whole_groups
                collections_take_groups_apart
            }
            pinned { a_snapshot_reads_from_failed_pages_and_holds_up_no_flush }
            checked { what_changes_after_its_check_is_found }
            strict { every_need_names_all_pages }
            space { a_full_store_still_reads_deletes_and_then_stores churn_leaks_no_space }
            released {
                makes_room_in_small_segments makes_room_in_larger_segments makes_room_with_default_settings
                is_cut_at_every_event scans_that_come_and_go_hold_up_no_verdict
                what_a_snapshot_held_is_collected
            }
            nearly_full {
                a_store_that_is_opened_knows_its_longest_record long_pairs_make_room_for_others
                short_pairs_make_room_for_others every_write_on_the_brink_ends new_pairs_gain_no_capacity
                every_group_on_the_brink_ends
            }
        }
    };
}
