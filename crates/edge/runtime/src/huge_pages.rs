// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Huge pages for what the pure crates say they will use at random, and pages brought in ahead of use.

use crate::far_copy;
use rustix::mm::{Advice, madvise};
use saker_segment_store::advice;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Smallest allocation worth advice: one huge page of x86-64.
const HUGE_BYTES: usize = 2 << 20;
/// Advice is given for whole pages; where pages are larger, the kernel refuses.
const PAGE_BYTES: usize = 4096;

/// Installs the advice for this process; calling it again does nothing.
///
/// ```
/// saker_runtime::use_huge_pages(); // before the device is built, whose index is laid out then
/// saker_runtime::use_huge_pages(); // once is enough
/// ```
pub fn install() {
    advice::install(advice::Advice { huge, bring, soon, append_far: far_copy::append });
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

/// Memory that will soon be written: its address and size in bytes.
type Wanted = (usize, usize);

/// Requests that may wait for the helper. More are dropped: their pages then come when they are touched.
const WAITING_MAX: usize = 8;

/// A thread of its own brings the pages in, where another processor can run it.
fn soon(start: *const u8, bytes: usize) {
    static HELPER: OnceLock<Option<SyncSender<Wanted>>> = OnceLock::new();
    if bytes >= HUGE_BYTES
        && let Some(helper) = HELPER.get_or_init(start_helper)
    {
        // Full, or the thread has gone: nothing is lost but time.
        let _ = helper.try_send((start.addr(), bytes));
    }
}

fn start_helper() -> Option<SyncSender<Wanted>> {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return None;
    }
    let (helper, wanted) = sync_channel(WAITING_MAX);
    let thread = std::thread::Builder::new().name("saker-memory".into());
    thread.spawn(move || help(&wanted)).is_ok().then_some(helper)
}

/// A huge page at a time: whoever changes the address space meanwhile waits no longer than for one. Memory that was given
/// back before its turn came is refused, or is somebody else's and comes early.
fn help(wanted: &Receiver<Wanted>) {
    let ends_process = crate::panics::ends_process("memory");
    while let Ok((start, bytes)) = wanted.recv() {
        ends_process.at_work();
        for at in (start..start + bytes).step_by(HUGE_BYTES) {
            bring(std::ptr::without_provenance(at), HUGE_BYTES.min(start + bytes - at));
        }
    }
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
