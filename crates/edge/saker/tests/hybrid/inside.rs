// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values inside the main tree (`min_blob_size`): chosen when the store is made, kept with the device's tree, the same at every opening.

use super::{BYTES, Model, PRESSED, all_of, counter, history};
use saker::image::{Access, BootId, open_as};
use saker::{BackupOptions, EngineKind, Error, ImagePlan, Kv, RestoreOptions, Settings, Typed};
use saker_segment_store::PowerHistory;
use saker_sim::Seed;
use std::path::Path;

fn main_tree(word: &str) -> Settings {
    let mut typed = Typed::default();
    typed.push("min_blob_size", word);
    typed.of(EngineKind::LSM.settings(), saker::url::parse_size).expect("it takes that")
}

/// An image whose main tree has values shorter than that inside.
pub fn image_with(dir: &Path, word: &str) -> String {
    let path = dir.join("disk.img");
    let plan = ImagePlan::hybrid_with(BYTES, "tiny", 1, &main_tree(word)).expect("it is kept");
    plan.create(&path).expect("made");
    format!("file:{}?hybrid", path.display())
}

/// What the device keeps for the main tree.
fn kept(kv: &mut Kv) -> String {
    let found = kv.settings().expect("told").into_iter().find(|setting| setting.name == "main_min_blob_size");
    found.expect("the device keeps it").value
}

/// Every operation beside a map, in memory and on an image that is opened again, with values inside, apart, and both, and as the
/// tree decides.
#[test]
fn values_inside_the_main_tree_are_values() {
    let dir = tempfile::tempdir().expect("a folder");
    for (n, (word, policy)) in
        [("256", "eager"), ("unlimited", "lazy"), ("unlimited", "eager"), ("auto", "lazy")]
            .into_iter()
            .enumerate()
    {
        let folder = dir.path().join(n.to_string());
        std::fs::create_dir(&folder).expect("made");
        let in_memory =
            format!("mem:?profile=tiny&size={BYTES}B&hybrid={policy}&{PRESSED}&min_blob_size={word}");
        let on_image = format!("{}={policy}&{PRESSED}", image_with(&folder, word));
        for (url, lives) in [(in_memory, 1), (on_image, 3)] {
            let (mut model, mut rng) = (Model::new(), Seed(7).rng());
            for life in 0..lives {
                let mut kv = Kv::open(&url).expect("opens");
                assert_eq!(all_of(&mut kv), model, "{url}, life {life}");
                assert_eq!(kept(&mut kv), word, "{url}");
                history(&mut kv, &mut model, &mut rng, saker_testing::tier(1200, 6000));
                assert!(counter(&mut kv, "redirected_writes") > 0, "{url}: nothing was redirected");
                if life == 1 {
                    kv.format().expect("emptied");
                    model.clear();
                    history(&mut kv, &mut model, &mut rng, 400);
                }
                kv.close().expect("closes");
            }
        }
    }
}

/// Tables of the main tree have the values that are inside.
#[test]
fn tables_have_the_values_that_are_inside() {
    let pages = |option: &str| {
        let url = format!("mem:?profile=tiny&size={BYTES}B&hybrid&{PRESSED}{option}");
        let mut kv = Kv::open(&url).expect("opens");
        for n in 0..3000_u64 {
            kv.put(&(n % 600).to_be_bytes(), &[n as u8; 800]).expect("room");
        }
        kv.flush().expect("flushes");
        // Both trees have one of that name.
        let all = kv.counters().expect("told").expect("it has counters");
        all.iter()
            .filter(|counter| counter.name == "table_pages_written")
            .map(|counter| counter.value)
            .sum::<u64>()
    };
    let (apart, inside) = (pages(""), pages("&min_blob_size=unlimited"));
    assert!(inside > 5 * apart.max(1), "tables have values: {inside} pages, {apart} without");
}

/// How the image would be found after a crash of the operating system: what was in use has pages that count as torn.
fn after_a_crash(url: &str) -> PowerHistory {
    let path = url.trim_start_matches("file:").trim_end_matches("?hybrid");
    open_as(Path::new(path), Access::Read, BootId::of("another run of the kernel")).expect("opens").history
}

/// The setting of an image stays. Who asks for another one is refused, and the image is not marked as in use; so is who asks where there is
/// no main tree.
#[test]
fn what_an_image_keeps_is_not_changed_by_a_url() {
    let dir = tempfile::tempdir().expect("a folder");
    let url = image_with(dir.path(), "1024");
    let mut kv = Kv::open(&url).expect("opens");
    kv.put(b"key", b"value").expect("room");
    kv.close().expect("closes");
    for other in ["0", "unlimited"] {
        let error = Kv::open(&format!("{url}&min_blob_size={other}")).expect_err("another one").to_string();
        assert!(error.contains(&format!("min_blob_size={other}`: the store was made with 1024")), "{error}");
        assert_eq!(after_a_crash(&url), PowerHistory::Clean);
    }
    let mut kv = Kv::open(&format!("{url}&min_blob_size=1024")).expect("the same one");
    assert_eq!(kv.get(b"key").expect("reads").as_deref(), Some(&b"value"[..]));
    kv.close().expect("closes");
    let error =
        Kv::open(&format!("{url}&main_min_blob_size=1024")).expect_err("not by that name").to_string();
    assert!(error.contains("main_min_blob_size"), "{error}");
    let alone = Kv::open("mem:?engine=lsm&profile=tiny&size=4MiB&main_min_blob_size=256").map(drop);
    let error = alone.expect_err("no main tree").to_string();
    assert!(error.contains("does nothing here") && !error.contains('\n'), "{error}");
    let alone = ImagePlan { engine: EngineKind::LSM, ..ImagePlan::kv(4 << 20, "tiny", 1) };
    let settings = Settings::told(&[("main_min_blob_size", 5)]);
    let alone = ImagePlan { settings, ..alone }.create(&dir.path().join("alone.img"));
    assert!(matches!(alone, Err(Error::Setting { .. })), "{alone:?}");
    let packed = Settings::told(&[("packing", 1)]);
    assert!(matches!(ImagePlan::hybrid_with(BYTES, "tiny", 1, &packed), Err(Error::Setting { .. })));
}

/// A copy on an image that was made alike has all pairs. One that was made otherwise is refused: it would take the tree for another one.
#[test]
fn a_backup_keeps_where_values_are() {
    let dir = tempfile::tempdir().expect("a folder");
    let url = format!("{}=lazy&{PRESSED}", image_with(dir.path(), "unlimited"));
    let (mut model, mut rng) = (Model::new(), Seed(9).rng());
    let mut kv = Kv::open(&url).expect("opens");
    for n in 0..1500 {
        let (key, value) = (format!("key{}", rng.below(200)).into_bytes(), vec![n as u8; 900]);
        kv.put(&key, &value).expect("room");
        model.insert(key, value);
    }
    assert!(counter(&mut kv, "metadata_keys_current") > 0, "copies in the device are newest");
    kv.close().expect("closes");
    let [alone, copy, again] = ["disk.img", "disk.bak", "again"].map(|name| dir.path().join(name));
    let alone = format!("file:{}", alone.display());
    saker::back_up(&alone, &copy, &BackupOptions::default(), &mut |_| {}).expect("copied");
    let restored = |to: &str| {
        let to = to.trim_end_matches("?hybrid");
        saker::restore(std::slice::from_ref(&copy), to, &RestoreOptions::default(), &mut |_| {})
            .expect("restored");
    };
    std::fs::create_dir(&again).expect("made");
    let url = image_with(&again, "unlimited");
    restored(&url);
    let mut kv = Kv::open(&format!("{url}=lazy&{PRESSED}")).expect("opens");
    assert_eq!((all_of(&mut kv), kept(&mut kv)), (model, "unlimited".to_owned()));
    kv.close().expect("closes");
    std::fs::remove_file(again.join("disk.img")).expect("removed");
    let other = image_with(&again, "64");
    restored(&other);
    let error = Kv::open(&other).expect_err("made otherwise").to_string();
    assert!(error.contains("made with another min_blob_size"), "{error}");
}
