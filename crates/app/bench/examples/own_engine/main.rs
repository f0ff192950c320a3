// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An engine of one's own, beside those of the workspace: pairs in a log, and a map of all keys in memory. It collects garbage,
//! recovers by reading its whole log, and passes the suites that the workspace's engines pass.
//!
//! | file | what is in it |
//! |---|---|
//! | `main.rs` | how it is made, its setting, its registration; a comparison with `hash_store` |
//! | `store.rs` | index and operations |
//! | `admit.rs` | what may be stored |
//! | `collect.rs` | collections and repairs |
//! | `check.rs` | whether what it remembers agrees with itself |
//! | `recover.rs` | recovery |
//! | `reserve.rs` | what each activity leaves to the others |
//!
//! Records, their checksums and their walks are `saker-value-log`'s, segments, append points and failed programs `saker-log`'s.
//!
//! `cargo run --release -p saker-bench --example own_engine`

mod admit;
mod check;
mod collect;
mod recover;
mod reserve;
mod store;

use recover::Recovery;
use saker_bench::clock::Cpus;
use saker_bench::{CompareError, Input, Plan, Timing, compare};
use saker_engine::settings::{Phase, Setting, Values};
use saker_engine::{Capabilities, EngineConfig, EngineKind, Factory, Registration};
use saker_host::CacheOptions;
use saker_segment_store::SegmentStore;
use saker_value_log::record::HEADER_BYTES;
use std::io::Write as _;
use store::{Config, PlainLog};

/// Makes it.
struct PlainLogs;

const SPARE_PERCENT: Setting = Setting {
    name: "spare_percent",
    values: Values::Number(10, 50),
    phase: Phase::AtOpen,
    default: "20",
    help: "part of the flash that pairs leave to collections",
};

impl Factory for PlainLogs {
    type Engine = PlainLog;
    type Recovery = Recovery;
    const NAME: &'static str = "plain_log";
    const SUMMARY: &'static str = "a log, and a sorted map of all keys in memory";
    const CODE: Option<u8> = None;
    const CAPABILITIES: Capabilities = store::CAPABILITIES;
    const SETTINGS: &'static [Setting] = &[SPARE_PERCENT];

    fn create(config: &EngineConfig, m: &dyn SegmentStore) -> PlainLog {
        PlainLog::new(told(config, m), m)
    }

    fn recover(config: &EngineConfig, m: &dyn SegmentStore) -> Recovery {
        Recovery::new(told(config, m), m)
    }
}

/// What every engine is told, as this store's settings on that medium.
fn told(config: &EngineConfig, m: &dyn SegmentStore) -> Config {
    let fits = m.geometry().segment_bytes() as u32 - HEADER_BYTES - 16;
    Config {
        owner: config.owner,
        ring_lasts: config.ring_lasts,
        value_bytes_max: config.value_bytes_max.min((2 << 20).min(fits / 2)),
        spare_percent: config.settings.get(SPARE_PERCENT.name).unwrap_or(20),
    }
}

static REGISTRATION: Registration = Registration::outside::<PlainLogs>();

/// The engine as devices, hosts, comparisons and suites take it.
const PLAIN_LOG: EngineKind = EngineKind::of(&REGISTRATION);

fn main() -> Result<(), CompareError> {
    let plan = Plan {
        input: Input::Made { sizes: vec![100, 1000], pairs: 4000 },
        timings: vec![Timing::Virtual],
        profile: "default".into(),
        threads: 1,
        depth: 16,
        stores: vec![EngineKind::HASH_STORE, PLAIN_LOG],
        groups: Vec::new(),
        batches: Vec::new(),
        hybrids: Vec::new(),
        skew: None,
        cache: CacheOptions::NONE,
        store_cache: None,
        block_cache_bytes: 0,
        changes: saker_lab::Settings::default(),
        cpus: Cpus::default(),
        seed: 1,
    };
    let mut out = std::io::stdout().lock();
    for row in compare(&plan, &mut |_| {})? {
        for cell in &row.cells {
            let (put, get) = (cell.put.rate(), cell.get.rate());
            let (store, system, values) = (cell.store.name(), &cell.system, &row.values);
            let line = format!("{values:>7} {store:<11} {system:<8} {put:>9.0} puts/s {get:>9.0} gets/s");
            // Whoever reads it may have gone.
            let _ = writeln!(out, "{line}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::PLAIN_LOG;
    use saker_assembly::{Build, port};
    use saker_engine::Settings;
    use saker_engine_suite::{Setup, Size, Subject};
    use saker_flash::FaultPlan;
    use saker_host::{ClientOptions, ConnectOptions, Connection, HostError, KvClient};
    use saker_nvme::group::{Ask, Op};
    use saker_nvme::{Key, Status};
    use saker_profile::Profile;
    use saker_world::Clocked;

    saker_engine_suite::tests!(plain_log, Subject::new(PLAIN_LOG));

    #[test]
    fn it_runs() {
        super::main().expect("both engines run");
    }

    /// It has no transactions: the device says so by a status of its own, C2h, and does nothing.
    #[test]
    fn transactions_are_refused_by_name() {
        let profile = Profile::builtin("tiny").expect("built in");
        let build = Build::kv(&profile, 64 << 20, 1).expect("large enough").with_engine(PLAIN_LOG);
        let host = build.attach(2, 8);
        let mut device = Clocked(build.timed(host.clone()));
        let options = ConnectOptions::default();
        let mut connection = Connection::connect(port(&host), &mut device, options).expect("connects");
        let mut client = KvClient::open(&mut connection, device, 1, ClientOptions::default()).expect("opens");
        let key = Key::new(b"key").expect("three bytes");
        client.put(&key, b"old").expect("room");
        assert!(matches!(client.probe_transactions(), Err(HostError::NoTransactions(_))));
        for entries in [&[(Ask::Op(Op::Store), &b"key"[..], &b"new"[..])][..], &[(Ask::Present, b"key", b"")]]
        {
            let refused = client.transaction(entries).expect("an answer").expect_err("it has none");
            assert!(refused.status.is(Status::NO_TRANSACTIONS), "{}", refused.status);
            assert_eq!(refused.place, 0);
        }
        assert_eq!(client.get(&key), Ok(Some(b"old".to_vec())));
    }

    #[test]
    fn what_is_left_to_collections_is_chosen() {
        let mut capacity = [10, 20, 50].into_iter().map(|percent| {
            let mut setup = Setup::sized(PLAIN_LOG, Size(1024, 32, 80), true);
            setup.config.settings = Settings::told(&[("spare_percent", percent)]);
            setup.start(FaultPlan::default()).capacity()
        });
        let [most, usual, least] = std::array::from_fn(|_| capacity.next().unwrap_or_default());
        // Rounded down, each of them.
        assert!(
            most.abs_diff(usual * 9 / 8) <= 2 && usual.abs_diff(least * 8 / 5) <= 2,
            "{most} {usual} {least}"
        );
    }
}
