// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory of transfers stays with the process while hosts work, and goes back to the operating system when they have left.
//!
//! Left to itself, glibc's allocator gives blocks of megabytes back each time and takes new ones, whose pages the system makes one by
//! one: for a transfer of 2 MiB that is half a millisecond, in one piece, in which no other host is served. So a server tells it to
//! keep what is freed. What it keeps is searched and returned a second or two after the work.

use crate::memory::Memory;

/// Less is not worth the search.
const WORTH_BYTES: usize = 16 << 20;
/// The longest block that is taken from an arena: the most that glibc allows.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const FROM_ARENAS_MAX: i32 = 32 << 20;
/// Free bytes at an arena's end that it keeps.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_MAX: i32 = 256 << 20;

/// Remembers how much memory the allocator may have kept.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    /// The most that connections used, as far as it was not given back since.
    kept: usize,
    /// Whether to search once more.
    again: bool,
}

impl Heap {
    /// Gives back what was not used since the last call. To be called every second or so: work that takes the same memory again
    /// and again leaves it where it is.
    pub fn settle(&mut self, memory: &Memory) {
        if self.is_due(memory.most_used()) {
            give_back();
        }
    }

    /// Whether to search for free pages now, when at most `used` bytes were used since the last call. Bytes leave a connection's account
    /// a moment before they are freed, so a search may come between and find nothing. Another one follows it.
    fn is_due(&mut self, used: usize) -> bool {
        self.kept = self.kept.max(used);
        let is_worth = self.kept - used >= WORTH_BYTES;
        if is_worth {
            self.kept = used;
        }
        let again = std::mem::replace(&mut self.again, is_worth);
        is_worth || again
    }
}

/// What is freed stays with the process from now on, until [`Heap::settle`]. The second one to ask changes nothing.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the allocator's own call, which std does not have")]
pub(crate) fn keep() {
    // SAFETY: mallopt(3) takes two numbers and no memory of ours, and changes under the allocator's lock what it does later. That
    // another allocator is installed does it no harm.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, FROM_ARENAS_MAX);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_MAX);
    }
}

/// Other allocators are left as they are.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn keep() {}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_used_any_more_is_searched_for_twice() {
        let used = [0, 3, 3, 3, 1, 1, 1, 0, 2, 0, 0].map(|n| n * (WORTH_BYTES - 1));
        let mut heap = Heap::default();
        let due = used.map(|used| heap.is_due(used));
        let expected = [false, false, false, false, true, true, false, false, false, true, true];
        assert_eq!(due, expected);
    }
}
