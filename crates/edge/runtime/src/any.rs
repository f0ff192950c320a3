// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device with or without time, and the thread it may run on.

use crate::Rest;
use crate::aside::Computing;
use crate::panics::{EndsProcess, ends_process};
use crate::pausing::Pausing;
use saker_device::controller::{HealthCounters, NamespaceFacts};
use saker_device::{Carrier, Device, Stats, Timed, Untimed};
use saker_flash::FlashStats;
use saker_host::Driver;
use saker_hybrid::{AnyTree, Served};
use saker_initiator::Remote;
use saker_linux::Passthrough;
use saker_nvme::group::TransactionId;
use saker_nvme::vendor_specific::Counter;
use saker_shards::Sharded;
use saker_sim::Instant;
use saker_vfio_client::Relay;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// A device with or without time.
#[derive(Debug)]
pub enum AnyDevice {
    /// It answers at once.
    Untimed(Box<Device<Untimed>>),
    /// It keeps its profile's times.
    Timed(Box<Device<Timed>>),
}

/// The same call of either kind.
macro_rules! each {
    ($self:expr, $device:ident => $call:expr) => {
        match $self {
            AnyDevice::Untimed($device) => $call,
            AnyDevice::Timed($device) => $call,
        }
    };
}

impl AnyDevice {
    /// Serves what there is. `now` counts only for timed devices. True if something was done.
    #[inline]
    pub fn advance(&mut self, now: Instant) -> bool {
        match self {
            Self::Untimed(d) => d.advance(),
            Self::Timed(d) => {
                d.advance(now);
                false
            }
        }
    }

    /// Whether a thread computes for the device now, which goes on when that is done.
    pub fn is_computing(&self) -> bool {
        matches!(self, Self::Untimed(device) if device.is_computing())
    }

    /// Handles one event of a timed device at or before `now`. False if there is none.
    pub fn step(&mut self, now: Instant) -> bool {
        match self {
            Self::Untimed(_) => false,
            Self::Timed(d) => d.step(now),
        }
    }

    /// A timed device looks at registers and doorbells ([`Device::look`]).
    pub fn look(&mut self) {
        if let Self::Timed(device) = self {
            device.look();
        }
    }

    /// When a timed device has something to do next.
    pub fn next_deadline(&self) -> Option<Instant> {
        match self {
            Self::Untimed(_) => None,
            Self::Timed(d) => d.next_deadline(),
        }
    }

    /// The device's time.
    pub fn now(&self) -> Instant {
        match self {
            Self::Untimed(_) => Instant::ZERO,
            Self::Timed(d) => d.now(),
        }
    }

    /// From now on a thread of its own computes merges for a device without time, which reads and writes meanwhile.
    #[must_use]
    pub fn with_background_thread(self) -> Self {
        match self {
            Self::Untimed(device) => {
                Self::Untimed(Box::new(device.with_aside(Box::new(Computing::default()))))
            }
            timed => timed,
        }
    }

    /// Whether operations take time.
    pub fn is_timed(&self) -> bool {
        matches!(self, Self::Timed(_))
    }

    /// A device that keeps time goes on while its image is synced ([`Device::allow_syncs_beside`]). Only before it gets a thread of its own: nobody
    /// else looks again and again whether a sync has ended.
    pub fn allow_syncs_beside(&mut self) {
        if let Self::Timed(device) = self {
            device.allow_syncs_beside();
        }
    }

    /// Brings in the memory of all cells kept in memory, and of the index of so many pairs a namespace.
    pub fn bring_in(&mut self, pairs: u64) {
        each!(self, d => d.bring_in(pairs));
    }

    /// Everything countable.
    pub fn stats(&mut self) -> Stats {
        each!(self, d => d.stats())
    }

    /// Everything countable, by name.
    pub fn counters(&mut self) -> Vec<Counter> {
        each!(self, d => d.counters())
    }

    /// Counts commands by opcode, and tells what the carrier counts ([`Device::count_for`]).
    pub fn count_for(&mut self, carrier: Arc<dyn Carrier>) {
        each!(self, d => d.count_for(carrier));
    }

    /// Gives the medium what lasts of the counters, to be kept. To be called now and then.
    pub fn keep_counters(&mut self) {
        each!(self, d => d.keep_counters());
    }

    /// Nothing is asked of the device: space of an image goes back ([`Device::give_space_back`]). True: there is more, now.
    pub fn give_space_back(&mut self) -> bool {
        each!(self, d => d.give_space_back())
    }

    /// A queue may have so many iterators in a namespace from now on.
    pub fn allow_iterators(&mut self, per_queue_max: usize) {
        each!(self, d => d.allow_iterators(per_queue_max));
    }

    /// Whether there is an iterator of that number.
    pub fn has_iterator(&self, nsid: u32, number: u32) -> bool {
        each!(self, d => d.has_iterator(nsid, number))
    }

    /// Whether parts of a transaction are there.
    pub fn has_transaction(&self, nsid: u32, id: TransactionId) -> bool {
        each!(self, d => d.has_transaction(nsid, id))
    }

    /// What the medium counts, and segments given up after failed erases.
    pub fn media(&self) -> (FlashStats, u32) {
        each!(self, d => (d.flash().stats(), d.flash().pool().retired()))
    }

    /// Tells the interrupt vectors of completion queues with completions that their host has not been told of.
    #[inline]
    pub fn interrupts(&mut self, tell: impl FnMut(u16)) {
        each!(self, d => d.interrupts(tell));
    }

    /// Looks where the rings of all queues are ([`Device::follow_memory`]).
    pub fn follow_memory(&mut self) -> bool {
        each!(self, d => d.follow_memory())
    }

    /// The host has taken the memory of a queue away ([`Device::lose_memory`]).
    pub fn lose_memory(&mut self) {
        each!(self, d => d.lose_memory());
    }

    /// Whether no command reaches the host's memory ([`Device::is_disabled`]).
    pub fn is_disabled(&self) -> bool {
        each!(self, d => d.is_disabled())
    }

    /// What Identify tells of the namespaces.
    pub fn facts(&mut self) -> Vec<NamespaceFacts> {
        each!(self, d => d.facts())
    }

    /// What the device has done for its hosts since it was opened.
    pub fn health(&self) -> HealthCounters {
        each!(self, d => d.health())
    }

    /// The page that keeps the pair of a key from being read, or the first one that it is in; in words.
    pub fn page_of(&mut self, nsid: u32, key: &[u8]) -> Option<String> {
        each!(self, d => d.page_of(nsid, key))
    }

    /// Damage that keeps namespaces from being opened.
    pub fn damage(&self) -> Vec<(u32, String)> {
        each!(self, d => d.damage())
    }
}

/// How far a timed device lags behind the clock.
#[derive(Debug, Default)]
pub struct Lag {
    events: AtomicU64,
    late: AtomicU64,
}

/// An event handled later than this is late.
const LATE_NS: u64 = 5_000;
/// Looks at the host while events are late, before whoever drives the device has its turn again: 1.3 ms at least.
const LOOKS_MAX: u32 = 256;

impl Lag {
    /// Events handled, and how many of them more than 5 us late.
    pub fn counts(&self) -> (u64, u64) {
        (self.events.load(Ordering::Relaxed), self.late.load(Ordering::Relaxed))
    }

    /// Notes an event that was due at `due` and is handled at `now`.
    pub fn note(&self, due: Instant, now: Instant) {
        self.events.fetch_add(1, Ordering::Relaxed);
        self.late.fetch_add(u64::from(now.since(due).as_nanos() > LATE_NS), Ordering::Relaxed);
    }
}

/// A device on a thread of its own.
#[derive(Debug)]
pub struct DeviceThread {
    stop: Arc<AtomicBool>,
    handle: Option<JoinHandle<AnyDevice>>,
    lag: Arc<Lag>,
}

/// Idle rounds of polling before the thread gives its core away for a moment.
const SPINS: u32 = 20_000;

impl DeviceThread {
    /// Starts the thread.
    pub fn start(device: AnyDevice) -> Self {
        Self::start_on(device, &[])
    }

    /// Starts the thread on these processors; without any the system chooses.
    pub fn start_on(device: AnyDevice, cpus: &[usize]) -> Self {
        let cpus = cpus.to_vec();
        Self::start_with(device, move || {
            if !cpus.is_empty() {
                // Where it runs changes speed only.
                let _ = crate::cpus::pin(&cpus);
            }
        })
    }

    /// Starts the thread; it does `first` before anything else.
    fn start_with(device: AnyDevice, first: impl FnOnce() + Send + 'static) -> Self {
        let (stop, lag) = (Arc::new(AtomicBool::new(false)), Arc::new(Lag::default()));
        let (stop2, lag2) = (Arc::clone(&stop), Arc::clone(&lag));
        let handle = std::thread::Builder::new().name("saker-device".into());
        let handle = handle
            .spawn(move || {
                let ends_process = ends_process("device");
                first();
                run(device, &stop2, &lag2, &ends_process)
            })
            .expect("the system starts a thread");
        Self { stop, handle: Some(handle), lag }
    }

    /// How far the device lags.
    pub fn lag(&self) -> &Lag {
        &self.lag
    }

    /// Stops the thread and takes the device back.
    pub fn stop(mut self) -> AnyDevice {
        self.stop.store(true, Ordering::Release);
        let handle = self.handle.take().expect("stopped once");
        handle.join().unwrap_or_else(|_| unreachable!("a panic there ends the process"))
    }
}

impl Drop for DeviceThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(handle) = self.handle.take() {
            // A panic there ends the process.
            let _ = handle.join();
        }
    }
}

fn run(mut device: AnyDevice, stop: &AtomicBool, lag: &Lag, ends_process: &EndsProcess) -> AnyDevice {
    let begun = std::time::Instant::now();
    let (timed, base) = (device.is_timed(), device.now().as_nanos());
    let clock = || {
        if timed { Instant::from_nanos(base + begun.elapsed().as_nanos() as u64) } else { Instant::ZERO }
    };
    let (mut idle, mut rest) = (0, Rest::default());
    while !stop.load(Ordering::Acquire) {
        catch_up(&mut device, &clock, lag);
        if device.advance(clock()) || device.next_deadline().is_some() {
            idle = 0;
            rest.end();
            ends_process.at_work();
            continue;
        }
        idle += 1;
        std::hint::spin_loop();
        if idle > SPINS {
            if rest.is_long(std::time::Instant::now()) {
                device.give_space_back();
            }
            std::thread::yield_now();
            idle = SPINS - SPINS / 20;
        }
    }
    device
}

/// Handles what is due, each event against the clock of its own moment. True if there was any. Who is late handles many: a command of the host that
/// would be late, too, if it waited for the last of them, is seen meanwhile. A host that always has more does not keep its caller here.
pub fn catch_up(device: &mut AnyDevice, clock: &impl Fn() -> Instant, lag: &Lag) -> bool {
    let (mut any, mut looked, mut looks) = (false, None, 0);
    while let Some(due) = device.next_deadline() {
        let now = clock();
        if due > now {
            break;
        }
        if now.since(*looked.get_or_insert(now)).as_nanos() > LATE_NS {
            if looks == LOOKS_MAX {
                return true;
            }
            device.look();
            (looked, looks) = (Some(clock()), looks + 1);
            continue;
        }
        if !device.step(due) {
            break;
        }
        lag.note(due, now);
        any = true;
    }
    any
}

/// A store over both interfaces of a device, against the clock.
#[derive(Debug)]
pub struct Dual(Served<AnyDriver, AnyTree>);

impl Dual {
    /// Its time begins now.
    pub fn new(served: Served<AnyDriver, AnyTree>) -> Self {
        let begun = std::time::Instant::now();
        Self(served.with_clock(Box::new(move || Instant::from_nanos(begun.elapsed().as_nanos() as u64))))
    }

    /// The store goes on: whatever is due by the clock.
    pub fn advance(&mut self) {
        self.0.drive();
    }

    /// The store as hosts see it.
    pub fn served(&self) -> &Served<AnyDriver, AnyTree> {
        &self.0
    }

    /// What runs the device below; the store is gone.
    pub fn into_driver(self) -> AnyDriver {
        self.0.into_driver()
    }
}

/// What a waiting host does: run the device, or let its thread run.
#[derive(Debug)]
pub enum AnyDriver {
    /// The device runs on this thread.
    Inline(AnyDevice),
    /// It has its own.
    Thread(DeviceThread),
    /// It has several shards, each on this thread or on its own.
    Sharded(Box<Sharded<AnyDriver>>),
    /// It is a store over both interfaces of a device.
    Dual(Box<Dual>),
    /// It is on the network.
    Remote(Box<Remote>),
    /// It is behind the kernel's driver.
    Linux(Box<Passthrough>),
    /// It is a PCIe function behind a socket.
    VfioUser(Box<Relay>),
    /// It has a thread of its own, which somebody else has: a second user of the same device.
    Elsewhere(Pausing),
    /// It was closed.
    Gone,
}

impl AnyDriver {
    /// Events of a device that keeps time on a thread of this process, and how many of them came late ([`Lag`]).
    pub fn lag(&self) -> Option<(u64, u64)> {
        match self {
            Self::Thread(thread) => Some(thread.lag().counts()),
            Self::Dual(dual) => dual.0.driver().lag(),
            _ => None,
        }
    }
}

impl Driver for AnyDriver {
    #[inline]
    fn drive(&mut self) {
        match self {
            Self::Inline(device) => {
                device.advance(Instant::ZERO);
            }
            Self::Thread(_) => std::hint::spin_loop(),
            Self::Sharded(shards) => shards.drive(),
            Self::Dual(dual) => dual.advance(),
            Self::Remote(remote) => remote.advance(),
            Self::Linux(namespace) => namespace.advance(),
            Self::VfioUser(relay) => relay.advance(),
            Self::Elsewhere(pause) => pause.drive(),
            Self::Gone => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_late_from_the_first_nanosecond_over_5_us_on() {
        let lag = Lag::default();
        let at = Instant::from_nanos;
        lag.note(at(100), at(100));
        lag.note(at(100), at(5_100));
        assert_eq!(lag.counts(), (2, 0));
        lag.note(at(100), at(5_101));
        assert_eq!(lag.counts(), (3, 1));
    }
}
