// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a subsystem counts and tells of it: the device, commands, queues and hosts.

use saker_device::controller::{NamespaceFacts, NamespaceKind};
use saker_nvme::fabrics::{self, fctype};
use saker_nvme::vendor_specific::{CommandClass, Counter, CounterKind};
use saker_nvme::{Sqe, Status};
use saker_sim::Instant;
use saker_target::Waited;

use super::{Engine, Flight, Purpose};

/// Whose opcodes a namespace has.
#[inline]
pub(super) fn class_of(nsid: u32, facts: &[NamespaceFacts]) -> CommandClass {
    match facts.iter().find(|ns| ns.nsid == nsid).map(|ns| &ns.kind) {
        Some(NamespaceKind::Kv { .. }) => CommandClass::Kv,
        _ => CommandClass::Nvm,
    }
}

impl Engine {
    /// The namespaces as last looked at.
    pub(super) fn facts(&self) -> &[NamespaceFacts] {
        self.local.as_ref().map_or(&[], |local| &local.facts)
    }

    /// Counts a command of an admin queue, or of Fabrics, that was answered.
    pub(super) fn count_here(&mut self, sqe: &Sqe, status: Status, asked: Instant) {
        let took = Some(self.now().since(asked));
        if sqe.opcode == fabrics::OPCODE {
            self.tally.count(CommandClass::Fabrics, sqe.fctype(), status, took);
        } else {
            self.tally.count(CommandClass::Admin, sqe.opcode, status, took);
        }
    }

    /// Counts a command that the device has carried out.
    #[inline]
    pub(super) fn count_finished(&mut self, flight: &Flight, status: Status, now: Instant) {
        let took = Some(now.since(flight.asked.min(now)));
        let (opcode, nsid, _) = flight.entry;
        match flight.purpose {
            Purpose::Io | Purpose::Outcome => {
                self.tally.count(class_of(nsid, self.facts()), opcode, status, took);
            }
            Purpose::Shutdown => self.tally.count(CommandClass::Fabrics, fctype::PROPERTY_SET, status, took),
            Purpose::Cleanup | Purpose::Leave => {}
        }
    }

    /// What has waited for limits.
    fn count_waits(&self, all: &mut Vec<Counter>) {
        let (hosts, namespaces) = self.traffic.waited();
        let mut count = |[commands, nanos]: [&'static str; 2], nsid, waited: Waited| {
            all.push(Counter::new(commands, CounterKind::Counter, nsid, waited.commands));
            all.push(Counter::new(nanos, CounterKind::Counter, nsid, waited.nanos));
        };
        count(["host_limit_waits", "host_limit_wait_nanoseconds"], 0, hosts);
        let names = ["namespace_limit_waits", "namespace_limit_wait_nanoseconds"];
        namespaces.for_each(|(nsid, waited)| count(names, nsid, waited));
    }

    /// Everything countable by now.
    pub(super) fn counters(&mut self) -> Vec<Counter> {
        let gauge = |name, value: usize| Counter::new(name, CounterKind::Gauge, 0, value as u64);
        let mut all = self.local.as_mut().map_or_else(Vec::new, |local| local.shared().clocked.counters());
        all.push(gauge("connected_queues", self.peers.len()));
        all.push(gauge("controllers", self.subsystem.controllers()));
        all.push(gauge("half_open_controllers", self.subsystem.half_open()));
        let failures = self.watch.authentication_failures;
        all.push(Counter::new("authentication_failures", CounterKind::Counter, 0, failures));
        all.push(gauge("commands_in_device", self.in_flight));
        all.push(gauge("commands_waiting", self.traffic.waiting()));
        all.push(gauge("commands_waiting_bytes", self.traffic.waiting_bytes() as usize));
        self.count_waits(&mut all);
        all.extend(self.tally.counters());
        all
    }
}
