// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A driver's other thread, whose work takes as many quanta as it is told: it is done between any two of them.

use super::Ordered;
use saker_engine::Task;

/// What it does. A copy has none of it, as a device has none after a cut.
#[derive(Debug, Default)]
pub struct Elsewhere {
    out: Option<(Box<dyn Task>, u32)>,
    /// Tasks that were done.
    pub tasks: u64,
}

impl Clone for Elsewhere {
    fn clone(&self) -> Self {
        Self { out: None, tasks: self.tasks }
    }
}

impl Elsewhere {
    /// A quantum has passed. True if anything is under way.
    pub fn turn<S: Ordered>(&mut self, store: &mut S) -> bool {
        let Some(quanta) = S::computes_elsewhere() else { return false };
        match self.out.take() {
            Some((mut task, 0)) => {
                task.run(|_| ());
                store.task_done(task);
                self.tasks += 1;
                true
            }
            Some((task, left)) => {
                self.out = Some((task, left - 1));
                true
            }
            None => {
                self.out = store.next_task().map(|task| (task, quanta));
                self.out.is_some()
            }
        }
    }

    /// What is under way, which never comes back.
    pub fn take(&mut self) -> Option<Box<dyn Task>> {
        self.out.take().map(|(task, _)| task)
    }
}
