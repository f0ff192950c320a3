// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RocksDB, with its defaults but for what the comparison fixes; all of it is in [`Store::options`].

use crate::clock::given_to_writes;
pub use crate::store::Fault;
use crate::store::{Bytes, Durability, Store};
use rocksdb::{BlockBasedOptions, Cache, DB, DBCompressionType, Options, ReadOptions, WriteOptions};
use std::path::Path;

/// An open database.
pub struct Rocks {
    db: DB,
    write: WriteOptions,
    options: String,
    /// What the process had given to write calls when it was opened.
    given_before: u64,
    dir: tempfile::TempDir,
}

/// As RocksDB's tuning guide has it for point reads.
const BLOOM_BITS: f64 = 10.0;

impl Rocks {
    pub fn open(dir: &Path, durability: Durability, cache_bytes: u64) -> Result<Self, Fault> {
        let dir = tempfile::tempdir_in(dir)?;
        let mut write = WriteOptions::default();
        let wal = durability != Durability::NoWal;
        write.disable_wal(!wal);
        let db = DB::open(&options(cache_bytes), dir.path())?;
        let given_before = given_to_writes();
        Ok(Self { db, write, options: told(wal, cache_bytes), given_before, dir })
    }
}

/// How a database is opened.
pub fn options(cache_bytes: u64) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_bloom_filter(BLOOM_BITS, false);
    table.set_block_cache(&Cache::new_lru_cache(cache_bytes as usize));
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&table);
    // Values are noise: compressing them would only cost.
    options.set_compression_type(DBCompressionType::None);
    options
}

/// The same in words.
pub fn told(wal: bool, cache_bytes: u64) -> String {
    format!(
        "RocksDB {} WAL {}, unsynced; Bloom {BLOOM_BITS} bits; block cache {} MiB (LRU); no compression; block 4 KiB; \
         write buffer 64 MiB, 2 of them; skip list; 2 background jobs; all else by default",
        version(),
        if wal { "on" } else { "off" },
        cache_bytes >> 20,
    )
}

/// Of the library that is linked.
const fn version() -> &'static str {
    "11.8.1 (librocksdb-sys 0.19)"
}

impl Store for Rocks {
    fn options(&self) -> String {
        self.options.clone()
    }

    fn put(&mut self, key: &[u8; 16], value: &[u8]) -> Result<(), Fault> {
        Ok(self.db.put_opt(key, value, &self.write)?)
    }

    fn get(&mut self, key: &[u8; 16]) -> Result<usize, Fault> {
        Ok(self.db.get_pinned(key)?.ok_or("a pair is missing")?.len())
    }

    fn scan(&mut self, from: &[u8; 16], pairs: u32) -> Result<(u32, usize), Fault> {
        let mut iterator = self.db.raw_iterator_opt(ReadOptions::default());
        let (mut seen, mut bytes) = (0, 0);
        iterator.seek(from);
        while let Some((key, value)) = iterator.item() {
            seen += 1;
            // Ours arrive in the caller's memory: so do these, by a look at each.
            bytes += std::hint::black_box(key).len() + std::hint::black_box(value).len();
            if seen == pairs {
                break;
            }
            iterator.next();
        }
        iterator.status()?;
        Ok((seen, bytes))
    }

    fn memory_bytes(&mut self) -> u64 {
        let parts = [
            "rocksdb.cur-size-all-mem-tables",
            "rocksdb.estimate-table-readers-mem",
            "rocksdb.block-cache-usage",
        ];
        parts.iter().filter_map(|name| self.db.property_int_value(*name).ok().flatten()).sum()
    }

    fn settle(&mut self) -> Result<(), Fault> {
        self.db.flush()?;
        Ok(self.db.wait_for_compact(&rocksdb::WaitForCompactOptions::default())?)
    }

    fn bytes(&mut self) -> Result<Bytes, Fault> {
        let lengths = std::fs::read_dir(self.dir.path())?.map(|file| Ok(file?.metadata()?.len()));
        let kept = lengths.sum::<std::io::Result<u64>>()?;
        Ok(Bytes { written: given_to_writes() - self.given_before, kept })
    }
}
