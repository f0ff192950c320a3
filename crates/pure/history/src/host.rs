// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A history at HostKV: the engine at the host over a block namespace, in virtual time. One application thread, whose core
//! also does the background work, has several operations in flight.

use super::HistoryError;
use super::script::{Step, Subject};
use super::small::{EXTENT_BYTES, Setup};
use super::tale::{Counters, MediaOps, Outcomes, Tale};
use saker_assembly::port;
use saker_device::NamespaceKind;
use saker_engine::EngineConfig;
use saker_host::connect::KvQueueOptions;
use saker_host::host_kv::{Answer, BlockSegments, HostKv, KvBlockQueue, Op, Outcome, Ticket, Work};
use saker_host::{ConnectOptions, Connection, Driver as _, ProtocolError};
use saker_sim::{CpuMeter, CpuPrices, Digest};
use saker_world::Clocked;
use std::collections::{BTreeMap, BTreeSet};

/// Operations in flight.
const DEPTH: usize = 8;
/// Block commands in flight.
const BLOCK_DEPTH: u16 = 64;
/// Quanta of background work behind an operation.
const QUANTA: u32 = 1;
/// Turns without an answer after which an operation counts as stuck.
const TURNS_MAX: u64 = 200_000;

/// The store at the host, and the device behind it.
pub(super) struct HostSide {
    device: Clocked,
    store: HostKv,
    meter: CpuMeter,
    flights: BTreeMap<Ticket, u64>,
    submitted: u64,
    outcomes: Outcomes,
}

impl HostSide {
    /// A new store on a new device.
    pub fn new(setup: &Setup) -> Result<Self, HistoryError> {
        let build = setup.build();
        let host = build.attach(1, BLOCK_DEPTH);
        let port = port(&host);
        let mut device = Clocked(build.timed(host));
        let mut connection = Connection::connect(port, &mut device, ConnectOptions::default())?;
        let options = KvQueueOptions { entries: u32::from(BLOCK_DEPTH) + 1, slots: BLOCK_DEPTH };
        let queue = connection.create_kv_queue(&mut device, 1, options)?;
        let Some(NamespaceKind::Block { block_bytes, blocks, .. }) =
            build.config.namespaces.first().map(|n| n.kind)
        else {
            return Err(HistoryError::Host(ProtocolError::Queues.into()));
        };
        let blocks = KvBlockQueue::new(queue, block_bytes, blocks).with_vwc(connection.controller().vwc);
        let mut medium = BlockSegments::with_pages(blocks, EXTENT_BYTES, build.host_page_bytes);
        medium.take_empty();
        let config = EngineConfig { ring_lasts: false, ..Setup::engine_config(&build) };
        Ok(Self {
            device,
            store: HostKv::over_tuned(build.engine, &config, medium),
            meter: CpuMeter::new(CpuPrices::from_picos(build.profile.host.cpu.picos())),
            flights: BTreeMap::new(),
            submitted: 0,
            outcomes: Outcomes::default(),
        })
    }

    /// What came of it.
    pub fn tale(&mut self, missing: BTreeSet<&'static str>) -> Result<Tale, HistoryError> {
        let (operations, outcomes) = self.outcomes.told()?;
        let snapshot = self.device.0.stats();
        let mut counters = Counters::default();
        counters.add_flash(&snapshot.flash);
        counters.add_store(&self.store.stats());
        counters.add_log(&self.store.log_stats());
        counters.add_all("engine", self.store.counters());
        let blocks = self.store.medium_stats();
        let all = [
            ("writes", blocks.writes),
            ("reads", blocks.reads),
            ("deallocations", blocks.deallocations),
            ("flushes", blocks.flushes),
            ("waits", self.store.waits()),
        ];
        counters.add_all("host", all);
        let (live, most) = self.store.fill_bytes();
        counters.add_all("store", [("live_bytes", live), ("capacity_bytes", most)]);
        let mut state = Digest::default();
        state.number(self.store.digest());
        state.number(self.device.0.digest());
        Ok(Tale {
            engine: self.store.engine_name(),
            operations,
            outcomes,
            state: state.value(),
            media: MediaOps::of(&snapshot.flash),
            units: Some(self.meter.units()),
            counters: counters.0,
            end_ns: self.device.0.now().as_nanos(),
            missing,
        })
    }

    fn submit(&mut self, op: Op) {
        while self.flights.len() >= DEPTH && !self.is_over() {
            self.wait();
        }
        let number = self.submitted;
        self.submitted += 1;
        let done = self.store.submit(op, Work::Counted(&mut self.meter));
        self.spend();
        match done {
            Ok(outcome) => self.note(number, &outcome),
            Err(ticket) => _ = self.flights.insert(ticket, number),
        }
        self.store.background(QUANTA, Work::Counted(&mut self.meter));
        self.spend();
        self.go_on();
    }

    /// The core is busy with what was metered; then the doorbell is rung.
    fn spend(&mut self) {
        let busy = self.meter.take();
        let until = self.device.0.now() + busy;
        self.device.0.advance(until);
        self.store.ring();
    }

    fn note(&mut self, number: u64, outcome: &Outcome) {
        let at = self.device.0.now();
        match outcome {
            Ok(answer) => {
                let found = match answer {
                    Answer::Value(value) => Some(value.as_slice()),
                    _ => None,
                };
                self.outcomes.note(number, at, &[0, u64::from(found.is_some())], found.unwrap_or_default());
            }
            Err(error) => self.outcomes.note(number, at, &[1], error.to_string().as_bytes()),
        }
    }

    /// Takes completions; whether anything happened.
    fn go_on(&mut self) -> bool {
        let mut ended = Vec::new();
        let any = self
            .store
            .advance(Work::Counted(&mut self.meter), &mut |ticket, outcome| ended.push((ticket, outcome)));
        self.spend();
        for (ticket, outcome) in ended {
            let number = self.flights.remove(&ticket).unwrap_or(u64::MAX);
            self.note(number, &outcome);
        }
        any
    }

    /// Lets the device go on until an operation ends.
    fn wait(&mut self) {
        let before = self.outcomes.ended();
        for _ in 0..TURNS_MAX {
            self.device.drive();
            self.go_on();
            self.store.background(QUANTA, Work::Counted(&mut self.meter));
            self.spend();
            if self.outcomes.ended() != before {
                return;
            }
        }
        let first = self.flights.values().copied().min();
        self.outcomes.is_stuck(first.unwrap_or(self.submitted));
    }
}

impl Subject for HostSide {
    fn offers(&self, _: &str) -> bool {
        // HostKV puts, gets, deletes, asks and flushes.
        false
    }

    fn take(&mut self, step: Step) {
        let op = match step {
            Step::Put(key, value) => Op::Put(key, value),
            Step::Get(key) => Op::Get(key),
            Step::Delete(key) => Op::Delete(key),
            Step::Exists(key) => Op::Exists(key),
            Step::Flush => Op::Flush,
            other => unreachable!("{other:?} is not offered"),
        };
        self.submit(op);
    }

    fn settle(&mut self) {
        while !self.flights.is_empty() && !self.is_over() {
            self.wait();
        }
    }

    fn fill_bytes(&mut self) -> (u64, u64) {
        self.store.fill_bytes()
    }

    fn is_over(&self) -> bool {
        self.outcomes.has_stuck()
    }
}
