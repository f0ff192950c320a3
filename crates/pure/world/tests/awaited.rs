// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A command that fills pages of the write buffer holds its core until they are programmed, if the profile says so: as BandSlim's public
//! firmware does it.

use saker_assembly::Build;
use saker_device::EngineKind;
use saker_profile::{Media, Profile};
use saker_sim::Duration;
use saker_world::{Job, Op, StoreKind, run_virtual};

const VALUE_BYTES: usize = 4096;
const STORES: u32 = 256;

struct Run {
    elapsed: Duration,
    pages: u64,
}

fn run(engine: EngineKind, awaited: bool, io_cores: u32, depth: u16, flush: bool) -> Run {
    let mut profile = Profile::builtin("cosmos-plus").expect("built in");
    profile.firmware.programs_awaited.value = awaited;
    profile.firmware.io_cores.value = io_cores;
    let build = Build::kv(&profile, 1 << 30, 3).expect("large enough").with_engine(engine);
    let put =
        |n: u32| Op::Put(n.wrapping_mul(0x9E37_79B1).to_be_bytes().to_vec(), vec![n as u8; VALUE_BYTES]);
    let operations = (0..STORES).map(put).collect();
    let job = Job { threads: 1, depth, operations, flush, transfer: Default::default() };
    let get = |n: u32| Op::Get(n.wrapping_mul(0x9E37_79B1).to_be_bytes().to_vec());
    let gets = Job { operations: (0..STORES).map(get).collect(), flush: false, ..job.clone() };
    let mut runs = run_virtual(StoreKind::Disk, &build, &[job, gets]).expect("runs");
    let read = runs.pop().expect("two jobs");
    assert_eq!(
        (read.errors, read.operations),
        (0, u64::from(STORES)),
        "{engine:?}: what was stored is there"
    );
    let stored = runs.pop().expect("two jobs");
    assert_eq!(stored.errors, 0, "{engine:?}");
    Run { elapsed: stored.elapsed, pages: stored.nand_pages }
}

fn program() -> Duration {
    let Media::Nand(nand) = Profile::builtin("cosmos-plus").expect("built in").media else { panic!("NAND") };
    Duration::from_nanos(nand.program_ns.get())
}

#[test]
fn one_core_programs_one_page_after_the_other_at_any_depth() {
    for engine in EngineKind::ALL.iter().copied() {
        for depth in [1, 16] {
            let (beside, awaited) = (run(engine, false, 1, depth, false), run(engine, true, 1, depth, false));
            // Pages that the background fills are not waited for; values are most of them.
            let least = program() * (u64::from(STORES) * VALUE_BYTES as u64 / 16_384 * 3 / 4);
            assert!(awaited.elapsed >= least, "{engine:?}, depth {depth}: {:?} {:?}", awaited.elapsed, least);
            assert!(beside.elapsed * 3 < awaited.elapsed, "{engine:?}, depth {depth}: {:?}", beside.elapsed);
        }
    }
}

/// The core waits, and no other.
#[test]
fn a_second_core_goes_on() {
    let [one, two] = [1, 2].map(|cores| run(EngineKind::LSM, true, cores, 16, false).elapsed);
    assert!(two * 3 < one * 2, "{one:?} with a core, {two:?} with two");
}

/// A Flush behind stores that waited has nothing more to wait for than the last page.
#[test]
fn a_flush_ends_behind_stores_that_waited() {
    for engine in EngineKind::ALL.iter().copied() {
        let (without, with) = (run(engine, true, 1, 4, false), run(engine, true, 1, 4, true));
        assert!(with.pages >= without.pages && with.elapsed >= without.elapsed, "{engine:?}");
    }
}
