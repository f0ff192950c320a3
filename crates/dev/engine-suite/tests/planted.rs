// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The suites find faults that are planted in the log, in a hash store's collections, in what tells torn pages from whole ones, and in the
//! order of transactions' pages.

use saker_engine::EngineKind;
use saker_engine_suite::{Subject, contract, cuts, transactions};
use saker_segment_store::planted::{Fault, plant};

const SUBJECT: Subject = Subject { segments: 20, ..Subject::new(EngineKind::HASH_STORE) };

/// Whether a suite fails with that fault, and without it does not.
fn finds(suite: fn(Subject), fault: Fault) -> bool {
    suite(SUBJECT);
    plant(Some(fault));
    let found = std::panic::catch_unwind(|| suite(SUBJECT)).is_err();
    plant(None);
    found
}

#[test]
fn histories_find_a_page_that_recovery_forgets() {
    assert!(finds(contract::random_histories_with_a_capacitor, Fault::OpenPageForgotten));
}

#[test]
fn histories_find_tombstones_that_are_dropped() {
    assert!(finds(contract::random_histories_with_a_capacitor, Fault::TombstonesDropped));
}

#[test]
fn kills_find_a_page_that_recovery_forgets() {
    assert!(finds(cuts::kills_at_any_event, Fault::OpenPageForgotten));
}

#[test]
fn power_cuts_find_torn_pages_that_pass() {
    assert!(finds(cuts::power_cuts_that_take_the_ring, Fault::TornPagesPass));
}

#[test]
fn transactions_find_a_page_that_recovery_forgets() {
    assert!(finds(
        transactions::what_survives_is_all_with_a_capacitor_or_when_killed,
        Fault::OpenPageForgotten
    ));
}

#[test]
fn transactions_find_torn_pages_that_pass() {
    assert!(finds(
        transactions::power_cuts_that_take_the_ring_leave_transactions_whole,
        Fault::TornPagesPass
    ));
}

#[test]
fn transactions_find_commits_that_are_overtaken() {
    assert!(finds(transactions::what_survives_is_a_prefix_without_a_capacitor, Fault::CommitsOvertaken));
}
