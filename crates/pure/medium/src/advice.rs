//! A word to the operating system about large allocations that will be used at random.
//!
//! First touches and address translation of small pages cost more than all the rest of a put (measured: half of it).
//! Pure crates cannot ask for huge pages, nor for pages ahead of use; whoever owns the process installs functions that
//! can. They change time and resident memory, never results.

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

fn give<T>(memory: &Vec<T>, which: fn(&Advice) -> Advise) {
    if let Some(advice) = INSTALLED.get() {
        which(advice)(memory.as_ptr().cast(), memory.capacity() * size_of::<T>());
    }
}
