// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Growing images: nothing is lost, whatever else happens.

use super::rig::{Pairs, fill, image, joined, no_news, pairs, url};
use saker::image::faults::{self, HostFault, HostPlan};
use saker::image::{Access, ImageError, open};
use saker::{
    BackupOptions, Block, EngineKind, Error, Kv, PlanError, ScanOptions, back_up, grow_image,
    image_namespaces, repair_image, verify_image,
};
use saker_testing::tier;
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

fn all_of(path: &Path) -> Pairs {
    let mut kv = Kv::open(&format!("{}?readonly", url(path))).expect("opens");
    pairs(&mut kv)
}

/// Images and backups are their owner's alone, and an image that grows keeps owner and mode, from before its first byte is copied on.
#[test]
fn nobody_else_may_read_what_was_made() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (path, part, backup) =
        (dir.path().join("disk.img"), dir.path().join("disk.img.part"), dir.path().join("b"));
    let of = |path: &Path| {
        let found = path.metadata().expect("is there");
        (found.uid(), found.gid(), found.mode() & 0o7777)
    };
    image(&path, EngineKind::HASH_STORE, 4 << 20);
    let mut kv = Kv::open(&url(&path)).expect("opens");
    fill(&mut kv, 0..300, 1);
    kv.close().expect("closes");
    let (uid, gid, mode) = of(&path);
    assert_eq!(mode, 0o600);
    back_up(&url(&path), &backup, &BackupOptions::default(), &mut no_news).expect("backed up");
    assert_eq!(of(&backup), (uid, gid, 0o600));
    // Somebody else's: only root can make it so.
    let others = if std::os::unix::fs::chown(&path, Some(uid + 1), Some(gid + 2)).is_ok() {
        (uid + 1, gid + 2)
    } else {
        (uid, gid)
    };
    std::fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("allowed");
    let expected = (others.0, others.1, 0o640);
    let mut meanwhile = 0;
    grow_image(&path, 6 << 20, None, &mut |_| {
        meanwhile += 1;
        assert_eq!(of(&part), expected, "while it is copied");
    })
    .expect("grows");
    assert!(meanwhile > 0);
    assert_eq!(of(&path), expected);
}

#[test]
fn every_engine_keeps_its_pairs_and_its_identity() {
    for engine in EngineKind::ALL {
        let name = engine.name();
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("disk.img");
        image(&path, *engine, 4 << 20);
        let mut kv = Kv::open(&url(&path)).expect("opens");
        fill(&mut kv, 0..300, 1);
        let (all, identity) = (pairs(&mut kv), kv.identity());
        let keys: Vec<_> = kv.list(None).collect::<Result<_, _>>().expect("lists");
        // As a killed process leaves it.
        drop(kv);
        grow_image(&path, 6 << 20, None, &mut no_news).expect("grows");
        assert_eq!(std::fs::read_dir(dir.path()).expect("lists").count(), 1, "{name}: nothing is left over");
        let mut kv = Kv::open(&url(&path)).expect("opens");
        assert_eq!(kv.identity(), identity, "{name}");
        // The order of a hash FTL goes by the size of its table.
        if !engine.has_grains() {
            let listed = kv.list(None).collect::<Result<Vec<_>, _>>().expect("lists");
            assert!(listed == keys, "{name}: the same order");
        }
        assert!(pairs(&mut kv) == all, "{name}");
        // And as any image: written, opened again, repaired, grown again.
        fill(&mut kv, 200..400, 2);
        let snapshot = kv.open_iterator(&saker::KeyRange::default()).expect("asks");
        if let Some(iterator) = snapshot {
            kv.close_iterator(iterator).expect("closes");
        }
        let all = pairs(&mut kv);
        kv.close().expect("closes");
        grow_image(&path, 9 << 20, Some(1), &mut no_news).expect("grows");
        let repaired = dir.path().join("repaired.img");
        let losses = repair_image(&path, &repaired, &mut no_news).expect("repairs");
        assert!(losses.namespaces.iter().all(|losses| losses.lost.is_empty()), "{name}");
        assert!(all_of(&path) == all && all_of(&repaired) == all, "{name}");
        assert!(verify_image(&path, &mut |_| {}).expect("reads").report.is_sound(), "{name}");
    }
}

#[test]
fn blocks_grow_too_and_somebody_says_whose_the_flash_is() {
    for (nsid, kv_grows) in [(1, true), (2, false)] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("disk.img");
        joined(&path, EngineKind::TREE);
        let mut kv = Kv::open(&url(&path)).expect("opens");
        fill(&mut kv, 0..100, 1);
        let all = pairs(&mut kv);
        kv.close().expect("closes");
        let mut disk = Block::open(&url(&path)).expect("opens");
        let last = disk.blocks() - 1;
        disk.write(last, &[9; 512]).expect("writes");
        disk.close().expect("closes");
        let capacity = |path: &Path| image_namespaces(path).expect("reads")[0].capacity_bytes;
        let before = capacity(&path);
        let nobody = grow_image(&path, 20 << 20, None, &mut no_news);
        assert!(matches!(nobody, Err(Error::Plan(PlanError::Whose { .. }))), "{nobody:?}");
        let stranger = grow_image(&path, 20 << 20, Some(3), &mut no_news);
        assert!(matches!(stranger, Err(Error::Missing { nsid: 3, .. })), "{stranger:?}");
        grow_image(&path, 20 << 20, Some(nsid), &mut no_news).expect("grows");
        assert_eq!(capacity(&path) > before, kv_grows);
        let mut disk = Block::open(&url(&path)).expect("opens");
        assert_eq!(disk.blocks() > last + 1, !kv_grows);
        let mut block = [0; 512];
        disk.read(last, &mut block).expect("reads");
        assert_eq!(block, [9; 512]);
        disk.close().expect("closes");
        assert_eq!(all_of(&path), all);
    }
}

#[test]
fn what_is_in_use_smaller_or_damaged_is_refused_and_stays() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    image(&path, EngineKind::HASH_STORE, 4 << 20);
    let mut kv = Kv::open(&url(&path)).expect("opens");
    fill(&mut kv, 0..100, 1);
    let grow = |bytes| grow_image(&path, bytes, None, &mut no_news);
    assert!(matches!(grow(8 << 20), Err(Error::Image(ImageError::InUse { .. }))), "a writer");
    kv.close().expect("closes");
    let reader = open(&path, Access::Read).expect("opens");
    assert!(matches!(grow(8 << 20), Err(Error::Image(ImageError::InUse { .. }))), "a reader");
    drop(reader);
    let before = std::fs::read(&path).expect("reads");
    for bytes in [0, 1 << 20, 4 << 20, (4 << 20) + 1] {
        let refused = grow(bytes);
        assert!(matches!(refused, Err(Error::Plan(PlanError::NotLarger { .. }))), "{bytes}: {refused:?}");
    }
    assert!(grow(u64::MAX).is_err(), "more than an image can have");
    assert!(std::fs::read(&path).expect("reads") == before, "nothing has changed");
    // A value that is spoilt is not left out in silence.
    let mut bytes = before;
    let spoilt = crate::support::value(99, 1, (99 * 37) % 600);
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(32).position(|window| window == &spoilt[..32]) {
        at += found;
        bytes[at] ^= 1;
    }
    std::fs::write(&path, &bytes).expect("writes");
    let refused = grow(8 << 20).expect_err("it is damaged");
    assert!(std::fs::read(&path).expect("reads") == bytes, "{refused}");
    assert_eq!(std::fs::read_dir(dir.path()).expect("lists").count(), 1, "{refused}");
}

#[test]
fn a_failure_at_any_call_leaves_the_old_image_or_the_new_one() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    image(&path, EngineKind::HASH_STORE, 4 << 20);
    let mut kv = Kv::open(&url(&path)).expect("opens");
    fill(&mut kv, 0..40, 1);
    let all = pairs(&mut kv);
    kv.close().expect("closes");
    let before = std::fs::read(&path).expect("reads");
    for fault in [HostFault::Full, HostFault::Io, HostFault::SyncFails] {
        // A disk that has failed or is full stays so for a while.
        for at in (1..).step_by(tier(23, 1)) {
            std::fs::write(&path, &before).expect("as it was");
            faults::plan(Some(HostPlan { fault, at, calls: 1000 }));
            let grown = grow_image(&path, 6 << 20, None, &mut no_news);
            let struck = faults::calls() >= at;
            faults::plan(None);
            assert!(grown.is_ok() || struck, "{fault:?} at {at}: {grown:?}");
            assert_eq!(all_of(&path), all, "{fault:?} at {at}: {grown:?}");
            if grown.is_err() {
                assert!(std::fs::read(&path).expect("reads") == before, "{fault:?} at {at}");
            }
            let left = std::fs::read_dir(dir.path()).expect("lists").count();
            assert_eq!(left, 1, "{fault:?} at {at}: nothing is left over");
            if !struck {
                break;
            }
        }
    }
}

#[test]
fn who_waits_for_the_lock_does_not_get_the_image_that_was_replaced() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (path, other) = (dir.path().join("disk.img"), dir.path().join("other.img"));
    image(&path, EngineKind::LSM, 4 << 20);
    image(&other, EngineKind::LSM, 4 << 20);
    let held = saker::image::hold(&path, Access::Read).expect("locks");
    std::fs::rename(&other, &path).expect("renames");
    assert!(matches!(held.still_at(&path), Err(ImageError::InUse { .. })));
    let mut kv = Kv::open(&url(&path)).expect("the new one is nobody's");
    assert_eq!(kv.scan(&ScanOptions::default(), &mut |_, _| true).map(|_| ()), Ok(()));
}
