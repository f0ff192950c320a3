// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values of the longest length in transactions, on devices of this process.

use crate::long_value_cases as cases;
use saker::{EngineKind, ImagePlan, Kv};

fn each(mut see: impl FnMut(&mut Kv, bool, &str)) {
    for engine in EngineKind::ALL.iter().copied() {
        let is_ordered = ["lsm", "tree"].contains(&engine.name());
        let mut kv =
            Kv::open(&format!("mem:?size=256MiB&profile=saker-mid&engine={}", engine.name())).expect("opens");
        see(&mut kv, is_ordered, &format!("mem:, {}", engine.name()));
        kv.close().expect("closes");
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("disk.img");
        ImagePlan { engine, ..ImagePlan::kv(256 << 20, "saker-mid", 1) }.create(&path).expect("creates");
        let mut kv = Kv::open(&format!("file:{}", path.display())).expect("opens");
        see(&mut kv, is_ordered, &format!("file:, {}", engine.name()));
        kv.close().expect("closes");
    }
}

#[test]
fn the_longest_values_are_read_in_transactions() {
    each(cases::are_read);
}

#[test]
fn the_longest_values_of_long_keys_are_read_in_transactions() {
    each(|kv, _, what| cases::are_read_by_long_keys(kv, what));
}

#[test]
fn what_is_too_long_to_be_written_or_required_is_refused() {
    each(|kv, _, what| cases::are_refused_where_they_do_not_fit(kv, what));
}
