// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A thread that computes for a device without time: merges of tables.

use crate::panics::ends_process;
use saker_device::{Aside, Task};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// What the two threads hand to each other.
#[derive(Debug, Default)]
enum Desk {
    /// Nothing.
    #[default]
    Empty,
    /// A task to be done.
    Open(Box<dyn Task>),
    /// One that is being done.
    Taken,
    /// One that is done.
    Done(Box<dyn Task>),
    /// The device has gone.
    Closed,
}

#[derive(Debug, Default)]
struct Shared {
    desk: Mutex<Desk>,
    changed: Condvar,
    /// The desk has a task that is done: the device looks at it behind every command.
    is_done: AtomicBool,
}

impl Shared {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        // A panic on either thread ends the process, or the device.
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, what: Desk) {
        *self.desk() = what;
        self.changed.notify_all();
    }

    /// Waits until `take` finds something.
    fn take<T>(&self, mut take: impl FnMut(&mut Desk) -> Option<T>) -> T {
        let mut desk = self.desk();
        loop {
            match take(&mut desk) {
                Some(found) => return found,
                None => desk = self.changed.wait(desk).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// The thread, which begins with the first task.
#[derive(Debug, Default)]
pub struct Computing {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Aside for Computing {
    fn begin(&mut self, task: Box<dyn Task>) {
        self.shared.put(Desk::Open(task));
        self.thread.get_or_insert_with(|| {
            let shared = Arc::clone(&self.shared);
            let named = std::thread::Builder::new().name("saker-merges".into());
            named.spawn(move || work(&shared)).expect("the system starts a thread")
        });
    }

    #[inline]
    fn is_done(&self) -> bool {
        self.shared.is_done.load(Ordering::Acquire)
    }

    fn wait(&mut self) -> Box<dyn Task> {
        let task = self.shared.take(|desk| match std::mem::take(desk) {
            Desk::Done(task) => Some(task),
            other => {
                *desk = other;
                None
            }
        });
        self.shared.is_done.store(false, Ordering::Relaxed);
        task
    }
}

impl Drop for Computing {
    fn drop(&mut self) {
        self.shared.put(Desk::Closed);
        if let Some(thread) = self.thread.take() {
            // A panic there ends the process.
            let _ = thread.join();
        }
    }
}

fn work(shared: &Shared) {
    let ends_process = ends_process("merges");
    loop {
        let task = shared.take(|desk| match std::mem::replace(desk, Desk::Taken) {
            Desk::Open(task) => Some(Some(task)),
            Desk::Closed => Some(None),
            other => {
                *desk = other;
                None
            }
        });
        let Some(mut task) = task else { return };
        ends_process.at_work();
        task.run(saker_device::prefetch_address);
        let mut desk = shared.desk();
        if matches!(*desk, Desk::Closed) {
            return;
        }
        *desk = Desk::Done(task);
        shared.is_done.store(true, Ordering::Release);
        drop(desk);
        shared.changed.notify_all();
    }
}
