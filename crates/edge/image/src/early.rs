// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages on their way to the disk before a sync asks for them.
//!
//! A sync ends when everything that was written since the last one is on the disk, and the device waits for it. So the kernel is asked to
//! begin with what was written, each time that a mebibyte more was: RocksDB's `bytes_per_sync` is the same. Nobody relies on it: what has begun
//! may never end, and only a sync tells of a failure.

use std::fs::File;

/// Bytes between two requests.
const EVERY_BYTES: u64 = 1 << 20;

/// Counts what was written since the last request.
#[derive(Debug, Default)]
pub(super) struct Early {
    bytes: u64,
}

impl Early {
    /// So many bytes were written to the file. If that is enough, the kernel begins to write what is dirty from an offset on. Whether it
    /// was asked.
    #[inline]
    pub fn note(&mut self, file: &File, bytes: usize, from: u64) -> bool {
        self.bytes += bytes as u64;
        let is_due = self.bytes >= EVERY_BYTES;
        if is_due {
            self.bytes = 0;
            begin(file, from);
        }
        is_due
    }
}

/// The kernel begins to write what is dirty from an offset to the end. It waits for nothing, and a failure is left for the next sync to
/// find: a call that waits would take it away.
#[cfg(target_os = "linux")]
#[cold]
fn begin(file: &File, from: u64) {
    use std::os::fd::AsRawFd;
    let to_the_end = 0;
    // SAFETY: the call takes a descriptor, which the file keeps open meanwhile, and numbers; it touches no memory of the process.
    let _ = unsafe {
        libc::sync_file_range(file.as_raw_fd(), from as i64, to_the_end, libc::SYNC_FILE_RANGE_WRITE)
    };
}

#[cfg(not(target_os = "linux"))]
fn begin(_: &File, _: u64) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mebibyte_is_begun_once() {
        let file = tempfile::tempfile().unwrap();
        let mut early = Early::default();
        let asked: Vec<_> = (0..12).map(|_| early.note(&file, 256 << 10, 0)).collect();
        assert_eq!(asked, [[false, false, false, true]; 3].concat());
        assert!(early.note(&file, 2 << 20, 0), "a page longer than that");
        assert!(!early.note(&file, 1, 0));
    }
}
