// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device handle for several threads, first come, first served.

use saker::Kv;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lanes of several threads take turns at one handle.
#[derive(Debug)]
pub(crate) struct Turnstile<'k> {
    next: AtomicU64,
    serving: AtomicU64,
    kv: Mutex<&'k mut Kv>,
}

impl<'k> Turnstile<'k> {
    pub(crate) fn new(kv: &'k mut Kv) -> Self {
        Self { next: AtomicU64::new(0), serving: AtomicU64::new(0), kv: Mutex::new(kv) }
    }

    /// Calls `f` when it is this thread's turn.
    pub(crate) fn take<R>(&self, f: impl FnOnce(&mut Kv) -> R) -> R {
        let mine = self.next.fetch_add(1, Ordering::Relaxed);
        let mut waited = 0_u32;
        while self.serving.load(Ordering::Acquire) != mine {
            waited += 1;
            if waited < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        let result = f(&mut self.lock());
        self.serving.store(mine + 1, Ordering::Release);
        result
    }

    fn lock(&self) -> MutexGuard<'_, &'k mut Kv> {
        self.kv.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// There may be more threads than cores.
const SPINS: u32 = 100;
