// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A lock for a few dozen instructions: nobody waits for anything while holding it.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use crate::sync::{AtomicU32, Ordering, UnsafeCell, spin_loop};

const FREE: u32 = 0;
const TAKEN: u32 = 1;

/// Rounds of spinning before a waiter lets other threads run: the holder may have lost its core.
const SPINS: u32 = 64;

/// One locked instruction to take, a plain store to release: half of what a lock with a list of waiters costs.
///
/// Invariant: a [`Held`] exists only between a `FREE` to `TAKEN` exchange and the store of `FREE`, so there is at most one.
pub struct ShortLock<T> {
    state: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through `Held`, of which there is one at a time; taking the lock acquires what the
// holder before released.
unsafe impl<T: Send> Sync for ShortLock<T> {}
// SAFETY: the lock owns its value and nothing of any thread.
unsafe impl<T: Send> Send for ShortLock<T> {}

/// The value of a taken lock. Dropping it releases the lock, also in a panic.
pub struct Held<'a, T> {
    lock: &'a ShortLock<T>,
    /// Keeps it from being sent or shared on other terms than `&mut T`.
    value: PhantomData<&'a mut T>,
}

impl<T> ShortLock<T> {
    /// A free lock.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self { state: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }

    /// Takes the lock, after whoever holds it.
    #[inline]
    pub fn lock(&self) -> Held<'_, T> {
        match self.try_lock() {
            Some(held) => held,
            None => self.lock_slowly(),
        }
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<Held<'_, T>> {
        let taken = self.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed);
        // Made only if the lock was taken: dropping it releases the lock.
        taken.is_ok().then(|| Held { lock: self, value: PhantomData })
    }

    #[cold]
    fn lock_slowly(&self) -> Held<'_, T> {
        let mut spins = 0;
        loop {
            if self.state.load(Ordering::Relaxed) == FREE
                && let Some(held) = self.try_lock()
            {
                return held;
            }
            spins += 1;
            if spins % SPINS == 0 { std::thread::yield_now() } else { spin_loop() }
        }
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the lock is taken for `self`, and nobody else has a `Held` until it is dropped.
        self.lock.value.with(|value| unsafe { &*value })
    }
}

impl<T> DerefMut for Held<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and `self` is borrowed mutably.
        self.lock.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.state.store(FREE, Ordering::Release);
    }
}

impl<T> fmt::Debug for ShortLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShortLock")
    }
}

impl<T> fmt::Debug for Held<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held")
    }
}

impl<T: Default> Default for ShortLock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_taken_lock_cannot_be_taken_until_it_is_released() {
        let lock = ShortLock::new(1);
        let mut held = lock.lock();
        *held += 1;
        assert!(lock.try_lock().is_none() && lock.try_lock().is_none());
        drop(held);
        assert_eq!(lock.try_lock().map(|held| *held), Some(2));
    }

    #[test]
    fn increments_of_two_threads_all_count() {
        let lock = ShortLock::new(0u64);
        let add = || (0..1_000_000).for_each(|_| *lock.lock() += 1);
        std::thread::scope(|scope| {
            scope.spawn(add);
            scope.spawn(add);
        });
        assert_eq!(*lock.lock(), 2_000_000);
    }

    #[test]
    fn a_panic_releases_it() {
        let lock = ShortLock::new(());
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _held = lock.lock();
            panic!("on purpose");
        }));
        assert!(panicked.is_err() && lock.try_lock().is_some());
    }
}
