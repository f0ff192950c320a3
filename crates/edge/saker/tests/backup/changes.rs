// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A backup, and what changed since, on every engine.

use super::rig::{Pairs, fill, full, image, joined, memory, no_news, pairs, replace, since, url};
use crate::support::{key, value};
use saker::{
    BackupError, Block, Consistency, EngineKind, Error, Kv, RestoreOptions, WriteBatch, back_up, back_up_kv,
    read_backup, restore, restore_kv,
};
use std::path::PathBuf;

#[test]
fn what_one_engine_has_another_one_gets() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let engines = EngineKind::ALL;
    for (from, to) in engines.iter().zip(engines.iter().cycle().skip(1)) {
        let file = dir.path().join(format!("{}.bak", from.name()));
        let mut kv = memory(*from);
        fill(&mut kv, 0..300, 1);
        kv.put(b"large", &value(1, 1, 30_000)).expect("stores");
        kv.put_queued(b"queued", b"value").expect("queues");
        let made = back_up_kv(&mut kv, &file, &full(), &mut no_news).expect("a backup");
        assert_eq!(read_backup(&file).expect("sound"), made);
        let all = pairs(&mut kv);
        assert_eq!(made.namespaces[0].pairs, all.len() as u64);
        assert_eq!(made.namespaces[0].consistency, Consistency::Alone);
        let mut other = memory(*to);
        restore_kv(&[file], &mut other, &RestoreOptions::default(), &mut no_news).expect("restores");
        assert!(pairs(&mut other) == all, "{} to {}", from.name(), to.name());
    }
}

/// Changes of every kind: replaced, deleted, deleted and stored again, a batch, new ones.
fn change(kv: &mut Kv, round: u32) {
    fill(kv, round * 10..round * 10 + 40, 7 + u64::from(round));
    for n in (0..300).skip(round as usize).step_by(9) {
        let _was_there = kv.delete(&key(n)).is_ok();
    }
    kv.put(&key(round), b"again").expect("stores");
    let mut batch = WriteBatch::new();
    batch.put(b"batched", &round.to_le_bytes()).delete(&key(100 + round));
    kv.write(&batch).expect("writes");
    fill(kv, 400 + round..403 + round, 1);
}

#[test]
fn a_chain_of_changes_is_the_same_as_all() {
    for engine in EngineKind::ALL {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("disk.img");
        image(&path, *engine, 8 << 20);
        let mut chain: Vec<PathBuf> = Vec::new();
        for round in 0..4 {
            let mut kv = Kv::open(&url(&path)).expect("opens");
            match round {
                0 => fill(&mut kv, 0..300, 1),
                // After a Format everything that was is no more.
                3 => kv.format().expect("formats"),
                _ => {}
            }
            change(&mut kv, round);
            let all = pairs(&mut kv);
            kv.close().expect("closes");
            let file = dir.path().join(format!("{round}.bak"));
            let made = back_up(&url(&path), &file, &since(&chain), &mut no_news).expect("a backup");
            let there = &made.namespaces[0];
            assert_eq!(made.base.is_none(), round == 0);
            assert!(round == 0 || there.pairs < 60, "only what changed: {there:?}");
            assert!(round == 0 || there.deleted > 0, "{there:?}");
            chain.push(file);
            let mut other = memory(EngineKind::default());
            restore_kv(&chain, &mut other, &RestoreOptions::default(), &mut no_news).expect("restores");
            assert!(pairs(&mut other) == all, "{} round {round}", engine.name());
        }
        let file = dir.path().join("nothing.bak");
        let made = back_up(&url(&path), &file, &since(&chain), &mut no_news).expect("a backup");
        assert_eq!((made.namespaces[0].pairs, made.namespaces[0].deleted), (0, 0), "nothing has changed");
    }
}

#[test]
fn files_go_on_from_each_other_in_order() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let [full_file, first, second, other] =
        ["full", "first", "second", "other"].map(|name| dir.path().join(name));
    let mut kv = memory(EngineKind::LSM);
    let mut take = |file: &PathBuf, chain: &[PathBuf]| {
        fill(&mut kv, 0..3, 1);
        back_up_kv(&mut kv, file, &since(chain), &mut no_news).expect("a backup");
    };
    take(&full_file, &[]);
    take(&first, std::slice::from_ref(&full_file));
    take(&second, &[full_file.clone(), first.clone()]);
    take(&other, &[]);
    let mut target = memory(EngineKind::TREE);
    let mut tried = |files: &[&PathBuf]| {
        let files: Vec<PathBuf> = files.iter().map(|file| (*file).clone()).collect();
        restore_kv(&files, &mut target, &replace(), &mut no_news).map(drop)
    };
    tried(&[&full_file, &first, &second]).expect("in order");
    tried(&[&full_file]).expect("as of the full one");
    for files in
        [&[&full_file, &second][..], &[&full_file, &second, &first], &[&other, &first], &[&full_file, &other]]
    {
        assert!(matches!(tried(files), Err(Error::Backup(BackupError::Order { .. }))), "{files:?}");
    }
    for files in [&[&first][..], &[&second, &first]] {
        assert!(matches!(tried(files), Err(Error::Backup(BackupError::NotFull { .. }))), "{files:?}");
    }
}

fn block(number: u64) -> Vec<u8> {
    value(number as u32, 5, 512)
}

#[test]
fn blocks_and_pairs_of_an_image_come_back() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (path, other) = (dir.path().join("disk.img"), dir.path().join("other.img"));
    joined(&path, EngineKind::LSM);
    joined(&other, EngineKind::HASH_STORE);
    let mut disk = Block::open(&url(&path)).expect("opens");
    for number in [0, 1, 2, 700, 701, 2047] {
        disk.write(number, &block(number)).expect("writes");
    }
    disk.close().expect("closes");
    let mut kv = Kv::open(&url(&path)).expect("opens");
    fill(&mut kv, 0..50, 1);
    let all = pairs(&mut kv);
    kv.close().expect("closes");
    let (first, second) = (dir.path().join("first"), dir.path().join("second"));
    let made = back_up(&url(&path), &first, &full(), &mut no_news).expect("a backup");
    assert_eq!(made.namespaces[1].blocks_written, 6);
    let mut disk = Block::open(&url(&path)).expect("opens");
    disk.trim(1, 1).expect("trims");
    disk.write(2, &block(99)).expect("writes");
    disk.close().expect("closes");
    let made =
        back_up(&url(&path), &second, &since(std::slice::from_ref(&first)), &mut no_news).expect("a backup");
    assert_eq!((made.namespaces[0].pairs, made.namespaces[1].blocks_written), (0, 2));
    restore(&[first.clone(), second], &url(&other), &RestoreOptions::default(), &mut no_news)
        .expect("restores");
    assert_eq!(pairs(&mut Kv::open(&url(&other)).expect("opens")), all);
    let mut disk = Block::open(&url(&other)).expect("opens");
    let mut data = vec![0; disk.blocks() as usize * 512];
    disk.read(0, &mut data).expect("reads");
    disk.close().expect("closes");
    let mut expected = vec![0; data.len()];
    for (at, of) in [(0, 0), (2, 99), (700, 700), (701, 701), (2047, 2047)] {
        expected[at * 512..][..512].copy_from_slice(&block(of));
    }
    assert!(data == expected);
    // One namespace alone, to another number; a kind that does not suit; and what is not empty.
    let single = dir.path().join("single.img");
    image(&single, EngineKind::TREE, 8 << 20);
    let only = RestoreOptions { namespace: Some(1), ..RestoreOptions::default() };
    let files = [first];
    restore(&files, &format!("{}?nsid=1", url(&single)), &only, &mut no_news).expect("restores");
    assert_eq!(pairs(&mut Kv::open(&url(&single)).expect("opens")).len(), 50);
    let again = restore(&files, &url(&single), &only, &mut no_news);
    assert!(matches!(again, Err(Error::Backup(BackupError::NotEmpty { nsid: 1 }))), "{again:?}");
    let whole = restore(&files, &url(&single), &replace(), &mut no_news);
    assert!(matches!(whole, Err(Error::Missing { nsid: 2, .. })), "{whole:?}");
    assert_eq!(
        pairs(&mut Kv::open(&url(&single)).expect("opens")).len(),
        50,
        "refused before anything is erased"
    );
    let blocks = RestoreOptions { namespace: Some(2), replace: true };
    let crossed = restore(&files, &format!("{}?nsid=1", url(&single)), &blocks, &mut no_news);
    assert!(matches!(crossed, Err(Error::OtherNamespace { .. })), "{crossed:?}");
}

#[test]
fn an_image_that_a_writer_has_is_refused_and_a_read_only_one_is_shared() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (path, file) = (dir.path().join("disk.img"), dir.path().join("disk.bak"));
    image(&path, EngineKind::HASH_STORE, 4 << 20);
    let mut kv = Kv::open(&url(&path)).expect("opens");
    fill(&mut kv, 0..20, 1);
    assert!(back_up(&url(&path), &file, &full(), &mut no_news).is_err());
    assert!(!file.exists() && std::fs::read_dir(dir.path()).expect("lists").count() == 1);
    // As a killed process leaves it.
    drop(kv);
    let mut reader = Kv::open(&format!("{}?readonly", url(&path))).expect("opens");
    let bytes = std::fs::read(&path).expect("reads");
    back_up(&url(&path), &file, &full(), &mut no_news).expect("a backup beside a reader");
    assert!(std::fs::read(&path).expect("reads") == bytes, "nothing of the image changes");
    let mut other = memory(EngineKind::default());
    restore_kv(std::slice::from_ref(&file), &mut other, &RestoreOptions::default(), &mut no_news)
        .expect("restores");
    assert_eq!(pairs(&mut other), pairs(&mut reader));
    let again = back_up(&url(&path), &file, &full(), &mut no_news);
    assert!(matches!(again, Err(Error::Backup(BackupError::Exists { .. }))), "a backup is not written over");
    assert_eq!(pairs(&mut other).len(), Pairs::from_iter(pairs(&mut reader)).len());
}
