//! Hints to the processor.

/// Asks for the cache line of `at` ahead of its use. Changes nothing but time.
#[inline(always)]
pub fn prefetch<T>(at: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch never faults and reads nothing into the program; the reference makes the address valid
    // anyway. SSE, which has the instruction, is part of every x86-64.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(at).cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}

/// Asks for the cache line of `at` to write to it, ahead of that: a line that another core has read is taken back meanwhile.
/// Stores are carried out in order, so that one that waits for its line soon holds up all that follow.
#[inline(always)]
pub(crate) fn prefetch_to_write<T>(at: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch never faults and changes nothing; 64-bit processors without this one ignore it.
    unsafe {
        core::arch::asm!("prefetchw byte ptr [{}]", in(reg) core::ptr::from_ref(at), options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}
