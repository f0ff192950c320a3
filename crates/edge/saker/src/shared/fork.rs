// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which process this is, without a system call: a fork is counted in the child.

use crate::store_error::StoreError;
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
/// let born = saker::Born::now();
/// assert!(born.check().is_ok(), "a child of a fork is told that it is another process");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Born(u64);

impl Born {
    /// This process.
    ///
    /// ```
    /// assert_eq!(saker::Born::now(), saker::Born::now());
    /// ```
    #[must_use]
    pub fn now() -> Self {
        watch();
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// Whether it was another process, which has forked this one. No lock that was there then may be taken: a thread that this process
    /// does not have may hold it.
    ///
    /// ```
    /// assert!(!saker::Born::now().is_behind_fork());
    /// ```
    #[must_use]
    pub fn is_behind_fork(self) -> bool {
        FORKS.load(Ordering::Relaxed) != self.0
    }

    /// The same as an error.
    ///
    /// # Errors
    /// [`StoreError::Forked`].
    ///
    /// ```
    /// assert!(saker::Born::now().check().is_ok());
    /// ```
    pub fn check(self) -> Result<(), StoreError> {
        if self.is_behind_fork() { Err(StoreError::Forked) } else { Ok(()) }
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
