//! The backend of the `saker` program: where the crates that do the work are joined in.

mod blocks;
mod conform;
mod experiments;
mod images;
mod opened;
mod serve;
mod ycsb;

use std::path::Path;

use saker_lab::bench::BenchReport;
use saker_lab::compare::{self, Cell, Input, Plan, Row, Timing};
use saker_lab::run::{self as lab, Progress};
use saker_lab::{Experiment, Settings};
use saker_realtime::bench::Cpus;
use saker_sim::profile::Profile;
use saker_workload::RecordSet;
use saker_world::RunResult;

use crate::backend::Backend;
use crate::commands::bench::BenchArgs;
use crate::commands::compare::{CompareArgs, TimingChoice};
use crate::commands::create::CreateArgs;
use crate::commands::serve::{ServeArgs, Serving};
use crate::error::CliError;
use crate::report::{Calibrated, CheckReport, Comparison, CreateReport, Listed, Metric, System, TimedRun};
use crate::store::{BlockStore, Store};

/// The devices and experiments that this build contains.
#[derive(Clone, Copy, Debug)]
pub struct Linked;

/// Sizes of values when neither an input nor sizes are given.
const SIZES: [usize; 5] = [16, 64, 256, 1024, 4096];

impl Backend for Linked {
    fn open(&self, url: &str) -> Result<Box<dyn Store>, CliError> {
        opened::open(url)
    }

    fn serve(&self, args: &ServeArgs, ready: &mut dyn FnMut(&Serving)) -> Result<(), CliError> {
        serve::serve(args, ready)
    }

    fn open_block(&self, url: &str) -> Result<Box<dyn BlockStore>, CliError> {
        blocks::open(url)
    }

    fn conform(
        &self,
        url: &str,
        heard: &mut dyn FnMut(&saker_conform::Finding),
    ) -> Result<saker_conform::Report, CliError> {
        conform::conform(url, heard)
    }

    fn info(&self, url: &str) -> Result<serde_json::Value, CliError> {
        opened::info(url)
    }

    fn create(&self, args: &CreateArgs) -> Result<CreateReport, CliError> {
        images::create(args)
    }

    fn check(&self, image: &Path) -> Result<CheckReport, CliError> {
        images::check(image)
    }

    fn compare(
        &self,
        args: &CompareArgs,
        records: Option<RecordSet>,
        note: &mut dyn FnMut(&str),
    ) -> Result<Comparison, CliError> {
        let (input, workload) = input(args, records);
        let timings = match args.timing {
            TimingChoice::Virtual => vec![Timing::Virtual],
            TimingChoice::Real => vec![Timing::Real],
            TimingChoice::Off => vec![Timing::Off],
            TimingChoice::All => vec![Timing::Virtual, Timing::Real, Timing::Off],
        };
        let mut plan = Plan {
            input,
            timings,
            profile: args.profile.clone(),
            threads: 1,
            depth: 1,
            batches: args.batch.clone(),
            cpus: Cpus { host: args.host_cpus.clone(), device: args.device_cpus.clone() },
            seed: args.seed,
        };
        let mut runs = Vec::new();
        for threads in &args.threads {
            warn_of_few_cores(args, *threads, note);
            for qd in &args.qd {
                (plan.threads, plan.depth) = (*threads as usize, (*qd).min(4095) as u16);
                let rows = compare::compare(&plan, note).map_err(|e| not_compared(&e))?;
                runs.extend(rows.into_iter().map(|row| timed_run(row, *threads, *qd)));
            }
        }
        Ok(Comparison { seed: args.seed, profile: args.profile.clone(), workload, runs })
    }

    fn bench(&self, args: &BenchArgs, device: Option<&str>) -> Result<BenchReport, CliError> {
        experiments::bench(args, device)
    }

    fn calibrate(&self, profile: &Profile, passthrough: bool) -> Result<Calibrated, CliError> {
        experiments::calibrate(profile, passthrough)
    }

    fn experiments(&self) -> Vec<Listed> {
        lab::plans().map(|plan| Listed { id: plan.id, title: plan.title, source: plan.source }).collect()
    }

    fn reproduce(
        &self,
        ids: &[String],
        settings: &[Settings],
        threads: usize,
        note: &mut dyn FnMut(Progress),
    ) -> Result<Vec<Experiment>, CliError> {
        lab::run_all(ids, settings, threads, note).map_err(|e| experiments::failed(&e, "reproduce"))
    }
}

/// A device that failed is no fault of the command line.
fn not_compared(error: &compare::CompareError) -> CliError {
    let todo = "change the arguments; see `saker compare --help`";
    match error {
        compare::CompareError::Host(_) => CliError::failed(error.to_string(), todo),
        _ => CliError::usage(error.to_string(), todo),
    }
}

fn input(args: &CompareArgs, records: Option<RecordSet>) -> (Input, String) {
    if let (Some(path), Some(records)) = (&args.input, records) {
        let (count, path) = (records.len(), path.display());
        let workload = format!("{count} records of {path}; put all, flush, get all in another order");
        return (Input::Records(records), workload);
    }
    let sizes: Vec<usize> =
        if args.sizes.is_empty() { SIZES.to_vec() } else { args.sizes.iter().map(|s| *s as usize).collect() };
    let pairs = args.operations as usize;
    let workload =
        format!("{pairs} random pairs of each size, 16-byte keys; put all, flush, get all in another order");
    (Input::Made { sizes, pairs }, workload)
}

/// Threads of the operating system that share cores measure the scheduler.
fn warn_of_few_cores(args: &CompareArgs, threads: u32, note: &mut dyn FnMut(&str)) {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let needed = threads as usize + 1;
    if args.timing != TimingChoice::Virtual && needed > cores {
        note(&format!(
            "warning: {threads} application threads and the device need {needed} cores, this machine has {cores}: \
             rates in real and off are the scheduler's, too"
        ));
    }
}

fn timed_run(row: Row, threads: u32, qd: u32) -> TimedRun {
    let system = |c: &Cell| System { name: c.system.clone(), metrics: metrics(c) };
    TimedRun {
        timing: row.timing.name().into(),
        values: row.values.clone(),
        threads,
        qd,
        events: row.lag.map(|(events, _)| events),
        late_events: row.lag.map(|(_, late)| late),
        invalid: row.invalid.clone(),
        systems: row.cells.iter().map(system).collect(),
    }
}

fn metrics(cell: &Cell) -> Vec<Metric> {
    let mut all = Vec::new();
    for (phase, r) in [("put", &cell.put), ("get", &cell.get)] {
        let mut add = |name: &str, value: f64| all.push(Metric { name: format!("{phase}_{name}"), value });
        let per_op = |n: u64| n as f64 / r.operations.max(1) as f64;
        add("operations_per_s", r.rate().round());
        add("latency_ns_p50", quantile(r, 0.5));
        add("latency_ns_p99", quantile(r, 0.99));
        add("latency_ns_p999", quantile(r, 0.999));
        add("commands_per_operation", per_op(r.commands));
        add("link_bytes_per_operation", per_op(r.link_bytes));
        add("nand_pages_programmed", r.nand_pages as f64);
        add("errors", r.errors as f64);
        if phase == "put" {
            add("write_amplification", r.write_amplification());
        }
    }
    all
}

fn quantile(r: &RunResult, q: f64) -> f64 {
    r.latency.value_at_quantile(q) as f64
}
