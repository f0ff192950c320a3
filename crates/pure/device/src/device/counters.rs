// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Everything that the device counts, by name: log page C3h.

use super::Device;
use super::lasting::erases;
use crate::stats::{NamespaceSnapshot, Stats};
use saker_engine::write_gate::Hold;
use saker_flash::Lasting;
use saker_link::Rule;
use saker_nvme::vendor_specific::{Counter, CounterKind, CounterOf};
use std::borrow::Cow;

use CounterKind::{Counter as Rising, Engine, Gauge, Lasting as OfLife};

impl<T> Device<T> {
    /// Everything countable, by name. Numbers of commands by opcode are whoever's that carries commands to it, or the device's where it
    /// was told to [count them](Device::count_for).
    pub fn counters(&mut self) -> Vec<Counter> {
        let stats = self.stats();
        let mut all = of_commands(&stats);
        all.extend(self.of_flash(&stats));
        all.extend(of_life(&self.lasting()));
        stats.namespaces.iter().for_each(|ns| of_namespace(ns, &mut all));
        for ns in &self.namespaces {
            all.push(Counter::new("write_state", Gauge, ns.config.nsid, write_state(ns)));
        }
        all.extend(self.carried.iter().flat_map(|carried| carried.counters()));
        all
    }

    fn of_flash(&self, stats: &Stats) -> Vec<Counter> {
        let geometry = self.flash.shape().geometry;
        let (most, all) = erases(&self.flash);
        let flash = &stats.flash;
        [
            ("flash_pages_programmed", Rising, flash.pages_programmed),
            ("flash_pages_read", Rising, flash.pages_read),
            ("flash_segments_erased", Rising, flash.segments_erased),
            ("flash_failures", Rising, flash.failures),
            ("flash_page_bytes", Gauge, geometry.page_bytes.into()),
            ("flash_segments", Gauge, geometry.segments.into()),
            ("flash_segments_retired", Gauge, stats.retired_segments.into()),
            ("flash_in_use_bytes", Gauge, stats.flash_bytes_in_use),
            ("flash_segment_erases_max", Gauge, most),
            ("flash_segment_erases_all", Gauge, all),
        ]
        .map(of_device)
        .into()
    }
}

fn of_device((name, kind, value): (&'static str, CounterKind, u64)) -> Counter {
    Counter::new(name, kind, 0, value)
}

fn of_commands(stats: &Stats) -> Vec<Counter> {
    let (device, work) = (&stats.device, &stats.device.work);
    // Doorbells and stores into BARs are counted by who makes them: a device sees the last of several doorbells only.
    let link = device.traffic.bytes(&Rule::Protocol);
    [
        ("device_commands", Rising, device.commands),
        ("device_command_errors", Rising, device.errors),
        ("host_read_commands", Rising, work.reads),
        ("host_read_bytes", Rising, work.bytes_read),
        ("host_write_commands", Rising, work.writes),
        ("host_written_bytes", Rising, work.bytes_written),
        ("media_errors", Rising, work.media_errors),
        ("link_to_device_bytes", Rising, link.to_device),
        ("link_to_host_bytes", Rising, link.to_host),
    ]
    .map(of_device)
    .into()
}

fn of_life(of: &Lasting) -> Vec<Counter> {
    [
        ("life_commands", OfLife, of.commands),
        ("life_command_errors", OfLife, of.command_errors),
        ("life_host_read_commands", OfLife, of.reads),
        ("life_host_read_bytes", OfLife, of.bytes_read),
        ("life_host_write_commands", OfLife, of.writes),
        ("life_host_written_bytes", OfLife, of.bytes_written),
        ("life_media_errors", OfLife, of.media_errors),
        ("life_flash_pages_programmed", OfLife, of.pages_programmed),
        ("life_flash_pages_read", OfLife, of.pages_read),
        ("life_flash_segments_erased", OfLife, of.segments_erased),
        ("life_power_cycles", OfLife, of.power_cycles),
        ("life_unsafe_shutdowns", OfLife, of.unsafe_shutdowns),
        ("life_power_on_seconds", OfLife, of.power_on_seconds),
    ]
    .map(of_device)
    .into()
}

fn of_namespace(ns: &NamespaceSnapshot, all: &mut Vec<Counter>) {
    let mut add = |name, kind, value| all.push(Counter::new(name, kind, ns.nsid, value));
    add("live_bytes", Gauge, ns.live_bytes);
    add("capacity_bytes", Gauge, ns.capacity_bytes);
    add("log_pages_programmed", Rising, ns.log.pages_programmed.iter().sum());
    add("checkpoints", Rising, ns.store.checkpoints);
    add("gc_segments", Rising, ns.store.gc_segments);
    add("memory_index_bytes", Gauge, ns.memory.index_bytes);
    if ns.kind == "block" {
        add("block_bytes", Gauge, ns.block_bytes.into());
        add("blocks_written", Rising, ns.blocks_written);
        add("gc_blocks_copied", Rising, ns.gc_blocks_copied);
        if !ns.counters.is_empty() {
            add("memory_directory_bytes", Gauge, ns.memory.directory_bytes);
            add("memory_segment_bytes", Gauge, ns.memory.segment_bytes);
        }
        return of_mechanisms(ns, all);
    }
    add("pairs", Gauge, ns.store.pairs);
    add("pair_bytes", Gauge, ns.store.pair_bytes);
    add("user_written_bytes", Rising, ns.store.user_bytes_written);
    add("gc_records_copied", Rising, ns.store.gc_records_copied);
    add("gc_copied_bytes", Rising, ns.store.gc_bytes_copied);
    add("checkpoint_bytes", Rising, ns.store.checkpoint_bytes);
    add("memory_directory_bytes", Gauge, ns.memory.directory_bytes);
    add("memory_segment_bytes", Gauge, ns.memory.segment_bytes);
    let (stopped, delayed) = (ns.stalls.all(Hold::Stopped), ns.stalls.all(Hold::Delayed));
    add("write_stops", Rising, stopped.periods);
    add("write_stop_nanoseconds", Rising, stopped.time.as_nanos());
    add("write_stop_writes", Rising, stopped.writes);
    add("write_delays", Rising, delayed.periods);
    add("write_delay_nanoseconds", Rising, delayed.time.as_nanos());
    add("write_delay_writes", Rising, delayed.writes);
    of_mechanisms(ns, all);
}

/// What the engine, or the map of blocks, counts of its own mechanisms.
fn of_mechanisms(ns: &NamespaceSnapshot, all: &mut Vec<Counter>) {
    all.extend(ns.counters.iter().map(|(name, value)| Counter {
        name: Cow::Borrowed(name),
        kind: Engine,
        of: CounterOf::Device,
        nsid: ns.nsid,
        value: *value,
    }));
}

/// Whether writes go on (0), are delayed (1) or stopped (2), as log page C2h has it.
fn write_state(ns: &crate::namespace::Namespace) -> u64 {
    use saker_engine::WriteCondition::{Delayed, Normal, Stopped};
    match ns.write_condition() {
        Normal => 0,
        Delayed { .. } => 1,
        Stopped { .. } => 2,
    }
}
