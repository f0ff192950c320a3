// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory is brought in before a store is measured.
//!
//! A virtual machine may give free memory back to its host. The first touch afterwards is as slow as the host: on one machine half a GB a second, so
//! that the same fill of 800 MB took from 3.5 to 14.5 us a pair. Ours takes huge pages and RocksDB small ones, and small pages that were touched before
//! did not help ours. So as much memory as a repetition may need is touched in huge pages and freed again before each, for both sides.

use saker_segment_store::advice;

/// What merges write of a pair before what they read is given back.
const TIMES: u64 = 3;
/// What either store keeps back, whatever it holds.
const BESIDE_BYTES: u64 = 1 << 30;

/// Bytes that a repetition with so many bytes of pairs may need.
pub fn needed(pair_bytes: u64) -> u64 {
    TIMES * pair_bytes + BESIDE_BYTES
}

/// Touches so much of it, but no more than half of what is available, and frees it.
pub fn bring_in(bytes: u64) {
    let available = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
    let bytes = bytes.min(available.unwrap_or(u64::MAX) / 2) as usize;
    saker::use_huge_pages();
    let mut memory = Vec::with_capacity(bytes);
    advice::will_use(&memory);
    memory.resize(bytes, 1_u8);
    std::hint::black_box(memory);
}

/// The line `MemAvailable` of /proc/meminfo, in bytes.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    #[test]
    fn available_memory_is_found() {
        assert_eq!(super::available("MemFree: 1 kB\nMemAvailable:    2048 kB\n"), Some(2 << 20));
        assert_eq!(super::available("MemFree: 1 kB\n"), None);
        let here = std::fs::read_to_string("/proc/meminfo").expect("Linux tells it");
        assert!(super::available(&here).is_some_and(|bytes| bytes > 1 << 20));
    }
}
