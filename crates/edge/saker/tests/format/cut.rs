// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Power is cut at every media operation of a Format, and again at every one of the recovery: all is there, or nothing.

use crate::format::rig::{BYTES, directory, open};
use crate::support::{is_soak, key, value};
use saker::{EngineKind, ImagePlan, Kv};
use std::path::{Path, PathBuf};

const PAIRS: u32 = 60;

/// The profile of a small device, with a capacitor or without.
fn profile(dir: &Path, capacitor: bool) -> String {
    if capacitor {
        return "tiny".to_owned();
    }
    let tiny = include_str!("../../../../../profiles/tiny.toml");
    let text = tiny
        .replace("\"tiny\"", "\"tiny-volatile\"")
        .replace("capacitor = { value = true", "capacitor = { value = false");
    let path = dir.join("tiny-volatile.toml");
    std::fs::write(&path, text).expect("writes");
    path.display().to_string()
}

/// An image with pairs, some of them replaced and some flushed.
fn template(dir: &Path, engine: EngineKind, capacitor: bool) -> PathBuf {
    let path = dir.join("template.img");
    ImagePlan { engine, ..ImagePlan::kv(BYTES, &profile(dir, capacitor), 1) }.create(&path).expect("creates");
    let mut kv = open(&format!("file:{}", path.display()));
    for version in 1..=2 {
        (0..PAIRS).for_each(|n| kv.put(&key(n), &value(n, version, 6000)).expect("puts"));
        kv.flush().expect("flushes");
    }
    kv.close().expect("closes");
    path
}

/// What is in the image: everything or nothing.
fn holds(url: &str) -> bool {
    let mut kv = open(url);
    let found: Vec<_> = (0..PAIRS).map(|n| kv.get(&key(n)).expect("gets")).collect();
    let all = (0..PAIRS).zip(&found).all(|(n, found)| found == &Some(value(n, 2, 6000)));
    let listed = kv.list(None).count();
    assert!(all || found.iter().all(Option::is_none), "{url} holds a mixture");
    assert_eq!(listed, if all { PAIRS as usize } else { 0 });
    kv.put(b"new", b"pair").expect("puts");
    kv.close().expect("closes");
    all
}

/// Opens with a cut at operation `at`, and formats. `Some`: the Format was answered; whether with success.
fn format_with_cut(path: &Path, at: u64, orderly: bool) -> Option<bool> {
    let mut kv = Kv::open(&format!("file:{}?fault.cut={at}", path.display())).ok()?;
    let formatted = kv.format().is_ok();
    if orderly {
        // A planned cut is recorded: the next opening is one after a power cut. Otherwise it is one after a kill.
        let _ = kv.close();
    }
    Some(formatted)
}

fn every_operation(engine: EngineKind, capacitor: bool) {
    let dir = directory();
    let template = template(dir.path(), engine, capacitor);
    let (path, again) = (dir.path().join("cut.img"), dir.path().join("again.img"));
    let (mut cuts, mut gone, mut seconds) = (0, 0, 0);
    for at in 1.. {
        std::fs::copy(&template, &path).expect("copies");
        let formatted = format_with_cut(&path, at, at % 2 == 0);
        // The recovery is cut too, at each of its operations, until one comes through.
        for second in 1.. {
            if !is_soak() && at % 5 != 2 {
                break;
            }
            std::fs::copy(&path, &again).expect("copies");
            let opened = Kv::open(&format!("file:{}?fault.cut={second}", again.display()));
            let is_whole = opened.is_ok();
            drop(opened);
            let all = holds(&format!("file:{}", again.display()));
            assert!(!all || formatted != Some(true), "{}: cut at {at}, then {second}", engine.name());
            seconds += 1;
            if is_whole {
                break;
            }
        }
        let all = holds(&format!("file:{}", path.display()));
        gone += u32::from(!all);
        if formatted == Some(true) {
            assert!(
                !all,
                "{}: a Format that was acknowledged is undone after {at} operations",
                engine.name()
            );
            break;
        }
        cuts += 1;
    }
    println!(
        "{}, capacitor {capacitor}: {cuts} cuts, {gone} times nothing left, {seconds} second cuts",
        engine.name()
    );
    // The first is before anything is begun; all later ones find the Format begun.
    assert!(cuts >= 4 && gone >= cuts - 2 && seconds >= 3, "{cuts} cuts, {gone}, {seconds}");
}

#[test]
fn with_a_capacitor() {
    EngineKind::ALL.iter().for_each(|engine| every_operation(*engine, true));
}

#[test]
fn without_a_capacitor() {
    let engines = if is_soak() { EngineKind::ALL } else { &[EngineKind::HASH_STORE, EngineKind::TREE] };
    engines.iter().for_each(|engine| every_operation(*engine, false));
}
