// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Workloads and comparisons in virtual time that older binaries have too.

use super::program::Program;
use super::record::Record;
use crate::Fault;

/// Benches: a name, and the arguments.
const BENCHES: [(&str, &[&str]); 22] = [
    ("fillseq", &["fillseq"]),
    ("fillrandom", &["fillrandom", "--value-size", "1KiB"]),
    ("overwrite", &["overwrite", "--threads", "4", "--qd", "8"]),
    ("readrandom", &["readrandom", "--threads", "2", "--qd", "4"]),
    ("readwrite", &["readwrite", "--threads", "4", "--qd", "2"]),
    ("readzipfian", &["readzipfian", "--value-size", "4KiB"]),
    ("bandslim-a", &["a", "--value-size", "64B", "--profile", "cosmos-plus", "--passthrough"]),
    ("bandslim-b", &["b", "--profile", "cosmos-plus"]),
    ("bandslim-c", &["c", "--profile", "cosmos-plus"]),
    ("bandslim-d", &["d", "--profile", "cosmos-plus", "--nand", "off"]),
    ("bandslim-m", &["m", "--profile", "cosmos-plus", "--qd", "8"]),
    ("transfer-piggyback", &["m", "--transfer", "piggyback"]),
    ("transfer-hybrid", &["m", "--transfer", "hybrid"]),
    ("transfer-inline", &["m", "--transfer", "inline", "--qd", "4"]),
    ("transfer-mmio", &["m", "--transfer", "mmio"]),
    ("transfer-sgl", &["m", "--transfer", "sgl"]),
    ("transfer-adaptive", &["m", "--transfer", "adaptive"]),
    ("ycsb-a", &["ycsb-a"]),
    ("ycsb-b", &["ycsb-b"]),
    ("ycsb-c", &["ycsb-c", "--threads", "2", "--qd", "4"]),
    ("ycsb-f", &["ycsb-f"]),
    ("twitter-52", &["twitter-52"]),
];

/// Operations of a bench.
const OPERATIONS: &str = "3000";
/// Operations of a comparison, for each system.
const COMPARED: &str = "1500";

/// Runs all of them with so many seeds.
///
/// # Errors
/// When the binary fails.
pub fn take(program: &Program, seeds: u64, record: &mut Record) -> Result<(), Fault> {
    for (name, args) in BENCHES {
        eprintln!("bench {name}");
        for seed in 1..=seeds {
            let mut all = vec!["bench", "--operations", OPERATIONS];
            all.extend(args);
            add(program, &format!("bench/{name}/seed{seed}"), &all, seed, record)?;
        }
    }
    for engine in program.engines() {
        eprintln!("compare {engine}");
        for seed in 1..=seeds {
            let name = format!("bench/compare/{engine}/seed{seed}");
            let args = ["compare", "--operations", COMPARED, "--store", engine, "--sizes", "100B,2KiB"];
            let more = ["--group", "16", "--threads", "2", "--qd", "8"];
            add(program, &name, &[&args[..], &more].concat(), seed, record)?;
        }
    }
    Ok(())
}

fn add(program: &Program, name: &str, args: &[&str], seed: u64, record: &mut Record) -> Result<(), Fault> {
    let seed = seed.to_string();
    let all = [args, &["--seed", &seed, "--json", "--quiet"]].concat();
    match program.document(&all)? {
        Some(document) => record.add(name, &document),
        None => _ = record.not_offered.insert(name.to_owned()),
    }
    Ok(())
}
