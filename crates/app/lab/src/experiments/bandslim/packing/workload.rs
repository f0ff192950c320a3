// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Value sizes, and how they arrive.

use crate::error::LabError;
use saker_flash::packing::Arrival;
use saker_sim::Seed;
use saker_workload::suite::{MIXGRAPH, MIXGRAPH_BYTES_MAX};
use saker_workload::{Suite, SuiteOptions};

/// Sizes of a workload. M's are exact too: one from each equal part of mixgraph's distribution, shuffled by the seed.
///
/// # Errors
/// [`LabError`].
pub fn sizes(suite: Suite, operations: u64, value_bytes: u32, seed: u64) -> Result<Vec<u32>, LabError> {
    if suite == Suite::M {
        return Ok(mixgraph(operations, seed));
    }
    let plan = suite.plan(&SuiteOptions { operations, value_bytes, key_bytes: None, seed })?;
    Ok(plan.operations()?.map(|o| o.size).collect())
}

/// Small values of 8, 16 and 32 B alike, and so many of a million large ones, in an order shuffled by the seed.
pub fn rare(operations: u64, large_per_million: u64, large_bytes: u32, seed: u64) -> Vec<u32> {
    let large = operations * large_per_million / 1_000_000;
    let mut sizes: Vec<u32> = (0..operations)
        .map(|n| if n < large { large_bytes } else { [8, 16, 32][(n % 3) as usize] })
        .collect();
    shuffle(&mut sizes, Seed(seed).child("rare"));
    sizes
}

fn mixgraph(operations: u64, seed: u64) -> Vec<u32> {
    let (k, sigma) = MIXGRAPH;
    let size = |n: u64| {
        let above = 1.0 - (n as f64 + 0.5) / operations as f64;
        let size = sigma * (above.powf(-k) - 1.0) / k;
        (size.ceil() as u32).clamp(1, MIXGRAPH_BYTES_MAX)
    };
    let mut sizes: Vec<u32> = (0..operations).map(size).collect();
    shuffle(&mut sizes, Seed(seed).child("mixgraph"));
    sizes
}

fn shuffle(sizes: &mut [u32], seed: Seed) {
    let mut rng = seed.rng();
    for n in (1..sizes.len()).rev() {
        sizes.swap(n, rng.below(n as u64 + 1) as usize);
    }
}

/// Adaptive transfer: below the threshold in commands, else by DMA.
pub fn adaptive(sizes: &[u32], threshold: u32) -> Vec<Arrival> {
    let arrive =
        |bytes: &u32| if *bytes < threshold { Arrival::Piggybacked(*bytes) } else { Arrival::Dma(*bytes) };
    sizes.iter().map(arrive).collect()
}
