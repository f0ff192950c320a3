//! The backend of the `saker` program: where the crates that do the work are joined in.

use std::path::Path;

use saker_host::{Pacing, TransferPolicy};
use saker_lab::bench::{BenchReport, RealOptions, in_virtual, on_url};
use saker_lab::compare::{self, Cell, Input, Plan, Row, Timing};
use saker_lab::rig::Cell as Workload;
use saker_lab::run::{self as lab, Progress};
use saker_lab::settings::setting;
use saker_lab::{Experiment, LabError, Settings};
use saker_realtime::{Error as DeviceError, Kv, check_image, create_image};
use saker_workload::SuiteOptions;
use saker_workload::records::{RecordFormat, RecordSet};
use saker_world::RunResult;
use serde_json::{Value, json};

use crate::backend::Backend;
use crate::commands::bench::{self, BenchArgs, Switch};
use crate::commands::compare::{CompareArgs, TimingChoice};
use crate::commands::create::CreateArgs;
use crate::error::CliError;
use crate::limits::VALUE_BYTES_MAX;
use crate::records::Format;
use crate::report::{CheckReport, Comparison, CreateReport, Finding, Listed, Metric, System, TimedRun};
use crate::store::{Answer, Store};

/// The devices and experiments that this build contains.
#[derive(Clone, Copy, Debug)]
pub struct Linked;

/// Sizes of values when neither an input nor sizes are given.
const SIZES: [usize; 5] = [16, 64, 256, 1024, 4096];

impl Backend for Linked {
    fn open(&self, url: &str) -> Result<Box<dyn Store>, CliError> {
        let kv = open(url)?;
        Ok(Box::new(Opened { kv, url: url.to_owned() }))
    }

    fn create(&self, args: &CreateArgs) -> Result<CreateReport, CliError> {
        if !matches!(args.engine.as_str(), "hash" | "hash_store") {
            return Err(CliError::usage(
                format!("there is no engine `{}`", args.engine),
                "the engine there is: hash",
            ));
        }
        if args.force && args.image.is_file() {
            std::fs::remove_file(&args.image).map_err(CliError::file("replace", &args.image))?;
        }
        let capacity_bytes =
            create_image(&args.image, args.size, &args.profile, 1).map_err(|e| failed(&e))?;
        let (image, profile) = (args.image.clone(), args.profile.clone());
        Ok(CreateReport { image, capacity_bytes, profile, engine: "hash_store".into() })
    }

    fn check(&self, image: &Path) -> Result<CheckReport, CliError> {
        let (report, records) = match check_image(image, |_| {}) {
            Ok(found) => found,
            Err(DeviceError::Damaged { nsid, what }) => {
                let damage = vec![Finding { place: format!("namespace {nsid}"), what }];
                return Ok(CheckReport { image: image.to_path_buf(), records: 0, bytes: 0, torn: 0, damage });
            }
            Err(e) => return Err(failed(&e)),
        };
        let damage = report
            .findings
            .iter()
            .map(|f| Finding { place: format!("{:?}", f.severity), what: f.what.clone() });
        Ok(CheckReport {
            image: image.to_path_buf(),
            records,
            bytes: report.counts.bytes_in_use,
            torn: report.counts.pages_torn,
            damage: damage.collect(),
        })
    }

    fn compare(&self, args: &CompareArgs, note: &mut dyn FnMut(&str)) -> Result<Comparison, CliError> {
        let (input, workload) = input(args)?;
        let timings = match args.timing {
            TimingChoice::Virtual => vec![Timing::Virtual],
            TimingChoice::Real => vec![Timing::Real],
            TimingChoice::Off => vec![Timing::Off],
            TimingChoice::All => vec![Timing::Virtual, Timing::Real, Timing::Off],
        };
        let plan = Plan {
            input,
            timings,
            profile: args.profile.clone(),
            threads: args.threads as usize,
            depth: args.qd.min(4095) as u16,
            seed: args.seed,
        };
        let rows = compare::compare(&plan, note)
            .map_err(|e| CliError::failed(e.to_string(), "change the arguments; see `saker help compare`"))?;
        let runs = rows.into_iter().map(timed_run).collect();
        Ok(Comparison { seed: args.seed, profile: args.profile.clone(), workload, runs })
    }

    fn bench(&self, args: &BenchArgs, device: Option<&str>) -> Result<BenchReport, CliError> {
        let suite = bench::suite(args)?;
        let value_bytes = u32::try_from(args.value_size).unwrap_or(u32::MAX).min(VALUE_BYTES_MAX as u32);
        let seed = args.seed;
        if let Some(url) = device {
            let mut kv = open(url)?;
            let options =
                SuiteOptions { operations: args.operations, value_bytes, key_bytes: args.key_size, seed };
            let run = RealOptions { suite, options, queued: args.qd > 1 };
            return on_url(&mut kv, url, &run).map_err(|e| lab_failed(&e, "bench"));
        }
        let profile = args.set.iter().map(|text| setting(text)).collect::<Result<_, _>>();
        let profile = profile.map_err(|e| lab_failed(&LabError::Setting(e), "bench"))?;
        let settings = Settings { seed: Some(seed), profile, ..Settings::default() };
        let cell = Workload {
            suite,
            value_bytes,
            key_bytes: args.key_size,
            policy: TransferPolicy::default(),
            pacing: if args.passthrough { Pacing::Passthrough } else { Pacing::Pipelined },
            nand: args.nand == Switch::On,
            threads: args.threads as usize,
            depth: args.qd as u16,
            traces: args.trace.is_some(),
        };
        in_virtual(&args.profile, &settings, args.operations, &args.transfer, &cell)
            .map_err(|e| lab_failed(&e, "bench"))
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
        lab::run_all(ids, settings, threads, note).map_err(|e| lab_failed(&e, "reproduce"))
    }
}

fn lab_failed(error: &LabError, command: &str) -> CliError {
    match error {
        LabError::Setting(_) => CliError::usage(error.to_string(), "see `saker profile show`"),
        LabError::Workload(_) | LabError::Profile(_) => {
            CliError::usage(error.to_string(), format!("see `saker {command} --help`"))
        }
        other => CliError::failed(other.to_string(), format!("see `saker {command} --help`")),
    }
}

fn open(url: &str) -> Result<Kv, CliError> {
    Kv::open(url).map_err(|e| match e {
        DeviceError::Url(_) => CliError::usage(e.to_string(), "see `saker help put`"),
        other => failed(&other),
    })
}

/// A device of `Kv::open` as the commands see it.
struct Opened {
    kv: Kv,
    url: String,
}

fn failed(error: &DeviceError) -> CliError {
    match error.to_string().split_once("; ") {
        Some((what, todo)) => CliError::failed(what, todo),
        None => CliError::failed(error.to_string(), "see `saker help`"),
    }
}

fn host(error: saker_host::HostError) -> CliError {
    failed(&DeviceError::Host(error))
}

impl Store for Opened {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Answer<()> {
        self.kv.put(key, value).map_err(host)
    }

    fn get(&mut self, key: &[u8]) -> Answer<Option<Vec<u8>>> {
        self.kv.get(key).map_err(host)
    }

    fn delete(&mut self, key: &[u8]) -> Answer<bool> {
        self.kv.delete(key).map_err(host)
    }

    fn exists(&mut self, key: &[u8]) -> Answer<bool> {
        self.kv.exists(key).map_err(host)
    }

    fn list(&mut self, from: Option<&[u8]>, visit: &mut dyn FnMut(&[u8]) -> bool) -> Answer<()> {
        for key in self.kv.list(from) {
            if !visit(&key.map_err(host)?) {
                break;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Answer<()> {
        self.kv.flush().map_err(host)
    }

    fn info(&mut self) -> Answer<Value> {
        let (serial, model, firmware) = self.kv.identity();
        let link = self.kv.client().stats();
        let head = json!({
            "device": self.url, "profile": self.kv.profile(), "serial": serial, "model": model, "firmware": firmware,
            "commands": link.commands, "value_bytes_max": self.kv.client().value_bytes_max(),
        });
        Ok(match self.kv.snapshot() {
            Some(snapshot) => with_counters(head, &snapshot),
            None => head,
        })
    }

    fn put_async(&mut self, key: &[u8], value: &[u8]) -> Answer<()> {
        self.kv.put_queued(key, value).map_err(host)
    }

    fn drain(&mut self) -> Answer<()> {
        self.kv.drain().map_err(host)
    }

    fn close(self: Box<Self>) -> Answer<()> {
        self.kv.close().map_err(|e| failed(&e))
    }
}

fn with_counters(mut head: Value, s: &saker_realtime::Snapshot) -> Value {
    head["flash"] = json!({
        "pages_programmed": s.flash.pages_programmed, "segments_erased": s.flash.segments_erased,
        "failures": s.flash.failures, "bytes_in_use": s.flash_bytes_in_use, "retired_segments": s.retired_segments,
    });
    let namespace = |n: &saker_realtime::NamespaceSnapshot| {
        json!({
            "nsid": n.nsid, "kind": n.kind, "pairs": n.store.pairs, "pair_bytes": n.store.pair_bytes,
            "live_bytes": n.live_bytes, "capacity_bytes": n.capacity_bytes,
            "modelled_dram_bytes": {
                "index": n.memory.index_bytes, "directory": n.memory.directory_bytes,
                "segments": n.memory.segment_bytes, "total": n.memory.total(),
            },
            "gc_flash_records_copied": n.store.gc_records_copied, "gc_flash_bytes_copied": n.store.gc_bytes_copied,
            "gc_flash_segments": n.store.gc_segments, "checkpoints": n.store.checkpoints,
            "checkpoint_bytes": n.store.checkpoint_bytes,
        })
    };
    head["namespaces"] = s.namespaces.iter().map(namespace).collect();
    head
}

fn input(args: &CompareArgs) -> Result<(Input, String), CliError> {
    let Some(path) = &args.input else {
        let sizes: Vec<usize> = if args.sizes.is_empty() {
            SIZES.to_vec()
        } else {
            args.sizes.iter().map(|s| *s as usize).collect()
        };
        let pairs = args.operations as usize;
        let workload = format!(
            "{pairs} random pairs of each size, 16-byte keys; put all, flush, get all in another order"
        );
        return Ok((Input::Made { sizes, pairs }, workload));
    };
    let bytes = std::fs::read(path).map_err(CliError::file("read", path))?;
    let format = match args.input_format()? {
        Some(Format::Jsonl) => RecordFormat::JsonLines,
        Some(Format::Semicolon) => RecordFormat::Separated(b';'),
        _ => RecordFormat::Separated(b'\t'),
    };
    let bad = |e: saker_workload::records::RecordError| {
        CliError::failed(
            format!("{}: {e}", path.display()),
            "correct the file, or name its format with --format",
        )
    };
    let records = RecordSet::parse(&bytes, format).map_err(bad)?;
    let workload =
        format!("{} records of {}; put all, flush, get all in another order", records.len(), path.display());
    Ok((Input::Records(records), workload))
}

fn timed_run(row: Row) -> TimedRun {
    let system = |c: &Cell| System { name: c.system.into(), metrics: metrics(c) };
    TimedRun {
        timing: row.timing.name().into(),
        values: row.values.clone(),
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
