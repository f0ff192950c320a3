// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the long commands find, as data: the commands render it for people or as JSON.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

/// What `saker create` made.
#[derive(Clone, Debug, Serialize)]
pub struct CreateReport {
    /// The image file.
    pub image: PathBuf,
    /// Bytes of flash.
    pub flash_bytes: u64,
    /// Its timing profile.
    pub profile: String,
    /// The engine of its key-value namespaces.
    pub engine: String,
    /// Its namespaces.
    pub namespaces: Vec<CreatedNamespace>,
}

/// A namespace of an image that was made.
#[derive(Clone, Debug, Serialize)]
pub struct CreatedNamespace {
    /// Its number.
    pub nsid: u32,
    /// `kv` or `block`.
    pub kind: &'static str,
    /// Its share of the flash.
    pub flash_bytes: u64,
    /// Its blocks, if it has any.
    #[serde(flatten)]
    pub blocks: Option<Blocks>,
    /// What it holds, if it keeps pairs.
    #[serde(flatten)]
    pub holds: Option<Holds>,
}

/// What a namespace of pairs holds, empty as it is.
#[derive(Clone, Debug, Serialize)]
pub struct Holds {
    /// Bytes of records.
    pub capacity_bytes: u64,
    /// Pairs with keys of 16 bytes, if all have values of that many bytes.
    pub fits: BTreeMap<String, u64>,
}

/// The blocks of a namespace.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Blocks {
    /// Bytes of a block.
    pub block_bytes: u32,
    /// How many.
    pub blocks: u64,
    /// Memory of the cached mapping table, if the map lies on flash.
    #[serde(skip_serializing_if = "is_zero")]
    pub map_cache_bytes: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// What `saker check` found.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// The image file.
    pub image: PathBuf,
    /// Live records read and verified.
    pub records: u64,
    /// Bytes read and verified.
    pub bytes: u64,
    /// Unfinished writes at the open tail, which a power cut leaves and recovery drops.
    pub torn: u64,
    /// What recovery would make of each namespace; empty when there is damage.
    pub namespaces: Vec<CheckedNamespace>,
    /// Damage. Empty for a sound image.
    pub damage: Vec<Finding>,
    /// What the next writer puts right by itself; an image with nothing worse is sound.
    pub repairable: Vec<Finding>,
    /// Of a damaged image: what is lost, by key where that can be known, and what is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses: Option<LossReport>,
    /// Of a damaged image: the commands that save what is sound.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<String>,
}

/// What came of saving what can be saved of a damaged image.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LossReport {
    /// Places that were put right without loss.
    pub mended: Vec<String>,
    /// What is sound and what is lost of each namespace.
    pub namespaces: Vec<NamespaceLoss>,
}

/// What is sound and what is lost of a namespace.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NamespaceLoss {
    /// Its number.
    pub nsid: u32,
    /// `kv` or `block`.
    pub kind: &'static str,
    /// Pairs that are sound; of blocks, those that are not all zero.
    pub sound: u64,
    /// What is lost.
    pub lost: Vec<LostPiece>,
    /// What was lost of which nobody knows what it said. Then what is found may be older than that, and is not given out.
    pub unknown: Vec<String>,
}

/// One thing that is lost.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum LostPiece {
    /// A pair.
    Pair {
        /// Its key, as the commands take it.
        key: String,
    },
    /// The pairs of the long keys that are kept under one key of the device.
    LongKeys {
        /// That key, `hex:`.
        device_key: String,
    },
    /// A logical block.
    Block {
        /// Its number.
        block: u64,
    },
    /// The rest of the list of keys.
    List {
        /// The key behind which it cannot be read.
        behind: Option<String>,
    },
}

impl LossReport {
    /// Whether something is lost, or may be.
    pub fn is_lossy(&self) -> bool {
        self.namespaces.iter().any(|n| !n.lost.is_empty() || !n.unknown.is_empty())
    }

    /// One line for each thing that is lost.
    pub fn lines(&self) -> Vec<String> {
        self.namespaces.iter().flat_map(NamespaceLoss::lines).collect()
    }
}

impl NamespaceLoss {
    fn lines(&self) -> Vec<String> {
        let place = format!("lost: namespace {}: ", self.nsid);
        let lost = self.lost.iter().map(|piece| match piece {
            LostPiece::Pair { key } => format!("{place}the pair of key {key}"),
            LostPiece::LongKeys { device_key } => {
                format!("{place}the pairs of the long keys under device key {device_key}")
            }
            LostPiece::Block { block } => format!("{place}block {block}"),
            LostPiece::List { behind: None } => format!("{place}the list of keys cannot be read"),
            LostPiece::List { behind: Some(key) } => format!("{place}keys behind {key} cannot be listed"),
        });
        let what = "what it held is not known, so what is found may be older than that and is not given out";
        let unknown = self.unknown.iter().map(|unknown| format!("{place}{unknown}: {what}"));
        lost.chain(unknown).collect()
    }
}

/// A namespace of a sound image.
#[derive(Clone, Debug, Serialize)]
pub struct CheckedNamespace {
    /// Its number.
    pub nsid: u32,
    /// `kv` or `block`.
    pub kind: &'static str,
    /// Live pairs; 0 for blocks.
    pub records: u64,
    /// Bytes of records, or of blocks, that live.
    pub live_bytes: u64,
}

/// One place of damage in an image.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Where: superblock, page, record.
    pub place: String,
    /// What is wrong there.
    pub what: String,
}

/// What `saker compare` measured.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The seed of the workload.
    #[serde(skip)]
    pub seed: u64,
    /// The timing profile.
    pub profile: String,
    /// The workload in one line.
    pub workload: String,
    /// Puts of the run that has fewest.
    #[serde(skip)]
    pub operations: u64,
    /// One for each timing.
    pub runs: Vec<TimedRun>,
}

impl Comparison {
    /// Whether it is about more than one number of threads, or of operations in flight.
    pub fn is_grid(&self) -> bool {
        self.runs.windows(2).any(|w| (w[0].threads, w[0].qd) != (w[1].threads, w[1].qd))
    }

    /// Whether an operation of any system failed, so that the numbers beside it are not what they say.
    pub fn has_errors(&self) -> bool {
        let metrics = self.runs.iter().flat_map(|run| &run.systems).flat_map(|system| &system.metrics);
        metrics.into_iter().any(|metric| metric.name.ends_with("_errors") && metric.value > 0.0)
    }

    /// The stores, in their order.
    pub fn stores(&self) -> Vec<&str> {
        let mut stores: Vec<&str> = Vec::new();
        for run in &self.runs {
            if !stores.contains(&run.store.as_str()) {
                stores.push(&run.store);
            }
        }
        stores
    }

    /// The values of a run; in a grid with its place.
    pub fn label(&self, run: &TimedRun) -> String {
        let TimedRun { values, threads, qd, .. } = run;
        if self.is_grid() { format!("{values}, threads {threads}, QD {qd}") } else { values.clone() }
    }
}

/// The systems side by side in one timing.
#[derive(Clone, Debug, Serialize)]
pub struct TimedRun {
    /// `off`, `real` or `virtual`.
    pub timing: String,
    /// What keeps the pairs, such as `hash_store`.
    pub store: String,
    /// The values it is about, such as `9 to 16 B`.
    pub values: String,
    /// Application threads.
    pub threads: u32,
    /// Operations in flight for each thread.
    pub qd: u32,
    /// In `real`: the device's events.
    pub events: Option<u64>,
    /// In `real`: events that were handled more than 5 us late.
    pub late_events: Option<u64>,
    /// Why the numbers do not count, if they do not: such as events later than the limit in `real`.
    pub invalid: Option<String>,
    /// HostKV, DiskKV, DiskKV with groups, DiskKV+SAKER.
    pub systems: Vec<System>,
}

/// One system's numbers.
#[derive(Clone, Debug, Serialize)]
pub struct System {
    /// Its name.
    pub name: String,
    /// What keeps its pairs: another than asked for where a host has no flash to manage.
    pub store: String,
    /// Operations of its group commands, if it sends groups.
    pub group: Option<u16>,
    /// Its numbers. Systems of one run should have the same ones in the same order.
    pub metrics: Vec<Metric>,
    /// In virtual time: what cores of host and device were busy with while it stored, and while it retrieved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<ByPhase>,
    /// When its engine stopped or delayed writes, if it did, at the host as in the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalls: Option<ByPhase>,
}

/// Something of each phase that has it.
#[derive(Clone, Debug, Serialize)]
pub struct ByPhase {
    /// Storing.
    pub put: Option<serde_json::Value>,
    /// Retrieving.
    pub get: Option<serde_json::Value>,
}

/// One number.
#[derive(Clone, Debug, Serialize)]
pub struct Metric {
    /// What it counts, ending in its unit: `put_latency_ns_p99`.
    pub name: String,
    /// The number.
    pub value: f64,
}

/// An experiment that can be run.
#[derive(Clone, Debug, Serialize)]
pub struct Listed {
    /// What it is asked for by.
    pub id: String,
    /// What it shows, in one line.
    pub title: String,
    /// Where it was published.
    pub source: String,
}

/// What a calibration of the transfer methods measured.
#[derive(Clone, Debug, Serialize)]
pub struct Calibrated {
    /// Values of fewer bytes go in commands (BandSlim, ICPP'24, section 3.2); 0: never.
    pub threshold1: u32,
    /// Values with a page whose rest has fewer bytes go hybrid; 0: never.
    pub threshold2: u32,
    /// By size of value, ascending.
    pub sizes: Vec<CalibratedSize>,
}

/// Response times of stores of one size.
#[derive(Clone, Debug, Serialize)]
pub struct CalibratedSize {
    /// Size of the value in bytes.
    pub bytes: u32,
    /// The quickest method.
    pub quickest: &'static str,
    /// Nanoseconds by method; none where it does not carry the value.
    pub ns: BTreeMap<&'static str, Option<u64>>,
}

/// What is served where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Serving {
    /// Addresses hosts connect to.
    pub addresses: Vec<String>,
    /// Subsystems.
    pub subsystems: Vec<String>,
    /// Addresses Redis clients connect to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redis: Vec<String>,
    /// Sockets of PCIe functions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub vfio_user: Vec<String>,
    /// Where metrics are told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<String>,
}
