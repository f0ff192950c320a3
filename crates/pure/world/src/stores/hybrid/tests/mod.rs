// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The hybrid against a model: histories with redirections, rollbacks, deletes, scans, snapshots and a full device, with and without
//! power cuts; and that these histories find what is planted.

mod cuts;
mod histories;
mod linear;
mod rig;
mod shown;
mod sweeps;

use super::{Dual, iter_kvssd};
use crate::result::Job;
use crate::stores::run_hybrid;
use rig::terms;
use saker_assembly::Build;
use saker_device::EngineKind;
use saker_engine::Settings;
use saker_engine::write_gate::Hold;
use saker_host::TransferOptions;
use saker_hybrid::{Detector, Options, Rollback};
use saker_profile::Profile;
use saker_sim::Duration;
use saker_store::Op;

/// Flash whose profile has large superblocks is cut finer, so that the device's tree has room. No put waits for a stop then, and nothing is
/// left when the job is over.
#[test]
fn a_quarter_of_any_flash_takes_what_the_main_tree_stops() {
    for profile in ["saker-mid", "cosmos-plus", "default"] {
        let profile = Profile::builtin(profile).expect("built in");
        let mut build =
            Build::block(&profile, 1 << 30, 1).expect("large enough").with_engine(EngineKind::LSM);
        build.ask(&Settings::told(&[
            ("write_buffer_size", 64 << 10),
            ("level0_file_num_compaction_trigger", 1),
            ("level0_stop_writes_trigger", 1),
            ("slowdown", 0),
            ("min_blob_size", 14),
        ]));
        let options = terms(Detector::Exact, Rollback::Eager).options;
        let dual = Dual { options, device_settings: iter_kvssd(), ..Dual::default() };
        let put = |n: u64| Op::Put((n % 700).to_be_bytes().to_vec(), vec![n as u8; 4088]);
        let transfer = TransferOptions::default();
        let job =
            Job { threads: 1, depth: 1, operations: (0..2000).map(put).collect(), flush: false, transfer };
        let (results, store) = run_hybrid(&build, &dual, &[job]).expect("runs");
        let counters = store.with_store(|store| store.counters());
        let of = |name: &str| counters.iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| *n);
        let name = &profile.name;
        assert_eq!(results[0].errors, 0, "{name}");
        assert!(of("redirected_writes") > 100, "{name}: {} redirected", of("redirected_writes"));
        assert_eq!(of("redirected_turned_back"), 0, "{name}");
        assert_eq!(results[0].stalls.all(Hold::Stopped).writes, 0, "{name}");
        assert_eq!((of("metadata_keys"), of("main_tombstones")), (0, 0), "{name}");
        assert!(of("device_emptied") > 0 && of("rollback_moved") > 0, "{name}");
    }
}

/// A memtable with values becomes many tables, which triggers count as one. If the published detector counted each it would see a stall that
/// no compaction ends, and copies would stay in the device.
#[test]
fn many_tables_of_one_memtable_are_no_stall() {
    let profile = Profile::builtin("cosmos-plus").expect("built in");
    let mut build = Build::block(&profile, 1 << 30, 1).expect("large enough").with_engine(EngineKind::LSM);
    build.ask(&Settings::told(&[
        ("write_buffer_size", 58 << 10),
        ("max_write_buffer_number", 8),
        ("level0_slowdown_writes_trigger", 1000),
        ("level0_stop_writes_trigger", 1000),
        ("target_file_size_base", 32 << 10),
        ("max_bytes_for_level_base", 117 << 10),
        ("slowdown", 0),
        ("min_blob_size", 14),
    ]));
    let poll = Duration::from_nanos(44_444);
    let usual = Options { detector: Detector::Published, poll, idle: poll, ..Options::default() };
    for rollback in Rollback::ALL {
        let dual = Dual { options: Options { rollback, ..usual }, ..Dual::default() };
        let put = |n: u64| Op::Put((n * 7919 % 2000).to_be_bytes().to_vec(), vec![n as u8; 4088]);
        let transfer = TransferOptions::default();
        let job =
            Job { threads: 2, depth: 1, operations: (0..4000).map(put).collect(), flush: false, transfer };
        let (_, store) = run_hybrid(&build, &dual, &[job]).expect("runs");
        let counters = store.with_store(|store| store.counters());
        let of = |name: &str| counters.iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| *n);
        assert!(of("redirected_writes") > 100, "{rollback:?}: {} redirected", of("redirected_writes"));
        assert_eq!((of("metadata_keys"), of("main_tombstones")), (0, 0), "{rollback:?}: {counters:?}");
    }
}
