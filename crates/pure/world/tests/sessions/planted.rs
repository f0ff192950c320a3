// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Histories that are wrong, each in its own way, and their right neighbours: what the checker must tell apart.

use crate::sessions::checker::{Act, Event, Verdict, check};

use Act::{Cut, Delete, Exists, Put, PutIfAbsent, Read};

fn at(from: u32, to: u32, act: Act) -> Event {
    Event::new(from, to, act)
}

/// A write that was acknowledged at a moment.
fn acked(from: u32, to: u32, acknowledged: u32, act: Act) -> Event {
    Event { acknowledged: Some(acknowledged), ..at(from, to, act) }
}

/// A write that nobody has been told of, so that it may fail or vanish.
fn open(from: u32, to: u32, act: Act) -> Event {
    Event { fails_until: None, ..at(from, to, act) }
}

/// A write whose failure was told at a moment.
fn failed(from: u32, to: u32, told: u32, act: Act) -> Event {
    Event { fails_until: Some(told), ..at(from, to, act) }
}

/// A call that never returned.
fn lost(from: u32, act: Act) -> Event {
    Event { to: None, ..open(from, 0, act) }
}

fn cut(when: u32) -> Event {
    at(when, when, Cut)
}

macro_rules! histories {
    ($verdict:expr; $($name:ident: [$($event:expr),* $(,)?];)*) => {
        $(#[test]
        fn $name() {
            assert_eq!(check(&[$($event),*]), $verdict);
        })*
    };
}

mod rejected {
    use super::*;

    histories! { Verdict::Bad;
        a_value_that_nobody_wrote: [at(1, 2, Read(Some(7)))];
        a_put_that_is_not_visible_after_it_returned: [at(1, 2, Put(1)), at(3, 4, Read(None))];
        an_older_value_after_a_newer_put_returned: [at(1, 2, Put(1)), at(3, 4, Put(2)), at(5, 6, Read(Some(1)))];
        a_value_from_the_future: [at(1, 2, Read(Some(1))), at(3, 4, Put(1))];
        a_value_that_comes_back: [
            at(1, 2, Put(1)), at(3, 9, Put(2)), at(4, 5, Read(Some(2))), at(6, 7, Read(Some(1))),
        ];
        two_readers_that_disagree_about_the_order: [
            at(1, 20, Put(1)), at(2, 21, Put(2)),
            at(3, 4, Read(Some(1))), at(5, 6, Read(Some(2))), at(7, 8, Read(Some(1))),
        ];
        a_deleted_key_that_is_found: [at(1, 2, Put(1)), at(3, 4, Delete(2)), at(5, 6, Read(Some(1)))];
        a_deleted_key_that_exists: [at(1, 2, Put(1)), at(3, 4, Delete(2)), at(5, 6, Exists(true))];
        a_key_that_does_not_exist_though_it_was_put: [at(1, 2, Put(1)), at(3, 4, Exists(false))];
        a_delete_that_is_undone: [
            at(1, 2, Put(1)), at(3, 4, Delete(2)), at(5, 6, Read(None)), at(7, 8, Read(Some(1))),
        ];
        storing_if_absent_what_is_there: [at(1, 2, Put(1)), at(3, 4, PutIfAbsent(2))];
        two_that_both_stored_because_there_was_nothing: [at(1, 9, PutIfAbsent(1)), at(2, 8, PutIfAbsent(2))];
        an_acknowledged_write_that_a_cut_loses: [acked(1, 2, 3, Put(1)), cut(5), at(6, 7, Read(None))];
        an_older_value_after_a_cut_than_the_acknowledged_one: [
            acked(1, 2, 3, Put(1)), acked(4, 5, 6, Put(2)), cut(7), at(8, 9, Read(Some(1))),
        ];
        an_acknowledged_delete_that_a_cut_undoes: [
            acked(1, 2, 3, Put(1)), acked(4, 5, 6, Delete(2)), cut(7), at(8, 9, Read(Some(1))),
        ];
        a_value_after_a_cut_that_was_replaced_before_the_acknowledged_one: [
            open(1, 2, Put(1)), open(3, 4, Put(2)), acked(5, 6, 7, Put(3)), cut(8), at(9, 10, Read(Some(2))),
        ];
        a_key_that_changes_its_mind_after_a_cut: [
            acked(1, 2, 3, Put(1)), open(4, 5, Put(2)), cut(6),
            at(7, 8, Read(Some(1))), at(9, 10, Read(Some(2))),
        ];
        a_write_of_before_a_cut_that_takes_place_after_it: [
            lost(1, Put(1)), cut(2), at(3, 4, Read(None)), at(5, 6, Read(Some(1))),
        ];
        an_acknowledgement_before_the_cut_counts_though_the_write_was_not_read: [
            acked(1, 2, 4, Put(1)), acked(3, 3, 4, Put(2)), cut(5), at(6, 7, Read(Some(1))),
        ];
        a_failed_write_that_is_read_after_it_was_told: [failed(1, 2, 3, Put(1)), at(4, 5, Read(None)), at(6, 7, Read(Some(1)))];
        a_write_that_vanishes_though_the_sync_was_good: [acked(1, 2, 3, Put(1)), at(4, 5, Read(None))];
        a_failure_that_takes_the_stored_value_with_it: [
            acked(1, 2, 3, Put(1)), failed(4, 5, 8, Put(2)), at(9, 10, Read(None)),
        ];
        a_scan_that_misses_a_key_that_is_there_throughout: [
            acked(1, 2, 3, Put(1)), at(4, 20, Read(None)), at(5, 6, Put(2)), at(21, 22, Read(Some(2))),
        ];
        a_scan_with_a_value_from_before_it: [
            at(1, 2, Put(1)), at(3, 4, Put(2)), at(5, 20, Read(Some(1))), at(6, 7, Put(3)),
        ];
    }
}

mod accepted {
    use super::*;

    histories! { Verdict::Good;
        nothing_at_all: [];
        a_read_during_a_put_may_find_either: [
            at(1, 2, Put(1)), at(3, 8, Put(2)), at(4, 5, Read(Some(1))), at(6, 7, Read(Some(2))),
        ];
        a_put_that_never_returned_may_have_taken_place: [lost(1, Put(1)), at(2, 3, Read(None)), at(4, 5, Read(Some(1)))];
        a_failed_write_is_seen_until_it_fails: [
            acked(1, 2, 3, Put(1)), failed(4, 5, 20, Put(2)), at(6, 7, Read(Some(2))), at(8, 9, Read(Some(1))),
        ];
        a_failed_write_below_a_newer_one: [
            failed(1, 2, 20, Put(1)), at(3, 4, Put(2)), at(21, 22, Read(Some(2))),
        ];
        an_unacknowledged_write_may_survive_a_cut_or_not: [
            acked(1, 2, 3, Put(1)), open(4, 5, Put(2)), open(6, 7, Put(3)), cut(8), at(9, 10, Read(Some(2))),
        ];
        an_unacknowledged_key_may_vanish_at_a_cut: [open(1, 2, Put(1)), cut(3), at(4, 5, Read(None))];
        a_delete_between_makes_room_for_if_absent: [
            at(1, 2, Put(1)), at(3, 9, Delete(2)), at(4, 8, PutIfAbsent(3)), at(10, 11, Read(Some(3))),
        ];
        a_failure_before_a_question_that_a_later_put_answers: [
            failed(1, 2, 10, Put(1)), at(20, 30, Read(None)), at(21, 40, Exists(true)), at(35, 36, Put(2)),
        ];
        a_key_that_comes_during_a_scan_may_be_missed: [at(2, 3, Put(1)), at(1, 20, Read(None))];
    }
}

/// Forty concurrent puts and a read of something else: every order would have to be tried.
#[test]
fn a_search_that_takes_too_long_is_undecided() {
    let mut events: Vec<Event> = (0..40).map(|n| at(1 + u32::from(n), 1000 + u32::from(n), Put(n))).collect();
    events.push(at(2000, 2001, Read(Some(99))));
    assert_eq!(check(&events), Verdict::Undecided);
}
