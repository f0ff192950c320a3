//! What the long commands find, as data: the commands render it for people or as JSON.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

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
}

/// The blocks of a namespace.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Blocks {
    /// Bytes of a block.
    pub block_bytes: u32,
    /// How many.
    pub blocks: u64,
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
    /// One for each timing.
    pub runs: Vec<TimedRun>,
}

/// The systems side by side in one timing.
#[derive(Clone, Debug, Serialize)]
pub struct TimedRun {
    /// `off`, `real` or `virtual`.
    pub timing: String,
    /// The values it is about, such as `9 to 16 B`.
    pub values: String,
    /// In `real`: the device's events.
    pub events: Option<u64>,
    /// In `real`: events that were handled more than 5 us late.
    pub late_events: Option<u64>,
    /// Why the numbers do not count, if they do not: such as events later than the limit in `real`.
    pub invalid: Option<String>,
    /// HostKV, DiskKV, DiskKV+Saker.
    pub systems: Vec<System>,
}

/// One system's numbers.
#[derive(Clone, Debug, Serialize)]
pub struct System {
    /// Its name.
    pub name: String,
    /// Its numbers. Systems of one run should have the same ones in the same order.
    pub metrics: Vec<Metric>,
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

/// An experiment that has been run.
#[derive(Clone, Debug, Serialize)]
pub struct Experiment {
    /// What it was asked for by.
    pub id: String,
    /// The seed it ran with.
    pub seed: u64,
    /// How much smaller than published it ran.
    pub scale: u32,
    /// The timing profile.
    pub profile: String,
    /// The curves, in the experiment's own shape.
    pub series: Value,
    /// The claims.
    pub checks: Vec<Check>,
}

/// One claim, and whether it holds here.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// `AC-...`
    pub id: String,
    /// The claim.
    pub claim: String,
    /// Where it is made.
    pub source: String,
    /// How far from it still counts.
    pub tolerance: String,
    /// What is claimed.
    pub expected: Value,
    /// What was measured.
    pub measured: Value,
    /// Whether it holds.
    pub verdict: Verdict,
    /// What the agreement is worth.
    pub evidence: Evidence,
    /// What else is to be known, such as the cause of a miss.
    pub note: String,
}

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It holds.
    Pass,
    /// It does not.
    Fail,
    /// It contradicts the arithmetic of its own publication.
    CannotFollow,
}

impl Verdict {
    /// The word in the report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::CannotFollow => "cannot_follow",
        }
    }
}

/// What an agreement is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The mechanism was run and shows it.
    Reproduced,
    /// A parameter was chosen so that it does.
    Fitted,
    /// It follows from sizes and counts.
    Arithmetic,
}
