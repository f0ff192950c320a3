// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Each planted fault turns a history red: the histories would find such a defect.

use super::super::seed;
use super::history::{Model, history, whole};
use super::{Rng, add, image, settle, stop};
use saker::Kv;
use saker_hybrid::planted::{Fault, plant};

/// What a history on an image says, that is closed and opened on the way.
fn told(fault: Option<Fault>, seed: u64) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a folder");
    let (url, mut model, mut rng) = (image(folder.path()), Model::new(), Rng(seed));
    for turn in 0..3 {
        plant(fault);
        let mut kv = Kv::open(&url).map_err(|why| why.to_string())?;
        whole(&mut kv, &model, turn)?;
        history(&mut kv, &mut model, &mut rng, 600)?;
        if turn == 1 {
            settle(&mut kv);
            whole(&mut kv, &model, turn)?;
        }
        kv.close().map_err(|why| why.to_string())?;
    }
    Ok(())
}

#[test]
fn every_fault_is_found() {
    add();
    for fault in [Fault::StaleCopy, Fault::LostTombstone, Fault::DroppedEarly, Fault::OldValueBack] {
        let found = (seed()..seed() + 4).find_map(|seed| told(Some(fault), seed).err());
        plant(None);
        stop(false);
        println!("{fault:?}: {:.120}", found.clone().unwrap_or_default());
        assert!(found.is_some(), "{fault:?} was not found");
    }
    for seed in seed()..seed() + 2 {
        told(None, seed).unwrap();
        stop(false);
    }
}
