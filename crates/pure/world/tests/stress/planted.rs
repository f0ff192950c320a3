// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a campaign is worth: it finds faults that are planted in the stores.

use crate::stress::power::{Campaign, End, SHOWING, campaign};
use crate::stress::rig;
use saker_segment_store::planted::{Fault, plant};

/// Takes the fault out again, also when a test fails.
struct Planted;

impl Planted {
    fn new(fault: Fault) -> Self {
        plant(Some(fault));
        Self
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        plant(None);
    }
}

/// Not every history goes where a fault shows: as many as are tried at most.
const HISTORIES: u64 = 6;

/// Campaigns of the check tier report violations of that kind with the fault, and none without in the histories in which it shows, in
/// whatever way.
fn campaign_with(fault: Fault, capacitor: bool, end: End, kind: &str) {
    let build = rig::small(capacitor, 0);
    let plan = Campaign { end, stride: 7, recut: 500, recut_stride: 1, block_commands: false };
    let mut shown = Vec::new();
    let found_by = |seed| {
        let _planted = Planted::new(fault);
        let found = campaign(&build, seed, 1600, plan).violations;
        println!("{fault:?}, seed {seed}: {} violations, such as {:?}", found.len(), found.first());
        shown.extend((!found.is_empty()).then_some(seed));
        found.iter().any(|v| v.contains(kind))
    };
    assert!((SHOWING..SHOWING + HISTORIES).any(found_by), "{fault:?} is not found as '{kind}'");
    for seed in shown {
        let found = campaign(&build, seed, 1600, plan).violations;
        assert_eq!(found, [""; 0], "seed {seed}: and without it there are none");
    }
}

#[test]
fn a_lost_write_that_completed_is_found() {
    campaign_with(Fault::OpenPageForgotten, true, End::Cut, "gone, as in version");
    campaign_with(Fault::OpenPageForgotten, false, End::Killed, "gone, as in version");
}

#[test]
fn a_deleted_pair_that_returns_is_found() {
    campaign_with(Fault::TombstonesDropped, true, End::Cut, "back at version");
}

#[test]
fn a_torn_value_is_found() {
    campaign_with(Fault::TornPagesPass, false, End::Cut, "(torn?)");
}
