// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes that are held back behind a target.

use crate::loopback::support::{serve, url};
use crate::loopback::waiting::{HELD_BACK, is_joined_with_all_else};
use saker::Kv;

#[test]
fn behind_a_target() {
    for held_back in HELD_BACK {
        let server = serve(&format!("mem:?profile=tiny&size=8MiB&engine=lsm&{held_back}"));
        let device = url(&server, "depth=256");
        is_joined_with_all_else(&mut || Kv::open(&device).expect("the target is there"), true);
        server.stop().expect("stopped");
    }
}
