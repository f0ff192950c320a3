// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HostKV over blocks whose map is in memory, or on flash with cached mapping tables (DFTL), beside the hash FTLs. No paper has it.

mod jobs;
mod judge;
mod row;

use super::tail::with_memory;
use super::timed::Case;
use super::ycsb::Run;
use crate::context::{Context, Outcome};
use crate::error::LabError;
use row::Row;
use saker_assembly::Build;
use saker_device::{NamespaceConfig, NamespaceKind};
use saker_engine::{EngineKind, Settings};
use saker_profile::Profile;
use saker_world::{Job, StoreKind};
use serde::Deserialize;

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    run: Run,
    /// Of so many entries a cached mapping table has one; the last one is to have all.
    tables: Vec<u64>,
    clients: usize,
    theta: f64,
}

/// Block and sector, 4 bytes each, and two links of the list of uses (docs/disk.md).
const ENTRY_BYTES: u64 = 16;

/// Runs plus-dftl.
///
/// # Errors
/// [`LabError`].
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let profile = plan.run.profile(cx)?;
    let original = plan.run.case(EngineKind::HASH_ORIGINAL, Settings::NONE, cx)?;
    let jobs = jobs::all(&plan, &original)?;
    let mut rows = Vec::new();
    for (store, entries, build) in over_blocks(&plan, &profile, &original) {
        cx.note(&store);
        rows.push(Row::of(&store, entries, StoreKind::Host, &build, &jobs)?);
    }
    let memory = rows.last().map_or(f64::NAN, Row::memory_bytes);
    for (store, kind) in [("original", EngineKind::HASH_ORIGINAL), ("plus", EngineKind::HASH_PLUS)] {
        let case = with_memory(cx, &plan.run, kind, memory)?;
        cx.note(store);
        rows.push(in_device(store, &profile, &case, &jobs)?);
    }
    let checks = judge::of(cx, &rows);
    Ok(Outcome { checks, series: rows.iter().flat_map(Row::points).collect() })
}

fn in_device(store: &str, profile: &Profile, case: &Case, jobs: &[Job]) -> Result<Row, LabError> {
    Row::of(store, 0, StoreKind::Disk, &case.build(profile), jobs)
}

/// The devices with blocks, all with as many of them, each with its name and the entries of its table.
fn over_blocks(plan: &Parameters, profile: &Profile, case: &Case) -> Vec<(String, u64, Build)> {
    let flash = case.build(profile);
    let (geometry, capacitor) = (flash.shape.geometry, flash.config.capacitor);
    let whole = NamespaceConfig::block(1, &geometry, geometry.segments, capacitor, case.size.page_bytes);
    let mut all = vec![("map in memory".to_owned(), 0, whole.clone())];
    all.extend(plan.tables.iter().map(|part| {
        let entries = blocks_of(&whole) / part;
        let name = if *part == 1 { "all entries".to_owned() } else { format!("1/{part} of entries") };
        (name, entries, whole.clone().with_map_cache(&geometry, capacitor, entries * ENTRY_BYTES))
    }));
    let fewest = all.iter().map(|(_, _, namespace)| blocks_of(namespace)).min().unwrap_or(0);
    let build = |mut namespace: NamespaceConfig| {
        if let NamespaceKind::Block { blocks, .. } = &mut namespace.kind {
            *blocks = fewest;
        }
        let mut build = Build::with(&flash.profile, flash.shape, vec![namespace], case.seed);
        build.compact = true;
        build
    };
    all.into_iter().map(|(name, entries, namespace)| (name, entries, build(namespace))).collect()
}

fn blocks_of(namespace: &NamespaceConfig) -> u64 {
    if let NamespaceKind::Block { blocks, .. } = namespace.kind { blocks } else { 0 }
}
