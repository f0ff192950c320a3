// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes that are held back, in memory and in an image.

use crate::support::held_back::{HELD_BACK, is_joined_with_all_else};
use saker::{EngineKind, ImagePlan, Kv};

#[test]
fn in_memory() {
    for held_back in HELD_BACK {
        let url = format!("mem:?profile=tiny&size=8MiB&seed=1&engine=lsm&depth=256&{held_back}");
        is_joined_with_all_else(&mut || Kv::open(&url).expect("opens"), false);
    }
}

#[test]
fn in_an_image() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (n, held_back) in HELD_BACK.iter().enumerate() {
        let path = dir.path().join(n.to_string());
        let plan = ImagePlan { engine: EngineKind::LSM, ..ImagePlan::kv(8 << 20, "tiny", 1) };
        plan.create(&path).expect("creates");
        let url = format!("file:{}?depth=256&{held_back}", path.display());
        is_joined_with_all_else(&mut || Kv::open(&url).expect("opens"), true);
    }
}
