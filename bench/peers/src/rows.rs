// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rows of the table: what is opened, and what an acknowledged write survives there.

#[cfg(feature = "others")]
use crate::fjall_store::Fjall;
#[cfg(feature = "others")]
use crate::lmdb::Lmdb;
use crate::ours::Ours;
use crate::peer::{Outcome, Peer};
#[cfg(feature = "others")]
use crate::redb_store::Redb;
use crate::tables::{Ahead, Copies, Hash};
use crate::work::Shape;
use std::path::Path;

/// A row.
#[derive(Clone, Copy)]
pub struct Row {
    /// Its name in the table.
    pub name: &'static str,
    /// What an acknowledged write survives.
    pub survives: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Options of a URL.
    Ours(&'static str),
    #[cfg(feature = "others")]
    Lmdb,
    #[cfg(feature = "others")]
    Redb,
    #[cfg(feature = "others")]
    Fjall,
    #[cfg(feature = "rocksdb")]
    Rocks,
    Hash,
    Ahead,
    Copies,
}

const fn row(name: &'static str, survives: &'static str, kind: Kind) -> Row {
    Row { name, survives, kind }
}

/// What ours promise in memory: the power-safe buffer and the cells are there as long as the process is.
const OURS: &str = "power cuts of the modelled device";
#[cfg(any(feature = "others", feature = "rocksdb"))]
const PROCESS: &str = "the death of the process";

/// All rows, ours first.
pub const ALL: &[Row] = &[
    row("hash_store", OURS, Kind::Ours("engine=hash_store")),
    row("lsm", OURS, Kind::Ours("engine=lsm")),
    row("lsm, values inside", OURS, Kind::Ours("engine=lsm&min_blob_size=2048")),
    row("tree", OURS, Kind::Ours("engine=tree")),
    row("tree, nodes cached", OURS, Kind::Ours("engine=tree&cache_bytes=64MiB")),
    #[cfg(feature = "others")]
    row("LMDB", PROCESS, Kind::Lmdb),
    #[cfg(feature = "others")]
    row("redb", "nothing until a durable commit", Kind::Redb),
    #[cfg(feature = "others")]
    row("fjall", PROCESS, Kind::Fjall),
    #[cfg(feature = "rocksdb")]
    row("RocksDB", PROCESS, Kind::Rocks),
    row("hash table", "nothing", Kind::Hash),
    row("hash table, asked ahead", "nothing", Kind::Ahead),
    row("memcpy", "nothing", Kind::Copies),
];

/// Bytes of memory that every other store may have for its cache.
#[cfg(any(feature = "others", feature = "rocksdb"))]
const CACHE_BYTES: u64 = 64 << 20;

impl Row {
    /// Opens it, in a folder of its own if it has files.
    pub fn open(self, shape: Shape, folder: &Path) -> Outcome<Box<dyn Peer>> {
        let _ = folder;
        let bytes = shape.pairs * (shape.value_bytes as u64 + 100);
        Ok(match self.kind {
            Kind::Ours(options) => {
                let flash = (4 * bytes).max(512 << 20);
                let prefault = shape.pairs;
                Box::new(Ours::open(&format!("mem:?size={flash}B&prefault={prefault}&{options}"))?)
            }
            #[cfg(feature = "others")]
            Kind::Lmdb => Box::new(Lmdb::open(folder, (8 * bytes).max(1 << 30) as usize)?),
            #[cfg(feature = "others")]
            Kind::Redb => Box::new(Redb::open(folder, CACHE_BYTES as usize)?),
            #[cfg(feature = "others")]
            Kind::Fjall => Box::new(Fjall::open(folder, CACHE_BYTES)?),
            #[cfg(feature = "rocksdb")]
            Kind::Rocks => Box::new(crate::rocks::Rocks::open(folder, CACHE_BYTES as usize)?),
            Kind::Hash | Kind::Ahead | Kind::Copies => bare(self.kind, shape)?,
        })
    }
}

/// Bare tables have values of one of these lengths.
fn bare(kind: Kind, shape: Shape) -> Outcome<Box<dyn Peer>> {
    match shape.value_bytes {
        16 => Ok(bare_of::<16>(kind, shape)),
        100 => Ok(bare_of::<100>(kind, shape)),
        1024 => Ok(bare_of::<1024>(kind, shape)),
        bytes => Err(format!("values have 16, 100 or 1024 bytes, not {bytes}").into()),
    }
}

fn bare_of<const N: usize>(kind: Kind, shape: Shape) -> Box<dyn Peer> {
    let pairs = shape.pairs as usize;
    match kind {
        Kind::Hash => Box::new(Hash::<N>::new(pairs)),
        Kind::Ahead => Box::new(Ahead::<N>::new(pairs)),
        _ => Box::new(Copies::new((pairs * (N + 16)).max(N + 16))),
    }
}
