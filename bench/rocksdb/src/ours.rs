// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Our side: the LSM engine of a device in memory, or of an image on the tmpfs, through the library's door.

use crate::store::{Bytes, Durability, Fault, Store};
use saker::{EngineKind, ImagePlan, KeyRange, Kv, ScanOptions, Settings, Typed};
use saker_profile::Profile;
use std::path::Path;
use std::time::Duration;

/// An open device.
pub struct Ours {
    kv: Kv,
    url: String,
    page_bytes: u64,
    buffer: Vec<u8>,
    _dir: tempfile::TempDir,
}

/// Heads of records, entries of tables while they are merged, and room that collections keep, for each pair.
const BESIDE_BYTES: u64 = 160;

/// Background work has ended when so many looks at it, so long after each other, find nothing new.
const LOOKS: u32 = 50;
const LOOK: Duration = Duration::from_micros(200);

/// The device's hardware.
const PROFILE: &str = "default";

/// Flash for so many pairs, a quarter of it spare, and a GiB for the segments of 48 MiB that the store keeps back.
pub fn flash_bytes(pairs: u64, pair_bytes: u64) -> u64 {
    pairs * (pair_bytes + BESIDE_BYTES) * 5 / 4 + (1 << 30)
}

/// The options that an image is made with, and the others.
fn split(engine: EngineKind, options: &str) -> Result<(Settings, String), Fault> {
    let is_kept = |name: &str| engine.settings().iter().any(|s| s.name == name && s.place().is_some());
    let mut typed = Typed::default();
    let mut others = Vec::new();
    for option in options.split('&').filter(|option| !option.is_empty()) {
        match option.split_once('=') {
            Some((name, value)) if is_kept(name) => typed.push(name, value),
            _ => others.push(option),
        }
    }
    let settings = typed.of(engine.settings(), saker::url::parse_size);
    Ok((settings.map_err(|(name, todo)| format!("{name}: {todo}"))?, others.join("&")))
}

impl Ours {
    pub fn open(dir: &Path, durability: Durability, bytes: u64, more: &str) -> Result<Self, Fault> {
        let dir = tempfile::tempdir_in(dir)?;
        let url = if durability == Durability::File {
            let path = dir.path().join("saker.img");
            let engine = EngineKind::named("lsm").ok_or("this build has no lsm engine")?;
            let (settings, more) = split(engine, more)?;
            ImagePlan { engine, settings, ..ImagePlan::kv(bytes, PROFILE, 1) }.create(&path)?;
            format!("file:{}?{more}", path.display())
        } else {
            format!("mem:?engine=lsm&profile={PROFILE}&size={bytes}&{more}")
        };
        let page_bytes = Profile::builtin(PROFILE)?.geometry.page_bytes.get().into();
        Ok(Self { kv: Kv::open(&url)?, url, page_bytes, buffer: vec![0; 4096], _dir: dir })
    }

    /// Whether memtables or tables are on their way. A thread that computes may take long to show anything.
    fn is_merging(&mut self) -> bool {
        const UNDER_WAY: [&str; 2] = ["num_running_compactions", "num_immutable_mem_table"];
        let counters = self.kv.stats().and_then(|s| s.namespaces.first().map(|n| n.counters.clone()));
        counters.is_some_and(|all| all.iter().any(|(name, n)| UNDER_WAY.contains(name) && *n > 0))
    }

    /// What background work has done so far.
    fn done(&mut self) -> Option<Vec<u64>> {
        let snapshot = self.kv.stats()?;
        let counters = snapshot.namespaces.first()?.counters.iter().map(|(_, n)| *n);
        Some(counters.chain([snapshot.flash.pages_programmed]).collect())
    }
}

impl Store for Ours {
    fn options(&self) -> String {
        format!(
            "{} timing=off, on the caller's thread; merges as background_threads says (docs/urls.md)",
            self.url
        )
    }

    fn put(&mut self, key: &[u8; 16], value: &[u8]) -> Result<(), Fault> {
        Ok(self.kv.put(key, value)?)
    }

    fn get(&mut self, key: &[u8; 16]) -> Result<usize, Fault> {
        Ok(self.kv.get_into(key, &mut self.buffer)?.ok_or("a pair is missing")?)
    }

    fn scan(&mut self, from: &[u8; 16], pairs: u32) -> Result<(u32, usize), Fault> {
        let (mut seen, mut bytes) = (0, 0);
        let range = KeyRange { from, ..KeyRange::default() };
        let options = ScanOptions { range, pairs_max: pairs, ..ScanOptions::default() };
        self.kv.scan(&options, &mut |key, value| {
            seen += 1;
            bytes += key.len() + value.len();
            seen < pairs
        })?;
        Ok((seen, bytes))
    }

    fn memory_bytes(&mut self) -> u64 {
        let memory = self.kv.stats().and_then(|s| s.namespaces.first().map(|n| n.memory));
        memory.map_or(0, |m| m.index_bytes + m.directory_bytes + m.segment_bytes)
    }

    fn bytes(&mut self) -> Result<Bytes, Fault> {
        let stats = self.kv.stats().ok_or("the device does not tell what it has written")?;
        let written = stats.flash.pages_programmed * self.page_bytes;
        Ok(Bytes { written, kept: stats.flash_bytes_in_use })
    }

    /// Each command leaves the device a piece of background work. What a thread beside it computes takes less than a look is long.
    fn settle(&mut self) -> Result<(), Fault> {
        let (mut before, mut looks) = (self.done(), 0);
        while looks < LOOKS {
            for _ in 0..64 {
                self.kv.exists(b"nothing")?;
            }
            let after = self.done();
            if after == before && !self.is_merging() {
                std::thread::sleep(LOOK);
                looks += 1;
            } else {
                std::thread::yield_now();
                (before, looks) = (after, 0);
            }
        }
        Ok(())
    }
}
