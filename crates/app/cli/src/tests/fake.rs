// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device in memory, experiments with known outcomes, and a terminal around them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use saker_bench::BenchReport;
use saker_lab::{Check, Evidence, Experiment, Point, Settings, Verdict};
use serde_json::json;

use super::Ran;
use crate::args::Command;
use crate::args::bench::BenchArgs;
use crate::args::compare::{CompareArgs, TimingChoice};
use crate::args::create::CreateArgs;
use crate::args::profile;
use crate::args::reproduce::{Action, Options, ReproduceArgs};
use crate::commands as c;
use crate::context::{Context, Streams};
use crate::error::CliError;
use crate::exit::Exit;
use crate::report::{
    Calibrated, CalibratedSize, CheckReport, Comparison, CreateReport, CreatedNamespace, Finding, Listed,
    Metric, System, TimedRun,
};
use crate::run::{execute, run_by};
use crate::store::{Answer, ListOrder, Store};

/// What the device holds and what has been done to it, across the runs of a test.
#[derive(Default)]
pub struct Device {
    pub records: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Lists from the greatest key to the least, as an engine with an order of its own may.
    pub backwards: bool,
    /// Puts that still fit.
    pub room: Option<usize>,
    /// Keys that vanish between being listed and being read.
    pub vanishing: Option<Vec<u8>>,
    pub flushed: u32,
    pub closed: u32,
    pub opened: u32,
    /// Keys shown by `list`, wanted or not.
    pub visited: u64,
}

struct FakeStore {
    device: Rc<RefCell<Device>>,
    queued: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Store for FakeStore {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Answer<()> {
        assert!((1..=255).contains(&key.len()) && value.len() <= 2 << 20, "the commands check");
        let mut device = self.device.borrow_mut();
        if device.room == Some(0) {
            return Err(CliError::failed("the device is full", "delete keys"));
        }
        device.room = device.room.map(|n| n - 1);
        device.records.insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn get(&mut self, key: &[u8]) -> Answer<Option<Vec<u8>>> {
        let device = self.device.borrow();
        Ok(device.records.get(key).filter(|_| device.vanishing.as_deref() != Some(key)).cloned())
    }

    fn delete(&mut self, key: &[u8]) -> Answer<bool> {
        Ok(self.device.borrow_mut().records.remove(key).is_some())
    }

    fn exists(&mut self, key: &[u8]) -> Answer<bool> {
        Ok(self.device.borrow().records.contains_key(key))
    }

    fn list(&mut self, from: Option<&[u8]>, visit: &mut dyn FnMut(&[u8]) -> bool) -> Answer<()> {
        let (keys, backwards): (Vec<_>, _) = {
            let device = self.device.borrow();
            (device.records.keys().cloned().collect(), device.backwards)
        };
        let begins =
            |key: &&Vec<u8>| from.is_none_or(|f| if backwards { &key[..] <= f } else { &key[..] >= f });
        let mut ordered: Box<dyn Iterator<Item = &Vec<u8>>> =
            if backwards { Box::new(keys.iter().rev()) } else { Box::new(keys.iter()) };
        let _ = ordered.as_mut().filter(begins).all(|key| {
            self.device.borrow_mut().visited += 1;
            visit(key)
        });
        Ok(())
    }

    fn list_order(&self) -> ListOrder {
        if self.device.borrow().backwards { ListOrder::Engine } else { ListOrder::Bytes }
    }

    fn flush(&mut self) -> Answer<()> {
        assert!(self.queued.is_empty(), "a flush covers only what has been drained");
        self.device.borrow_mut().flushed += 1;
        Ok(())
    }

    fn put_async(&mut self, key: &[u8], value: &[u8]) -> Answer<()> {
        self.queued.push((key.to_vec(), value.to_vec()));
        if self.queued.len() < 4 { Ok(()) } else { self.drain() }
    }

    fn drain(&mut self) -> Answer<()> {
        std::mem::take(&mut self.queued).iter().try_for_each(|(key, value)| self.put(key, value))
    }

    fn close(self: Box<Self>) -> Answer<()> {
        assert!(self.queued.is_empty(), "closed with puts under way");
        self.device.borrow_mut().closed += 1;
        Ok(())
    }
}

/// The program's surroundings, kept over several runs.
#[derive(Default)]
pub struct Fake {
    /// Operations of a comparison that fail.
    pub put_errors: Option<u32>,
    pub device: Rc<RefCell<Device>>,
    pub input: Vec<u8>,
    pub variable: Option<String>,
    pub damage: Vec<Finding>,
    pub repairable: Vec<Finding>,
    pub verdict: Option<Verdict>,
    pub seconds: Cell<u64>,
}

impl Fake {
    pub fn with(records: &[(&[u8], &[u8])]) -> Self {
        let fake = Self::default();
        fake.device.borrow_mut().records = records.iter().map(|(k, v)| (k.to_vec(), v.to_vec())).collect();
        fake
    }

    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.device.borrow().records.get(key).cloned()
    }

    pub fn records(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        self.device.borrow().records.clone()
    }

    /// Runs `saker` with `arguments` and the device `mem:`, every two looks at the clock one second apart.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        let (code, out, err) = self.run_bytes(arguments);
        Ran { code, out: String::from_utf8(out).unwrap(), err }
    }

    /// The same, with the outcomes of this fake in place of the work of long commands.
    pub fn told(&self, arguments: &[&str]) -> Ran {
        let mut out = Vec::new();
        let (code, err) = self.run_with(arguments, &mut out, |command, cx| self.tell(command, cx));
        Ran { code, out: String::from_utf8(out).unwrap(), err }
    }

    pub fn run_bytes(&self, arguments: &[&str]) -> (u8, Vec<u8>, String) {
        let mut out = Vec::new();
        let (code, err) = self.run_into(arguments, &mut out);
        let device = self.device.borrow();
        assert_eq!(device.opened, device.closed, "what is opened is closed");
        (code, out, err)
    }

    pub fn run_into(&self, arguments: &[&str], out: &mut dyn Write) -> (u8, String) {
        self.run_with(arguments, out, execute)
    }

    fn run_with(
        &self,
        arguments: &[&str],
        out: &mut dyn Write,
        execute: impl FnOnce(Command, &mut Context<'_, '_>) -> Result<Exit, CliError>,
    ) -> (u8, String) {
        let mut err = Vec::new();
        let mut streams = Streams {
            input: &mut self.input.as_slice(),
            output: out,
            errors: &mut err,
            progress: false,
            device: self.variable.clone().or(Some("mem:".to_owned())),
            clock: &|| Duration::from_secs(self.seconds.replace(self.seconds.get() + 1)),
        };
        let arguments = ["saker"].iter().chain(arguments).map(OsString::from);
        let code = run_by(arguments, &mut streams, &|url| self.open(url), execute);
        (code, String::from_utf8(err).unwrap())
    }

    fn open(&self, url: &str) -> Answer<Box<dyn Store>> {
        if url != "mem:" {
            return Err(CliError::usage(format!("no device at `{url}`"), "try mem:"));
        }
        self.device.borrow_mut().opened += 1;
        Ok(Box::new(FakeStore { device: Rc::clone(&self.device), queued: Vec::new() }))
    }

    /// What a command tells of work that has gone as this fake says.
    fn tell(&self, command: Command, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
        match command {
            Command::Info(_) => {
                let keys = self.device.borrow().records.len();
                let info = json!({ "engine": "fake\nline", "keys": keys, "queues": [1, 2], "spaces": [{ "id": 1 }] });
                c::info::tell(&info, cx)
            }
            Command::Create(args) => c::create::tell(&args, &created(&args), cx),
            Command::Check(args) => c::check::tell(&self.checked(&args.image), cx),
            Command::Compare(args) => c::compare::tell(&args, &self.compared(&args), cx),
            Command::Bench(args) => c::bench::tell(&args, &benched(&args), cx),
            Command::Profile(args) => match &args.action {
                profile::Action::Calibrate { name, passthrough } => {
                    c::profile::tell_calibration(name, &calibrated(*passthrough), cx)
                }
                other => panic!("{other:?} takes no time"),
            },
            Command::Reproduce(args) => self.reproduced(&args, cx),
            other => panic!("{other:?} takes no time"),
        }
    }

    fn checked(&self, image: &Path) -> CheckReport {
        CheckReport {
            image: image.to_owned(),
            records: 1234,
            bytes: 5_600_000,
            torn: 1,
            namespaces: Vec::new(),
            damage: self.damage.clone(),
            repairable: self.repairable.clone(),
            losses: None,
            next: Vec::new(),
        }
    }

    fn compared(&self, args: &CompareArgs) -> Comparison {
        let metric = |name: &str, value| Metric { name: name.to_owned(), value };
        let host = vec![metric("puts_per_s", 1000.0), metric("put_latency_us_mean", 12.5)];
        let mut disk = vec![metric("puts_per_s", 2_500_000.0)];
        disk.extend(self.put_errors.map(|count| metric("put_errors", f64::from(count))));
        let store = args.store.join("+");
        let system = |name: &str, metrics| System {
            name: name.to_owned(),
            store: store.clone(),
            group: None,
            metrics,
            cpu: None,
            stalls: None,
        };
        let run = TimedRun {
            store: store.clone(),
            values: "all".into(),
            threads: 1,
            qd: 32,
            timing: format!("{:?}", args.timing).to_lowercase(),
            events: (args.timing == TimingChoice::Real).then_some(1000),
            late_events: (args.timing == TimingChoice::Real).then_some(50),
            invalid: (args.timing == TimingChoice::Real).then(|| "late events".to_owned()),
            systems: vec![system("HostKV", host), system("DiskKV", disk)],
        };
        let workload = format!("{} operations, sizes {:?}", args.operations, args.sizes);
        Comparison {
            seed: args.seed,
            profile: args.profile.clone(),
            workload,
            operations: args.operations,
            runs: vec![run],
        }
    }

    fn reproduced(&self, args: &ReproduceArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
        let all = ["fig-1", "fig-2"].map(str::to_owned);
        let listed =
            |id: &String| Listed { id: id.clone(), title: "Title".to_owned(), source: "Paper".to_owned() };
        let mut done = |ids: &[String], options: &Options| {
            let settings = options.settings()?;
            let each = ids.iter().flat_map(|id| settings.iter().map(move |settings| (id, settings)));
            let done: Vec<_> = each.map(|(id, settings)| self.experiment(id, settings)).collect();
            c::reproduce::tell(options, &done, &[], cx)
        };
        match &args.action {
            Action::List => c::reproduce::list(&all.each_ref().map(listed), cx),
            Action::Run { ids, options } => done(ids, options),
            Action::All { options } => done(&all, options),
            Action::Diff(_) | Action::Spread(_) => panic!("a comparison of results takes no time"),
        }
    }

    fn experiment(&self, id: &str, settings: &Settings) -> Experiment {
        let check = Check {
            id: "AC-1".to_owned(),
            claim: "Twice as fast".to_owned(),
            source: "Paper section 1".to_owned(),
            tolerance: "10 %".to_owned(),
            expected: json!(2.0),
            measured: json!("1.5 to 2"),
            verdict: self.verdict.unwrap_or(Verdict::Pass),
            evidence: Evidence::Reproduced,
            origin: saker_lab::Origin::Published,
            after_fit: None,
            variants: Vec::new(),
            note: "small\nrun".to_owned(),
        };
        Experiment {
            id: id.to_owned(),
            seed: settings.seed.unwrap_or(1),
            scale: settings.scale.unwrap_or(8),
            profile: settings.describe(&["tiny".to_owned()]),
            series: vec![Point::at([("method", json!("prp"))])],
            checks: vec![check],
        }
    }
}

fn created(args: &CreateArgs) -> CreateReport {
    let (profile, engine) = (args.profile.clone(), args.engine.clone());
    let flash_bytes = args.size.unwrap_or(0);
    let namespaces = vec![CreatedNamespace { nsid: 1, kind: "kv", flash_bytes, blocks: None, holds: None }];
    CreateReport { image: args.image.clone(), flash_bytes, profile, engine, namespaces }
}

fn benched(args: &BenchArgs) -> BenchReport {
    let mut point = Point::at([("workload", json!(args.workload))]);
    point.add("operations", args.operations as f64);
    point.add("latency_us_mean", 12.5);
    BenchReport { point, traces: Vec::new(), lines: Vec::new() }
}

fn calibrated(passthrough: bool) -> Calibrated {
    let ns = [("piggyback", Some(1500)), ("sgl", None)].into();
    let sizes = vec![CalibratedSize { bytes: 4, quickest: "piggyback", ns }];
    Calibrated { threshold1: if passthrough { 36 } else { 92 }, threshold2: 0, sizes }
}

/// A standard output that nobody reads any more, or that does not take more.
pub struct Refusing(pub io::ErrorKind);

impl Write for Refusing {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
