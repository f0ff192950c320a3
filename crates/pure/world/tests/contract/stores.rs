// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The stores that there are, over devices in virtual time.

use crate::contract::suite::Terms;
use crate::contract::{DEPTH, LANES, judge};
use crate::write_control::{DELAYED, STOPPED};
use saker_assembly::Build;
use saker_device::EngineKind;
use saker_engine::Settings;
use saker_host::TransferOptions;
use saker_hybrid::{Detector, Options, Rollback};
use saker_profile::Profile;
use saker_world::Job;
use saker_world::stores::hybrid::Dual;
use saker_world::stores::{DiskStore, GroupLimits, HostStore, SessionStore};

fn job() -> Job {
    Job {
        threads: LANES,
        depth: DEPTH as u16,
        operations: Vec::new(),
        flush: false,
        transfer: TransferOptions::default(),
    }
}

fn profile() -> Profile {
    Profile::builtin("saker-mid").expect("built in")
}

fn kv(engine: EngineKind) -> Build {
    Build::kv(&profile(), 256 << 20, 1).expect("large enough").with_engine(engine)
}

const STALLS: Terms = Terms { stalls: true };

#[test]
fn disk() {
    for engine in EngineKind::ALL {
        judge("disk", STALLS, || DiskStore::timed(&kv(*engine), &[job()], None).expect("connects"));
    }
}

#[test]
fn groups() {
    let build = kv(EngineKind::HASH_STORE);
    let limits = GroupLimits { value_bytes: 4096, ..GroupLimits::of(&build, &[job()], 4) };
    judge("groups", STALLS, || DiskStore::timed(&build, &[job()], Some(limits)).expect("connects"));
}

#[test]
fn sessions() {
    for (batch, engine) in [
        (1, EngineKind::HASH_STORE),
        (8, EngineKind::HASH_STORE),
        (8, EngineKind::LSM),
        (1, EngineKind::TREE),
    ] {
        let build = kv(engine);
        judge("sessions", STALLS, || SessionStore::timed(&build, &job(), batch).expect("connects"));
    }
}

/// What cannot go on is parked inside: HostKV takes whatever comes.
#[test]
fn host() {
    for engine in [EngineKind::HASH_STORE, EngineKind::LSM, EngineKind::TREE] {
        let build = Build::block(&profile(), 256 << 20, 1).expect("large enough").with_engine(engine);
        judge("host", Terms { stalls: false }, || HostStore::timed(&build, &job()).expect("connects"));
    }
}

/// Writes that are delayed or stopped again and again keep the contract, in the device and at the host.
#[test]
fn delayed_and_stopped_writes() {
    for asked in [&DELAYED[..], &STOPPED[..]].map(Settings::told) {
        let mut disk = kv(EngineKind::LSM);
        disk.ask(&asked);
        judge("disk", STALLS, || DiskStore::timed(&disk, &[job()], None).expect("connects"));
        let limits = GroupLimits { value_bytes: 4096, ..GroupLimits::of(&disk, &[job()], 4) };
        judge("groups", STALLS, || DiskStore::timed(&disk, &[job()], Some(limits)).expect("connects"));
        judge("sessions", STALLS, || SessionStore::timed(&disk, &job(), 8).expect("connects"));
        let mut host =
            Build::block(&profile(), 256 << 20, 1).expect("large enough").with_engine(EngineKind::LSM);
        host.ask(&asked);
        judge("host", Terms { stalls: false }, || HostStore::timed(&host, &job()).expect("connects"));
    }
}

/// Two trees as one store: where nothing is redirected, where the main tree is stopped again and again, and where background jobs go on
/// side by side.
#[test]
fn hybrid() {
    let asked = [Settings::NONE, Settings::told(&STOPPED), side_by_side(14)];
    for (n, asked) in asked.iter().enumerate() {
        for rollback in Rollback::ALL {
            for detector in Detector::ALL {
                let mut build =
                    Build::block(&profile(), 1 << 30, 1).expect("large enough").with_engine(EngineKind::LSM);
                build.ask(asked);
                build.profile.host.background_cores.value = if n == 2 { 4 } else { 1 };
                let idle = saker_sim::Duration::from_nanos(200_000);
                let options = Options {
                    detector,
                    rollback,
                    idle,
                    poll: idle,
                    redirect_level0: 2,
                    rollback_level0: 1,
                    blocks_writers: n == 1 && rollback == Rollback::Lazy,
                    ..Options::default()
                };
                let dual = Dual { options, ..Dual::default() };
                let open = || HostStore::hybrid(&build, &dual, &job()).expect("connects");
                judge("hybrid", Terms { stalls: false }, open);
            }
        }
    }
}

/// Background jobs side by side, on cores of their own.
#[test]
fn jobs_side_by_side() {
    for min_blob_size in [0, 14] {
        let mut disk = kv(EngineKind::LSM);
        disk.profile.firmware.background_cores.value = 4;
        disk.ask(&side_by_side(min_blob_size));
        judge("disk", STALLS, || DiskStore::timed(&disk, &[job()], None).expect("connects"));
        let mut host =
            Build::block(&profile(), 256 << 20, 1).expect("large enough").with_engine(EngineKind::LSM);
        host.profile.host.background_cores.value = 4;
        host.ask(&side_by_side(min_blob_size));
        judge("host", Terms { stalls: false }, || HostStore::timed(&host, &job()).expect("connects"));
    }
}

/// An engine that hands out one job at a time has one that is busy.
#[test]
fn engines_with_one_job_on_several_cores() {
    for engine in [EngineKind::HASH_STORE, EngineKind::TREE] {
        let mut host = Build::block(&profile(), 256 << 20, 1).expect("large enough").with_engine(engine);
        host.profile.host.background_cores.value = 3;
        judge("host", Terms { stalls: false }, || HostStore::timed(&host, &job()).expect("connects"));
    }
}

/// Memtables and tables so small that several compactions are always due.
pub fn side_by_side(min_blob_size: u64) -> Settings {
    Settings::told(&[
        ("compaction_threads", 3),
        ("max_write_buffer_number", 4),
        ("write_buffer_size", 4 << 10),
        ("target_file_size_base", 2 << 10),
        ("max_bytes_for_level_base", 8 << 10),
        ("min_blob_size", min_blob_size),
    ])
}

/// The LSM store with its longer values in the value log, with few there, with none, and as it decides, in the device and at the host; its
/// memtable is so small that tables are flushed and merged.
#[test]
fn values_in_the_tree() {
    for min_blob_size in [3, 9, 14, 15] {
        let asked = Settings::told(&[("min_blob_size", min_blob_size), ("write_buffer_size", 16 << 10)]);
        let mut disk = kv(EngineKind::LSM);
        disk.ask(&asked);
        judge("disk", STALLS, || DiskStore::timed(&disk, &[job()], None).expect("connects"));
        let mut host =
            Build::block(&profile(), 256 << 20, 1).expect("large enough").with_engine(EngineKind::LSM);
        host.ask(&asked);
        judge("host", Terms { stalls: false }, || HostStore::timed(&host, &job()).expect("connects"));
    }
}
