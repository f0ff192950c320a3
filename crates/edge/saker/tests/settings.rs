// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings that decide what lies on flash, joined with openings, repairs and other profiles.

use crate::support::settings as kept;

use kept::kept_settings;
use saker::image::{Access, open};
use saker::{EngineKind, ImagePlan, Kv, Settings, repair_image};
use std::path::Path;

/// Engines of which an image keeps settings.
fn engines() -> impl Iterator<Item = EngineKind> {
    EngineKind::ALL.iter().copied().filter(|engine| !kept_settings(*engine).is_empty())
}

fn url(path: &Path) -> String {
    format!("file:{}", path.display())
}

fn plan(engine: EngineKind, settings: Settings) -> ImagePlan {
    ImagePlan { engine, settings, ..ImagePlan::kv(8 << 20, "tiny", 1) }
}

fn key(n: u32) -> Vec<u8> {
    format!("pair {n}").into_bytes()
}

fn value(n: u32) -> Vec<u8> {
    n.to_be_bytes().repeat(n as usize % 300)
}

fn has_pairs(path: &Path) -> bool {
    let mut kv = Kv::open(&url(path)).expect("opens");
    (0..300).all(|n| kv.get(&key(n)) == Ok(Some(value(n))))
}

/// Other values of what is chosen when an image is made, as a URL has them. Packing may change at each opening.
fn others(engine: EngineKind, settings: &Settings) -> impl Iterator<Item = String> {
    let asked: Vec<_> = settings.iter().filter(|(name, _)| *name != "packing").collect();
    asked.into_iter().map(move |(name, number)| {
        let setting = engine.settings().iter().find(|setting| setting.name == name).expect("a setting");
        format!("{name}={}", setting.written(number - 1))
    })
}

#[test]
fn an_image_and_what_a_repair_makes_of_it_keep_them() {
    for engine in engines() {
        let settings = kept_settings(engine);
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (old, new) = (dir.path().join("old.img"), dir.path().join("new.img"));
        plan(engine, settings.clone()).create(&old).expect("creates");
        let mut kv = Kv::open(&url(&old)).expect("opens");
        (0..300).for_each(|n| kv.put(&key(n), &value(n)).expect("puts"));
        // As a process leaves it that is killed.
        drop(kv);
        assert!(has_pairs(&old), "{}", engine.name());
        repair_image(&old, &new, &mut |_| {}).expect("repairs");
        for path in [&old, &new] {
            assert!(has_pairs(path), "{}", engine.name());
            let kept = open(path, Access::Read).expect("sound").config.namespaces[0].settings();
            assert_eq!(kept, settings, "{}", engine.name());
            for other in others(engine, &settings) {
                let refused = Kv::open(&format!("{}?{other}", url(path))).expect_err("it was made otherwise");
                assert!(refused.to_string().contains("the image was made with"), "{refused}");
            }
        }
    }
}

/// An image whose tree decides where values go says so at every opening, after a kill as well, and has what was put.
#[test]
fn an_image_keeps_that_its_tree_decides() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("auto.img");
    let auto = EngineKind::LSM.settings().iter().find(|setting| setting.name == "min_blob_size");
    let auto = auto.expect("a setting").range().1;
    plan(EngineKind::LSM, Settings::told(&[("min_blob_size", auto)])).create(&path).expect("creates");
    for life in 0..3 {
        let mut kv = Kv::open(&format!("{}?write_buffer_size=8KiB", url(&path))).expect("opens");
        let told = kv.settings().expect("told").into_iter().find(|setting| setting.name == "min_blob_size");
        assert_eq!(told.map(|setting| setting.value).as_deref(), Some("auto"), "life {life}");
        for n in 0..300 {
            assert_eq!(kv.get(&key(n)).expect("reads").is_some(), life > 0, "life {life}: {n}");
        }
        for n in (0..900).map(|n| n * 7 % 300) {
            kv.put(&key(n), &value(n)).expect("puts");
            (0..8).for_each(|_| assert_eq!(kv.get(&key(n)), Ok(Some(value(n))), "life {life}"));
        }
        let counters = kv.counters().expect("told").expect("it has counters");
        let from = counters.iter().find(|counter| counter.name == "auto_min_blob_size").expect("counted");
        assert!(from.value > 16, "life {life}: all that is read is in the tree, and not from {}", from.value);
        // Once as a process leaves it that is killed.
        if life == 0 { drop(kv) } else { kv.close().expect("closes") }
    }
    assert!(has_pairs(&path));
    let refused =
        Kv::open(&format!("{}?min_blob_size=unlimited", url(&path))).expect_err("it was made otherwise");
    assert!(refused.to_string().contains("the image was made with"), "{refused}");
}

#[test]
fn what_pages_cannot_hold_is_refused() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for engine in EngineKind::ALL.iter().copied().filter(|engine| engine.has_grains()) {
        let path = dir.path().join(engine.name());
        let name = engine.name();
        let grain = engine.settings().iter().find(|s| s.name == "grain_bytes").expect("a setting").range().1;
        let refused = plan(engine, Settings::told(&[("grain_bytes", grain)])).create(&path).map(|_| ());
        let refused = refused.expect_err("a page of 2048 bytes").to_string();
        assert!(refused.contains("pages of 2048 bytes are not whole grains of 4096"), "{refused}");
        assert!(!path.exists(), "nothing is made");
        for shards in ["", "&shards=2"] {
            let url = format!("mem:?profile=tiny&size=32MiB&engine={name}&grain_bytes=4096{shards}");
            let refused = Kv::open(&url).map(|_| ()).expect_err("the same").to_string();
            assert!(refused.contains("not whole grains"), "{refused}");
        }
    }
}

#[test]
fn blocks_that_are_longer_than_pages_are_refused() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("image");
    let choice = |word| {
        EngineKind::LSM.settings().iter().find(|s| s.name == "block_size").map(|s| s.parse(word, |_| None))
    };
    let asked = choice("4096").expect("a setting").expect("a word of it");
    let refused = plan(EngineKind::LSM, Settings::told(&[("block_size", asked)])).create(&path).map(|_| ());
    let refused = refused.expect_err("a page of 2048 bytes").to_string();
    assert!(refused.contains("blocks of 4096 bytes do not fit pages of 2048"), "{refused}");
    assert!(!path.exists(), "nothing is made");
    let url = "mem:?profile=tiny&size=32MiB&engine=lsm&block_size=4096";
    let refused = Kv::open(url).map(|_| ()).expect_err("the same").to_string();
    assert!(refused.contains("do not fit pages of 2048"), "{refused}");
}

#[test]
fn settings_that_would_do_nothing_are_refused_and_images_that_have_them_open() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (engine, asked, name) in [
        (EngineKind::HASH_PLUS, "doubles_at_percent=50", "doubles_at_percent"),
        (EngineKind::HASH_DOUBLING, "layout=live_only", "layout"),
        (EngineKind::HASH_ORIGINAL, "page_mappings=8", "page_mappings"),
        (EngineKind::LSM, "program_price=5&packing=auto", "program_price"),
    ] {
        let refused = Kv::open(&format!("mem:?profile=tiny&size=8MiB&engine={}&{asked}", engine.name()));
        let refused = refused.map(|_| ()).expect_err("it would do nothing").to_string();
        assert!(refused.starts_with(&format!("setting `{name}` does nothing here: ")), "{refused}");
        let path = dir.path().join(engine.name());
        let setting = engine.settings().iter().find(|setting| setting.name == name).expect("a setting");
        if setting.place().is_some() {
            let settings = Settings::told(&[(setting.name, setting.range().1)]);
            let refused = plan(engine, settings).create(&path).map(|_| ()).expect_err("the same").to_string();
            assert!(refused.contains("does nothing here") && !path.exists(), "{refused}");
        } else {
            plan(engine, Settings::NONE).create(&path).expect("creates");
            let asked = asked.split('&').next().expect("an option");
            let refused = Kv::open(&format!("{}?{asked}", url(&path))).map(|_| ()).expect_err("the same");
            assert!(refused.to_string().contains("does nothing here"), "{refused}");
            Kv::open(&url(&path)).expect("opens").close().expect("closes");
        }
    }
    for url in ["engine=hash_plus&doubles_at_percent=50&layout=fixed", "engine=hash_plus&page_mappings=8"] {
        Kv::open(&format!("mem:?profile=tiny&size=8MiB&{url}")).expect("both do something");
    }
}

#[test]
fn options_for_pairs_are_refused_for_blocks_and_kept_by_sessions() {
    for option in ["cache=1MiB", "transfer=inline"] {
        let url = format!("mem:?profile=tiny&size=8MiB&blocks=1MiB&{option}");
        let refused = saker::Block::open(&url).map(|_| ()).expect_err("blocks").to_string();
        assert!(
            refused.contains("does nothing for blocks") && refused.ends_with("leave it out"),
            "{refused}"
        );
        Kv::open(&url).expect("pairs").put(b"key", b"value").expect("stored");
        let saker = saker::Saker::open(&url, saker::SakerOptions::default()).expect("opens");
        let mut session = saker.session().expect("a session");
        session.put_durable(b"key", &[7; 3000]).expect("stored");
        assert_eq!(session.get(b"key"), Ok(Some(vec![7; 3000])));
    }
}

#[test]
fn a_device_in_memory_has_blocks_beside_its_pairs_if_asked() {
    let url = "mem:?profile=tiny&size=8MiB&blocks=1MiB";
    let mut disk = saker::Block::open(url).expect("opens");
    let bytes = u64::from(disk.block_bytes()) * disk.blocks();
    assert_eq!((disk.block_bytes(), bytes), (2048, 1 << 20));
    disk.write(disk.blocks() - 1, &[5; 2048]).expect("written");
    let mut block = [0; 2048];
    disk.read(disk.blocks() - 1, &mut block).expect("read");
    assert_eq!(block, [5; 2048]);
    let mut kv = Kv::open(url).expect("opens");
    kv.put(b"key", b"value").expect("stored");
    kv.format().expect("formats");
    assert_eq!(kv.get(b"key"), Ok(None));
    let refused = saker::Block::open("mem:?profile=tiny&size=8MiB&blocks=64MiB")
        .map(|_| ())
        .expect_err("more than there is");
    assert!(refused.to_string().contains("larger"), "{refused}");
}
