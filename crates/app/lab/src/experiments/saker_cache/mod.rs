// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The read cache at the host (SAKER, SYSTOR'25, Figs. 5 and 6): zipfian reads, and TPC-C.

mod misses;
pub mod read;
mod time;
pub mod tpcc;

use crate::context::Context;
use crate::error::LabError;
use crate::rig;
use saker_assembly::Build;
use saker_host::{CacheOptions, CachePolicy};
use saker_profile::Profile;
use saker_world::{Job, RunResult, StoreKind, run_virtual};

/// Writes of a container (section 4).
const BATCH: u16 = 64;

/// The paper's cache: LRU, scaled with everything else.
fn cache(cx: &Context<'_>, published_mib: usize, value_bytes_max: usize) -> CacheOptions {
    let bytes = (published_mib << 20) / cx.scale as usize;
    CacheOptions { bytes, policy: CachePolicy::Lru, value_bytes_max }
}

/// The LSM store at the host.
fn on_host(block: Build, jobs: &[Job]) -> Result<Vec<RunResult>, LabError> {
    run_virtual(StoreKind::Host, &block, jobs)?
        .into_iter()
        .map(|result| rig::complete(result, "HostKV"))
        .collect()
}

/// The LSM store in a device with so many I/O threads, behind sessions.
fn on_disk(kv: Build, jobs: &[Job]) -> Result<Vec<RunResult>, LabError> {
    run_virtual(StoreKind::Sessions { batch: BATCH }, &kv, jobs)?
        .into_iter()
        .map(|result| rig::complete(result, "DiskKV"))
        .collect()
}

/// A profile with so many I/O threads in the device.
fn with_cores(mut profile: Profile, io_cores: usize) -> Result<Profile, LabError> {
    profile.set("firmware.io_cores", &io_cores.to_string())?;
    Ok(profile)
}
