// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The thread of a device: the device, the function that drivers see, and the client that uses it.
//!
//! It has two ways to wait. Without polling it sleeps on the socket: every doorbell is a message. With polling the page of
//! doorbells is the client's to map, so nobody tells when one is rung: the thread looks all the time while a client is there.

mod clients;
mod interrupts;
mod memory;
mod waits;

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant as Clock};

use saker::any::{Lag, catch_up};
use saker::{AnyDevice, Error, Rest, panics::ends_process};
use saker_link::DmaSpace;
use saker_pcie::Function;
use saker_pcie::bar::{irq, irq_count};
use saker_sim::Instant;

use crate::bus_error;
use crate::probe::{Counts, Questions};
use crate::session::Session;
use crate::vectors::Vectors;

/// What ends a server's threads.
#[derive(Debug)]
pub(crate) struct Stop {
    pub is_wanted: AtomicBool,
    /// Readable from then on.
    pub wake: OwnedFd,
}

/// How long a queue may be without memory between two messages: a client that moves memory unmaps it and maps it anew.
const WITHOUT_MEMORY: Duration = Duration::from_millis(200);
/// How long a client that can be asked to leave may take to do so: a guest's hot plug driver waits 5 s before it begins (torvalds/linux,
/// `drivers/pci/hotplug/pciehp_ctrl.c`), and what is under way has to end.
const LEAVING: Duration = Duration::from_secs(20);
/// Turns without work before a polling thread gives its core away for a moment.
const SPINS: u32 = 20_000;
/// Turns of a polling thread between two looks at the socket: a system call.
const LOOK_EVERY: u32 = 256;

/// A client and what it has given.
#[derive(Debug)]
pub(crate) struct Client {
    pub session: Session,
    /// The first message has been answered.
    pub is_greeted: bool,
}

#[derive(Debug)]
pub(crate) struct Engine {
    pub socket: String,
    pub listener: UnixListener,
    pub device: AnyDevice,
    pub function: Function,
    pub space: Arc<DmaSpace>,
    pub vectors: Vectors,
    /// What the client is asked to leave by.
    pub request: Vectors,
    /// Until when a client that was asked to leave is served.
    leave_by: Option<Clock>,
    /// The file with the page of doorbells, if it polls.
    pub doorbells: Option<OwnedFd>,
    /// The file of the controller memory buffer, if there is one.
    pub memory_file: Option<OwnedFd>,
    pub client: Option<Client>,
    /// Since when a queue has no memory.
    pub without_memory: Option<Clock>,
    /// What is counted of clients.
    pub counts: Arc<Counts>,
    questions: Arc<Questions>,
    /// Pages that clients had taken away, as last looked at.
    lost_pages: u64,
    lag: Lag,
    begun: Clock,
    base: Instant,
    stop: Arc<Stop>,
}

/// What an engine is made of.
pub(crate) struct Parts {
    pub socket: String,
    pub listener: UnixListener,
    pub device: AnyDevice,
    pub function: Function,
    pub space: Arc<DmaSpace>,
    pub doorbells: Option<OwnedFd>,
    pub memory_file: Option<OwnedFd>,
    pub counts: Arc<Counts>,
    pub questions: Arc<Questions>,
}

impl Engine {
    pub fn new(parts: Parts, stop: Arc<Stop>) -> Self {
        let Parts { socket, listener, device, function, space, doorbells, memory_file, counts, questions } =
            parts;
        let base = device.now();
        Self {
            socket,
            listener,
            device,
            function,
            space,
            vectors: Vectors::new(irq_count(irq::MSIX)),
            request: Vectors::new(irq_count(irq::REQUEST)),
            leave_by: None,
            doorbells,
            memory_file,
            client: None,
            without_memory: None,
            counts,
            questions,
            lost_pages: bus_error::lost_pages(),
            lag: Lag::default(),
            begun: Clock::now(),
            base,
            stop,
        }
    }

    /// Serves until it is told to stop, then closes the device.
    pub fn run(mut self) -> Result<(), Error> {
        let ends_process = ends_process("vfio-user");
        let (mut idle, mut turns, mut rest) = (0, 0_u32, Rest::default());
        while !self.is_over() {
            turns = turns.wrapping_add(1);
            if self.questions.has_any() {
                self.answer();
            }
            if self.turn(turns) {
                idle = 0;
                rest.end();
                ends_process.at_work();
                continue;
            }
            idle += 1;
            if (!self.is_polling() || idle > SPINS) && self.gives_space_back(&mut rest) {
                continue;
            }
            if !self.is_polling() {
                self.sleep();
            } else if idle > SPINS {
                std::thread::yield_now();
                idle = SPINS - SPINS / 20;
            } else {
                std::hint::spin_loop();
            }
        }
        self.finish()
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_wanted.load(Ordering::Acquire)
    }

    /// One turn of device and socket. True if there was anything to do.
    pub fn turn(&mut self, number: u32) -> bool {
        let mut any = self.advance();
        if !self.is_polling() || number.is_multiple_of(LOOK_EVERY) {
            any |= self.look_at_socket();
        }
        any
    }

    /// Lets the device do what there is, and tells its host. True if it did anything.
    pub fn advance(&mut self) -> bool {
        if bus_error::lost_pages() != self.lost_pages {
            self.look_for_lost_memory();
        }
        if self.is_without_memory() {
            return false;
        }
        let (begun, base, is_timed) = (self.begun, self.base, self.device.is_timed());
        let clock = || match is_timed {
            true => base + saker_sim::Duration::from_nanos(begun.elapsed().as_nanos() as u64),
            false => Instant::ZERO,
        };
        let mut any = catch_up(&mut self.device, &clock, &self.lag);
        any |= self.device.advance(clock());
        self.tell_interrupts();
        // What a thread computes for the device is done before long, and is looked for until then.
        any || self.device.is_computing() || self.is_leaving()
    }

    fn tell_interrupts(&mut self) {
        let (vectors, function) = (&self.vectors, &mut self.function);
        self.device.interrupts(|vector| {
            if !vectors.tell(vector) {
                function.set_pending(vector);
            }
        });
    }

    /// The client has gone, or is made to go: with it its memory, its interrupts and the state of the controller. What was
    /// acknowledged stays.
    fn leave(&mut self, why: &dyn std::fmt::Display) {
        if self.client.take().is_none() {
            return;
        }
        let requests = self.counts.requests.load(Ordering::Relaxed);
        tracing::info!(socket = self.socket, requests, %why, "the client has left");
        self.counts.is_there.store(false, Ordering::Relaxed);
        self.device.lose_memory();
        self.without_memory = None;
        self.vectors = Vectors::new(irq_count(irq::MSIX));
        self.request = Vectors::new(irq_count(irq::REQUEST));
        self.space.unmap_all_foreign();
        self.function.reset();
        self.space.set_front(None);
        if let Some(buffer) = self.function.memory_buffer() {
            // What a client had there is none of the next one's business.
            let is_there = buffer.memory().store(0, &vec![0; buffer.memory().bytes()]);
            debug_assert!(is_there, "all of it");
        }
    }

    /// A reset of the function, by whatever way: done when no command reaches the client's memory any more.
    pub fn reset(&mut self) {
        Counts::add(&self.counts.resets);
        self.without_memory = None;
        self.function.reset();
        // Rings in a controller memory buffer keep it until they are gone.
        self.space.set_front(None);
        while !self.has_to_end() {
            self.advance();
            if self.device.is_disabled() {
                return;
            }
            std::thread::yield_now();
        }
    }
}
