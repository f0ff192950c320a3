// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Eight hosts on threads of their own run transactions that meet, while the target is killed (SIGKILL) and started again on its image: the
//! history of all its lives is strictly serializable. `crates/pure/world/tests/stress/transactions/histories.rs` does the same in
//! virtual time.

use crate::killed;
use saker::{EngineKind, HostError, ImagePlan, KeyRange, Kv, Transaction};
use saker_isolation::{Attempt, Plans, Recorder, parsed, written};
use saker_sim::{Rng, Seed};
use saker_tcp::{Server, ServerConfig};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

const CLIENTS: usize = 8;
/// Transactions that are carried out before the target is killed.
const COMMITS_MIN: u64 = 20;

/// A target in this process.
fn serve(url: &str) -> Server {
    let mut config = ServerConfig::new(url);
    config.listen = vec!["127.0.0.1:0".parse().expect("an address")];
    Server::start(config).expect("the server starts")
}

#[test]
#[ignore = "the parent starts it and kills it"]
fn child() {
    killed::serve();
}

/// Every third key is long.
fn key(list: u64) -> Vec<u8> {
    if list % 3 == 1 {
        format!("the list with the number {list:06}").into_bytes()
    } else if list % 3 == 2 {
        [&[0xFF, 0x4B], format!("list {list:09}").as_bytes()].concat()
    } else {
        format!("{list}").into_bytes()
    }
}

/// How an attempt ended that was not carried out.
enum Ended {
    /// Somebody else changed what it had read.
    Conflict,
    /// The target went before the commit was sent.
    Gone,
    /// The target went before it had answered the commit.
    Unknown,
}

fn before_commit(error: HostError) -> Ended {
    if matches!(error, HostError::Conflict { .. }) { Ended::Conflict } else { Ended::Gone }
}

/// What a list is in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum As {
    /// The value of a pair.
    Value,
    /// The pairs of a range, each with its place as value: who appends adds a pair, so what another one has read of the range misses it.
    Range,
    /// The same, by a client that does not say which ranges it has read.
    RangeUnsaid,
}

fn carry_out(kv: &mut Kv, how: As, attempt: &mut Attempt) -> Result<(), Ended> {
    let mut lengths = BTreeMap::new();
    if how == As::RangeUnsaid {
        let mut other = kv.begin_transaction().map_err(before_commit)?;
        read_all(&mut other, how, attempt, &mut lengths)?;
        other.abort();
    }
    let mut txn = kv.begin_transaction().map_err(before_commit)?;
    read_all(&mut txn, how, attempt, &mut lengths)?;
    for (list, value) in attempt.writes() {
        if how == As::Value {
            txn.put(&key(list), &written(value)).map_err(before_commit)?;
            continue;
        }
        for (place, element) in (0_u64..).zip(value).skip(lengths[&list]) {
            txn.put(&pair_of(list, *element), &place.to_le_bytes()).map_err(before_commit)?;
        }
    }
    txn.commit().map_err(|error| match error {
        HostError::Conflict { .. } => Ended::Conflict,
        _ => Ended::Unknown,
    })
}

/// Reads what the plan needs, and notes how long lists were.
fn read_all(
    txn: &mut Transaction<'_>,
    how: As,
    attempt: &mut Attempt,
    lengths: &mut BTreeMap<u64, usize>,
) -> Result<(), Ended> {
    while let Some(list) = attempt.advance() {
        let found = match how {
            As::Value => parsed(&txn.get(&key(list)).map_err(before_commit)?.unwrap_or_default()),
            As::Range | As::RangeUnsaid => elements(txn, list).map_err(before_commit)?,
        };
        lengths.insert(list, found.len());
        attempt.give(list, found);
    }
    Ok(())
}

/// Every third list has long keys.
fn pair_of(list: u64, element: u64) -> Vec<u8> {
    let tail = if list % 3 == 1 { ", an element of a long name" } else { "" };
    format!("{list:06}:{element:06}{tail}").into_bytes()
}

/// The elements of a range in the order of their places.
fn elements(txn: &mut Transaction<'_>, list: u64) -> Result<Vec<u64>, HostError> {
    let prefix = format!("{list:06}:");
    let pairs = txn.scan(&KeyRange { prefix: prefix.as_bytes(), ..KeyRange::default() })?;
    let mut placed: Vec<(u64, u64)> = pairs
        .iter()
        .map(|(key, place)| {
            let element =
                std::str::from_utf8(&key[prefix.len()..][..6]).expect("digits").parse().expect("a number");
            (u64::from_le_bytes(place[..].try_into().expect("a place")), element)
        })
        .collect();
    placed.sort_unstable();
    Ok(placed.into_iter().map(|(_, element)| element).collect())
}

struct Shared {
    plans: Plans,
    recorder: Recorder,
    conflicts: u64,
    /// Nobody begins another transaction behind so many.
    commits_max: u64,
}

impl Shared {
    fn new(seed: u64) -> Self {
        let plans = Plans::new(Seed(seed).rng());
        Self { plans, recorder: Recorder::new(CLIENTS), conflicts: 0, commits_max: u64::MAX }
    }

    fn goes_on(&self) -> bool {
        self.recorder.committed() < self.commits_max
    }
}

/// Runs transactions until the target is gone.
fn client(n: usize, url: &str, how: As, shared: &Mutex<Shared>) {
    let Ok(mut kv) = Kv::open(url) else { return };
    while shared.lock().expect("no client panics").goes_on() {
        let mut attempt = {
            let mut shared = shared.lock().expect("no client panics");
            let plan = shared.plans.next_plan();
            shared.recorder.invoke(n, &plan);
            Attempt::new(plan)
        };
        let ended = carry_out(&mut kv, how, &mut attempt);
        let mut shared = shared.lock().expect("no client panics");
        match ended {
            Ok(()) => shared.recorder.commit(n, &attempt),
            Err(Ended::Conflict) => {
                shared.conflicts += 1;
                shared.recorder.refuse(n, attempt.plan());
            }
            Err(Ended::Gone) => return shared.recorder.refuse(n, attempt.plan()),
            Err(Ended::Unknown) => return shared.recorder.lose(n, attempt.plan()),
        }
    }
}

fn live_and_die(path: &Path, how: As, shared: &Mutex<Shared>, moment: Duration) {
    let (mut child, url) = killed::start("history_kill::child", path);
    let url = &url;
    std::thread::scope(|scope| {
        for n in 0..CLIENTS {
            scope.spawn(move || client(n, url, how, shared));
        }
        // On a busy machine hosts take long to connect.
        let before = shared.lock().expect("no client panics").recorder.committed();
        let is_under_way =
            || shared.lock().expect("no client panics").recorder.committed() >= before + COMMITS_MIN;
        for _ in 0..1000 {
            if is_under_way() {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(moment);
        child.kill().expect("kills");
        child.wait().expect("ends");
    });
}

/// A history of some lives of one image; how many commits had no answer, and how many conflicts there were.
fn history(engine: EngineKind, how: As, lives: u64, rng: &mut Rng) -> (u64, u64) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    ImagePlan { engine, ..ImagePlan::kv(8 << 20, "tiny", 1) }.create(&path).expect("creates");
    let shared = Mutex::new(Shared::new(rng.next_u64()));
    for _ in 0..lives {
        live_and_die(&path, how, &shared, Duration::from_millis(30 + rng.below(100)));
    }
    let Shared { recorder, conflicts, .. } = shared.into_inner().expect("no client panics");
    let (committed, unknown) = (recorder.committed(), recorder.unknown());
    assert!(committed >= lives * COMMITS_MIN, "{engine:?}: {committed} in {lives} lives");
    let found = recorder.anomalies();
    assert_eq!(found, Vec::<String>::new(), "{engine:?}");
    (unknown, conflicts)
}

fn campaign(engines: &[EngineKind], how: As, histories: u64, lives: u64) {
    let (mut unknown, mut conflicts) = (0, 0);
    for seed in saker_testing::seeds(histories) {
        for engine in engines.iter().copied() {
            let told = history(engine, how, lives, &mut Seed(seed).rng());
            unknown += told.0;
            conflicts += told.1;
        }
    }
    println!("{how:?}: {unknown} commits without an answer, {conflicts} conflicts");
    assert!(conflicts > 0, "nobody met");
}

#[test]
fn the_history_of_all_lives_is_strictly_serializable() {
    campaign(EngineKind::ALL, As::Value, saker_testing::tier(1, 10), saker_testing::tier(2, 10));
}

/// Engines that keep keys in order.
const ORDERED: [EngineKind; 2] = [EngineKind::LSM, EngineKind::TREE];

#[test]
fn no_life_has_phantoms() {
    campaign(&ORDERED, As::Range, saker_testing::tier(1, 20), saker_testing::tier(2, 10));
}

/// Histories of ranges show a phantom if there is one: the judge works on them.
#[test]
fn who_does_not_say_what_it_has_scanned_is_found_out() {
    for engine in ORDERED {
        let is_found = |seed: u64| {
            let server = serve(&format!("mem:?size=64MiB&profile=tiny&engine={}", engine.name()));
            let url = format!("tcp://{}/{}", server.addresses()[0], server.names()[0]);
            let shared = Mutex::new(Shared { commits_max: 200, ..Shared::new(seed) });
            std::thread::scope(|scope| {
                for n in 0..CLIENTS {
                    let (url, shared) = (&url, &shared);
                    scope.spawn(move || client(n, url, As::RangeUnsaid, shared));
                }
            });
            !shared.into_inner().expect("no client panics").recorder.anomalies().is_empty()
        };
        assert!((0..10).any(is_found), "{engine:?}");
    }
}
