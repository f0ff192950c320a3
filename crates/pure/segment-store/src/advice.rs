// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What only the owner of the process can do for large memory: a word to the operating system about allocations that will be
//! used at random, and copies that pass the processor's caches by.
//!
//! First touches and address translation of small pages cost more than all the rest of a put (measured: half of it; on a
//! virtual machine whose host backs memory at its first touch, huge pages do not help: only asking ahead does).
//! Pure crates cannot ask for huge pages, nor for pages ahead of use; whoever owns the process installs functions that
//! can. They change time and resident memory, never results.

use std::ops::Range;
use std::sync::OnceLock;

/// Something about the whole pages within `bytes` bytes from the address on. Must not change what is there.
pub type Advise = fn(start: *const u8, bytes: usize);

/// What a process can do.
#[derive(Clone, Copy, Debug)]
pub struct Advice {
    /// Asks for huge pages.
    pub huge: Advise,
    /// Brings the pages in now, ready to be written.
    pub bring: Advise,
    /// The same beside the caller, who does not wait.
    pub soon: Advise,
    /// Appends bytes that will not be read soon.
    pub append_far: AppendFar,
}

/// What `extend_from_slice` does, without bringing the destination into the processor's caches.
pub type AppendFar = fn(memory: &mut Vec<u8>, bytes: &[u8]);

/// Appends bytes that will not be read soon: the cells of a page. A copy through the caches reads every line of the
/// destination before it writes it, and drives out what is needed.
#[inline]
pub fn append_far(memory: &mut Vec<u8>, bytes: &[u8]) {
    match INSTALLED.get() {
        Some(advice) => (advice.append_far)(memory, bytes),
        None => memory.extend_from_slice(bytes),
    }
}

static INSTALLED: OnceLock<Advice> = OnceLock::new();

/// Installs the functions for this process. The first ones stay.
pub fn install(advice: Advice) {
    let _ = INSTALLED.set(advice);
}

/// Tells that all of the vector's capacity will be used, in any order. Call it before the first touch.
pub fn will_use<T>(memory: &Vec<T>) {
    give(memory, |advice| advice.huge);
}

/// The same, and the memory is brought in now: first touches cost nothing later.
pub fn bring_in<T>(memory: &Vec<T>) {
    will_use(memory);
    give(memory, |advice| advice.bring);
}

/// Whether anybody listens.
pub fn is_installed() -> bool {
    INSTALLED.get().is_some()
}

fn give<T>(memory: &Vec<T>, which: fn(&Advice) -> Advise) {
    give_part(memory.as_ptr(), 0..bytes_of(memory), which);
}

fn give_part<T>(memory: *const T, bytes: Range<usize>, which: fn(&Advice) -> Advise) {
    if let Some(advice) = INSTALLED.get() {
        which(advice)(memory.cast::<u8>().wrapping_add(bytes.start), bytes.len());
    }
}

const fn bytes_of<T>(memory: &Vec<T>) -> usize {
    memory.capacity() * size_of::<T>()
}

/// At least so many bytes beyond those in use have been asked for at any time; one step more at most.
const LEAD_BYTES: usize = 8 << 20;
/// Bytes that are asked for at once.
const STEP_BYTES: usize = 4 << 20;

/// Memory that is filled from its beginning on, and asked for a little ahead of that, so that whoever fills it seldom
/// waits for a page.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ahead {
    /// Bytes from the beginning on.
    asked: usize,
}

impl Ahead {
    /// The first `used` elements are in use: the next ones will be soon. Whether all of the vector's capacity has been
    /// asked for.
    #[inline]
    pub fn fill<T>(&mut self, memory: &Vec<T>, used: usize) -> bool {
        let end = bytes_of(memory);
        let wanted = (used * size_of::<T>() + LEAD_BYTES).min(end);
        while self.asked < wanted {
            let step = self.asked..(self.asked + STEP_BYTES).min(end);
            self.asked = step.end;
            give_part(memory.as_ptr(), step, |advice| advice.soon);
        }
        self.asked >= end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    static ASKED: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

    fn note(start: *const u8, bytes: usize) {
        ASKED.lock().expect("no test panics with it").push((start.addr(), bytes));
    }

    fn nothing(_: *const u8, _: usize) {}

    #[test]
    fn memory_is_asked_for_once_in_order_and_not_far_ahead() {
        install(Advice { huge: nothing, bring: nothing, soon: note, append_far: Vec::extend_from_slice });
        let memory = Vec::<u64>::with_capacity((21 << 20) / 8);
        let (begin, end) = (memory.as_ptr().addr(), memory.capacity() * 8);
        let mut ahead = Ahead::default();
        for used in 0..=memory.capacity() / 1024 {
            let all = ahead.fill(&memory, used * 1024);
            let mut reached = 0;
            for (start, bytes) in &*ASKED.lock().expect("sound") {
                assert_eq!(*start, begin + reached, "one step behind the other");
                reached += bytes;
            }
            let used = used * 1024 * 8;
            assert!(reached >= (used + LEAD_BYTES).min(end) && reached < used + LEAD_BYTES + STEP_BYTES);
            assert_eq!(all, reached == end, "{used}");
        }
    }
}
