// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The process is killed (SIGKILL) while writes are redirected, copies go back and the device is emptied: nothing acknowledged is lost, and
//! nothing comes back.

use super::super::killed::{Pairs, apply, compare, life, some};
use super::super::{Rng, saker, seed, tier};
use super::{add, image, stop};
use saker::Kv;

/// Whether a child's writes are stopped at that operation.
pub fn is_stopped_at(n: u64) -> bool {
    n / 40 % 3 == 1
}

#[test]
fn nothing_acknowledged_is_lost() {
    add();
    println!("replay: SAKER_SEED={}", seed());
    let folder = tempfile::tempdir().expect("a folder");
    let (url, path) = (image(folder.path()), folder.path().join("disk.img"));
    let (mut rng, mut pairs, mut next, mut copies) = (Rng(seed()), Pairs::new(), 0, 0);
    for _ in 0..tier(8, 100) {
        let ended = life(&url, next, some(&mut rng), || {});
        (next..ended).for_each(|n| apply(&mut pairs, n));
        next = ended;
        saker(&["check", &path.display().to_string()]);
        stop(true);
        let mut kv = Kv::open(&url).expect("opens again");
        copies += super::counter(&mut kv, "metadata_keys");
        compare(&mut kv, &mut pairs, next);
        stop(false);
        next += 1;
        if rng.below(2) == 0 {
            kv.close().expect("closes");
        }
    }
    println!("{next} operations, {copies} copies in the device at openings");
    assert!(copies > 0, "no life ended with a copy in the device");
}
