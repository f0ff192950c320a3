// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Histories over the fake device: what it does wrong can be chosen by key.

use crate::sessions::actors::{self, Plan, read_all};
use crate::sessions::fake::{Fake, FakeWire, Faults, lock};
use crate::sessions::log::Log;
use crate::sessions::tier;
use saker_host::session::{Hub, Options, Session};
use saker_host::{CacheOptions, CachePolicy, DriverFn, Patience};
use saker_sim::Seed;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

const CLIENTS: usize = 5;

/// Options as different as they can be: batches of one, containers for hardly anything, hardly any memory.
fn options(seed: u64) -> Options {
    let mut rng = Seed(seed).child("options").rng();
    let mut pick = |of: &[usize]| of[rng.below(of.len() as u64) as usize];
    Options {
        batch: pick(&[1, 2, 3, 8, 64]) as u16,
        container_bytes: pick(&[64, 200, 1024, 4096]),
        closed_max: pick(&[1, 2]),
        parked_bytes_max: pick(&[1, 500, 1 << 20]),
        long_bytes_max: pick(&[1, 8000, 1 << 20]),
        stripes: pick(&[2, 4, 256]),
        eager: true,
        volatile: true,
        cache: cache(seed),
    }
}

/// No cache, one that holds hardly anything, or all; long values are admitted or not.
pub fn cache(seed: u64) -> CacheOptions {
    let mut rng = Seed(seed).child("cache").rng();
    let mut pick = |of: &[usize]| of[rng.below(of.len() as u64) as usize];
    CacheOptions {
        bytes: pick(&[0, 600, 1 << 20, 1 << 20]),
        policy: CachePolicy::ALL[pick(&[0, 1])],
        value_bytes_max: pick(&[20, 4096, 10_000]),
    }
}

fn hub(seed: u64, device: &Arc<Mutex<Fake>>) -> Arc<Hub<FakeWire>> {
    let mut rng = Seed(seed).child("wires").rng();
    let (slots, groups, iterators) = (1 + rng.below(4) as usize, rng.below(4) > 0, rng.below(2) > 0);
    let taken = BTreeSet::new();
    let wire = |queue| FakeWire {
        device: Arc::clone(device),
        queue,
        slots,
        groups,
        iterators,
        taken: taken.clone(),
    };
    Arc::new(Hub::new((0..=CLIENTS).map(wire).collect(), options(seed)))
}

/// What must have happened for a history to mean something.
struct Seen {
    refused: u64,
    read_groups: u64,
    snapshots: u32,
    hits: u64,
}

/// Runs a history, ends it with a cut or not, and reads what is left.
fn history(seed: u64, faults: Faults, cut: bool) -> (Log, Seen) {
    let log = Log::new();
    let device = Fake::new(CLIENTS + 1, Seed(seed).child("device").rng(), faults);
    let hub = hub(seed, &device);
    let cut_at = cut.then(|| 200 + Seed(seed).child("cut").rng().below(1500) as u32);
    let plan = Plan { seed, clients: CLIENTS, operations: 200, cut_at };
    let was_cut = actors::run(plan, &hub, &log, || {
        lock(&device).step();
    });
    let refused = lock(&device).refused;
    let snapshots = lock(&device).snapshots;
    let read_groups = lock(&device).read_groups;
    if was_cut {
        log.cut();
        let after = Fake::new(CLIENTS + 1, Seed(seed).child("after").rng(), Faults::NONE);
        let survives = lock(&device).durable.clone();
        lock(&after).pairs = survives;
        read_back(seed, &after, &log);
    } else {
        assert_eq!(hub.pending(), [], "everything has come to its end");
        assert_eq!(hub.parked_bytes(), 0);
        assert!(lock(&device).iterators.is_empty(), "scans close what they open");
        read_back(seed, &device, &log);
    }
    (log, Seen { refused, read_groups, snapshots, hits: hub.cache_stats().hits })
}

fn read_back(seed: u64, device: &Arc<Mutex<Fake>>, log: &Log) {
    let hub = hub(seed, device);
    let driver = DriverFn(|| {
        lock(device).step();
    });
    let mut session = Session::new(hub, (0, 0), driver, 6000, Patience { polls_max: 10_000 });
    read_all(&mut session, log);
}

fn hold(name: u64, faults: Faults, cut: bool) {
    let (mut events, mut refused, mut hits, mut read_groups, mut snapshots) = (0, 0, 0, 0, 0);
    for seed in saker_testing::seeds(tier(40, 500)) {
        let (log, seen) = history(name << 32 | seed, faults, cut);
        (hits, read_groups) = (hits + seen.hits, read_groups + seen.read_groups);
        snapshots += seen.snapshots;
        let violations = log.violations();
        assert!(violations.is_empty(), "seed {seed}: {}", violations.concat());
        (events, refused) = (events + log.len(), refused + seen.refused);
    }
    println!("{events} events, {refused} refusals, {hits} reads from the cache");
    assert!(hits > tier(40, 500) * 5);
    assert!(events > tier(40, 500) as usize * 100);
    assert!(snapshots > tier(40, 500), "{snapshots} snapshots");
    assert_eq!(refused > 0, faults.write.one_in > 0);
    assert_eq!(read_groups > 0, !faults.no_groups, "many keys are asked for in groups");
}

/// The device disappears in the middle: every wait ends, no sync says that it went well afterwards, and what is read until
/// then is right.
#[test]
fn a_device_that_disappears_ends_every_wait_with_an_error() {
    for seed in saker_testing::seeds(tier(40, 400)) {
        let device = Fake::new(2, Seed(seed).rng(), Faults::NONE);
        let wire = |queue| FakeWire {
            device: Arc::clone(&device),
            queue,
            slots: 2,
            groups: true,
            iterators: true,
            taken: BTreeSet::new(),
        };
        let hub = Arc::new(Hub::new((0..2).map(wire).collect(), options(seed)));
        let mut steps = seed % 7;
        let driver = || {
            DriverFn(|| {
                lock(&device).step();
            })
        };
        let session =
            |n| Session::new(Arc::clone(&hub), (n, n), driver(), 6000, Patience { polls_max: 1000 });
        let (mut a, mut b) = (session(0), session(1));
        for n in 0..6 {
            a.put(&actors::name(n), &[1; 30]).expect("there is a device");
            b.put(&actors::name(n), &[2; 30]).expect("there is a device");
        }
        while steps > 0 {
            lock(&device).step();
            steps -= 1;
        }
        lock(&device).gone = true;
        for session in [&mut a, &mut b] {
            assert!(session.sync().is_err(), "seed {seed}");
            assert!(session.put_durable(&actors::name(7), b"late").is_err());
            assert!(session.put(&actors::name(1), b"late").is_err());
        }
        assert_eq!((hub.pending(), hub.parked_bytes()), (Vec::new(), 0), "nothing is left behind");
    }
}

#[test]
fn histories_without_faults_are_linearizable() {
    hold(1, Faults::NONE, false);
}

#[test]
fn histories_with_refused_writes_are_linearizable_and_syncs_tell_all_of_them() {
    hold(2, Faults::SOME, false);
}

/// A device that promises groups and knows none: containers go as single commands.
#[test]
fn histories_over_a_device_that_refuses_groups_are_linearizable() {
    hold(5, Faults { no_groups: true, ..Faults::SOME }, false);
}

#[test]
fn a_cut_loses_nothing_acknowledged() {
    hold(3, Faults::NONE, true);
}

#[test]
fn a_cut_after_refused_writes_loses_nothing_acknowledged() {
    hold(4, Faults::SOME, true);
}
