// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Full devices: a backup of one, a restore to a smaller one, growing one.

use super::rig::{fill, full, image, memory, no_news, pairs, replace, url};
use crate::support::{key, value};
use saker::{
    BackupError, EngineKind, Error, HostError, Kv, KvError, RestoreOptions, back_up, back_up_kv, grow_image,
    restore, restore_kv, verify_image,
};

/// Stores until the device is full. How many pairs it took.
fn stuff(kv: &mut Kv) -> u32 {
    for n in 0.. {
        match kv.put(&key(n), &value(n, 3, 900)) {
            Ok(()) => {}
            Err(HostError::Kv(KvError::Full)) => return n,
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!("it is full at some time")
}

#[test]
fn a_full_device_is_backed_up_grown_and_restored() {
    for engine in EngineKind::ALL {
        let name = engine.name();
        let dir = tempfile::tempdir().expect("a temporary directory");
        let [path, file, small, same] =
            ["disk.img", "disk.bak", "small.img", "same.img"].map(|n| dir.path().join(n));
        image(&path, *engine, 4 << 20);
        let mut kv = Kv::open(&url(&path)).expect("opens");
        let count = stuff(&mut kv);
        let all = pairs(&mut kv);
        assert_eq!(all.len(), count as usize, "{name}");
        kv.close().expect("closes");
        back_up(&url(&path), &file, &full(), &mut no_news).expect("a backup");
        let files = [file];
        // The order of a backup is another than that in which the device was filled, so it may take some pairs fewer.
        image(&same, *engine, 5 << 20);
        restore(&files, &url(&same), &RestoreOptions::default(), &mut no_news).expect("restores");
        assert!(pairs(&mut Kv::open(&url(&same)).expect("opens")) == all, "{name}");
        image(&small, *engine, 2 << 20);
        let error =
            restore(&files, &url(&small), &RestoreOptions::default(), &mut no_news).expect_err("too small");
        let Error::Backup(BackupError::Stopped { done, all: steps, .. }) = error else {
            panic!("{name}: {error}")
        };
        assert!(done < steps && steps == all.len() as u64, "{name}: {done} of {steps}");
        let mut part = Kv::open(&url(&small)).expect("opens");
        assert!(
            pairs(&mut part).iter().all(|(key, value)| all.get(key) == Some(value)),
            "{name}: nothing wrong"
        );
        part.close().expect("closes");
        let grown = grow_image(&path, 8 << 20, None, &mut no_news).expect("grows");
        assert_eq!((grown.flash_bytes_before, grown.copied), (4 << 20, all.len() as u64), "{name}");
        assert!(verify_image(&path, &mut |_| {}).expect("reads").report.is_sound(), "{name}");
        let mut kv = Kv::open(&url(&path)).expect("opens");
        assert!(pairs(&mut kv) == all, "{name}: all is there");
        fill(&mut kv, 100_000..100_200, 9);
        kv.put(b"room", &[1; 2000]).expect("there is room now");
        kv.close().expect("closes");
    }
}

#[test]
fn a_full_device_in_memory_takes_its_own_backup_again() {
    for engine in EngineKind::ALL {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = dir.path().join("pairs.bak");
        let mut kv = memory(*engine);
        for n in 0..1000 {
            kv.put(&key(n), &value(n, 3, 900)).expect("stores");
        }
        let all = pairs(&mut kv);
        back_up_kv(&mut kv, &file, &full(), &mut no_news).expect("a backup");
        stuff(&mut kv);
        restore_kv(&[file], &mut kv, &replace(), &mut no_news).expect("restores");
        assert!(pairs(&mut kv) == all, "{}", engine.name());
    }
}
