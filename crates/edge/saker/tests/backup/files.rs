// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Backup files that are spoilt: an error that names the place, and never a wrong value.

use super::rig::{fill, full, memory, no_news, since};
use crate::support::{key, value};
use saker::{BackupError, EngineKind, Error, RestoreOptions, back_up_kv, read_backup, restore_kv};
use saker_testing::tier;
use std::path::{Path, PathBuf};

/// A full backup and one of changes.
fn two(dir: &Path) -> [PathBuf; 2] {
    let files = ["full.bak", "changes.bak"].map(|name| dir.join(name));
    let mut kv = memory(EngineKind::TREE);
    fill(&mut kv, 0..8, 1);
    back_up_kv(&mut kv, &files[0], &full(), &mut no_news).expect("a backup");
    kv.delete(&key(3)).expect("deletes");
    fill(&mut kv, 6..10, 2);
    back_up_kv(&mut kv, &files[1], &since(&files[..1]), &mut no_news).expect("a backup");
    files
}

/// What is said of files of which one has other bytes. Nothing of them is restored.
fn said(files: &[PathBuf; 2], spoilt: usize, bytes: &[u8]) -> String {
    let mut given = files.clone();
    given[spoilt] = files[spoilt].with_extension("spoilt");
    std::fs::write(&given[spoilt], bytes).expect("writes");
    let mut kv = memory(EngineKind::default());
    let error =
        restore_kv(&given, &mut kv, &RestoreOptions::default(), &mut no_news).expect_err("it is spoilt");
    assert!(matches!(error, Error::Backup(_)), "{error:?}");
    assert_eq!(kv.list(None).count(), 0, "{error}");
    error.to_string()
}

#[test]
fn every_changed_byte_and_every_cut_is_an_error() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let files = two(dir.path());
    let stride = tier(11, 1);
    for spoilt in [0, 1] {
        let good = std::fs::read(&files[spoilt]).expect("reads");
        for at in (0..good.len()).step_by(stride).chain(0..64) {
            for mask in [1, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[at] ^= mask;
                let said = said(&files, spoilt, &bad);
                assert!(said.contains(".spoilt"), "the file is named: {said}");
            }
            said(&files, spoilt, &good[..at]);
        }
        said(&files, spoilt, &[&good[..], b"x"].concat());
        assert!(said(&files, spoilt, &good[..good.len() - 1]).contains("the file ends there"));
    }
}

/// The frames of a backup, with the header before the first one.
fn frames(bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut all, mut at) = (vec![bytes[..64].to_vec()], 64);
    while at < bytes.len() {
        let payload = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().expect("four bytes")) as usize;
        all.push(bytes[at..at + 24 + payload].to_vec());
        at += 24 + payload;
    }
    all
}

#[test]
fn frames_that_are_left_out_twice_there_exchanged_or_of_another_backup_are_seen() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let files = two(dir.path());
    let mut kv = memory(EngineKind::HASH_STORE);
    for n in 0..60 {
        kv.put(&key(n), &value(n, 1, 30_000)).expect("stores");
    }
    let large = [dir.path().join("large.bak"), files[1].clone()];
    back_up_kv(&mut kv, &large[0], &full(), &mut no_news).expect("a backup");
    let good = frames(&std::fs::read(&large[0]).expect("reads"));
    assert!(good.len() > 7, "several frames of pairs");
    let stranger = frames(&std::fs::read(&files[0]).expect("reads"));
    for n in 1..good.len() {
        let mut without = good.clone();
        without.remove(n);
        let mut twice = good.clone();
        twice.insert(n, good[n].clone());
        let mut exchanged = good.clone();
        exchanged.swap(n, 1 + n % (good.len() - 1));
        let mut foreign = good.clone();
        foreign[n].clone_from(&stranger[n.min(stranger.len() - 1)]);
        for bad in [without, twice, exchanged, foreign] {
            said(&large, 0, &bad.concat());
        }
    }
}

#[test]
fn other_files_are_told_apart() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("file");
    for bytes in [&b""[..], b"SAKERBAK", &[0; 100], &[b"SAKERIMG", &[0; 5000][..]].concat()] {
        std::fs::write(&path, bytes).expect("writes");
        let error = read_backup(&path).expect_err("it is none");
        assert!(matches!(error, Error::Backup(BackupError::NotBackup { .. })), "{error}");
    }
    let error = read_backup(&dir.path().join("none")).expect_err("there is none");
    assert!(error.to_string().contains("cannot open"), "{error}");
}
