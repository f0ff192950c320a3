// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Each call that an image makes to the host file system fails in turn, in each way: nothing panics, no value is wrong,
//! what was acknowledged is kept, errors are of a kind, and with the failure over everything goes on.

use crate::hostfs::model::{Model, State};
use crate::support::{is_soak, key, value};
use saker::image::faults::{self, HostFault, HostPlan};
use saker::{EngineKind, Error, ImagePlan, Kv, check_image};
use saker_host::{HostError, KvError, WriteBatch};
use saker_sim::{Rng, Seed};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Writes before anything fails.
const CHURN: u32 = 1500;
const OPERATIONS: u32 = 200;
const KEYS: u64 = 60;
/// Operations after which a failure that does not end by itself is over.
const EPISODE: u32 = 30;

#[derive(Clone, Copy, Debug)]
struct Case {
    engine: EngineKind,
    capacitor: bool,
    fault: HostFault,
    /// So many calls fail; `u64::MAX`: all until the episode is over.
    calls: u64,
}

struct Run {
    case: Case,
    _dir: TempDir,
    path: PathBuf,
    kv: Option<Kv>,
    model: Model,
    rng: Rng,
    version: u64,
    /// The plan, and the operation at whose beginning it was first seen to have struck.
    plan: HostPlan,
    struck: Option<u32>,
    /// The failure is over: there is no reason for errors any more.
    is_over: bool,
    sync_lost: bool,
}

/// The profile `tiny`, or the same without a capacitor.
pub fn profile(dir: &Path, capacitor: bool) -> String {
    if capacitor {
        return "tiny".into();
    }
    let text = include_str!("../../../../../profiles/tiny.toml");
    let text = text.replace("name = \"tiny\"", "name = \"tiny-volatile\"");
    let volatile = text.replace("capacitor = { value = true", "capacitor = { value = false");
    assert_ne!(text, volatile, "the profile has a capacitor");
    let path = dir.join("volatile.toml");
    std::fs::write(&path, volatile).expect("writes");
    path.display().to_string()
}

fn directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary directory")
}

/// Errors that a failing host explains. A full one never looks like a full device.
fn is_explained(error: &HostError, fault: HostFault) -> bool {
    match error {
        HostError::Kv(KvError::NotReady) => fault == HostFault::Full,
        HostError::Kv(KvError::WriteFault) => fault != HostFault::Full,
        HostError::Batch { error, .. } => is_explained(error, fault),
        _ => false,
    }
}

impl Run {
    fn new(case: Case, plan: HostPlan) -> Self {
        faults::plan(None);
        let dir = directory();
        let path = dir.path().join("disk.img");
        let made = ImagePlan::kv(4 << 20, &profile(dir.path(), case.capacitor), 3);
        ImagePlan { engine: case.engine, ..made }.create(&path).expect("creates");
        let rng = Seed(7).child("host calls").rng();
        let mut run = Self {
            case,
            _dir: dir,
            path,
            kv: None,
            model: Model::default(),
            rng,
            version: 0,
            plan,
            struck: None,
            is_over: false,
            sync_lost: false,
        };
        run.open();
        run.churn();
        run.kv().flush().expect("flushes");
        run.model.flushed();
        faults::plan(Some(plan));
        run.reopen(true);
        run
    }

    fn open_once(&self) -> Result<Kv, Error> {
        Kv::open(&format!("file:{}?depth=4", self.path.display()))
    }

    /// An image that cannot be opened now can be opened later, and is as it was.
    fn open(&mut self) {
        self.kv = Some(match self.open_once() {
            Ok(kv) => kv,
            Err(error) => {
                assert!(matches!(error, Error::Image(_)), "{error}");
                assert!(faults::calls() >= self.plan.at, "{error}");
                self.end_episode();
                self.open_once().expect("opens when the failure is over")
            }
        });
    }

    /// Writes until segments have been collected: from then on there is always something to collect.
    fn churn(&mut self) {
        for _ in 0..CHURN {
            let (n, bytes) = (self.rng.below(KEYS) as u32, 2000 + self.rng.below(4000) as u32);
            self.put(n, bytes).expect("nothing fails yet");
        }
        let erased = self.kv().stats().expect("inline").flash.segments_erased;
        assert!(erased > 0, "{:?}", self.case);
    }

    fn end_episode(&mut self) {
        faults::plan(None);
        self.is_over = true;
    }

    fn has_struck(&self) -> bool {
        self.is_over || faults::calls() >= self.plan.at
    }

    fn kv(&mut self) -> &mut Kv {
        self.kv.as_mut().expect("it is open")
    }

    fn fails(&self, error: &HostError, what: &str) {
        let explained = self.has_struck() && !self.is_over && is_explained(error, self.case.fault);
        assert!(explained, "{what}: {error:?}, {} calls", faults::calls());
    }

    fn check_key(&mut self, n: u32) {
        let found = self.kv().get(&key(n));
        match found {
            Ok(found) => {
                let met = self.model.meet(n, found.as_deref(), false);
                met.unwrap_or_else(|what| panic!("{what}"));
            }
            Err(error) => panic!("reads go on: key {n}: {error:?}"),
        }
    }

    fn check_all(&mut self) {
        let sync_lost = std::mem::take(&mut self.sync_lost);
        for n in self.model.keys() {
            let found = self.kv().get(&key(n)).unwrap_or_else(|error| panic!("key {n}: {error}"));
            let met = self.model.meet(n, found.as_deref(), sync_lost);
            met.unwrap_or_else(|what| panic!("{what}, sync lost {sync_lost}"));
        }
    }

    fn put(&mut self, n: u32, bytes: u32) -> Result<(), HostError> {
        self.version += 1;
        let version = self.version;
        self.kv().put(&key(n), &value(n, version, bytes))?;
        self.model.acknowledged(n, Some((version, bytes)));
        Ok(())
    }

    fn try_put(&mut self, n: u32, bytes: u32) {
        if let Err(error) = self.put(n, bytes) {
            self.fails(&error, "put");
            self.check_key(n);
        }
    }

    fn delete(&mut self, n: u32) {
        match self.kv().delete(&key(n)) {
            Ok(there) => {
                assert_eq!(there, self.model.last(n).is_some(), "key {n}");
                self.model.acknowledged(n, None);
            }
            Err(error) => {
                self.fails(&error, "delete");
                self.check_key(n);
            }
        }
    }

    fn batch(&mut self, first: u32) {
        let (mut batch, mut states) = (WriteBatch::new(), Vec::<(u32, State)>::new());
        for n in (0..6).map(|n| (first + n * 7) % KEYS as u32) {
            self.version += 1;
            let bytes = 100 + n * 9;
            if n % 3 == 0 {
                batch.delete(&key(n));
            } else {
                batch.put(&key(n), &value(n, self.version, bytes));
            }
            states.push((n, (n % 3 != 0).then_some((self.version, bytes))));
        }
        match self.kv().write(&batch) {
            Ok(()) => states.into_iter().for_each(|(n, state)| self.model.acknowledged(n, state)),
            Err(error) => {
                self.fails(&error, "batch");
                states.iter().for_each(|(n, state)| self.model.maybe(*n, *state));
                states.iter().for_each(|(n, _)| self.check_key(*n));
            }
        }
    }

    fn flush(&mut self) {
        match self.kv().flush() {
            Ok(()) => self.model.flushed(),
            Err(error) => self.fails(&error, "flush"),
        }
    }

    /// The process ends, in order or not, and another one goes on.
    fn reopen(&mut self, in_order: bool) {
        let kv = self.kv.take().expect("it is open");
        if in_order {
            match kv.close() {
                Ok(()) => self.model.flushed(),
                Err(Error::Host(error)) => self.fails(&error, "close"),
                Err(Error::Image(error)) => assert!(self.has_struck() && !self.is_over, "{error}"),
                Err(error) => panic!("{error}"),
            }
        } else {
            drop(kv);
        }
        self.sync_lost |= !self.is_over
            && self.has_struck()
            && matches!(self.case.fault, HostFault::Io | HostFault::SyncFails);
        self.open();
        self.check_all();
    }

    fn operation(&mut self) {
        let n = self.rng.below(KEYS) as u32;
        match self.rng.below(40) {
            0..=21 => {
                let bytes = self.rng.below(3000) as u32;
                self.try_put(n, bytes);
            }
            22 => self.try_put(n, 20_000),
            23..=27 => self.delete(n),
            28..=31 => self.check_key(n),
            32..=35 => self.batch(n),
            36..=37 => self.flush(),
            38 => self.reopen(true),
            _ => self.reopen(false),
        }
    }

    /// The failure is over: what failed for good is cured by opening again, anything else by itself.
    fn recover(&mut self) {
        self.end_episode();
        let Err(error) = self.put(1_000, 1000) else { return };
        let failed = matches!(self.case.fault, HostFault::Io | HostFault::SyncFails);
        assert!(failed && error == HostError::Kv(KvError::WriteFault), "writes go on by themselves: {error}");
        self.sync_lost = true;
        drop(self.kv.take());
        self.open();
        self.check_all();
        self.put(1_000, 1000).expect("writes go on after opening again");
    }

    fn go(&mut self) {
        for n in 0..OPERATIONS {
            if self.struck.is_none() && self.has_struck() {
                self.struck = Some(n);
            }
            if self.struck.is_some_and(|at| at + EPISODE == n) && !self.is_over {
                self.recover();
            }
            self.operation();
        }
    }

    fn finish(mut self) -> u64 {
        let calls = faults::calls();
        self.recover();
        self.kv().flush().expect("flushes");
        self.model.flushed();
        let kv = self.kv.take().expect("it is open");
        if self.plan.calls.is_multiple_of(2) {
            kv.close().expect("closes");
        } else {
            drop(kv);
        }
        self.open();
        self.check_all();
        self.kv.take().expect("it is open").close().expect("closes");
        let (report, _) = check_image(&self.path, &mut |_| {}).expect("checks");
        assert!(report.is_sound(), "{:?}", report.findings);
        calls
    }
}

fn run(case: Case, at: u64) -> u64 {
    let plan = HostPlan { fault: case.fault, at, calls: case.calls };
    let told = Told(case, at);
    let mut run = Run::new(case, plan);
    run.go();
    let calls = run.finish();
    std::mem::forget(told);
    calls
}

/// Says what replays a failure.
struct Told(Case, u64);

impl Drop for Told {
    fn drop(&mut self) {
        eprintln!("{:?} from call {} on", self.0, self.1);
        faults::plan(None);
    }
}

fn every_call(engine: EngineKind) {
    let kinds = [
        (HostFault::Full, u64::MAX),
        (HostFault::Full, 1),
        (HostFault::Io, 1),
        (HostFault::Io, u64::MAX),
        (HostFault::SyncFails, 1),
        (HostFault::Short, u64::MAX),
        (HostFault::Interrupted, 2),
    ];
    for capacitor in [true, false] {
        for (fault, calls) in kinds {
            let case = Case { engine, capacitor, fault, calls };
            let all = run(case, u64::MAX);
            assert!(all > 10, "{case:?}: {all} calls");
            // Prime steps, so that the calls of all kinds have their turn.
            let step = if is_soak() { 1 } else { (all / 6).max(1) };
            let first = 1 + (u64::from(capacitor) + calls % 3) % step;
            for at in (first..=all).step_by(step as usize) {
                run(case, at);
            }
        }
    }
}

macro_rules! on_each_engine {
    ($($name:ident $engine:ident;)*) => {
        $(mod $name {
            use saker::EngineKind;

            #[test]
            fn survives_every_call() {
                super::every_call(EngineKind::$engine);
            }
        })*
    };
}

saker_engine::for_each_engine!(on_each_engine);
