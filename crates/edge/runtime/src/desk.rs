// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where one thread lays a task for another, which lays it back when it is done: one at a time. `tests/loom.rs` goes through the interleavings.

#[cfg(loom)]
use loom::sync::{Condvar, Mutex, MutexGuard, atomic::AtomicBool};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
#[cfg(not(loom))]
use std::sync::{Condvar, Mutex, MutexGuard, atomic::AtomicBool};

#[derive(Debug, Default)]
enum Place<T> {
    /// Nothing.
    #[default]
    Empty,
    /// A task to be done.
    Open(T),
    /// One that is being done.
    Taken,
    /// One that is done.
    Done(T),
    /// Nobody lays tasks any more.
    Closed,
}

/// The place for a task.
#[derive(Debug)]
pub struct Desk<T> {
    place: Mutex<Place<T>>,
    changed: Condvar,
    /// There is a task that is done. Whoever laid it looks often.
    is_done: AtomicBool,
}

impl<T> Default for Desk<T> {
    fn default() -> Self {
        Self { place: Mutex::new(Place::Empty), changed: Condvar::new(), is_done: AtomicBool::new(false) }
    }
}

impl<T> Desk<T> {
    /// Lays a task that is to be done. The last one was taken back.
    pub fn open(&self, task: T) {
        self.lay(Place::Open(task));
    }

    /// Lays a task that is done already. The last one was taken back.
    pub fn lay_done(&self, task: T) {
        self.lay(Place::Done(task));
        self.is_done.store(true, Ordering::Release);
    }

    fn lay(&self, what: Place<T>) {
        let mut place = self.place();
        debug_assert!(matches!(*place, Place::Empty), "one task at a time");
        *place = what;
        drop(place);
        self.changed.notify_all();
    }

    /// Whether a task is done.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// Takes the task back, and waits until it is done. One was laid.
    pub fn take_back(&self) -> T {
        let task = self.wait_for(|place| match std::mem::take(place) {
            Place::Done(task) => Ok(task),
            other => Err(other),
        });
        self.is_done.store(false, Ordering::Relaxed);
        task
    }

    /// Ends the work of the other thread. What lies there is dropped.
    pub fn close(&self) {
        *self.place() = Place::Closed;
        self.changed.notify_all();
    }

    /// Does tasks until the desk is closed.
    pub fn work(&self, mut run: impl FnMut(&mut T)) {
        loop {
            let task = self.wait_for(|place| match std::mem::replace(place, Place::Taken) {
                Place::Open(task) => Ok(Some(task)),
                Place::Closed => Ok(None),
                other => Err(other),
            });
            let Some(mut task) = task else { return };
            run(&mut task);
            let mut place = self.place();
            if matches!(*place, Place::Closed) {
                return;
            }
            *place = Place::Done(task);
            self.is_done.store(true, Ordering::Release);
            drop(place);
            self.changed.notify_all();
        }
    }

    fn place(&self) -> MutexGuard<'_, Place<T>> {
        // A panic on either thread ends the process, or the device.
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `take` finds something. What it does not want it gives back.
    fn wait_for<R>(&self, mut take: impl FnMut(&mut Place<T>) -> Result<R, Place<T>>) -> R {
        let mut place = self.place();
        loop {
            match take(&mut place) {
                Ok(found) => return found,
                Err(other) => *place = other,
            }
            place = self.changed.wait(place).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
