// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Work that a thread beside the device's does for its stores: it computes, and everything that looks at flash stays here.

use super::{Due, Untimed};
use crate::device::Device;
use saker_engine::Task;
use std::fmt::Debug;

/// Somebody who does one [`Task`] at a time, beside the device.
pub trait Aside: Debug + Send {
    /// Begins with a task. There is none yet.
    fn begin(&mut self, task: Box<dyn Task>);
    /// Whether the task that was begun is done. Cheap: asked behind every command.
    fn is_done(&self) -> bool;
    /// Gives the task back, when it is done.
    fn wait(&mut self) -> Box<dyn Task>;
}

/// Who computes beside a device, and for which of its namespaces.
#[derive(Debug, Default)]
pub struct Beside {
    aside: Option<Box<dyn Aside>>,
    namespace: Option<usize>,
}

impl Beside {
    /// Whether a task is under way.
    #[inline(always)]
    pub fn is_busy(&self) -> bool {
        self.namespace.is_some()
    }

    /// Whether a task was under way, and is done.
    #[inline(always)]
    pub fn is_done(&self) -> bool {
        self.is_busy() && self.aside.as_ref().is_some_and(|aside| aside.is_done())
    }
}

impl Device<Untimed> {
    /// From now on work that needs nothing of the flash is done there.
    #[must_use]
    pub fn with_aside(mut self, aside: Box<dyn Aside>) -> Self {
        self.tempo.beside.aside = Some(aside);
        self
    }

    /// Whether work is done beside the device now, after which it goes on.
    pub fn is_computing(&self) -> bool {
        self.tempo.beside.is_busy()
    }

    /// Hands out work of a namespace if there is any, and somebody who does nothing.
    pub(super) fn hand_out(&mut self, n: usize) -> bool {
        let beside = &mut self.tempo.beside;
        let Some(aside) = beside.aside.as_mut().filter(|_| beside.namespace.is_none()) else { return false };
        let Some(task) = self.namespaces[n].next_task() else { return false };
        aside.begin(task);
        beside.namespace = Some(n);
        true
    }

    /// Takes back what is done. True if anything was.
    pub(super) fn take_back_done(&mut self) -> bool {
        self.tempo.beside.is_done() && self.take_back()
    }

    /// Takes back what is under way, and waits for it. True if anything was.
    pub(super) fn take_back(&mut self) -> bool {
        let beside = &mut self.tempo.beside;
        let Some((n, aside)) = beside.namespace.take().zip(beside.aside.as_mut()) else { return false };
        self.namespaces[n].task_done(aside.wait());
        // What it has computed is to be written.
        self.tempo.due = Due::Now;
        true
    }
}
