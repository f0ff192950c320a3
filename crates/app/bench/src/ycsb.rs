// SPDX-License-Identifier: Apache-2.0 OR MIT
//! YCSB: a load phase, a run phase, one client, and the lines that YCSB reports.

use crate::door::{self, Buffers, DoorLane, DoorStore};
use hdrhistogram::Histogram;
use saker::Kv;
use saker_assembly::Build;
use saker_host::TransferOptions;
use saker_lab::error::LabError;
use saker_lab::report::Point;
use saker_profile::Profile;
use saker_store::{Failure, KvStore, Op, Outcome};
use saker_workload::{Kind, Operation, Plan, ValueSource};
use saker_world::{Alone, Clocked, DiskStore, Job};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Instant;

/// Least flash of a run in virtual time.
const FLASH_BYTES_MIN: u64 = 1 << 30;
/// Bytes of a record beside its value, generously.
const RECORD_BYTES: u64 = 256;

/// Which phases are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phases {
    /// Only the records are inserted.
    Load,
    /// Only the operations; the records are there.
    Run,
    /// One after the other.
    Both,
}

/// What YCSB is run on, with its clock.
pub trait Client {
    /// Carries an operation out. Whether it found something; what is read is read as a whole.
    ///
    /// # Errors
    /// [`LabError`].
    fn carry_out(&mut self, op: &Op) -> Result<bool, LabError>;
    /// Nanoseconds since some moment.
    fn now_ns(&mut self) -> u64;
}

/// A device by this machine's clock.
pub struct OnUrl<'a> {
    lane: DoorLane<&'a mut Kv>,
    begun: Instant,
}

impl<'a> OnUrl<'a> {
    /// On that device.
    ///
    /// # Errors
    /// [`LabError`].
    pub fn new(kv: &'a mut Kv) -> Result<Self, LabError> {
        Ok(Self { lane: DoorStore::new(kv, false).open_lane()?, begun: Instant::now() })
    }
}

impl Client for OnUrl<'_> {
    fn carry_out(&mut self, op: &Op) -> Result<bool, LabError> {
        door::carry_out(&mut self.lane, op, |outcome| outcome != Outcome::Absent)
    }

    fn now_ns(&mut self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
}

/// DiskKV in virtual time.
struct Virtual(Alone<DiskStore<Clocked>>);

impl Virtual {
    /// On a new device of that profile, for values of up to so many bytes.
    fn new(profile: &Profile, flash_bytes: u64, seed: u64, value_bytes_max: u32) -> Result<Self, LabError> {
        let build = Build::kv(profile, flash_bytes, seed)?;
        let transfer = TransferOptions::default();
        let like = Job { threads: 1, depth: 1, operations: Vec::new(), flush: false, transfer };
        let store = DiskStore::timed(&build, &[like], None)?.reading(value_bytes_max);
        Ok(Self(Alone::new(store)?))
    }
}

/// How an operation ended whose failure ends the run.
fn found(outcome: Outcome<'_>) -> Result<bool, Failure> {
    match outcome {
        Outcome::Failed(failure) => Err(failure),
        other => Ok(other != Outcome::Absent),
    }
}

impl Client for Virtual {
    fn carry_out(&mut self, op: &Op) -> Result<bool, LabError> {
        Ok(self.0.carry_out(op, found)???)
    }

    fn now_ns(&mut self) -> u64 {
        self.0.now().as_nanos()
    }
}

/// A finished phase.
#[derive(Clone, Debug)]
pub struct Phase {
    /// `load` or `run`.
    pub name: &'static str,
    /// From its begin to its end, in nanoseconds.
    pub elapsed_ns: u64,
    /// Operations as YCSB counts them: a read-modify-write is one.
    pub operations: u64,
    /// Latencies in nanoseconds, by YCSB's names.
    pub kinds: BTreeMap<&'static str, Histogram<u64>>,
    /// Reads that found nothing.
    pub not_found: u64,
}

impl Phase {
    fn new(name: &'static str) -> Self {
        Self { name, elapsed_ns: 0, operations: 0, kinds: BTreeMap::new(), not_found: 0 }
    }

    fn note(&mut self, kind: &'static str, ns: u64) {
        let histogram = self.kinds.entry(kind).or_insert_with(super::latencies);
        histogram.saturating_record(ns);
    }

    /// Operations a second.
    pub fn throughput(&self) -> f64 {
        self.operations as f64 * 1e9 / self.elapsed_ns.max(1) as f64
    }

    /// The lines that YCSB reports.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!("[OVERALL], RunTime(ms), {}", self.elapsed_ns / 1_000_000),
            format!("[OVERALL], Throughput(ops/sec), {}", self.throughput()),
        ];
        for (kind, latency) in &self.kinds {
            let us = |ns: u64| ns / 1000;
            lines.push(format!("[{kind}], Operations, {}", latency.len()));
            lines.push(format!("[{kind}], AverageLatency(us), {}", latency.mean() / 1e3));
            lines.push(format!("[{kind}], MinLatency(us), {}", us(latency.min())));
            lines.push(format!("[{kind}], MaxLatency(us), {}", us(latency.max())));
            for (name, quantile) in [("95th", 0.95), ("99th", 0.99)] {
                let value = us(latency.value_at_quantile(quantile));
                lines.push(format!("[{kind}], {name}PercentileLatency(us), {value}"));
            }
            let missed = if *kind == "READ" { self.not_found } else { 0 };
            lines.push(format!("[{kind}], Return=OK, {}", latency.len() - missed));
            if missed > 0 {
                lines.push(format!("[{kind}], Return=NOT_FOUND, {missed}"));
            }
        }
        lines
    }

    /// Adds its numbers to a point.
    pub fn add_to(&self, point: &mut Point) {
        let phase = self.name;
        point.add(&format!("{phase}_operations"), self.operations as f64);
        point.add(&format!("{phase}_elapsed_s"), self.elapsed_ns as f64 / 1e9);
        point.add(&format!("{phase}_operations_per_s"), self.throughput());
        point.add(&format!("{phase}_not_found"), self.not_found as f64);
        for (kind, latency) in &self.kinds {
            let kind = kind.to_lowercase().replace('-', "_");
            point.add(&format!("{phase}_{kind}_operations"), latency.len() as f64);
            point.add(&format!("{phase}_{kind}_latency_us_mean"), latency.mean() / 1e3);
            let p99 = latency.value_at_quantile(0.99) as f64 / 1e3;
            point.add(&format!("{phase}_{kind}_latency_us_p99"), p99);
        }
    }
}

/// Runs the phases of a plan on a client.
///
/// # Errors
/// [`LabError`].
pub fn phases(client: &mut impl Client, plan: &Plan, which: Phases) -> Result<Vec<Phase>, LabError> {
    let mut done = Vec::new();
    if which != Phases::Run {
        done.push(phase(client, &plan.preload(), "load")?);
    }
    if which != Phases::Load {
        done.push(phase(client, plan, "run")?);
    }
    Ok(done)
}

fn phase(client: &mut impl Client, plan: &Plan, name: &'static str) -> Result<Phase, LabError> {
    let (keys, values) = (plan.key_space()?, plan.value_source());
    let mut buffers = Buffers::default();
    let mut found = Phase::new(name);
    let begun = client.now_ns();
    let mut operations = plan.operations()?.peekable();
    while let Some(operation) = operations.next() {
        buffers.key.resize(plan.key_bytes, 0);
        keys.fill(operation.key, &mut buffers.key);
        fill(&values, &operation, &mut buffers);
        let started = client.now_ns();
        execute(client, &operation, &mut buffers, &mut found)?;
        let kind = ycsb_name(name, operation.kind);
        let modified = operations.next_if(|next| plan.read_before_put && next.kind == Kind::Put);
        found.note(kind, client.now_ns() - started);
        found.operations += 1;
        if let Some(write) = modified {
            fill(&values, &write, &mut buffers);
            let updated = client.now_ns();
            execute(client, &write, &mut buffers, &mut found)?;
            found.note("UPDATE", client.now_ns() - updated);
            found.note("READ-MODIFY-WRITE", client.now_ns() - started);
        }
    }
    found.elapsed_ns = client.now_ns() - begun;
    Ok(found)
}

fn fill(values: &ValueSource, operation: &Operation, buffers: &mut Buffers) {
    if operation.kind.writes_value() {
        buffers.value.resize(operation.size as usize, 0);
        values.fill(operation.key, operation.version, &mut buffers.value);
    }
}

/// Scans read so many keys in the device's order, each with its value as YCSB's do.
fn execute(
    client: &mut impl Client,
    operation: &Operation,
    buffers: &mut Buffers,
    found: &mut Phase,
) -> Result<(), LabError> {
    let op = match operation.kind {
        Kind::Put | Kind::Insert => buffers.put(),
        Kind::List => buffers.with_key(|from| Op::List { from, entries: operation.size, values: true }),
        Kind::Get | Kind::Delete | Kind::Exist => buffers.with_key(Op::Get),
    };
    let is_there = client.carry_out(&op)?;
    found.not_found += u64::from(!is_there && matches!(op, Op::Get(_)));
    buffers.back(op);
    Ok(())
}

fn ycsb_name(phase: &str, kind: Kind) -> &'static str {
    match kind {
        Kind::Put if phase == "load" => "INSERT",
        Kind::Put => "UPDATE",
        Kind::Insert => "INSERT",
        Kind::List => "SCAN",
        Kind::Get | Kind::Delete | Kind::Exist => "READ",
    }
}

/// Runs the phases in virtual time on a new device of that profile.
///
/// # Errors
/// [`LabError`].
pub fn in_virtual(profile: &Profile, plan: &Plan, which: Phases) -> Result<Vec<Phase>, LabError> {
    let (mut sum, mut longest) = (0, 0);
    for plan in [plan, &plan.preload()] {
        for write in plan.operations()?.filter(|o| o.kind.writes_value()) {
            sum += u64::from(write.size) + RECORD_BYTES;
            longest = longest.max(write.size);
        }
    }
    let mut client = Virtual::new(profile, (sum * 2).max(FLASH_BYTES_MIN), plan.seed, longest)?;
    phases(&mut client, plan, which)
}

/// The phases as a report.
pub fn report(workload: &str, device: &str, phases: &[Phase]) -> super::BenchReport {
    let mut point = Point::at([("workload", json!(workload)), ("device", json!(device))]);
    phases.iter().for_each(|phase| phase.add_to(&mut point));
    let lines = phases.iter().flat_map(Phase::lines).collect();
    super::BenchReport { point, traces: Vec::new(), lines }
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_workload::{Suite, SuiteOptions};
    use std::collections::BTreeSet;

    /// Every call takes a microsecond.
    #[derive(Default)]
    struct Fake {
        keys: BTreeSet<Vec<u8>>,
        ns: u64,
    }

    impl Client for Fake {
        fn carry_out(&mut self, op: &Op) -> Result<bool, LabError> {
            self.ns += if let Op::List { entries, .. } = op { 1000 * u64::from(*entries) } else { 1000 };
            Ok(match op {
                Op::Put(key, _) => {
                    self.keys.insert(key.clone());
                    true
                }
                Op::Get(key) => self.keys.contains(key),
                _ => true,
            })
        }

        fn now_ns(&mut self) -> u64 {
            self.ns
        }
    }

    fn plan(suite: Suite) -> Plan {
        let options = SuiteOptions { operations: 600, value_bytes: 10, key_bytes: None, seed: 2 };
        suite.plan(&options).unwrap()
    }

    #[test]
    fn both_phases_report_as_ycsb_does() {
        let found = phases(&mut Fake::default(), &plan(Suite::YcsbA), Phases::Both).unwrap();
        let load = found[0].lines();
        assert_eq!(
            load[..3],
            [
                "[OVERALL], RunTime(ms), 0",
                "[OVERALL], Throughput(ops/sec), 1000000",
                "[INSERT], Operations, 600"
            ]
        );
        assert_eq!(
            load[3..6],
            ["[INSERT], AverageLatency(us), 1", "[INSERT], MinLatency(us), 1", "[INSERT], MaxLatency(us), 1"]
        );
        assert_eq!(load[6], "[INSERT], 95thPercentileLatency(us), 1");
        assert_eq!(load[8], "[INSERT], Return=OK, 600");
        let kinds: Vec<_> = found[1].kinds.iter().map(|(kind, n)| (*kind, n.len())).collect();
        let &[("READ", reads), ("UPDATE", updates)] = &kinds[..] else { panic!("{kinds:?}") };
        assert_eq!((reads + updates, found[1].not_found), (600, 0));
    }

    #[test]
    fn a_read_modify_write_is_one_operation_and_three_lines_of_latency() {
        let found = phases(&mut Fake::default(), &plan(Suite::YcsbF), Phases::Both).unwrap();
        let run = &found[1];
        let count = |kind| run.kinds[kind].len();
        assert_eq!(count("READ"), run.operations);
        assert_eq!(count("UPDATE"), count("READ-MODIFY-WRITE"));
        assert!(count("UPDATE") > 100 && count("UPDATE") + count("READ") == 600);
        assert_eq!(run.kinds["READ-MODIFY-WRITE"].max(), 2000);
    }

    #[test]
    fn a_run_without_its_load_finds_nothing_and_says_so() {
        let found = phases(&mut Fake::default(), &plan(Suite::YcsbC), Phases::Run).unwrap();
        assert_eq!((found.len(), found[0].not_found), (1, 600));
        let lines = found[0].lines();
        assert_eq!(lines[lines.len() - 2..], ["[READ], Return=OK, 0", "[READ], Return=NOT_FOUND, 600"]);
    }

    #[test]
    fn scans_run_in_virtual_time() {
        let profile = Profile::builtin("default").unwrap();
        let options = SuiteOptions { operations: 40, value_bytes: 50, key_bytes: None, seed: 2 };
        let plan = Suite::YcsbE.plan(&options).unwrap();
        let found = in_virtual(&profile, &plan, Phases::Both).unwrap();
        let again = in_virtual(&profile, &plan, Phases::Both).unwrap();
        assert_eq!(found[1].operations, 40);
        let scans = &found[1].kinds["SCAN"];
        let inserts = found[1].kinds.get("INSERT").map_or(0, |inserts| inserts.len());
        assert_eq!(scans.len() + inserts, 40);
        // A longer one takes longer.
        assert!(scans.min() > 0 && scans.max() > scans.min());
        assert_eq!(found[1].lines(), again[1].lines());
    }
}
