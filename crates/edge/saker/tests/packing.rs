// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packing policies of images: what an image remembers, what a URL changes, and that every pair is there.

use saker::{EngineKind, ImagePlan, Kv, Packing};
use saker_engine::lsm::settings::asking_for;
use std::path::Path;

/// Values that come in their commands, and others by PRPs.
fn value(n: u32) -> Vec<u8> {
    vec![n as u8; if n.is_multiple_of(5) { 700 } else { 8 }]
}

/// Stores pairs; bytes of gaps, landed values and backfilled ones of this life.
fn store(url: &str, keys: std::ops::Range<u32>) -> [u64; 3] {
    let mut kv = Kv::open(url).expect("opens");
    for n in 0..keys.start {
        assert_eq!(kv.get(&n.to_be_bytes()).expect("gets"), Some(value(n)), "pair {n}");
    }
    for n in keys {
        kv.put(&n.to_be_bytes(), &value(n)).expect("puts");
    }
    let snapshot = kv.stats().expect("a device of this process");
    let counters = &snapshot.namespaces[0].counters;
    let named = |name| counters.iter().find(|(n, _)| *n == name).expect("a counter").1;
    let counts = [named("gap_bytes"), named("landed_values"), named("backfilled_values")];
    kv.close().expect("closes");
    counts
}

fn image(path: &Path, packing: Option<Packing>) -> String {
    let plan = ImagePlan::kv(32 << 20, "tiny", 3);
    ImagePlan { engine: EngineKind::LSM, settings: packing.map(asking_for).unwrap_or_default(), ..plan }
        .create(path)
        .expect("creates");
    format!("file:{}", path.display())
}

#[test]
fn an_image_remembers_its_policy_and_what_a_url_asks_for() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let url = image(&dir.path().join("disk.img"), Some(Packing::Selective));
    for (keys, options) in [(0..100, ""), (100..200, ""), (200..300, "?packing=block"), (300..400, "")] {
        let of_block = keys.start >= 200;
        let [gaps, landed, backfilled] = store(&format!("{url}{options}"), keys);
        assert!(gaps > 0 && backfilled == 0);
        assert_eq!(landed, if of_block { 100 } else { 20 });
    }
    let [gaps, landed, _] = store(&format!("{url}?packing=none"), 400..500);
    assert_eq!((gaps, landed), (0, 0));
    assert_eq!(store(&url, 500..500), [0, 0, 0]);
}

#[test]
fn gaps_are_filled_on_the_real_path() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for packing in [Packing::Backfill, Packing::Auto, Packing::AutoTime] {
        let url = image(&dir.path().join(packing.name()), Some(packing));
        let [_, landed, backfilled] = store(&url, 0..200);
        assert!(landed > 0 && backfilled > 80, "{packing:?}: {landed} {backfilled}");
        store(&url, 200..200);
    }
    let url = image(&dir.path().join("none"), None);
    assert_eq!(store(&url, 0..100), [0, 0, 0]);
}
