//! Which process this is, without a system call: a fork is counted in the child.

use crate::{Class, Fault};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

/// Forks between the first process that opened a device and this one.
static FORKS: AtomicU64 = AtomicU64::new(0);

static WATCHED: Once = Once::new();

extern "C" fn count() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// The process in which something was made.
///
/// ```
/// let born = saker_handle::Born::now();
/// assert!(born.check().is_ok(), "a child of a fork is told that it is another process");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Born(u64);

impl Born {
    /// This process.
    #[must_use]
    pub fn now() -> Self {
        watch();
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// Whether it was another process, which has forked this one. No lock that was there then may be taken: a thread that this process
    /// does not have may hold it.
    #[must_use]
    pub fn is_behind_fork(self) -> bool {
        FORKS.load(Ordering::Relaxed) != self.0
    }

    /// The same as a fault.
    ///
    /// # Errors
    /// [`Class::Forked`].
    pub fn check(self) -> Result<(), Fault> {
        let text =
            "the device was opened before this process was forked; open it in the process that uses it";
        if self.is_behind_fork() { Err(Fault::new(Class::Forked, text)) } else { Ok(()) }
    }
}

/// Begins to count.
fn watch() {
    WATCHED.call_once(|| {
        // SAFETY: `count` adds to an atomic, which is allowed between fork and exec. That there is no memory for the entry is
        // the only failure; forks are not seen then, as by programs that do not ask.
        unsafe { libc::pthread_atfork(None, None, Some(count)) };
    });
}
