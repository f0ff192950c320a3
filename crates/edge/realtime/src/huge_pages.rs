//! Huge pages for what the pure crates say they will use at random, and pages brought in ahead of use.

use rustix::mm::{Advice, madvise};
use saker_medium::advice;

/// Smallest allocation worth advice: one huge page of x86-64.
const HUGE_BYTES: usize = 2 << 20;
/// Advice is given for whole pages; where pages are larger, the kernel refuses.
const PAGE_BYTES: usize = 4096;

/// Installs the advice for this process; calling it again does nothing.
pub fn install() {
    advice::install(advice::Advice { huge, bring });
}

fn huge(start: *const u8, bytes: usize) {
    if bytes >= HUGE_BYTES {
        advise(start, bytes, Advice::LinuxHugepage);
    }
}

/// Linux 5.14 and later; older kernels refuse, and pages come when they are touched.
fn bring(start: *const u8, bytes: usize) {
    advise(start, bytes, Advice::LinuxPopulateWrite);
}

fn advise(start: *const u8, bytes: usize, advice: Advice) {
    let begin = start.addr().next_multiple_of(PAGE_BYTES);
    let end = (start.addr() + bytes) / PAGE_BYTES * PAGE_BYTES;
    if end <= begin {
        return;
    }
    let first = start.with_addr(begin).cast_mut().cast();
    // SAFETY: both kinds of advice change how and when the kernel backs the pages, never what is in them, whatever is
    // mapped there. A kernel that cannot refuses; then the pages stay as they are.
    let _ = unsafe { madvise(first, end - begin, advice) };
}
