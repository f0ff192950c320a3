// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a run is asked to do and what it measured.

use crate::gets::Gets;
use crate::layers::{Layers, ValueLog};
use crate::of_device::OfDevice;
use hdrhistogram::Histogram;
use saker_device::CommandTrace;
use saker_engine::write_gate::Stalls;
use saker_host::{CacheStats, TransferOptions};
use saker_link::{Rule, Traffic};
use saker_sim::{Busy, Duration, Instant};
use saker_store::Op;

/// A job: operations dealt round to threads, each keeping `depth` in flight. At an [`Op::Wait`] a thread goes on when all it has
/// asked for is answered.
#[derive(Clone, Debug)]
pub struct Job {
    /// Application threads (modelled).
    pub threads: usize,
    /// Operations each thread keeps in flight.
    pub depth: u16,
    /// The operations.
    pub operations: Vec<Op>,
    /// End with a Flush that counts.
    pub flush: bool,
    /// How values go to the device.
    pub transfer: TransferOptions,
}

/// What reads came to. Which fields count is said at each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadPath {
    /// Read commands: reads of pages as blocks (HostKV), Retrieves (sessions).
    pub commands: u64,
    /// NAND pages read, for whatever reason.
    pub nand_pages: u64,
    /// Times that an operation could not go on before pages had come (HostKV).
    pub waits: u64,
    /// Blocks that operations found in the block cache (HostKV).
    pub block_hits: u64,
    /// Blocks that they did not find there (HostKV); 0 without such a cache.
    pub block_misses: u64,
    /// Reads that missed the cache and were answered by a write that the device did not have yet (sessions).
    pub pending: u64,
    /// Values that did not enter the cache: something of their key's stripe was written meanwhile (sessions).
    pub unfilled: u64,
}

fn latencies() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 100_000_000_000, 3).expect("1 ns to 100 s at 3 digits")
}

/// What a run measured.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// Operations completed.
    pub operations: u64,
    /// Operations that failed.
    pub errors: u64,
    /// From the first submission to the last completion.
    pub elapsed: Duration,
    /// Latency of each operation in nanoseconds.
    pub latency: Histogram<u64>,
    /// The same of gets alone (virtual time).
    pub gets: Gets,
    /// Latency of each of these gets in nanoseconds.
    pub get_latency: Histogram<u64>,
    /// NVMe I/O commands.
    pub commands: u64,
    /// What crossed the link.
    pub traffic: Traffic,
    /// Bytes over the link by the rule `protocol`.
    pub link_bytes: u64,
    /// NAND pages programmed.
    pub nand_pages: u64,
    /// Bytes of NAND pages programmed.
    pub nand_bytes: u64,
    /// Bytes of keys and values written.
    pub user_bytes: u64,
    /// Time that the host's cores were busy (DiskKV).
    pub host_busy: Duration,
    /// Time that the host's cores were busy with background work of the store (HostKV).
    pub background_busy: Duration,
    /// What the host's cores were busy with: those of the threads, then those for background jobs alone. None against the clock.
    pub busy: Busy,
    /// What the device's cores were busy with ([`saker_device::Device::busy`]). None against the clock.
    pub device_busy: Busy,
    /// Counters of the engine at the end, jobs before included.
    pub counters: Vec<(&'static str, u64)>,
    /// What the device counted in the job.
    pub device: OfDevice,
    /// Bytes that the device's cores copied (DiskKV).
    pub copied_bytes: u64,
    /// Bytes that the device's store wrote, by layer (DiskKV).
    pub layers: Layers,
    /// The value log at the end, jobs before included (DiskKV). A last page that is not full counts if a Flush programs it: where
    /// the ring can be lost.
    pub value_log: ValueLog,
    /// Digest of all values read and of the final state.
    pub digest: u64,
    /// The times of each I/O command in the device, if [`saker_assembly::Build::traces`](saker_assembly::Build::traces) asks for them.
    pub traces: Vec<CommandTrace>,
    /// What the read cache did.
    pub cache: CacheStats,
    /// What reads came to.
    pub reads: ReadPath,
    /// When the store's engine stopped or delayed writes.
    pub stalls: Stalls,
    /// Operations completed in each interval of [`saker_assembly::Build::interval`](saker_assembly::Build::interval).
    pub timeline: Vec<u64>,
    /// Bytes that crossed the link in each of them, by the rule `protocol` (HostKV, the hybrid).
    pub link_timeline: Vec<u64>,
}

impl RunResult {
    /// Nothing measured yet.
    pub fn new() -> Self {
        Self {
            operations: 0,
            errors: 0,
            elapsed: Duration::ZERO,
            latency: latencies(),
            gets: Gets::default(),
            get_latency: latencies(),
            commands: 0,
            traffic: Traffic::default(),
            link_bytes: 0,
            nand_pages: 0,
            nand_bytes: 0,
            user_bytes: 0,
            host_busy: Duration::ZERO,
            background_busy: Duration::ZERO,
            busy: Busy::default(),
            device_busy: Busy::default(),
            counters: Vec::new(),
            device: OfDevice::default(),
            copied_bytes: 0,
            layers: Layers::default(),
            value_log: ValueLog::default(),
            digest: 0,
            traces: Vec::new(),
            cache: CacheStats::default(),
            reads: ReadPath::default(),
            stalls: Stalls::default(),
            timeline: Vec::new(),
            link_timeline: Vec::new(),
        }
    }

    /// Operations per second.
    pub fn rate(&self) -> f64 {
        if self.elapsed == Duration::ZERO { 0.0 } else { self.operations as f64 / self.elapsed.as_secs_f64() }
    }

    /// Megabytes (10^6 bytes) of keys and values written per second.
    pub fn write_megabytes_per_s(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { self.user_bytes as f64 / 1e6 / seconds } else { 0.0 }
    }

    /// Percent of the time of so many cores that they were busy: all modelled ones of one side, the host's or the device's. Polling counts.
    pub fn cpu_percent(&self, busy: &Busy) -> f64 {
        busy.percent(busy.cores().len(), self.elapsed)
    }

    /// The rate of writes over the percent of the host's CPU that it took, polling included. 0 where no core is modelled.
    pub fn write_megabytes_per_s_per_cpu_percent(&self) -> f64 {
        let percent = self.cpu_percent(&self.busy);
        if percent > 0.0 { self.write_megabytes_per_s() / percent } else { 0.0 }
    }

    /// NAND bytes programmed per byte of keys and values written.
    pub fn write_amplification(&self) -> f64 {
        if self.user_bytes == 0 { 0.0 } else { self.nand_bytes as f64 / self.user_bytes as f64 }
    }

    /// Adds what another thread measured in the same run. The longer time counts; what is counted at the device is not
    /// a thread's and stays.
    pub fn join(&mut self, other: &Self) {
        self.operations += other.operations;
        self.errors += other.errors;
        self.user_bytes += other.user_bytes;
        self.elapsed = self.elapsed.max(other.elapsed);
        self.gets.join(&other.gets);
        let same = self.latency.add(&other.latency).and_then(|()| self.get_latency.add(&other.get_latency));
        same.expect("all histograms have the same bounds");
    }

    /// Notes what crossed the link.
    pub fn note_traffic(&mut self, traffic: Traffic) {
        self.link_bytes = traffic.bytes(&Rule::Protocol).total();
        self.traffic = traffic;
    }

    /// Notes that an operation completed so long after the beginning.
    pub fn count(&mut self, after: Duration, interval: Duration) {
        if interval > Duration::ZERO {
            let n = (after.as_nanos() / interval.as_nanos()) as usize;
            self.timeline.resize(self.timeline.len().max(n + 1), 0);
            self.timeline[n] += 1;
        }
    }

    /// Notes one operation.
    pub fn note(&mut self, from: Instant, to: Instant, ok: bool) {
        self.operations += 1;
        self.errors += u64::from(!ok);
        self.latency.saturating_record(to.since(from).as_nanos().max(1));
    }

    /// Of operations that took so long; only gets count.
    pub(crate) fn note_read(&mut self, is_get: bool, took: Duration) {
        if is_get {
            let took = took.as_nanos();
            self.gets.join(&Gets { count: 1, sum_ns: took, longest_ns: took });
            self.get_latency.saturating_record(took.max(1));
        }
    }
}

impl Default for RunResult {
    fn default() -> Self {
        Self::new()
    }
}
