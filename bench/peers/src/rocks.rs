// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RocksDB with its write-ahead log, unsynced, Bloom filters of 10 bits, no compression.

use crate::peer::{Key, Outcome, Peer, copy};
use rocksdb::{
    BlockBasedOptions, Cache, DB, DBCompressionType, IteratorMode, Options, ReadOptions, WriteBatch,
};
use std::path::{Path, PathBuf};

/// A database in a folder.
pub struct Rocks {
    database: DB,
    path: PathBuf,
    found: Vec<u8>,
}

impl Rocks {
    /// A new one in a folder.
    pub fn open(folder: &Path, cache_bytes: usize) -> Outcome<Self> {
        let path = folder.join("rocksdb");
        let mut table = BlockBasedOptions::default();
        table.set_bloom_filter(10.0, false);
        table.set_block_cache(&Cache::new_lru_cache(cache_bytes));
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_compression_type(DBCompressionType::None);
        options.set_block_based_table_factory(&table);
        Ok(Self { database: DB::open(&options, &path)?, path, found: Vec::new() })
    }
}

impl Peer for Rocks {
    fn put(&mut self, key: &Key, value: &[u8]) -> Outcome {
        Ok(self.database.put(key, value)?)
    }

    fn batch(&mut self, keys: &[Key], value: &[u8]) -> Outcome {
        let mut batch = WriteBatch::default();
        keys.iter().for_each(|key| batch.put(key, value));
        Ok(self.database.write(batch)?)
    }

    fn get(&mut self, key: &Key, buffer: &mut [u8]) -> Outcome<bool> {
        Ok(self.database.get_pinned(key)?.map(|value| copy(&value, buffer)).is_some())
    }

    fn multi_get(&mut self, keys: &[Key]) -> Outcome<Option<usize>> {
        self.found.clear();
        let mut count = 0;
        for value in self.database.multi_get(keys) {
            if let Some(value) = value? {
                self.found.extend_from_slice(&value);
                count += 1;
            }
        }
        Ok(Some(count))
    }

    fn scan(&mut self, from: &Key, pairs: usize) -> Outcome<Option<usize>> {
        let mode = IteratorMode::From(from, rocksdb::Direction::Forward);
        let mut count = 0;
        for pair in self.database.iterator_opt(mode, ReadOptions::default()).take(pairs) {
            let (key, value) = pair?;
            std::hint::black_box((key[0], value.len()));
            count += 1;
        }
        Ok(Some(count))
    }

    fn file_bytes(&mut self) -> Outcome<Option<u64>> {
        Ok(Some(crate::files::held(&self.path)?))
    }
}
