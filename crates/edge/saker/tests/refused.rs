// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An image that is damaged is refused as long as it is damaged. To be refused leaves no mark: an image that was in use when the operating
//! system crashed has pages that the crash has torn, and nobody is told of these.

use saker::image::{Access, BootId, open_as};
use saker::{EngineKind, Error, ImagePlan, Kv, check_image};
use saker_segment_store::PowerHistory;
use std::path::Path;

const PAIRS: u32 = 300;

fn key(n: u32) -> Vec<u8> {
    format!("key{n:05}").into_bytes()
}

fn value(n: u32) -> Vec<u8> {
    let mut value = format!("value {n:08}").into_bytes();
    value.resize(900, n as u8);
    value
}

/// Changes the byte in the middle of a pair's value, where it is in the file. Whether it is there.
fn spoil(path: &Path, n: u32) -> bool {
    let mut bytes = std::fs::read(path).expect("reads");
    let wanted = &value(n)[..14];
    // The ring is before the pages and may have a copy.
    let Some(at) = bytes.windows(14).rposition(|found| found == wanted) else { return false };
    bytes[at + 5] ^= 0x40;
    std::fs::write(path, bytes).expect("writes");
    true
}

/// How the image would be found after a crash of the operating system.
fn after_a_crash(path: &Path) -> PowerHistory {
    open_as(path, Access::Read, BootId::of("another run of the kernel")).expect("opens").history
}

fn filled(path: &Path, engine: EngineKind) -> Kv {
    ImagePlan { engine, ..ImagePlan::kv(24 << 20, "tiny", 1) }.create(path).expect("made");
    let mut kv = Kv::open(&format!("file:{}", path.display())).expect("opens");
    for n in 0..PAIRS {
        kv.put(&key(n), &value(n)).expect("stored");
    }
    kv.flush().expect("flushed");
    kv
}

#[test]
fn what_was_refused_is_refused_after_a_crash_of_the_operating_system_too() {
    let mut refused = Vec::new();
    for engine in EngineKind::ALL {
        for is_killed in [false, true] {
            let dir = tempfile::tempdir().expect("a folder");
            let (path, name) = (dir.path().join("disk.img"), engine.name());
            let kv = filled(&path, *engine);
            let copy = dir.path().join("copy.img");
            // What a killed process leaves is what the file has while it runs.
            if is_killed {
                std::fs::copy(&path, &copy).expect("copied");
            }
            kv.close().expect("closes");
            let path = if is_killed { copy } else { path };
            if !spoil(&path, 7) {
                continue;
            }
            for _ in 0..2 {
                match Kv::open(&format!("file:{}", path.display())) {
                    Err(Error::Damaged { .. }) => refused.push((name, is_killed)),
                    Err(error) => panic!("{name}, killed: {is_killed}: {error}"),
                    // It is told when the pair is asked for.
                    Ok(mut kv) => {
                        assert!(kv.get(&key(7)).is_err(), "{name}, killed: {is_killed}");
                        kv.close().expect("closes");
                    }
                }
                assert_eq!(after_a_crash(&path), PowerHistory::Clean, "{name}, killed: {is_killed}");
                let is_named = match check_image(&path, &mut |_| {}) {
                    Ok((report, _)) => !report.findings.is_empty(),
                    Err(error) => matches!(error, Error::Damaged { .. }),
                };
                assert!(is_named, "{name}, killed: {is_killed}: the check says what is damaged");
            }
        }
    }
    println!("{refused:?}");
    assert!(refused.len() >= 8, "{refused:?}");
}
