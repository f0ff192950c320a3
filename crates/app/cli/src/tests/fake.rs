//! A device in memory, experiments with known outcomes, and a terminal around them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use saker_lab::bench::BenchReport;
use saker_lab::run::Progress;
use saker_lab::{Check, Evidence, Experiment, Point, Settings, Verdict};
use saker_sim::profile::Profile;
use serde_json::json;

use super::Ran;
use crate::store::Answer;
use crate::*;

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

    fn info(&mut self) -> Answer<serde_json::Value> {
        let keys = self.device.borrow().records.len();
        Ok(json!({ "engine": "fake\nline", "keys": keys, "queues": [1, 2], "spaces": [{ "id": 1 }] }))
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

    pub fn run_bytes(&self, arguments: &[&str]) -> (u8, Vec<u8>, String) {
        let mut out = Vec::new();
        let (code, err) = self.run_into(arguments, &mut out);
        let device = self.device.borrow();
        assert_eq!(device.opened, device.closed, "what is opened is closed");
        (code, out, err)
    }

    pub fn run_into(&self, arguments: &[&str], out: &mut dyn Write) -> (u8, String) {
        let mut err = Vec::new();
        let mut streams = Streams {
            input: &mut self.input.as_slice(),
            output: out,
            errors: &mut err,
            progress: false,
            device: self.variable.clone().or(Some("mem:".to_owned())),
            clock: &|| Duration::from_secs(self.seconds.replace(self.seconds.get() + 1)),
        };
        let code = run(["saker"].iter().chain(arguments).map(OsString::from), &mut streams, self);
        (code, String::from_utf8(err).unwrap())
    }
}

impl Backend for Fake {
    fn open(&self, url: &str) -> Result<Box<dyn Store>, CliError> {
        if url != "mem:" {
            return Err(CliError::usage(format!("no device at `{url}`"), "try mem:"));
        }
        self.device.borrow_mut().opened += 1;
        Ok(Box::new(FakeStore { device: Rc::clone(&self.device), queued: Vec::new() }))
    }

    fn serve(&self, args: &ServeArgs, ready: &mut dyn FnMut(&Serving)) -> Result<(), CliError> {
        let addresses = args.listen.iter().map(ToString::to_string).collect();
        ready(&Serving { addresses, subsystems: args.nqn.iter().cloned().collect() });
        Ok(())
    }

    fn create(&self, args: &CreateArgs) -> Result<CreateReport, CliError> {
        let (profile, engine) = (args.profile.clone(), args.engine.clone());
        let flash_bytes = args.size.unwrap_or(0);
        let namespaces =
            vec![CreatedNamespace { nsid: 1, kind: "kv", flash_bytes, blocks: None, holds: None }];
        Ok(CreateReport { image: args.image.clone(), flash_bytes, profile, engine, namespaces })
    }

    fn check(&self, image: &Path) -> Result<CheckReport, CliError> {
        let damage = self.damage.clone();
        Ok(CheckReport {
            image: image.to_owned(),
            records: 1234,
            bytes: 5_600_000,
            torn: 1,
            namespaces: Vec::new(),
            damage,
            repairable: self.repairable.clone(),
            losses: None,
            next: Vec::new(),
        })
    }

    fn compare(
        &self,
        args: &CompareArgs,
        _: Option<saker_workload::RecordSet>,
        note: &mut dyn FnMut(&str),
    ) -> Result<Comparison, CliError> {
        note("running");
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
        Ok(Comparison {
            seed: args.seed,
            profile: args.profile.clone(),
            workload,
            operations: args.operations,
            runs: vec![run],
        })
    }

    fn bench(&self, args: &BenchArgs, device: Option<&str>) -> Result<BenchReport, CliError> {
        let mut point = Point::at([("workload", json!(args.workload)), ("device", json!(device))]);
        point.add("operations", args.operations as f64);
        point.add("latency_us_mean", 12.5);
        Ok(BenchReport { point, traces: Vec::new(), lines: Vec::new() })
    }

    fn calibrate(&self, _: &Profile, passthrough: bool) -> Result<Calibrated, CliError> {
        let ns = [("piggyback", Some(1500)), ("sgl", None)].into();
        let sizes = vec![CalibratedSize { bytes: 4, quickest: "piggyback", ns }];
        Ok(Calibrated { threshold1: if passthrough { 36 } else { 92 }, threshold2: 0, sizes })
    }

    fn experiments(&self) -> Vec<Listed> {
        let listed =
            |id: &str| Listed { id: id.to_owned(), title: "Title".to_owned(), source: "Paper".to_owned() };
        vec![listed("fig-1"), listed("fig-2")]
    }

    fn reproduce(
        &self,
        ids: &[String],
        settings: &[Settings],
        _: usize,
        note: &mut dyn FnMut(Progress),
    ) -> Result<Vec<Experiment>, CliError> {
        let one = |(id, settings): (&String, &Settings)| {
            note(Progress::Done { id: id.clone() });
            self.experiment(id, settings)
        };
        Ok(ids.iter().flat_map(|id| settings.iter().map(move |s| (id, s))).map(one).collect())
    }
}

impl Fake {
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
