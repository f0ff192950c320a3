// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs of jobs: the traffic of papers' tables, NAND off, and where the time of commands goes.

use crate::methods::rig::{Timed, build, key, value};
use saker_assembly::Build;
use saker_device::Part;
use saker_host::{Method, Pacing, TransferOptions};
use saker_nvme::Status;
use saker_profile::Profile;
use saker_sim::Duration;
use saker_world::{Job, Op, RunResult, StoreKind, run_virtual};

fn job(bytes: usize, count: u32, transfer: TransferOptions) -> Job {
    let put = |n: u32| Op::Put(n.to_le_bytes().to_vec(), value(n, bytes));
    Job { threads: 1, depth: 1, operations: (0..count).map(put).collect(), flush: false, transfer }
}

fn run(build: &Build, jobs: &[Job]) -> Vec<RunResult> {
    run_virtual(StoreKind::Disk, build, jobs).expect("runs")
}

fn board() -> Build {
    let profile = Profile::builtin("cosmos-plus").expect("built in");
    let build = Build::kv(&profile, 2 << 30, 3).expect("large enough");
    Build { nand: false, ..build }
}

/// BandSlim's passthrough, one command at a time: bytes by the rule `protocol` are those of the table, for each job apart.
#[test]
fn passthrough_runs_have_the_bytes_of_the_table() {
    let cases = [
        (Method::Prp, 128, 4184, 1),
        (Method::Piggyback, 32, 88, 1),
        (Method::Piggyback, 128, 264, 3),
        (Method::Hybrid, 4096 + 128, 4448, 4),
        (Method::Inline, 128, 216, 1),
        (Method::Sgl, 128, 216, 1),
        (Method::Prp, 5000, 8280, 1),
    ];
    let jobs = cases.map(|(m, bytes, ..)| job(bytes, 50, TransferOptions::fixed(m, Pacing::Passthrough)));
    let build = board();
    for (result, (method, bytes, each, commands)) in run(&build, &jobs).iter().zip(cases) {
        let counted = (result.link_bytes, result.commands, result.errors, result.operations);
        assert_eq!(counted, (50 * each, 50 * commands, 0, 50), "{method:?} {bytes}");
        assert_eq!((result.nand_pages, result.traffic.sqe_fetches), (0, 50 * commands), "{method:?}");
    }
}

/// Deeper queues and threads, with commands of a value pipelined or one at a time.
#[test]
fn threads_and_depth_do_not_change_what_is_stored() {
    for pacing in [Pacing::Pipelined, Pacing::Passthrough] {
        for method in Method::ALL {
            let one = job(300, 400, TransferOptions::fixed(method, pacing));
            let wide = Job { threads: 3, depth: 5, ..one };
            let result = run(&board(), &[wide]).remove(0);
            assert_eq!((result.operations, result.errors), (400, 0), "{method:?} {pacing:?}");
        }
    }
}

/// With the NAND off nothing is programmed, and everything can be read.
#[test]
fn without_nand_values_are_there() {
    let build = Build { nand: false, ..build() };
    let mut rig = Timed::new(&build, &[(300, 8)]);
    for n in 0..3000 {
        assert_eq!(rig.put(0, &key(n), &value(n, 100)), Status::SUCCESS);
    }
    for n in 0..3000 {
        assert_eq!(rig.get(0, &key(n)).data, value(n, 100));
    }
    let flash = rig.machine.0.stats().flash;
    assert_eq!((flash.pages_programmed, flash.pages_read, flash.segments_erased), (0, 0, 0));
}

/// The spans of a command have no gaps: with the host's own costs they are the response time.
#[test]
fn traces_account_for_every_nanosecond() {
    let build = Build { traces: true, ..board() };
    let (h, t) = (&build.profile.host, &build.profile.transfer);
    let ns = Duration::from_nanos;
    for (method, bytes, pages) in
        [(Method::Prp, 32, 1), (Method::Piggyback, 32, 0), (Method::Inline, 100, 0), (Method::Sgl, 32, 0)]
    {
        let result =
            run(&build, &[job(bytes, 1, TransferOptions::fixed(method, Pacing::Passthrough))]).remove(0);
        assert_eq!(result.traces.len(), 1, "{method:?}");
        let trace = &result.traces[0];
        let host = ns(h.submit_ns.get() + build.profile.link.doorbell_write_ns.get())
            + ns(t.host_page_map_ns.get()) * pages
            + ns(h.poll_ns.get() + h.complete_ns.get());
        assert_eq!(trace.elapsed() + host, result.elapsed, "{method:?}: {trace:?}");
        assert_eq!(trace.total(Part::Queue), Duration::ZERO, "alone: {trace:?}");
        let moves_data = matches!(method, Method::Prp | Method::Sgl);
        assert_eq!(trace.total(Part::Transfer) > Duration::ZERO, moves_data, "{trace:?}");
        for part in [Part::Fetch, Part::Firmware, Part::Completion] {
            assert!(trace.total(part) > Duration::ZERO, "{part:?} in {trace:?}");
        }
    }
}

/// Commands that get in each other's way wait, and reads wait for the flash.
#[test]
fn traces_tell_waiting_from_service() {
    let build = Build { traces: true, nand: true, ..board() };
    let mut write = job(8000, 2000, TransferOptions::default());
    (write.depth, write.flush) = (16, true);
    let get = |n: u32| Op::Get(n.to_le_bytes().to_vec());
    let read = Job { operations: (0..200).map(get).collect(), ..write.clone() };
    let results = run(&build, &[write, read]);
    let sum = |r: &RunResult, part| r.traces.iter().fold(Duration::ZERO, |sum, t| sum + t.total(part));
    assert_eq!((results[0].traces.len(), results[1].traces.len()), (2001, 201));
    assert!(sum(&results[0], Part::Queue) > Duration::ZERO);
    assert!(sum(&results[1], Part::Flash) > sum(&results[1], Part::Fetch));
}
