// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Puts of the LSM-tree with values inside that virtual time gets through in a second of one core: with flushes alone, with compactions, and
//! with values of 4 KiB whose filler is counted, not kept.

use crate::pairs::key;
use crate::virtual_time::processor_ns;
use crate::{Outcome, verdict};
use saker::{EngineKind, Settings};
use saker_assembly::Build;
use saker_host::TransferOptions;
use saker_profile::Profile;
use saker_world::{Job, Op, RunResult, StoreKind, run_virtual};

const ROUNDS: usize = 3;
/// The place of `unlimited` among the words of `min_blob_size`.
const UNLIMITED: u64 = 14;
const MIB: u64 = 1 << 20;

/// What is stored, and how fast it should go.
struct Load {
    what: &'static str,
    pairs: u64,
    value_bytes: usize,
    /// Tables of level 0 that start a compaction.
    trigger: u64,
    /// Whether runs of equal bytes are counted in the memory of cells.
    compact: bool,
    rate_min: f64,
}

const LOADS: [Load; 3] = [
    Load {
        what: "16 + 100 bytes, flushed",
        pairs: 1_000_000,
        value_bytes: 100,
        trigger: 1000,
        compact: false,
        rate_min: 1e6,
    },
    Load {
        what: "16 + 100 bytes, flushed and compacted",
        pairs: 1_000_000,
        value_bytes: 100,
        trigger: 4,
        compact: false,
        rate_min: 3e5,
    },
    Load {
        what: "16 + 4096 bytes, flushed and compacted, filler counted",
        pairs: 100_000,
        value_bytes: 4096,
        trigger: 4,
        compact: true,
        rate_min: 1e5,
    },
];

pub fn run() -> Outcome {
    for load in &LOADS {
        for store in [StoreKind::Disk, StoreKind::Host] {
            measured(load, store)?;
        }
    }
    Ok(())
}

fn measured(load: &Load, store: StoreKind) -> Outcome {
    let build = build(load, store)?;
    let job = job(load);
    let mut least = f64::MAX;
    let mut counted = [0; 2];
    for _ in 0..ROUNDS {
        let begun = processor_ns();
        let results = run_virtual(store, &build, std::slice::from_ref(&job))?;
        least = least.min((processor_ns() - begun) as f64 / 1e9);
        assert!(results.iter().all(|r| r.errors == 0));
        counted = ["flushes", "compactions"].map(|name| counter(&results[0], name));
    }
    let [flushes, compactions] = counted;
    assert!(
        flushes > 0 && (compactions > 0) == (load.trigger < 1000),
        "{flushes} flushes, {compactions} compactions"
    );
    let rate = load.pairs as f64 / least;
    println!(
        "virtual-lsm, {}, {}: {:.2} M puts a second of processor time, {flushes} flushes, {compactions} compactions: {}",
        store.name(),
        load.what,
        rate / 1e6,
        verdict(rate >= load.rate_min),
    );
    Ok(())
}

/// A device whose memtables hold 4 MiB, and whose writes never wait for compactions.
fn build(load: &Load, store: StoreKind) -> Result<Build, Box<dyn std::error::Error>> {
    let profile = Profile::builtin("default")?;
    let mut build = match store {
        StoreKind::Host => Build::block(&profile, 4 << 30, 1)?,
        _ => Build::kv(&profile, 4 << 30, 1)?,
    }
    .with_engine(EngineKind::LSM);
    build.compact = load.compact;
    build.ask(&Settings::told(&[
        ("min_blob_size", UNLIMITED),
        ("write_buffer_size", 4 * MIB),
        ("level0_file_num_compaction_trigger", load.trigger),
        ("level0_slowdown_writes_trigger", 1000),
        ("level0_stop_writes_trigger", 1000),
    ]));
    Ok(build)
}

/// Puts of distinct keys in no order. A value begins with its number; the rest is filler.
fn job(load: &Load) -> Job {
    let put = |n: u64| {
        let mut value = vec![7; load.value_bytes];
        value[..8].copy_from_slice(&n.to_le_bytes());
        Op::Put(key(n).to_vec(), value)
    };
    let operations = (0..load.pairs).map(put).collect();
    Job { threads: 4, depth: 32, operations, flush: true, transfer: TransferOptions::default() }
}

fn counter(result: &RunResult, name: &str) -> u64 {
    result.counters.iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| *n)
}
