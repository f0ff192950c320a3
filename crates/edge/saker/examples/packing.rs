// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packing policies on the real path: BandSlim's workloads (ICPP'24, section 4.1), and 2-KiB values among small ones, through the
//! client, the commands and the LSM engine of a device in memory; NAND pages of the value log, what a core copied into it,
//! gaps, and the times of both by the profile's prices, all but pages for each store. Programs take the time that is told if all
//! dies work; as long as they keep up, as they do without timing, nobody waits for them, and `auto-time` saves copies alone.
//!
//! `cargo run --release -p saker --example packing -- [STORES]`: 50,000 stores of each workload unless told otherwise.
//! Values of up to 35 bytes come in their command, others by PRPs. All but the time are counts: they are the same on any machine.

use saker::{Kv, Packing, WriteBatch};
use saker_profile::Profile;
use saker_sim::Seed;
use saker_workload::{Suite, SuiteOptions};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const SUITES: [Suite; 4] = [Suite::B, Suite::C, Suite::D, Suite::M];
const PROFILE: &str = "cosmos-plus";
/// One manifest or none: the value log alone is compared.
const OPTIONS: &str = "size=8GiB&write_buffer_size=1GiB";
/// Of so many values one is large, on average.
const RARE: u64 = 100;

/// What a policy came to.
struct Packed {
    pages: u64,
    memcpy_bytes: u64,
    gap_bytes: u64,
}

impl Packed {
    /// Nanoseconds of copies, and of programs with all dies at work.
    fn ns(&self, profile: &Profile) -> [f64; 2] {
        let page_bytes = profile.geometry.page_bytes.value;
        let programmed = self.pages * u64::from(profile.copied_while_programmed(page_bytes));
        [self.memcpy_bytes, programmed]
            .map(|n| n as f64 * profile.firmware.cpu.copy_byte_ps.value as f64 / 1000.0)
    }
}

/// Sizes of a workload's values.
fn sizes(suite: Suite, stores: u64) -> Outcome<Vec<u32>> {
    let plan = suite.plan(&SuiteOptions { operations: stores, value_bytes: 0, key_bytes: None, seed: 1 })?;
    Ok(plan.operations()?.map(|operation| operation.size).collect())
}

/// Large values come at any time: at equal distances their gaps would all be alike.
fn rare(stores: u64) -> Vec<u32> {
    let mut rng = Seed(1).child("rare").rng();
    (0..stores).map(|n| if rng.below(RARE) == 0 { 2048 } else { 8 << (n % 3) }).collect()
}

fn run(sizes: &[u32], policy: &str) -> Outcome<Packed> {
    let mut kv = Kv::open(&format!("mem:?engine=lsm&profile={PROFILE}&{OPTIONS}&packing={policy}"))?;
    let value = vec![7; 1 << 20];
    for (n, bytes) in (0_u64..).zip(sizes) {
        kv.put(&n.to_be_bytes(), &value[..*bytes as usize])?;
    }
    // Pages that wait for their gaps to be filled would not count otherwise: a group gives the gaps up.
    let mut last = WriteBatch::new();
    last.put(b"last", b"").put(b"of all", b"");
    kv.write(&last)?;
    let snapshot = kv.stats().ok_or("a device of this process has counters")?;
    let namespace = &snapshot.namespaces[0];
    let named = |name| namespace.counters.iter().find(|(n, _)| *n == name).map_or(0, |(_, n)| *n);
    Ok(Packed {
        pages: namespace.log.pages_programmed[0],
        memcpy_bytes: named("memcpy_bytes"),
        gap_bytes: named("gap_bytes"),
    })
}

fn main() -> Outcome {
    let stores = std::env::args().nth(1).map_or(Ok(50_000), |n| n.parse())?;
    let profile = Profile::builtin(PROFILE)?;
    let mut workloads = vec![("rare".to_owned(), rare(stores))];
    for suite in SUITES {
        workloads.push((suite.name().to_uppercase(), sizes(suite, stores)?));
    }
    println!("| workload | policy | pages | copied, B | gaps, B | copies, ns | programs, ns |");
    println!("|---|---|--:|--:|--:|--:|--:|");
    for (name, sizes) in &workloads {
        for policy in ["none"].into_iter().chain(Packing::ALL.map(Packing::name)) {
            let packed = run(sizes, policy)?;
            let each = |n: u64| n as f64 / stores as f64;
            let [copies, programs] = packed.ns(&profile).map(|ns| ns / stores as f64);
            println!(
                "| {name} | {policy} | {} | {:.1} | {:.1} | {copies:.0} | {programs:.0} |",
                packed.pages,
                each(packed.memcpy_bytes),
                each(packed.gap_bytes),
            );
        }
    }
    Ok(())
}
