// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Devices, pairs and files for the tests of this room.

use crate::support::{key, value};
use saker::{BackupOptions, EngineKind, ImagePlan, Kv, NamespacePlan, RestoreOptions, ScanOptions};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// A small device in memory.
pub fn memory(engine: EngineKind) -> Kv {
    Kv::open(&format!("mem:?size=8MiB&profile=tiny&engine={}", engine.name())).expect("opens")
}

/// An image with one namespace of pairs.
pub fn image(path: &Path, engine: EngineKind, bytes: u64) {
    ImagePlan { engine, ..ImagePlan::kv(bytes, "tiny", 1) }.create(path).expect("creates");
}

/// An image with pairs and, behind them, blocks of 512 bytes.
pub fn joined(path: &Path, engine: EngineKind) {
    let namespaces = vec![
        NamespacePlan::Kv { flash_bytes: None },
        NamespacePlan::Block { bytes: Some(1 << 20), block_bytes: 512 },
    ];
    ImagePlan { engine, namespaces, ..ImagePlan::kv(12 << 20, "tiny", 1) }.create(path).expect("creates");
}

pub fn url(path: &Path) -> String {
    format!("file:{}", path.display())
}

/// Stores pairs `range`, short and long keys, values of 0 to 600 bytes.
pub fn fill(kv: &mut Kv, range: std::ops::Range<u32>, version: u64) {
    for n in range {
        kv.put(&key(n), &value(n, version, (n * 37) % 600)).expect("stores");
    }
}

/// Everything there is.
pub fn pairs(kv: &mut Kv) -> Pairs {
    let mut all = Pairs::new();
    let seen = kv.scan(&ScanOptions::default(), &mut |key, value| {
        assert!(all.insert(key.to_vec(), value.to_vec()).is_none(), "each once");
        true
    });
    seen.expect("scans");
    all
}

pub fn full() -> BackupOptions {
    BackupOptions::default()
}

pub fn since(files: &[PathBuf]) -> BackupOptions {
    BackupOptions { since: files.to_vec(), ..BackupOptions::default() }
}

pub fn replace() -> RestoreOptions {
    RestoreOptions { replace: true, ..RestoreOptions::default() }
}

pub fn no_news(_: u64) {}
