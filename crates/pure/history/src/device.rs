// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A history at DiskKV: KV commands over one queue pair, several in flight, in virtual time.

use super::HistoryError;
use super::payload::Payload;
use super::script::{Step, Subject};
use super::tale::{Counters, MediaOps, Outcomes, Tale};
use saker_assembly::{Build, port};
use saker_device::{Attachment, Device, Timed};
use saker_host::connect::KvQueueOptions;
use saker_host::{ConnectOptions, Connection, Done, Driver as _, KvQueue, SubmitError, Ticket};
use saker_link::{DmaSpace, Placement};
use saker_nvme::Key;
use saker_nvme::kv::StoreOptions;
use saker_nvme::vendor_specific::IteratorRange;
use saker_world::Clocked;
use std::collections::BTreeSet;

/// Commands in flight.
const DEPTH: u16 = 8;
/// Bytes that a Retrieve asks for: a slot's own page.
const RETRIEVE_BYTES: u32 = 4096;
const LIST_BYTES: u32 = 2048;
/// Pairs of a step of a scan.
const SCANNED: (u32, u32) = (4096, 12);
/// Turns without an answer after which an operation counts as stuck.
const TURNS_MAX: u64 = 200_000;

/// The device, and the host before it.
pub(super) struct DiskKv {
    device: Clocked,
    queue: KvQueue,
    /// The numbers of the operations in flight, by slot.
    flights: [u64; DEPTH as usize],
    submitted: u64,
    outcomes: Outcomes,
    /// The number of the open iterator, once it is known.
    iterator: Option<u32>,
    opens: Option<u64>,
    has_groups: bool,
    has_iterators: bool,
    has_long_keys: bool,
    engine: &'static str,
}

/// Host memory for one queue pair, small because many are made.
pub(super) fn attachment() -> Attachment {
    Attachment::new(DmaSpace::with_placement(512, 96, Placement::At(0)), 2)
}

impl DiskKv {
    /// A new device.
    pub fn new(build: &Build) -> Result<Self, HistoryError> {
        Self::over(build.timed(attachment()), build)
    }

    /// On a device that is there.
    pub fn over(device: Device<Timed>, build: &Build) -> Result<Self, HistoryError> {
        let port = port(device.attachment());
        let mut device = Clocked(device);
        let mut connection = Connection::connect(port, &mut device, ConnectOptions::default())?;
        let options = KvQueueOptions { entries: u32::from(DEPTH) + 1, slots: DEPTH };
        let queue = connection.create_kv_queue(&mut device, 1, options)?;
        let methods = connection.transfer_methods(&mut device, queue.pair().sq_entries())?.methods;
        let is_ordered =
            [saker_device::EngineKind::LSM, saker_device::EngineKind::TREE].contains(&build.engine);
        Ok(Self {
            device,
            queue,
            flights: [0; DEPTH as usize],
            submitted: 0,
            outcomes: Outcomes::default(),
            iterator: None,
            opens: None,
            has_groups: methods.groups(),
            has_iterators: methods.iterators() && is_ordered,
            has_long_keys: methods.indirect_keys(),
            engine: build.engine.name(),
        })
    }

    pub fn device(&mut self) -> &mut Device<Timed> {
        &mut self.device.0
    }

    pub fn outcomes(&self) -> &Outcomes {
        &self.outcomes
    }

    /// What came of it.
    pub fn tale(&mut self, missing: BTreeSet<&'static str>) -> Result<Tale, HistoryError> {
        let (operations, outcomes) = self.outcomes.told()?;
        let device = &mut self.device.0;
        let snapshot = device.stats();
        let mut counters = Counters::default();
        counters.add_flash(&snapshot.flash);
        let commands = snapshot.device;
        let all = [
            ("commands", commands.commands),
            ("errors", commands.errors),
            ("copied_bytes", commands.copied_bytes),
            ("flash_bytes_in_use", snapshot.flash_bytes_in_use),
        ];
        counters.add_all("device", all);
        counters.add("device", "link_bytes", commands.traffic.bytes(&saker_link::Rule::Protocol).total());
        for namespace in &snapshot.namespaces {
            counters.add_store(&namespace.store);
            counters.add_log(&namespace.log);
            counters.add_all("engine", namespace.counters.iter().copied());
            let all = [("live_bytes", namespace.live_bytes), ("capacity_bytes", namespace.capacity_bytes)];
            counters.add_all("store", all);
        }
        Ok(Tale {
            engine: self.engine,
            operations,
            outcomes,
            state: device.digest(),
            media: MediaOps::of(&snapshot.flash),
            units: None,
            counters: counters.0,
            end_ns: device.now().as_nanos(),
            missing,
        })
    }

    /// Submits a command as soon as there is room.
    fn submit(&mut self, mut send: impl FnMut(&mut KvQueue) -> Result<Ticket, SubmitError>) {
        let number = self.submitted;
        self.submitted += 1;
        loop {
            match send(&mut self.queue) {
                Ok(ticket) => {
                    self.flights[usize::from(ticket.slot())] = number;
                    return self.queue.ring();
                }
                Err(SubmitError::Full) if self.queue.in_flight() > 0 && !self.is_over() => self.wait(number),
                Err(error) => {
                    let at = self.device.0.now();
                    return self.outcomes.note(number, at, &[], error.to_string().as_bytes());
                }
            }
        }
    }

    /// Lets the device go on until something completes.
    fn wait(&mut self, number: u64) {
        let before = self.outcomes.ended();
        for _ in 0..TURNS_MAX {
            self.device.drive();
            self.poll();
            if self.outcomes.ended() != before || !self.device.0.flash().is_powered() {
                return;
            }
        }
        self.outcomes.is_stuck(number);
    }

    fn poll(&mut self) {
        let Self { device, queue, flights, outcomes, iterator, opens, .. } = self;
        let at = device.0.now();
        while let Some(done) = queue.poll(|done: Done<'_>| {
            let number = flights[usize::from(done.ticket.slot())];
            let numbers = [u64::from(done.status.shifted()), done.result.into(), done.result_high.into()];
            outcomes.note(number, at, &numbers, done.data());
            if *opens == Some(number) {
                (*iterator, *opens) = (done.status.is_success().then_some(done.result), None);
            }
        }) {
            if let Err(error) = done {
                outcomes.note(u64::MAX, at, &[], error.to_string().as_bytes());
            }
        }
    }

    fn group(&mut self, payload: &Payload) {
        let form = payload.form;
        if payload.only_writes() {
            return self.submit(|queue| queue.group(form, None, &payload.bytes));
        }
        self.submit(|queue| queue.group_both_ways(form, &payload.bytes, 16 << 10));
    }

    fn scan_on(&mut self) {
        if self.opens.is_some() {
            self.settle();
        }
        if let Some(iterator) = self.iterator {
            self.submit(|queue| queue.iterator_next(iterator, SCANNED, false, None));
        }
    }
}

fn named(key: &[u8]) -> Key {
    Key::new(key).expect("keys of a script are short")
}

impl Subject for DiskKv {
    fn offers(&self, what: &str) -> bool {
        match what {
            "groups" | "keys bound together" => self.has_groups,
            "scans under a snapshot" => self.has_iterators,
            "long keys" => self.has_long_keys,
            _ => true,
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Put(key, value) => {
                self.submit(|queue| queue.store(&named(&key), &value, StoreOptions::NONE))
            }
            Step::PutNew(key, value) => {
                self.submit(|queue| queue.store(&named(&key), &value, StoreOptions::MUST_NOT_EXIST));
            }
            Step::Get(key) => self.submit(|queue| queue.retrieve(&named(&key), RETRIEVE_BYTES)),
            Step::Delete(key) => self.submit(|queue| queue.delete(&named(&key))),
            Step::Exists(key) => self.submit(|queue| queue.exist(&named(&key))),
            Step::Flush => self.submit(KvQueue::flush),
            Step::List(from) => {
                let from = Key::new(&from).ok();
                self.submit(|queue| queue.list(from.as_ref(), LIST_BYTES));
            }
            Step::OpenScan => {
                let everything = IteratorRange::new(&[], &[], &[]).expect("bounds of no bytes");
                self.opens = Some(self.submitted);
                self.submit(|queue| queue.iterator_open(&everything, false, None));
            }
            Step::ScanOn => self.scan_on(),
            Step::CloseScan => {
                self.settle();
                if let Some(iterator) = self.iterator.take() {
                    self.submit(|queue| queue.iterator_close(iterator));
                }
            }
            Step::PutLong(key, value) => {
                self.submit(|queue| queue.store_indirect(&key, &value, StoreOptions::NONE));
            }
            Step::GetLong(key) => self.submit(|queue| queue.retrieve_indirect(&key, RETRIEVE_BYTES)),
            Step::DeleteLong(key) => self.submit(|queue| queue.delete_indirect(&key)),
            Step::Group(members) => self.group(&Payload::of(&members)),
            Step::Bind(keys) => {
                let payload = Payload::of_keys(&keys);
                self.submit(|queue| queue.prefetch_group(named(b"bound"), &payload.bytes));
            }
        }
        self.poll();
    }

    fn settle(&mut self) {
        while self.queue.in_flight() > 0 && !self.is_over() {
            self.wait(self.submitted);
        }
    }

    fn fill_bytes(&mut self) -> (u64, u64) {
        let snapshot = self.device.0.stats();
        snapshot.namespaces.first().map_or((1, 1), |n| (n.live_bytes, n.capacity_bytes))
    }

    fn is_over(&self) -> bool {
        self.outcomes.has_stuck() || !self.device.0.flash().is_powered()
    }
}
