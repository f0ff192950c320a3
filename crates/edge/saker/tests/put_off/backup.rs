// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Backups, copies and checks of images whose merges are put off.

use crate::support::put_off::{
    Model, TRIGGER, WORDS, assert_has, image, in_memory, level0, put_off, read_in_order,
};
use saker::{
    BackupOptions, Kv, RestoreOptions, back_up, back_up_kv, grow_image, read_backup, repair_image, restore,
    restore_kv, scrub, verify_image,
};
use saker_sim::Seed;
use std::path::{Path, PathBuf};

fn no_news(_: u64) {}

fn is_sound(path: &Path, model: &Model, what: &str) {
    let found = verify_image(path, &mut |_| {}).expect("reads");
    assert!(found.report.is_sound(), "{what}: {:?}", found.report.findings);
    // An LSM store counts a pair as often as it has versions of it.
    assert!(found.namespaces[0].store.pairs >= model.len() as u64, "{what}");
    assert_eq!(
        scrub(&format!("file:{}", path.display()), None, &mut |_| true).expect("reads").damaged,
        0,
        "{what}"
    );
}

fn has_all(path: &Path, model: &Model, what: &str) {
    let mut kv = Kv::open(&format!("file:{}", path.display())).expect("opens");
    assert_has(&mut kv, model, what);
    kv.close().expect("closes");
}

/// The image as the next life finds it. What a life without an end has flushed last is in the memtable again.
fn is_still_put_off(url: &str, model: &Model, what: &str) -> Kv {
    let mut kv = Kv::open(url).expect("opens");
    assert!(level0(&mut kv) >= TRIGGER, "{what}: level 0 has {} files", level0(&mut kv));
    assert_has(&mut kv, model, what);
    kv
}

#[test]
fn a_backup_of_an_image_has_all_that_was_put_off() {
    for (word, is_closed) in WORDS.into_iter().zip([true, false]) {
        let dir = tempfile::tempdir().expect("a directory");
        let [path, other] = ["disk.img", "other.img"].map(|name| dir.path().join(name));
        let (url, other_url) = (image(&path, word), image(&other, word));
        let (mut rng, mut model, mut chain) = (Seed(11).rng(), Model::new(), Vec::<PathBuf>::new());
        for round in 0..3 {
            let what = format!("{word}, backup {round}");
            let mut kv = Kv::open(&url).expect("opens");
            put_off(&mut kv, &mut rng, &mut model);
            // Otherwise as a killed process leaves it.
            if is_closed {
                kv.close().expect("closes");
            } else {
                drop(kv);
            }
            let bytes = std::fs::read(&path).expect("reads");
            let file = dir.path().join(format!("{round}.bak"));
            let options = BackupOptions { since: chain.clone(), ..BackupOptions::default() };
            let made = back_up(&url, &file, &options, &mut no_news).expect("a backup");
            assert!(round > 0 || made.namespaces[0].pairs == model.len() as u64, "{what}");
            assert!(std::fs::read(&path).expect("reads") == bytes, "{what}: nothing of the image changes");
            assert_eq!(read_backup(&file).expect("sound"), made, "{what}");
            chain.push(file);
            is_sound(&path, &model, &what);
            let replace = RestoreOptions { replace: true, ..RestoreOptions::default() };
            restore(&chain, &other_url, &replace, &mut no_news).expect("restores");
            is_sound(&other, &model, &format!("{what}, restored"));
            has_all(&other, &model, &format!("{what}, restored"));
            let mut kv = is_still_put_off(&url, &model, &what);
            if round == 1 {
                read_in_order(&mut kv, &model);
                assert!(level0(&mut kv) < TRIGGER);
            }
            kv.close().expect("closes");
        }
    }
}

/// A device that is open is read by its own handle: the backup's reads merge meanwhile.
#[test]
fn a_backup_of_an_open_device_merges_late_and_misses_nothing() {
    for word in WORDS {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("disk.bak");
        let mut kv = Kv::open(&in_memory(word)).expect("opens");
        let (mut rng, mut model) = (Seed(12).rng(), Model::new());
        put_off(&mut kv, &mut rng, &mut model);
        let made = back_up_kv(&mut kv, &file, &BackupOptions::default(), &mut no_news).expect("a backup");
        assert_eq!(made.namespaces[0].pairs, model.len() as u64, "{word}");
        let mut other = Kv::open(&in_memory(word)).expect("opens");
        restore_kv(&[file], &mut other, &RestoreOptions::default(), &mut no_news).expect("restores");
        assert_has(&mut other, &model, word);
        read_in_order(&mut kv, &model);
    }
}

#[test]
fn images_are_repaired_and_grow_with_what_was_put_off() {
    for word in WORDS {
        let dir = tempfile::tempdir().expect("a directory");
        let [path, repaired] = ["disk.img", "repaired.img"].map(|name| dir.path().join(name));
        let url = image(&path, word);
        let (mut rng, mut model) = (Seed(13).rng(), Model::new());
        let mut kv = Kv::open(&url).expect("opens");
        put_off(&mut kv, &mut rng, &mut model);
        drop(kv);
        repair_image(&path, &repaired, &mut no_news).expect("repairs");
        is_sound(&repaired, &model, word);
        has_all(&repaired, &model, &format!("{word}, repaired"));
        drop(is_still_put_off(&url, &model, word));
        grow_image(&path, 96 << 20, None, &mut no_news).expect("grows");
        is_sound(&path, &model, word);
        has_all(&path, &model, &format!("{word}, grown"));
    }
}
