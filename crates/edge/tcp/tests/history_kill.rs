//! Eight hosts on threads of their own run transactions that meet, while the target is killed (SIGKILL) and started again on its image: the
//! history of all its lives is strictly serializable. `crates/pure/world/tests/stress/transactions/histories.rs` does the same in
//! virtual time.

use crate::killed;
use saker::{EngineKind, HostError, ImagePlan, Kv};
use saker_isolation::{Attempt, Plans, Recorder, parsed, written};
use saker_sim::{Rng, Seed};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

const CLIENTS: usize = 8;
/// Transactions that are carried out before the target is killed.
const COMMITS_MIN: u64 = 20;

#[test]
#[ignore = "the parent starts it and kills it"]
fn child() {
    killed::serve();
}

/// Every third key is long.
fn key(list: u64) -> Vec<u8> {
    if list % 3 == 1 {
        format!("the list with the number {list:06}").into_bytes()
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

fn carry_out(kv: &mut Kv, attempt: &mut Attempt) -> Result<(), Ended> {
    let mut txn = kv.begin_transaction().map_err(before_commit)?;
    while let Some(list) = attempt.advance() {
        let value = txn.get(&key(list)).map_err(before_commit)?;
        attempt.give(list, parsed(&value.unwrap_or_default()));
    }
    for (list, value) in attempt.writes() {
        txn.put(&key(list), &written(value)).map_err(before_commit)?;
    }
    txn.commit().map_err(|error| match error {
        HostError::Conflict { .. } => Ended::Conflict,
        _ => Ended::Unknown,
    })
}

struct Shared {
    plans: Plans,
    recorder: Recorder,
    conflicts: u64,
}

/// Runs transactions until the target is gone.
fn client(n: usize, url: &str, shared: &Mutex<Shared>) {
    let Ok(mut kv) = Kv::open(url) else { return };
    loop {
        let mut attempt = {
            let mut shared = shared.lock().expect("no client panics");
            let plan = shared.plans.next_plan();
            shared.recorder.invoke(n, &plan);
            Attempt::new(plan)
        };
        let ended = carry_out(&mut kv, &mut attempt);
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

fn live_and_die(path: &Path, shared: &Mutex<Shared>, moment: Duration) {
    let (mut child, url) = killed::start("history_kill::child", path);
    let url = &url;
    std::thread::scope(|scope| {
        for n in 0..CLIENTS {
            scope.spawn(move || client(n, url, shared));
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
fn history(engine: EngineKind, lives: u64, rng: &mut Rng) -> (u64, u64) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    ImagePlan { engine, ..ImagePlan::kv(8 << 20, "tiny", 1) }.create(&path).expect("creates");
    let plans = Plans::new(Seed(rng.next_u64()).rng());
    let shared = Mutex::new(Shared { plans, recorder: Recorder::new(CLIENTS), conflicts: 0 });
    for _ in 0..lives {
        live_and_die(&path, &shared, Duration::from_millis(30 + rng.below(100)));
    }
    let Shared { recorder, conflicts, .. } = shared.into_inner().expect("no client panics");
    let (committed, unknown) = (recorder.committed(), recorder.unknown());
    assert!(committed >= lives * COMMITS_MIN, "{engine:?}: {committed} in {lives} lives");
    let found = recorder.anomalies();
    assert_eq!(found, Vec::<String>::new(), "{engine:?}");
    (unknown, conflicts)
}

#[test]
fn the_history_of_all_lives_is_strictly_serializable() {
    let (mut unknown, mut conflicts) = (0, 0);
    for seed in saker_testing::seeds(saker_testing::tier(1, 20)) {
        for engine in [EngineKind::HASH_STORE, EngineKind::LSM, EngineKind::TREE] {
            let told = history(engine, saker_testing::tier(3, 10), &mut Seed(seed).rng());
            unknown += told.0;
            conflicts += told.1;
        }
    }
    println!("{unknown} commits without an answer, {conflicts} conflicts");
    assert!(conflicts > 0, "nobody met");
}
