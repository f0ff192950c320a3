// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A thread that computes for a device without time: merges of tables. Where the system starts none, the device's own thread does.

use crate::desk::Desk;
use crate::panics::ends_process;
use saker_device::{Aside, Task};
use std::sync::Arc;
use std::thread::JoinHandle;

/// The thread, which begins with the first task.
#[derive(Debug, Default)]
pub struct Computing {
    desk: Arc<Desk<Box<dyn Task>>>,
    thread: Option<JoinHandle<()>>,
}

impl Aside for Computing {
    fn begin(&mut self, mut task: Box<dyn Task>) {
        if self.thread.is_none() {
            let (desk, named) =
                (Arc::clone(&self.desk), std::thread::Builder::new().name("saker-merges".into()));
            self.thread = named.spawn(move || work(&desk)).ok();
        }
        if self.thread.is_some() {
            return self.desk.open(task);
        }
        // The system starts no thread now: the task is done here, and the next one asks again.
        task.run(saker_device::prefetch_address);
        self.desk.lay_done(task);
    }

    #[inline]
    fn is_done(&self) -> bool {
        self.desk.is_done()
    }

    fn wait(&mut self) -> Box<dyn Task> {
        self.desk.take_back()
    }
}

impl Drop for Computing {
    fn drop(&mut self) {
        self.desk.close();
        if let Some(thread) = self.thread.take() {
            // A panic there ends the process.
            let _ = thread.join();
        }
    }
}

fn work(desk: &Desk<Box<dyn Task>>) {
    let ends_process = ends_process("merges");
    desk.work(|task| {
        ends_process.at_work();
        task.run(saker_device::prefetch_address);
    });
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
