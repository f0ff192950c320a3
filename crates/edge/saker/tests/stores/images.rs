// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Images that are made, found, or grow.

use saker::{EngineKind, Ensured, Error, ImagePlan, Kv, NamespacePlan, PlanError, Store};
use std::path::Path;

fn plan(engine: &EngineKind, bytes: u64) -> ImagePlan {
    ImagePlan { engine: *engine, ..ImagePlan::kv(bytes, "tiny", 1) }
}

#[test]
fn an_image_is_made_and_grows_with_its_pairs() {
    for engine in EngineKind::ALL {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("disk.img");
        for (n, megabytes) in [8, 8, 24, 16].into_iter().enumerate() {
            let store = Store::open_or_create(&path, &plan(engine, megabytes << 20)).expect("opens");
            assert_eq!(store.iter().expect("opens").count(), n);
            store.put(format!("a key, longer than sixteen bytes {n}"), [7; 3000]).expect("stored");
            if n == 2 {
                // Dropped without an end: the next opening recovers.
                continue;
            }
            store.close().expect("closes");
        }
    }
}

#[test]
fn what_is_in_the_way_is_told_and_stays() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("disk.img");
    let small = plan(&EngineKind::default(), 8 << 20);
    let large = ImagePlan { bytes: Some(16 << 20), ..small.clone() };
    let kv = Kv::open_or_create(&path, &small).expect("made");
    for plan in [&small, &large] {
        let refused = Store::open_or_create(&path, plan).expect_err("it is in use");
        assert!(matches!(refused, Error::Image(saker::image::ImageError::InUse { .. })), "{refused}");
    }
    kv.close().expect("closes");
    assert!(large.ensure(Path::new("/no/such/folder/disk.img")).is_err());
    std::fs::write(dir.path().join("other"), "no image").expect("written");
    assert!(large.ensure(&dir.path().join("other")).is_err());
    assert_eq!(std::fs::read(dir.path().join("other")).expect("read"), b"no image");
    assert_eq!(large.ensure(&path).expect("it grows"), Ensured::Grown);

    // Whose is the room of an image with several namespaces?
    let two = dir.path().join("two.img");
    let namespaces =
        vec![NamespacePlan::Kv { flash_bytes: Some(4 << 20) }, NamespacePlan::Kv { flash_bytes: None }];
    let several = ImagePlan { namespaces, ..small };
    assert_eq!(several.ensure(&two).expect("made"), Ensured::Created);
    assert_eq!(several.ensure(&two).expect("found"), Ensured::AsItWas);
    let larger = ImagePlan { bytes: Some(16 << 20), ..several };
    assert!(matches!(larger.ensure(&two), Err(Error::Plan(PlanError::Whose { .. }))));
}
