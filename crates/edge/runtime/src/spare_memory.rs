// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory that was freed, and that the allocator has kept.

/// Gives the kernel back what the allocator has kept. glibc gives back only what is free at the end of its heaps, so a process that has
/// dropped a device can be as large as before. It takes milliseconds, and the next allocations are slower: call it where much was dropped.
///
/// Allocators that have no such call are left alone.
///
/// ```
/// drop(vec![1u8; 64 << 20]);
/// saker_runtime::give_memory_back();
/// ```
pub fn give_back() {
    trim();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn trim() {
    let kept_at_the_end = 0;
    // SAFETY: the call takes a number and locks the allocator itself; memory in use stays where it is.
    let _ = unsafe { libc::malloc_trim(kept_at_the_end) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn trim() {}
