//! Memory goes back to the operating system when connections have left. An allocator keeps what is freed: glibc's serves blocks
//! of megabytes from its arenas once some were freed, and returns only what lies at an arena's end.

use crate::memory::Memory;

/// Less is not worth the search.
const WORTH_BYTES: usize = 16 << 20;

/// Remembers how much memory the allocator may have kept.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    /// The most that connections used, as far as it was not given back since.
    kept: usize,
}

impl Heap {
    /// Gives back what was not used since the last call. To be called every second or so: work that takes the same memory again
    /// and again leaves it where it is.
    pub fn settle(&mut self, memory: &Memory) {
        let used = memory.most_used();
        self.kept = self.kept.max(used);
        if self.kept - used >= WORTH_BYTES {
            self.kept = used;
            give_back();
        }
    }
}

/// Searches all arenas for free pages. Threads that allocate from an arena wait as long as it is searched.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the allocator's own call, which std does not have")]
fn give_back() {
    // SAFETY: malloc_trim(3) takes a number and no memory of ours, may be called at any time from any thread (MT-Safe), and touches
    // only pages that no allocation lies in. That another allocator is installed does it no harm.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Other allocators return memory by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() {}
