// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HostKV of an engine with threads of its own: a store from outside at the host, whose calls wait, over a block namespace of a device
//! that has a thread of its own.

use super::{Cpus, RealRun, on_threads, since};
use saker::{EngineKind, Kv, Stats, Store};
use saker_assembly::Build;
use saker_host::{HostError, KvError};
use saker_hybrid::Rollback;
use saker_link::Traffic;
use saker_sim::Instant;
use saker_store::{Op, Share};
use saker_world::{Job, RunResult};
use std::fmt::Debug;
use std::sync::{PoisonError, RwLock};
use std::time::Instant as Clock;

/// Why a call of such a store failed, in words.
pub type Failed = String;

/// A store at the host. Threads share it, and each waits for what it asks.
pub trait WaitingStore: Debug + Send + Sync {
    /// Stores a pair.
    ///
    /// # Errors
    /// The store's; so are those of all below.
    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Failed>;
    /// The value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Failed>;
    /// Removes a pair; whether it was there.
    fn delete(&self, key: &[u8]) -> Result<bool, Failed>;
    /// What was stored survives a power cut when this returns.
    fn flush(&self) -> Result<(), Failed>;
    /// What its device counts.
    fn stats(&self) -> Option<Stats>;
    /// Counters of its own, by name.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// Counters that only a hybrid has.
pub const HYBRID_COUNTERS: [&str; 10] = [
    "redirected_writes",
    "redirections",
    "redirected_held",
    "redirected_turned_back",
    "device_reads",
    "rollbacks",
    "rollback_moved",
    "device_emptied",
    "device_swept",
    "metadata_bytes",
];

/// The store over both namespaces whose main tree is one that the program brings along. Threads share it, one call at a time.
#[derive(Debug)]
struct Both(Store);

impl WaitingStore for Both {
    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Failed> {
        self.0.put(key, value).map_err(|why| why.to_string())
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Failed> {
        self.0.get(key).map_err(|why| why.to_string())
    }

    fn delete(&self, key: &[u8]) -> Result<bool, Failed> {
        self.0.delete(key).map_err(|why| why.to_string())
    }

    fn flush(&self) -> Result<(), Failed> {
        self.0.flush().map_err(|why| why.to_string())
    }

    fn stats(&self) -> Option<Stats> {
        self.0.with(|kv| Ok(kv.stats())).ok().flatten()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let told = self.0.with(Kv::counters).ok().flatten().unwrap_or_default();
        let of = |name| told.iter().find(|counter| counter.name == name).map(|counter| (name, counter.value));
        HYBRID_COUNTERS.into_iter().filter_map(of).collect()
    }
}

/// Opens such a store on the block namespace of a URL, which is empty.
pub type OpenAtHost = fn(&str) -> Result<Box<dyn WaitingStore>, Failed>;

static STORES: RwLock<Vec<(EngineKind, OpenAtHost)>> = RwLock::new(Vec::new());

/// Says what HostKV is of an engine with threads of its own ([`EngineKind::add`]). Call it before anything runs.
pub fn add_at_host(engine: EngineKind, open: OpenAtHost) {
    let mut stores = STORES.write().unwrap_or_else(PoisonError::into_inner);
    stores.retain(|(other, _)| *other != engine);
    stores.push((engine, open));
}

pub(crate) fn at_host(engine: EngineKind) -> Option<OpenAtHost> {
    let stores = STORES.read().unwrap_or_else(PoisonError::into_inner);
    stores.iter().find(|(other, _)| *other == engine).map(|(_, open)| *open)
}

/// A device of the build's profile, with the flash of the build for blocks, and as much for a namespace of pairs that nobody uses. Changes of
/// the profile have no place in a URL.
fn url(build: &Build) -> String {
    let bytes = build.shape.geometry.segment_bytes() * u64::from(build.shape.geometry.segments);
    let (size, blocks, profile) = (2 * bytes, bytes / 10 * 9, &build.profile.name);
    format!("mem:?size={size}&blocks={blocks}&profile={profile}&threads=1")
}

/// The hybrid of such a store, by that policy, on a device of as much flash.
pub(crate) fn run_hybrid(
    policy: Rollback,
    build: &Build,
    cpus: &Cpus,
    jobs: &[Job],
) -> Result<RealRun, HostError> {
    let bytes = build.shape.geometry.segment_bytes() * u64::from(build.shape.geometry.segments);
    let (profile, main) = (&build.profile.name, build.engine.name());
    let url = format!("mem:?size={}&profile={profile}&hybrid={}&main={main}", 2 * bytes, policy.name());
    let store = Store::open(&url).map_err(|why| failed(&why.to_string()))?;
    run_on(&Both(store), build, cpus, jobs)
}

/// Runs jobs one after the other, each on as many threads as the first.
pub(crate) fn run_at_host(
    open: OpenAtHost,
    build: &Build,
    cpus: &Cpus,
    jobs: &[Job],
) -> Result<RealRun, HostError> {
    let store = open(&url(build)).map_err(|why| failed(&why))?;
    run_on(store.as_ref(), build, cpus, jobs)
}

fn run_on(store: &dyn WaitingStore, build: &Build, cpus: &Cpus, jobs: &[Job]) -> Result<RealRun, HostError> {
    let threads = jobs.first().map_or(1, |job| job.threads.max(1));
    let mut run = RealRun::default();
    for job in jobs {
        let (begun, before) = (Clock::now(), store.stats().unwrap_or_default());
        let mut workers = vec![(); threads];
        let work = |n, (): &mut (), begun| {
            let mut result = RunResult::new();
            let mut share = Share::of(&job.operations, n, threads);
            while let Some(op) = share.first() {
                let from = since(begun);
                let done = carry_out(store, op);
                result.note(from, since(begun), done.is_ok());
                share.skip(1);
            }
            result.elapsed = since(begun).since(Instant::ZERO);
            Ok(result)
        };
        let mut result = on_threads(&mut workers, cpus, work)?;
        if job.flush {
            store.flush().map_err(|why| failed(&why))?;
            result.elapsed = since(begun).since(Instant::ZERO);
        }
        result.counters = store.counters();
        count(&mut result, &before, &store.stats().unwrap_or_default(), build);
        run.results.push(result);
    }
    Ok(run)
}

fn carry_out(store: &dyn WaitingStore, op: &Op) -> Result<(), Failed> {
    match op {
        Op::Put(key, value) => store.put(key, value),
        Op::Get(key) => store.get(key)?.map(drop).ok_or_else(|| "no such key".to_owned()),
        Op::Delete(key) => store.delete(key).map(drop),
        Op::Flush => store.flush(),
        Op::Wait => Ok(()),
        other => Err(format!("it takes no {}", other.name())),
    }
}

fn count(result: &mut RunResult, before: &Stats, now: &Stats, build: &Build) {
    let traffic = |stats: &Stats| -> Traffic { stats.device.traffic };
    result.commands = now.device.commands - before.device.commands;
    result.nand_pages = now.flash.pages_programmed - before.flash.pages_programmed;
    result.nand_bytes = result.nand_pages * u64::from(build.shape.geometry.page_bytes);
    result.note_traffic(traffic(now) - traffic(before));
}

fn failed(why: &str) -> HostError {
    eprintln!("saker: the store at the host: {why}");
    HostError::from(KvError::OutcomeUnknown)
}
