// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device that threads share: one call at a time, closed once, and not behind a fork.

mod fork;

pub use fork::Born;

use crate::store_error::StoreError;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, MutexGuard};

/// A device that threads share, by clones: one call at a time, closed once. In a child of a fork it refuses every call, because its threads,
/// its lock and its connection are the parent's.
///
/// ```
/// use saker::{KvCache, RetentionOptions, Shared};
/// let cache = Shared::new(KvCache::open("mem:?size=4MiB&profile=tiny", RetentionOptions::default())?);
/// let other = cache.clone();
/// std::thread::spawn(move || other.with(|cache| cache.put_if_absent(b"block", b"data"))).join().expect("no panic")??;
/// assert_eq!(cache.with(|cache| cache.get(b"block"))??, Some(b"data".to_vec()));
/// cache.take()?.expect("it is open").close()?;
/// assert!(cache.is_closed() && matches!(cache.with(|_| ()), Err(saker::StoreError::Closed)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Shared<T> {
    inner: Arc<Guarded<T>>,
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

#[derive(Debug)]
struct Guarded<T> {
    /// `None` when it is closed. In a child of a fork it stays as it is for ever.
    device: ManuallyDrop<Mutex<Option<T>>>,
    born: Born,
}

impl<T> Shared<T> {
    /// Shares a device.
    ///
    /// ```
    /// let kv = saker::Shared::new(saker::Kv::open("mem:?size=4MiB&profile=tiny")?);
    /// kv.with(|kv| kv.put(b"key", b"value"))??;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(device: T) -> Self {
        let device = ManuallyDrop::new(Mutex::new(Some(device)));
        Self { inner: Arc::new(Guarded { device, born: Born::now() }) }
    }

    /// Whether it may be used here: before a lock of something that uses it is taken.
    ///
    /// # Errors
    /// [`StoreError::Forked`].
    ///
    /// ```
    /// let kv = saker::Shared::new(saker::Kv::open("mem:?size=4MiB&profile=tiny")?);
    /// assert!(kv.check().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self) -> Result<(), StoreError> {
        self.inner.born.check()
    }

    fn lock(&self) -> Result<MutexGuard<'_, Option<T>>, StoreError> {
        // The lock may be held by a thread that this process does not have, so that it is looked at first.
        self.check()?;
        self.inner.device.lock().map_err(|_| StoreError::Broken)
    }

    /// Does something with it, alone. `work` must not use it by another clone: that would wait for itself.
    ///
    /// # Errors
    /// [`StoreError::Closed`], [`StoreError::Forked`] and, where `work` has panicked before, [`StoreError::Broken`].
    ///
    /// ```
    /// let kv = saker::Shared::new(saker::Kv::open("mem:?size=4MiB&profile=tiny")?);
    /// let both = kv.with(|kv| Ok::<_, saker::HostError>((kv.exists(b"one")?, kv.exists(b"two")?)))??;
    /// assert_eq!(both, (false, false));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Result<R, StoreError> {
        let mut guard = self.lock()?;
        Ok(work(guard.as_mut().ok_or(StoreError::Closed)?))
    }

    /// Takes it out, to close it. `None`: it is closed.
    ///
    /// # Errors
    /// As [`Shared::with`].
    ///
    /// ```
    /// let kv = saker::Shared::new(saker::Kv::open("mem:?size=4MiB&profile=tiny")?);
    /// assert!(kv.take()?.is_some() && kv.take()?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take(&self) -> Result<Option<T>, StoreError> {
        Ok(self.lock()?.take())
    }

    /// Whether it was closed, or cannot be used here.
    ///
    /// ```
    /// let kv = saker::Shared::new(saker::Kv::open("mem:?size=4MiB&profile=tiny")?);
    /// assert!(!kv.is_closed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.lock().map_or(true, |guard| guard.is_none())
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        if !self.born.is_behind_fork() {
            // SAFETY: it is dropped here, once, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.device) };
        }
    }
}
