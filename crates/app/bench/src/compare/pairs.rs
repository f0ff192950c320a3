// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is stored and retrieved.

use super::{Input, Plan};
use saker_host::TransferOptions;
use saker_sim::Seed;
use saker_workload::records::RecordSet;
use saker_workload::{Distribution, WorkloadError};
use saker_world::{Job, Op};
use xxhash_rust::xxh3::xxh3_128;

/// Key and value.
pub(super) type Pair = (Vec<u8>, Vec<u8>);

/// The pairs by size of value.
pub(super) fn classes(plan: &Plan) -> Vec<(String, Vec<Pair>)> {
    match &plan.input {
        Input::Made { sizes, pairs } => {
            let class = |size: &usize| (format!("{size} B"), made(plan.seed, *size, *pairs));
            sizes.iter().map(class).collect()
        }
        Input::Records(records) => by_size(records),
    }
}

fn by_size(records: &RecordSet) -> Vec<(String, Vec<Pair>)> {
    let mut classes: Vec<_> = records
        .size_classes()
        .iter()
        .map(|c| ((c.bytes_min, c.bytes_max), format!("{} to {} B", c.bytes_min, c.bytes_max), Vec::new()))
        .collect();
    for record in records.iter() {
        let n = record.value.len();
        let class = classes.iter_mut().find(|((min, max), ..)| (*min..=*max).contains(&n));
        if let Some((.., pairs)) = class {
            pairs.push((native_key(record.key), record.value.to_vec()));
        }
    }
    classes.into_iter().map(|(_, name, pairs)| (name, pairs)).collect()
}

/// Both systems index keys of up to 16 bytes; longer ones are compared by their digest.
fn native_key(key: &[u8]) -> Vec<u8> {
    if key.len() <= 16 { key.to_vec() } else { xxh3_128(key).to_le_bytes().to_vec() }
}

fn made(seed: u64, size: usize, pairs: usize) -> Vec<Pair> {
    let mut rng = Seed(seed).child("compare").index(size as u64).rng();
    let mut pair = || {
        let (mut key, mut value) = (vec![0; 16], vec![0; size]);
        rng.fill(&mut key);
        rng.fill(&mut value);
        (key, value)
    };
    (0..pairs).map(|_| pair()).collect()
}

/// Putting all pairs, and getting them.
pub(super) fn jobs(plan: &Plan, pairs: &[Pair]) -> Result<Vec<Job>, WorkloadError> {
    let puts = pairs.iter().map(|(k, v)| Op::Put(k.clone(), v.clone())).collect();
    let gets = order(plan, pairs.len())?.into_iter().map(|n| Op::Get(pairs[n].0.clone())).collect();
    let job = |operations, flush| Job {
        threads: plan.threads,
        depth: plan.depth,
        operations,
        flush,
        transfer: TransferOptions::default(),
    };
    Ok(vec![job(puts, true), job(gets, false)])
}

/// Which pairs are got: each once, or as a zipfian distribution picks them.
fn order(plan: &Plan, pairs: usize) -> Result<Vec<usize>, WorkloadError> {
    let mut rng = Seed(plan.seed).child("order").rng();
    if let Some(alpha) = plan.skew {
        let mut picker = Distribution::Skewed { alpha }.picker(plan.seed, pairs as u64)?;
        return Ok((0..pairs).map(|_| picker.pick(&mut rng) as usize).collect());
    }
    let mut order: Vec<usize> = (0..pairs).collect();
    for n in (1..order.len()).rev() {
        order.swap(n, rng.below(n as u64 + 1) as usize);
    }
    Ok(order)
}
