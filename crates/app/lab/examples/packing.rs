//! Packing policies on the real path: BandSlim's workloads (ICPP'24, section 4.1) through the client, the commands and the LSM
//! engine of a device in memory; NAND pages of the value log, and what a core copied into it.
//!
//! `cargo run --release -p saker-lab --example packing -- [STORES]`: 50,000 stores of each workload unless told otherwise.
//! Values of up to 35 bytes come in their command, others by PRPs.

use saker_realtime::{Kv, Packing};
use saker_workload::{Suite, SuiteOptions};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const SUITES: [Suite; 4] = [Suite::B, Suite::C, Suite::D, Suite::M];
/// One manifest or none: the value log alone is compared.
const DEVICE: &str = "mem:?engine=lsm&profile=cosmos-plus&size=8GiB&write_buffer_size=1GiB&packing=";

/// What a policy came to.
struct Packed {
    pages: u64,
    memcpy_bytes: u64,
    gap_bytes: u64,
    backfilled: u64,
}

fn run(suite: Suite, policy: &str, stores: u64) -> Outcome<Packed> {
    let mut kv = Kv::open(&format!("{DEVICE}{policy}"))?;
    let plan = suite.plan(&SuiteOptions { operations: stores, value_bytes: 0, key_bytes: None, seed: 1 })?;
    let keys = plan.key_space()?;
    let (mut key, value) = (vec![0; plan.key_bytes], vec![7; 1 << 20]);
    for operation in plan.operations()? {
        keys.fill(operation.key, &mut key);
        kv.put(&key, &value[..operation.size as usize])?;
    }
    let snapshot = kv.snapshot().ok_or("a device of this process has counters")?;
    let namespace = &snapshot.namespaces[0];
    let named = |name| namespace.counters.iter().find(|(n, _)| *n == name).map_or(0, |(_, n)| *n);
    Ok(Packed {
        pages: namespace.log.pages_programmed[0],
        memcpy_bytes: named("memcpy_bytes"),
        gap_bytes: named("gap_bytes"),
        backfilled: named("backfilled_values"),
    })
}

fn main() -> Outcome {
    let stores = std::env::args().nth(1).map_or(Ok(50_000), |n| n.parse())?;
    for suite in SUITES {
        for policy in ["none"].into_iter().chain(Packing::ALL.map(Packing::name)) {
            let packed = run(suite, policy, stores)?;
            println!(
                "W({}) {policy:<9} {:6} pages, {:7.1} B copied and {:6.1} B of gaps per store, {:5} backfilled",
                suite.name().to_uppercase(),
                packed.pages,
                packed.memcpy_bytes as f64 / stores as f64,
                packed.gap_bytes as f64 / stores as f64,
                packed.backfilled,
            );
        }
    }
    Ok(())
}
