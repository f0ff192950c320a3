// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A thread that computes for a device without time: merges of tables. Where the system starts none, the device's own thread does.

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
    fn begin(&mut self, mut task: Box<dyn Task>) {
        if self.thread.is_none() {
            let (shared, named) =
                (Arc::clone(&self.shared), std::thread::Builder::new().name("saker-merges".into()));
            self.thread = named.spawn(move || work(&shared)).ok();
        }
        if self.thread.is_some() {
            return self.shared.put(Desk::Open(task));
        }
        // The system starts no thread now: the task is done here, and the next one asks again.
        task.run(saker_device::prefetch_address);
        self.shared.put(Desk::Done(task));
        self.shared.is_done.store(true, Ordering::Release);
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

#[cfg(test)]
mod tests {
    use super::*;
    use saker_device::Ask;
    use std::any::Any;

    /// Counts how often it was done, and lives as long as its token.
    #[derive(Debug)]
    struct Counted(u64, #[expect(dead_code, reason = "it counts those that live")] Arc<()>);

    impl Task for Counted {
        fn run(&mut self, _: Ask) {
            self.0 += 1;
        }

        fn into_any(self: Box<Self>) -> Box<dyn Any> {
            self
        }
    }

    fn counted(task: Box<dyn Task>) -> Counted {
        *task.into_any().downcast().expect("it is the one that was handed out")
    }

    #[test]
    fn each_task_is_done_once_and_comes_back() {
        let (mut aside, token) = (Computing::default(), Arc::new(()));
        for n in 0..20_000_u64 {
            aside.begin(Box::new(Counted(n, Arc::clone(&token))));
            // Now it is looked for, now it is waited for.
            while n % 3 == 0 && !aside.is_done() {
                std::hint::spin_loop();
            }
            assert_eq!(counted(aside.wait()).0, n + 1);
            assert!(!aside.is_done(), "it was taken");
        }
        drop(aside);
        assert_eq!(Arc::strong_count(&token), 1, "nobody has any");
    }

    #[test]
    fn whoever_goes_takes_the_thread_and_its_task_along() {
        for n in 0..200 {
            let (mut aside, token) = (Computing::default(), Arc::new(()));
            aside.begin(Box::new(Counted(0, Arc::clone(&token))));
            if n % 2 == 0 {
                drop(counted(aside.wait()));
                aside.begin(Box::new(Counted(0, Arc::clone(&token))));
            }
            drop(aside);
            assert_eq!(Arc::strong_count(&token), 1);
        }
    }
}
