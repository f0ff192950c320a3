//! Huge pages for what the pure crates say they will use at random.

use rustix::mm::{Advice, madvise};
use saker_medium::advice;

/// Smallest allocation worth advice: one huge page of x86-64.
const HUGE_BYTES: usize = 2 << 20;
/// Advice is given for whole pages; where pages are larger, the kernel refuses.
const PAGE_BYTES: usize = 4096;

/// Installs the advice for this process; calling it again does nothing.
pub fn install() {
    advice::install_advice(advise);
}

fn advise(start: *const u8, bytes: usize) {
    let begin = start.addr().next_multiple_of(PAGE_BYTES);
    let end = (start.addr() + bytes) / PAGE_BYTES * PAGE_BYTES;
    if bytes < HUGE_BYTES || end <= begin {
        return;
    }
    let first = start.with_addr(begin).cast_mut().cast();
    // SAFETY: this advice changes how the kernel backs the pages, never what is in them, whatever is mapped there.
    // A kernel without huge pages refuses; then the pages stay small.
    let _ = unsafe { madvise(first, end - begin, Advice::LinuxHugepage) };
}
