// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of all suites for an engine.

/// A module of tests, one for each function of the suites: its name, and the [`Subject`](crate::Subject).
#[macro_export]
macro_rules! tests {
    ($name:ident, $subject:expr) => {
        mod $name {
            #[allow(unused_imports, reason = "what the subject is made of is the caller's")]
            use super::*;

            $crate::functions! { $subject;
                contract: random_histories_with_a_capacitor, random_histories_without_a_capacitor,
                    random_histories_with_failing_programs, a_full_store_still_reads_deletes_and_then_stores,
                    what_is_too_long_is_refused;
                groups: grouped_mixed_and_single_execution_leave_the_same_pairs, groups_without_a_capacitor,
                    groups_with_failing_programs, a_refused_group_changes_nothing, members_fail_alone,
                    a_store_without_groups_of_its_own_is_filled_pair_by_pair, a_store_filled_by_groups;
                transactions: transactions_with_a_capacitor, transactions_without_a_capacitor,
                    transactions_with_failing_programs, a_refused_transaction_changes_nothing,
                    conditions_and_reads_see_what_was_before, versions_never_come_again, kills_leave_transactions_whole,
                    power_cuts_leave_transactions_whole, power_cuts_that_take_the_ring_leave_transactions_whole,
                    what_survives_is_a_prefix_without_a_capacitor,
                    what_survives_is_all_with_a_capacitor_or_when_killed,
                    a_full_store_refuses_a_transaction_as_a_whole, a_snapshot_sees_a_transaction_whole,
                    transactions_behind_a_trait_object_are_the_same;
                outside: an_engine_behind_a_trait_object_is_the_same_engine,
                    a_source_behind_a_trait_object_says_what_is_wrong_with_its_payload, what_an_engine_lacks_it_refuses_by_name;
                cuts: kills_at_any_event, power_cuts_at_any_event, power_cuts_that_take_the_ring, kills_without_a_capacitor;
                full: devices_hold_what_they_say, what_it_says_does_not_depend_on_what_was_there, pairs_in_no_order_are_replaced_and_deleted,
                    a_full_device_takes_as_many_pairs_again;
                long: long_values_leave_no_trace, a_cut_that_brings_a_long_value_back_leaves_a_store_that_deletes;
            }
        }
    };
}

/// A test for each of these functions.
#[doc(hidden)]
#[macro_export]
macro_rules! functions {
    ($subject:expr; $($suite:ident: $($function:ident),*;)*) => {
        $(mod $suite {
            #[allow(unused_imports, reason = "what the subject is made of is the caller's")]
            use super::*;

            $(#[test]
            fn $function() {
                $crate::$suite::$function($subject);
            })*
        })*
    };
}
