// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Distinct pairs of 16-byte keys, and images that hold them.

use saker::{Kv, create_image};
use std::error::Error;
use std::path::{Path, PathBuf};

/// Key number `n`, in no order.
pub fn key(n: u64) -> [u8; 16] {
    let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&mixed.to_le_bytes());
    key[8..].copy_from_slice(&n.to_le_bytes());
    key
}

/// Stores pairs number `from` to `to` and waits for them.
pub fn fill(kv: &mut Kv, from: u64, to: u64, value: &[u8]) -> Result<(), Box<dyn Error>> {
    for n in from..to {
        kv.put_queued(&key(n), value)?;
    }
    Ok(kv.drain()?)
}

/// An image in the directory for temporary files, removed in the end.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn file(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("saker-figures-{}-{name}", std::process::id())))
    }

    pub fn image(name: &str, bytes: u64) -> Result<Self, Box<dyn Error>> {
        let scratch = Self::file(name);
        create_image(&scratch.0, bytes, "default", 1)?;
        Ok(scratch)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn url(&self) -> String {
        format!("file:{}", self.0.display())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
