//! A device that threads share: one call at a time, closed once, and not behind a fork.

use crate::fork::Born;
use crate::{Class, Fault};
use std::mem::ManuallyDrop;
use std::sync::{Mutex, MutexGuard};

/// What is guarded.
#[derive(Debug)]
pub(crate) struct Guarded<T> {
    /// `None` when it is closed. In a child of a fork it stays as it is for ever: its threads, its lock and its connection are the
    /// parent's.
    inner: ManuallyDrop<Mutex<Option<T>>>,
    born: Born,
}

impl<T> Guarded<T> {
    /// Opens it.
    pub fn open(open: impl FnOnce() -> Result<T, saker::Error>) -> Result<Self, Fault> {
        let born = Born::now();
        Ok(Self { inner: ManuallyDrop::new(Mutex::new(Some(open()?))), born })
    }

    /// Before a lock of something that uses it is taken.
    pub fn check(&self) -> Result<(), Fault> {
        self.born.check()
    }

    fn lock(&self) -> Result<MutexGuard<'_, Option<T>>, Fault> {
        // The lock may be held by a thread that this process does not have, so that it is looked at first.
        self.check()?;
        let broken = |_| Fault::new(Class::Broken, "a call on this device has panicked; open it again");
        self.inner.lock().map_err(broken)
    }

    /// Does something with it, alone.
    pub fn with<R, E: Into<Fault>>(&self, work: impl FnOnce(&mut T) -> Result<R, E>) -> Result<R, Fault> {
        let mut guard = self.lock()?;
        let open = guard.as_mut().ok_or_else(|| Fault::new(Class::Closed, "the device is closed"))?;
        work(open).map_err(Into::into)
    }

    /// Takes it out, to close it. `None`: it is closed.
    pub fn take(&self) -> Result<Option<T>, Fault> {
        Ok(self.lock()?.take())
    }

    /// Whether it was closed, or cannot be used here.
    pub fn is_closed(&self) -> bool {
        self.lock().map_or(true, |guard| guard.is_none())
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        if !self.born.is_behind_fork() {
            // SAFETY: it is dropped here, once, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.inner) };
        }
    }
}
