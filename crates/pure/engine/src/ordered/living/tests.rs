// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
use crate::ordered::key::Key;
use saker_value_log::RecordAddr;

fn entry(addr: RecordAddr) -> Entry {
    Entry { key: Key::new(b"key").expect("a key"), version: 1, addr, stamp: 0 }
}

fn apart(bytes: u32) -> Entry {
    entry(RecordAddr::new(0, bytes, 3))
}

fn inside(value_bytes: u32) -> Entry {
    entry(RecordAddr::inside(3, value_bytes))
}

#[test]
fn a_write_that_looked_takes_off_what_it_replaces() {
    let mut living = Living::default();
    living.entered(&apart(96), Replaced::Nothing, false, 500);
    living.entered(&inside(40), Replaced::found(Some(apart(96))), false, 500);
    let bytes = Inside::of_entry(&inside(40));
    assert_eq!(living, Living { inside: bytes, ..Living::default() });
    living.entered(&entry(RecordAddr::NONE), Replaced::found(Some(inside(40))), false, 500);
    assert_eq!(living, Living::default());
}

#[test]
fn what_nobody_looked_for_is_unknown() {
    let mut living = Living::default();
    living.entered(&apart(96), Replaced::Unknown, false, 500);
    assert_eq!((living.apart, living.unknown), (96, 500), "it may have replaced the longest");
    living.entered(&entry(RecordAddr::NONE), Replaced::Unknown, false, 500);
    assert_eq!((living.apart, living.unknown), (96, 1000), "a delete may have freed it");
    living.entered(&apart(64), Replaced::found(Some(apart(96))), true, 500);
    assert_eq!((living.apart, living.unknown), (160, 1096), "a snapshot may see it");
    living.entered(&apart(64), Replaced::Nothing, true, 500);
    assert_eq!((living.apart, living.unknown), (224, 1096));
    assert!(living.is_known(1097 * WORTH_PART) && !living.is_known(1096 * WORTH_PART));
}

/// A record that had landed is shorter where a collection writes it.
#[test]
fn what_is_copied_lives_once() {
    let mut living = Living::default();
    living.entered(&apart(96), Replaced::Nothing, false, 500);
    living.moved(&apart(96), &apart(88));
    assert_eq!(living, Living { apart: 88, ..Living::default() });
}

/// What has gone since all was merged takes its share of the pages along; without values in them nobody knows a share.
#[test]
fn pages_go_with_what_is_in_them() {
    let half = Living { inside: Inside::of(5, 50), structure: 4096, merged: 100, ..Living::default() };
    assert_eq!(half.structure_bytes(), 2048);
    assert_eq!(
        Living { inside: Inside::of(5, 300), ..half }.structure_bytes(),
        4096,
        "no more than there are"
    );
    assert_eq!(Living { merged: 0, ..half }.structure_bytes(), 4096);
}

#[test]
fn a_merge_and_writes_each_know_something() {
    let told = Living { apart: 100, inside: Inside::of(9, 70), structure: 5, merged: 70, unknown: 3 };
    let found = Living { apart: 90, inside: Inside::of(7, 80), structure: 6, merged: 80, unknown: 40 };
    let both = Living { apart: 90, inside: Inside::of(7, 70), structure: 6, merged: 80, unknown: 3 };
    assert_eq!(Living::merged(Some(told), found), both);
    assert_eq!(Living::merged(None, found), found);
}
