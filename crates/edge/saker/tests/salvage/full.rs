// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A full device that is damaged: what is sound fits the repaired one.

use crate::salvage::rig::{Image, Model, Recipe, Saved, TINY, repair, salvage, url};
use crate::support::{is_soak, key, value};
use saker::{EngineKind, Kv};
use saker_sim::Seed;

/// Stores pairs until the device refuses new ones.
fn fill(image: &mut Image) -> Model {
    let mut kv = Kv::open(&url(&image.path, "")).expect("opens");
    let mut model = std::mem::take(&mut image.model);
    let mut rng = Seed(4).rng();
    for n in 1_000.. {
        let stored = value(n, 1, 500 + rng.below(2500) as u32);
        if kv.put(&key(n), &stored).is_err() {
            break;
        }
        model.insert(key(n), Some(stored));
    }
    kv.close().expect("closes");
    image.learn();
    model
}

#[test]
fn a_full_device_is_salvaged_and_repaired() {
    for &engine in EngineKind::ALL {
        let mut image = Image::new(&Recipe { engine, writes: 50, ..TINY });
        image.model = fill(&mut image);
        let whole = Saved { right: image.live(), ..Saved::default() };
        assert_eq!(salvage(&image.path, &image.model), Ok(whole.clone()), "{engine:?}");
        repair(&image.path, &whole, &image.model).unwrap_or_else(|e| panic!("{engine:?}: unharmed: {e}"));
        let mut rng = Seed(9).rng();
        for _ in 0..if is_soak() { 100 } else { 5 } {
            let (at, mask) = (image.aim(&mut rng), rng.below(255) as u8 + 1);
            image.put_byte(at, image.byte(at) ^ mask);
            let looked = salvage(&image.path, &image.model).and_then(|saved| {
                let lost = saved.lost;
                if saved.is_uncertain { Ok(()) } else { repair(&image.path, &saved, &image.model) }
                    .map(|()| lost)
            });
            image.put_byte(at, image.byte(at));
            assert!(
                looked.as_ref().is_ok_and(|lost| *lost <= 4),
                "{engine:?}: byte {at:#x} ^ {mask:#x}: {looked:?}"
            );
        }
    }
}
