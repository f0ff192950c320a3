// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Questions to the thread of a device: whether it goes on, and what it counts. It answers between two turns of its work.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};
use saker_device::Carrier;
use saker_nvme::vendor_specific::{Counter, CounterKind};

/// A question, and where the answer goes.
#[derive(Debug)]
pub(crate) enum Question {
    Pulse(Sender<()>),
    Counters(Sender<Vec<Counter>>),
}

/// Questions that wait. `None`: the thread has ended.
#[derive(Debug)]
pub(crate) struct Questions {
    waiting: Mutex<Option<Vec<Question>>>,
    has_any: AtomicBool,
    /// Readable while there are any.
    pub wake: OwnedFd,
}

impl Questions {
    pub fn new() -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { waiting: Mutex::new(Some(Vec::new())), has_any: AtomicBool::new(false), wake })
    }

    fn ask(&self, question: Question) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(waiting) = waiting.as_mut() else { return false };
        waiting.push(question);
        self.has_any.store(true, Ordering::Release);
        // A counter that is full wakes as well.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
        true
    }

    /// Whether somebody asks: one load, for a thread that polls.
    #[inline]
    pub fn has_any(&self) -> bool {
        self.has_any.load(Ordering::Acquire)
    }

    /// Takes them all.
    pub fn take(&self) -> Vec<Question> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_any.store(false, Ordering::Release);
        // Nobody else reads it.
        let _ = rustix::io::read(&self.wake, &mut [0; 8]);
        waiting.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Nobody answers any more.
    pub fn end(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Asks the thread of a device. It can go to another thread than the server.
#[derive(Clone, Debug)]
pub struct Probe {
    pub(crate) name: String,
    pub(crate) questions: Arc<Questions>,
}

impl Probe {
    /// The subsystem's name, or the URL of its device where none was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Has the thread say that it goes on. False if it has ended.
    #[must_use]
    pub fn pulse(&self, told: Sender<()>) -> bool {
        self.questions.ask(Question::Pulse(told))
    }

    /// Has the thread tell everything that it counts, as log page C3h has it. False if it has ended.
    #[must_use]
    pub fn counters(&self, told: Sender<Vec<Counter>>) -> bool {
        self.questions.ask(Question::Counters(told))
    }
}

/// What is counted of clients. The device's thread writes it; log page C3h tells it.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Clients that have come.
    pub clients: AtomicU64,
    /// Of these, left because they did what no client does.
    pub expelled: AtomicU64,
    /// Whether one is there.
    pub is_there: AtomicBool,
    /// Messages.
    pub requests: AtomicU64,
    /// Of these, refused with an errno.
    pub refused: AtomicU64,
    /// Resets of the function.
    pub resets: AtomicU64,
}

impl Counts {
    /// One more. Only the device's thread counts.
    pub fn add(of: &AtomicU64) {
        of.store(of.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

impl Carrier for Counts {
    fn counters(&self) -> Vec<Counter> {
        let rising =
            |name, of: &AtomicU64| Counter::new(name, CounterKind::Counter, 0, of.load(Ordering::Relaxed));
        let is_there = u64::from(self.is_there.load(Ordering::Relaxed));
        vec![
            Counter::new("controllers", CounterKind::Gauge, 0, is_there),
            rising("vfio_user_clients", &self.clients),
            rising("vfio_user_clients_expelled", &self.expelled),
            rising("vfio_user_requests", &self.requests),
            rising("vfio_user_requests_refused", &self.refused),
            rising("vfio_user_resets", &self.resets),
        ]
    }
}
