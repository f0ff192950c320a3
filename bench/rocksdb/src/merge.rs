// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What RocksDB's merging takes of one thread: tables of level 0, all of which overlap, are compacted into one level by one thread.
//!
//! The price of merging at a modelled host follows from it (`host.merge_cpu_percent` of a profile; `merge_price` of `saker-world`
//! says what the model charges).

use crate::clock::{Took, time};
use crate::store::Fault;
use rocksdb::{
    BlockBasedOptions, BottommostLevelCompaction, CompactOptions, DB, DBCompressionType, Options,
    WriteOptions,
};
use saker_sim::Seed;
use serde_json::{Value, json};
use std::path::Path;

/// Tables of level 0, as many as RocksDB merges at once by default.
const TABLES: u64 = 4;
const KEY_BYTES: u64 = 16;

/// What merging took, by pair of the input.
pub struct Merged {
    value_bytes: u32,
    pairs: u64,
    took: Vec<Took>,
}

impl Merged {
    /// The median, in nanoseconds of processor time a pair.
    fn cpu_ns(&self) -> f64 {
        let mut all: Vec<f64> = self.took.iter().map(|took| took.cpu_us * 1e3).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(0.0)
    }

    fn pair_bytes(&self) -> f64 {
        (KEY_BYTES + u64::from(self.value_bytes)) as f64
    }

    pub fn json(&self) -> Value {
        let ns = self.cpu_ns();
        json!({
            "value_bytes": self.value_bytes, "pairs": self.pairs, "repetitions": self.took.len(),
            "cpu_ns_per_pair": ns, "megabytes_per_cpu_s": self.pair_bytes() / ns * 1e3,
            "cpu_ns_per_pair_of_each": self.took.iter().map(|took| took.cpu_us * 1e3).collect::<Vec<_>>(),
            "wall_ns_per_pair_of_each": self.took.iter().map(|took| took.wall_us * 1e3).collect::<Vec<_>>(),
        })
    }

    pub fn text(&self) -> String {
        let ns = self.cpu_ns();
        format!(
            "One compaction of RocksDB's on one thread, {} pairs of {KEY_BYTES} + {} bytes in {TABLES} tables of level 0, no compression:\n\
             {ns:.0} ns of processor time a pair, {:.0} MB/s (median of {})\n",
            self.pairs,
            self.value_bytes,
            self.pair_bytes() / ns * 1e3,
            self.took.len(),
        )
    }
}

/// Merges as many times as asked, each time what was written anew.
///
/// # Errors
/// RocksDB's.
pub fn measure(
    dir: &Path,
    pairs: u64,
    value_bytes: u32,
    repetitions: u32,
    seed: u64,
) -> Result<Merged, Fault> {
    let pairs = pairs / TABLES * TABLES;
    let took =
        (0..repetitions.max(1)).map(|n| merged(dir, pairs, value_bytes, Seed(seed).index(u64::from(n))));
    Ok(Merged { value_bytes, pairs, took: took.collect::<Result<_, _>>()? })
}

fn merged(dir: &Path, pairs: u64, value_bytes: u32, seed: Seed) -> Result<Took, Fault> {
    let dir = tempfile::tempdir_in(dir)?;
    let db = DB::open(&options(pairs, value_bytes), dir.path())?;
    let mut write = WriteOptions::default();
    write.disable_wal(true);
    let mut rng = seed.rng();
    let mut value = vec![0; value_bytes as usize];
    for _ in 0..TABLES {
        for _ in 0..pairs / TABLES {
            let key = [rng.next_u64().to_be_bytes(), rng.next_u64().to_be_bytes()].concat();
            value.chunks_mut(8).for_each(|chunk| {
                let word = rng.next_u64().to_le_bytes();
                chunk.copy_from_slice(&word[..chunk.len()]);
            });
            db.put_opt(key, &value, &write)?;
        }
        db.flush()?;
    }
    let mut how = CompactOptions::default();
    how.set_exclusive_manual_compaction(true);
    how.set_bottommost_level_compaction(BottommostLevelCompaction::Skip);
    time(pairs, || {
        db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &how);
        let left = db.property_int_value("rocksdb.num-files-at-level0")?;
        if left == Some(0) {
            Ok(())
        } else {
            Err(Fault::from(format!("{left:?} tables of level 0 are left")))
        }
    })
}

/// Nothing is merged before it is asked for, each table is one memtable, and one thread does it.
fn options(pairs: u64, value_bytes: u32) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_bloom_filter(10.0, false);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&table);
    options.set_compression_type(DBCompressionType::None);
    options.set_disable_auto_compactions(true);
    options.set_max_background_jobs(2);
    options.set_max_subcompactions(1);
    let bytes = pairs / TABLES * (u64::from(value_bytes) + KEY_BYTES + 64);
    options.set_write_buffer_size((2 * bytes).max(1 << 20) as usize);
    options
}
