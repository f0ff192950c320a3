// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Devices of every kind, and what is asked of an empty one.

use crate::format::settings::{kept_settings, options};
use crate::support::value;
use saker::{EngineKind, ImagePlan, Kv};
use saker_host::{HostError, KvError};
use tempfile::TempDir;

/// A device of an engine, in memory or on an image of its own.
pub struct Device {
    _dir: Option<TempDir>,
    pub url: String,
    pub is_image: bool,
}

/// Bytes of a device.
pub const BYTES: u64 = 8 << 20;

pub fn in_memory(engine: EngineKind) -> Device {
    let url = format!("mem:?profile=tiny&size={BYTES}&engine={}", engine.name());
    Device { _dir: None, url, is_image: false }
}

/// A file system in memory, where syncs cost nothing, if there is one.
pub fn directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary directory")
}

pub fn on_image(engine: EngineKind) -> Device {
    let dir = directory();
    let path = dir.path().join("disk.img");
    ImagePlan { engine, ..ImagePlan::kv(BYTES, "tiny", 1) }.create(&path).expect("creates");
    Device { url: format!("file:{}?", path.display()), _dir: Some(dir), is_image: true }
}

/// The same with settings that decide what lies on flash, none as the engine has it by itself; `None`: it has no such setting.
fn with_settings(engine: EngineKind) -> Option<[Device; 2]> {
    let asked = kept_settings(engine);
    if asked.is_empty() {
        return None;
    }
    let url = in_memory(engine).url + &options(engine, &asked);
    let dir = directory();
    let path = dir.path().join("disk.img");
    let plan = ImagePlan { engine, settings: asked, ..ImagePlan::kv(BYTES, "tiny", 1) };
    plan.create(&path).expect("creates");
    let image = Device { url: format!("file:{}?", path.display()), _dir: Some(dir), is_image: true };
    Some([Device { _dir: None, url, is_image: false }, image])
}

/// Every engine, in memory and on an image, as it is and with settings.
pub fn everywhere(test: impl Fn(&Device, &str)) {
    for engine in EngineKind::ALL {
        let plain = [in_memory(*engine), on_image(*engine)].map(|place| (place, ""));
        let asked = with_settings(*engine).into_iter().flatten().map(|place| (place, ", with settings"));
        for (place, settings) in plain.into_iter().chain(asked) {
            let at = if place.is_image { "on an image" } else { "in memory" };
            test(&place, &format!("{} {at}{settings}", engine.name()));
        }
    }
}

pub fn open(url: &str) -> Kv {
    Kv::open(url).unwrap_or_else(|e| panic!("{url}: {e}"))
}

/// Keys that the device has as they are, so that nothing but the engine counts.
pub fn short(n: u32) -> [u8; 8] {
    (u64::from(n) << 8 | 7).to_le_bytes()
}

pub fn is_empty(kv: &mut Kv, keys: impl Iterator<Item = Vec<u8>>) -> bool {
    kv.list(None).count() == 0
        && keys.into_iter().all(|key| kv.get(&key) == Ok(None) && kv.exists(&key) == Ok(false))
}

/// Stores pairs until the device is full; how many.
pub fn fill(kv: &mut Kv, version: u64) -> u32 {
    for n in 0.. {
        match kv.put(&short(n), &value(n, version, 3000)) {
            Ok(()) => {}
            Err(HostError::Kv(KvError::Full)) => return n,
            Err(error) => panic!("pair {n}: {error}"),
        }
    }
    unreachable!("devices have an end")
}

/// What [`fill`] has stored is there.
pub fn is_filled(kv: &mut Kv, version: u64, pairs: u32) -> bool {
    (0..pairs).all(|n| kv.get(&short(n)) == Ok(Some(value(n, version, 3000))))
}
