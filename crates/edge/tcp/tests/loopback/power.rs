// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The durability table through the target: what a power cut takes, for each setting of the write cache.

use std::path::Path;

use saker::{Kv, create_image};
use saker_nvme::admin::{SetFeatures, build, feature::fid};
use saker_nvme_tcp::initiator::Data;

use crate::loopback::raw::RawQueue;
use crate::loopback::support::{serve, url, value};

/// Bytes of the images.
const IMAGE_BYTES: u64 = 512 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cache {
    /// A capacitor: acknowledged is safe.
    Protected,
    /// Volatile: flushed is safe.
    On,
    /// Switched off by another host with feature 06h: acknowledged is safe.
    Off,
}

/// Writes until power goes; how many writes must be there afterwards.
fn write_until_the_cut(image: &Path, cache: Cache, cut_at: u64) -> (u32, u32) {
    let server = serve(&format!("file:{}?fault.cut={cut_at}", image.display()));
    let (mut admin, _) = RawQueue::admin(server.addresses()[0], &server.names()[0]);
    if cache == Cache::Off {
        let off = SetFeatures { nsid: 0, fid: fid::VOLATILE_WRITE_CACHE, save: false, cdw11: 0 };
        assert!(admin.execute(build::set_features(&off), Data::None).cqe.status().is_success());
    }
    let mut kv = Kv::open(&url(&server, "reconnect=0")).expect("open");
    let (mut acknowledged, mut flushed) = (0_u32, 0);
    while kv.put(&acknowledged.to_le_bytes(), &value(acknowledged, 0, 2_000)).is_ok() {
        acknowledged += 1;
        if acknowledged % 50 == 0 && cache == Cache::On {
            if kv.flush().is_err() {
                break;
            }
            flushed = acknowledged;
        }
        assert!(acknowledged < 200_000, "power goes at last");
    }
    drop(kv);
    // The image is closed as cut; what the device says of that is not asked here.
    let _ = server.stop();
    (acknowledged, if cache == Cache::On { flushed } else { acknowledged })
}

#[test]
fn a_power_cut_takes_nothing_that_was_promised() {
    let directory = tempfile::tempdir().expect("a directory");
    let settings =
        [(Cache::Protected, "default"), (Cache::On, "nvmevirt-970pro"), (Cache::Off, "nvmevirt-970pro")];
    for (n, (cache, profile)) in settings.into_iter().enumerate() {
        for cut_at in [3, 40, 111] {
            let image = directory.path().join(format!("{n}-{cut_at}.img"));
            create_image(&image, IMAGE_BYTES, profile, 1).expect("made");
            let (acknowledged, promised) = write_until_the_cut(&image, cache, cut_at);
            let mut kv = Kv::open(&format!("file:{}", image.display())).expect("recovers");
            for key in 0..acknowledged {
                let found = kv.get(&key.to_le_bytes()).expect("read");
                let whole = found == Some(value(key, 0, 2_000));
                assert!(
                    whole || (found.is_none() && key >= promised),
                    "{cache:?}, cut {cut_at}, key {key} of {promised}"
                );
            }
            assert!(acknowledged > 0);
        }
    }
}
