// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What files hold, and what a process has written.

use std::fs;

/// Bytes that a file, or all files of a folder, take of the disk.
#[cfg(any(feature = "others", feature = "rocksdb"))]
pub fn held(path: &std::path::Path) -> crate::peer::Outcome<u64> {
    use std::os::unix::fs::MetadataExt;
    let about = fs::metadata(path)?;
    if !about.is_dir() {
        return Ok(about.blocks() * 512);
    }
    let mut sum = 0;
    for entry in fs::read_dir(path)? {
        sum += held(&entry?.path())?;
    }
    Ok(sum)
}

/// Memory of this process: resident now, in bytes.
pub fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
