// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the model charges a host core for merging tables, beside what RocksDB takes of a thread on a machine.
//!
//! ```sh
//! cargo xtask rocksdb -- --merge --value-size 4096 --pairs 100000           # RocksDB's, on this machine: nanoseconds a pair
//! cargo run -p saker-world --example merge_price -- saker-mid 4096          # the model's
//! cargo run -p saker-world --example merge_price -- saker-mid 4096 1500 2.7 # and the percent that makes them agree
//! ```
//!
//! The last one names RocksDB's nanoseconds a pair, and the clock of that machine in GHz. The profile's clock is the one that its prices
//! are for, 2.1 GHz in SAKER's profiles. Work is taken to need as many cycles there.

use saker_assembly::Build;
use saker_device::EngineKind;
use saker_engine::Settings;
use saker_host::TransferOptions;
use saker_profile::Profile;
use saker_sim::Activity;
use saker_world::{Job, Op, RunResult, StoreKind, run_virtual};
use std::error::Error;

/// SAKER's host (SYSTOR'25, section 4): Xeon E5-2695 v4.
const PROFILE_GHZ: f64 = 2.1;
const KEY_BYTES: usize = 16;
/// The place of the word `unlimited` among those that `min_blob_size` takes.
const UNLIMITED: u64 = 14;
/// User bytes of the fill.
const FILL_BYTES: usize = 96 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let profile = args.first().map_or("saker-mid", String::as_str);
    let value_bytes: usize = args.get(1).map_or(Ok(4096), |text| text.parse())?;
    let run = fill(profile, value_bytes)?;
    let pair_bytes = (KEY_BYTES + value_bytes) as f64;
    let busy = run.busy.with(Activity::Compaction).as_nanos() as f64;
    let merged = counter(&run, "compact_write_bytes")?;
    let model = busy / (merged / pair_bytes);
    println!("{profile}, {KEY_BYTES} + {value_bytes} bytes: {merged:.0} bytes merged, {model:.0} ns a pair");
    if let (Some(ns), Some(ghz)) = (args.get(2), args.get(3)) {
        let (ns, ghz): (f64, f64) = (ns.parse()?, ghz.parse()?);
        let scaled = ns * ghz / PROFILE_GHZ;
        println!("RocksDB: {ns:.0} ns at {ghz} GHz, {scaled:.0} at {PROFILE_GHZ}");
        println!("host.merge_cpu_percent = {:.0}", scaled / model * 100.0);
    }
    Ok(())
}

/// A fill whose tables are merged on cores of their own.
fn fill(profile: &str, value_bytes: usize) -> Result<RunResult, Box<dyn Error>> {
    let mut profile = Profile::builtin(profile)?;
    profile.set("host.background_cores", "4")?;
    profile.set("host.merge_cpu_percent", "100")?;
    let mut build = Build::block(&profile, 2 << 30, 1)?.with_engine(EngineKind::LSM);
    build.ask(&Settings::told(&[
        ("min_blob_size", UNLIMITED),
        ("write_buffer_size", 4 << 20),
        ("target_file_size_base", 4 << 20),
        ("max_bytes_for_level_base", 16 << 20),
    ]));
    let pairs = (FILL_BYTES / (KEY_BYTES + value_bytes)) as u64;
    let key = |n: u64| {
        let word = n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        [word, word].concat()
    };
    let operations = (0..pairs).map(|n| Op::Put(key(n), vec![n as u8; value_bytes])).collect();
    let job = Job { threads: 1, depth: 16, operations, flush: false, transfer: TransferOptions::default() };
    Ok(run_virtual(StoreKind::Host, &build, &[job])?.remove(0))
}

fn counter(run: &RunResult, name: &str) -> Result<f64, Box<dyn Error>> {
    let found = run.counters.iter().find(|(known, _)| *known == name);
    let names = || run.counters.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    Ok(found.ok_or_else(|| format!("no counter {name}: {}", names()))?.1 as f64)
}
