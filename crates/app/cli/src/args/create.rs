//! Arguments of `saker create`.

use std::path::PathBuf;

use clap::Args;

use super::namespaces::{self, NamespaceChoice};
use crate::size;

/// Arguments of `saker create`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Sizes are whole numbers with B, KiB, MiB, GiB, TiB (1024) or kB, MB, GB, TB (1000). The file is sparse: it takes room \
as it is written.

Without --namespace there is one namespace of key-value pairs over all of the flash. With it, namespaces are numbered \
from 1 in their order:
  kv:SIZE                 pairs; SIZE is its share of the flash, of which spare room and checkpoints take some
  block:SIZE,BLOCK_BYTES  logical blocks; SIZE is what its blocks hold, exactly; BLOCK_BYTES is 4096 if left out
One of them may have no size (kv, block or block:,512): it gets what the others leave. Without --size the image is as \
large as its namespaces need.

Examples:
  saker create disk.img --size 1GiB
  saker create disk.img --size 100GB --profile saker-mid --engine hash_store
  saker create disk.img --size 1GiB --namespace kv:512MiB --namespace block:256MiB,4096
  saker create disk.img --size 1GiB --engine lsm --packing backfill
  saker put --device 'file:disk.img?nsid=1' key value
  saker block read --device 'file:disk.img?nsid=2' 0 1")]
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
    /// What keeps the pairs: hash_store (an index of all keys in memory), hash_original or hash_plus (a hash table on flash),
    /// hash_doubling (hash_original with a table that doubles), lsm (a log-structured merge tree) or tree (a B+tree that is never written in place)
    #[arg(long, value_name = "NAME", default_value = "hash_store")]
    pub engine: String,
    /// Where the lsm engine puts values in its value log: none (packed; DMA reaches any byte), block, all, selective, backfill,
    /// auto (saves pages) or auto-time (saves time). The image remembers it, and what a device URL asks for
    #[arg(long, value_name = "POLICY", default_value = "none")]
    pub packing: String,
    /// The seed of serial number and key order [default: a serial number of its own, key order of seed 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
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
