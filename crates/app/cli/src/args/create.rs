// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker create`.

use std::path::PathBuf;

use clap::Args;
use saker::EngineKind;

use super::namespaces::{self, NamespaceChoice};
use crate::size;

const EXAMPLES: &str = "\
Sizes are whole numbers with B, KiB, MiB, GiB, TiB (1024) or kB, MB, GB, TB (1000). The file is sparse: it takes room \
as it is written.

Without --namespace there is one namespace of key-value pairs over all of the flash. With it, namespaces are numbered \
from 1 in their order:
  kv:SIZE                 pairs; SIZE is its share of the flash, of which spare room and checkpoints take some
  block:SIZE,BLOCK_BYTES  logical blocks; SIZE is what its blocks hold, exactly; BLOCK_BYTES is 4096 if left out
  block:SIZE,BLOCK_BYTES,MAP_CACHE
                          the same with their map on flash (DFTL) and a cached mapping table of MAP_CACHE in memory
One of them may have no size (kv, block or block:,512): it gets what the others leave. Without --size the image is as \
large as its namespaces need.

Examples:
  saker create disk.img --size 1GiB
  saker create disk.img --size 100GB --profile saker-mid --engine hash_store
  saker create disk.img --size 1GiB --namespace kv:512MiB --namespace block:256MiB,4096
  saker create disk.img --size 1GiB --namespace block:,4096,64KiB
  saker create disk.img --size 1GiB --engine lsm --packing backfill
  saker create disk.img --size 2GiB --hybrid; saker put --device 'file:disk.img?hybrid' key value
  saker put --device 'file:disk.img?nsid=1' key value
  saker block read --device 'file:disk.img?nsid=2' 0 1";

/// The engines and what an image keeps of their settings.
fn engines() -> String {
    let line = |engine: EngineKind| {
        let kept = engine.settings().iter().filter(|setting| setting.place().is_some());
        let names: Vec<_> = kept.map(|setting| setting.name).collect();
        let settings = if names.is_empty() { String::new() } else { format!("; --set {}", names.join(", ")) };
        format!("  {:15} {}{settings}", engine.name(), engine.registration().summary)
    };
    let lines: Vec<_> = EngineKind::all().map(line).collect();
    format!("Engines:\n{}", lines.join("\n"))
}

/// Arguments of `saker create`.
#[derive(Args, Clone, Debug)]
#[command(after_help = format!("{EXAMPLES}\n\n{}", engines()))]
pub struct CreateArgs {
    /// The image file to make
    pub image: PathBuf,
    /// Bytes of flash, rounded down to whole superblocks
    #[arg(long, value_name = "SIZE", value_parser = size::parse, required_unless_present = "namespaces")]
    pub size: Option<u64>,
    /// A namespace: kv:SIZE or block:SIZE,BLOCK_BYTES; may be given several times
    #[arg(long = "namespace", value_name = "KIND:SIZE", value_parser = namespaces::parse)]
    pub namespaces: Vec<NamespaceChoice>,
    /// The timing profile: a name of `saker profile list`, or a file (with a / or .toml in its name)
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub profile: String,
    /// What keeps the pairs; `saker create --help` lists the engines and their settings below
    #[arg(long, value_name = "NAME", default_value = "hash_store")]
    pub engine: String,
    /// A setting of the engine that the image keeps, such as packing=backfill; may be given several times
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<(String, String)>,
    /// Short for --set packing=POLICY
    #[arg(long, value_name = "POLICY")]
    pub packing: Option<String>,
    /// The seed of serial number and key order [default: a serial number of its own, key order of seed 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Both namespaces of a store over blocks and pairs (?hybrid), which has two fifths of the flash for pairs. `--set
    /// min_blob_size=BYTES` is for its main tree
    #[arg(long, conflicts_with_all = ["namespaces", "engine", "packing"], requires = "size")]
    pub hybrid: bool,
    /// Replace a file of that name
    #[arg(long)]
    pub force: bool,
}

impl CreateArgs {
    /// The seed of key order.
    pub fn key_seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }
}

/// A setting as it is typed.
fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
