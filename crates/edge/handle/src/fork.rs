//! Which process this is, without a system call: a fork is counted in the child.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

/// Forks between the first process that opened a device and this one.
static FORKS: AtomicU64 = AtomicU64::new(0);

static WATCHED: Once = Once::new();

extern "C" fn count() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Forks so far. They are counted from the first call of [`watch`] on.
pub(crate) fn forks() -> u64 {
    FORKS.load(Ordering::Relaxed)
}

/// Begins to count.
pub(crate) fn watch() {
    WATCHED.call_once(|| {
        // SAFETY: `count` adds to an atomic, which is allowed between fork and exec. That there is no memory for the entry is
        // the only failure; forks are not seen then, as by programs that do not ask.
        unsafe { libc::pthread_atfork(None, None, Some(count)) };
    });
}
