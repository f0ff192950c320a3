// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The durability table by vfio-user, and beside it over NVMe/TCP: what a power cut takes, for each setting of the write cache, is the
//! same. SIGKILL is in `killed`.

use std::path::Path;

use saker::{Kv, create_image};
use saker_nvme::admin::{SetFeatures, build, feature::fid};
use saker_nvme::{Status, kv};
use saker_vfio_user::{Served, Server};

use crate::rig::Rig;

/// Bytes of the images.
const IMAGE_BYTES: u64 = 512 << 20;
/// Writes between two flushes, where the cache is volatile.
const FLUSH_EVERY: u32 = 50;

fn value(n: u32) -> Vec<u8> {
    vec![n as u8; 2000]
}

/// Writes until power goes: how many were acknowledged, and how many of those have to be there.
fn write_until_the_cut(device: &str, is_volatile: bool) -> (u32, u32) {
    let mut kv = Kv::open(device).unwrap();
    let (mut acknowledged, mut flushed) = (0_u32, 0);
    while kv.put(&acknowledged.to_le_bytes(), &value(acknowledged)).is_ok() {
        acknowledged += 1;
        if is_volatile && acknowledged.is_multiple_of(FLUSH_EVERY) {
            if kv.flush().is_err() {
                break;
            }
            flushed = acknowledged;
        }
        assert!(acknowledged < 200_000, "power goes at last");
    }
    (acknowledged, if is_volatile { flushed } else { acknowledged })
}

/// Which of the acknowledged pairs are gone; the others are as they were written.
fn lost(image: &Path, acknowledged: u32) -> Vec<u32> {
    let mut kv = Kv::open(&format!("file:{}", image.display())).unwrap();
    let is_lost = |n: &u32| {
        let found = kv.get(&n.to_le_bytes()).unwrap();
        assert!(found.is_none() || found == Some(value(*n)), "pair {n} has changed");
        found.is_none()
    };
    (0..acknowledged).filter(is_lost).collect()
}

#[test]
fn a_power_cut_takes_by_vfio_user_what_it_takes_over_tcp() {
    for (is_volatile, profile) in [(false, "default"), (true, "nvmevirt-970pro")] {
        for cut in [3, 40, 111] {
            let folder = tempfile::tempdir().unwrap();
            let outcomes = ["tcp", "function"].map(|way| {
                let image = folder.path().join(way);
                create_image(&image, IMAGE_BYTES, profile, 1).unwrap();
                let url = format!("file:{}?fault.cut={cut}", image.display());
                let (acknowledged, promised) = if way == "tcp" {
                    let mut config = saker_tcp::ServerConfig::new(&url);
                    config.listen = vec!["127.0.0.1:0".parse().unwrap()];
                    let server = saker_tcp::Server::start(config).unwrap();
                    let device = format!("tcp://{}/{}?reconnect=0", server.addresses()[0], server.names()[0]);
                    let written = write_until_the_cut(&device, is_volatile);
                    // The image is closed as cut; what the device says of that is not asked here.
                    let _ = server.stop();
                    written
                } else {
                    let socket = folder.path().join("socket");
                    let served = Served {
                        url,
                        socket: socket.clone(),
                        nqn: None,
                        busy_poll: false,
                        memory_buffer: false,
                    };
                    let server = Server::start(&[served]).unwrap();
                    let device = format!("vfio-user:{}?reconnect=0", socket.display());
                    let written = write_until_the_cut(&device, is_volatile);
                    let _ = server.stop();
                    written
                };
                let lost = lost(&image, acknowledged);
                assert!(
                    acknowledged > 0 && lost.iter().all(|n| *n >= promised),
                    "{profile}, cut {cut}, {way}: {lost:?}"
                );
                (acknowledged, promised, lost)
            });
            assert_eq!(outcomes[0], outcomes[1], "{profile}, cut {cut}");
        }
    }
}

/// A volatile cache that the driver has switched off: what is acknowledged is safe.
#[test]
fn a_cache_that_is_off_loses_nothing() {
    for cut in [3, 40, 111] {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("disk.img");
        create_image(&image, IMAGE_BYTES, "nvmevirt-970pro", 1).unwrap();
        let mut rig = Rig::in_folder(folder, &format!("file:FOLDER/disk.img?fault.cut={cut}"), false);
        let mut driver = rig.driver().with_queue(false);
        let off = SetFeatures { nsid: 0, fid: fid::VOLATILE_WRITE_CACHE, save: false, cdw11: 0 };
        driver.function.admin(&build::set_features(&off)).unwrap();
        let mut acknowledged = 0_u32;
        while driver.store(&acknowledged.to_le_bytes(), &value(acknowledged)) == Status::SUCCESS {
            acknowledged += 1;
            assert!(acknowledged < 200_000, "power goes at last");
        }
        assert!(!driver.io(&kv::flush(1)).status().is_success(), "power is off");
        drop(driver);
        let _ = rig.server.take().unwrap().stop();
        assert!(acknowledged > 0);
        assert_eq!(lost(&image, acknowledged), [0_u32; 0], "cut {cut} of {acknowledged}");
    }
}
