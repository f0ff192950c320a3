// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store that is opened with less room than the whole tree takes: an earlier version filled it, or segments were lost. What changes must do
//! then, as in earlier versions. That is no promise: only room ends it.

use crate::ordered::bench::{Bench, OWNER};
use crate::ordered::nearly_full::{self, fill, key};
use saker_engine::{Condition, TreeStore};
use saker_segment_store::{PowerHistory, SegmentStore};
use saker_sim::Class;

/// Free segments that are left: what merges of a small buffer take, a third of what the tree has.
const LEFT: u32 = 24;

fn free_segments(bench: &mut Bench<TreeStore>) -> u32 {
    let rests = (0..200_000).any(|_| !bench.background());
    assert!(rests, "background work ends: {:?}", bench.done());
    bench.flash.view(OWNER, Class::Foreground).free_segments()
}

#[test]
fn a_store_without_room_for_the_whole_tree_goes_on_with_what_changes() {
    let mut bench = nearly_full::bench::<TreeStore>(true);
    bench.config.write_buffer_size = 40 * 72;
    bench.restart(PowerHistory::Killed, 0);
    let value = vec![b'v'; 16];
    let pairs = fill(&mut bench, 0, || value.clone());
    let free = free_segments(&mut bench);
    assert!(free > 2 * LEFT, "there was room for the tree: {free}");
    let segments = bench.flash.view(OWNER, Class::Foreground).quota_segments();
    bench.quota = Some(segments - (free - LEFT));
    bench.restart(PowerHistory::Killed, 1);
    assert!(free_segments(&mut bench) <= LEFT, "there is none");
    for n in 0..pairs / 20 {
        assert_eq!(bench.put(&key(n), &[b'w'; 15], Condition::MustExist), Ok(()), "{n} of {pairs}");
    }
    for n in 0..pairs / 20 {
        assert_eq!(bench.get(&key(n)), Ok(vec![b'w'; 15]), "{n} of {pairs}");
    }
    bench.quota = None;
    bench.restart(PowerHistory::Killed, 2);
    for n in 0..pairs {
        assert_eq!(bench.delete(&key(n)), Ok(()), "{n} of {pairs}, when it has room again");
    }
}
