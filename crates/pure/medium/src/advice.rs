//! A word to the operating system about large allocations that will be used at random.
//!
//! First touches and address translation of small pages cost more than all the rest of a put (measured: half of it).
//! Pure crates cannot ask for huge pages; whoever owns the process installs a function that can. It changes time and
//! resident memory, never results.

use std::sync::OnceLock;

/// Asks for huge pages for the whole pages within `bytes` bytes from the address on. Must only advise.
pub type Advise = fn(start: *const u8, bytes: usize);

static INSTALLED: OnceLock<Advise> = OnceLock::new();

/// Installs the function for this process. The first one stays.
pub fn install_advice(advise: Advise) {
    let _ = INSTALLED.set(advise);
}

/// Tells that all of the vector's capacity will be used, in any order. Call it before the first touch.
pub fn will_use<T>(memory: &Vec<T>) {
    if let Some(advise) = INSTALLED.get() {
        advise(memory.as_ptr().cast(), memory.capacity() * size_of::<T>());
    }
}
