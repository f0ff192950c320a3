// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Options of a URL as RocksDB's: names and meaning are the same.

use crate::engine::db;
use crate::watch::Watcher;
use rocksdb::{BlockBasedOptions, Cache, Options};
use saker_engine::Settings;
use saker_hybrid::main_tree::Limits;

/// RocksDB's defaults (facebook/rocksdb v11.8.1, `include/rocksdb/options.h` and `advanced_options.h`).
const LEVEL0_STOPS: u64 = 36;
const PENDING_STOPS: u64 = 256 << 30;
/// Threads of compactions at most.
const COMPACTIONS_MAX: u64 = 64;

/// What RocksDB is opened with.
pub struct Asked {
    /// Its options.
    pub options: Options,
    /// What the detector compares with.
    pub limits: Limits,
    /// Tables of level 0 that stop writes.
    pub level0_stops: u64,
    /// Who is told of stops.
    pub watcher: Watcher,
}

/// Jobs of which RocksDB gives so many threads to compactions: a quarter, and at least one, are for flushes.
fn jobs(compactions: u64) -> i32 {
    let compactions = compactions.clamp(1, COMPACTIONS_MAX) as i32;
    (compactions..).find(|jobs| jobs - (jobs / 4).max(1) == compactions).unwrap_or(compactions + 1)
}

fn number<T: TryFrom<u64>>(name: &str, number: u64) -> Result<T, String> {
    T::try_from(number)
        .map_err(|_| format!("option `{name}={number}` is too large for RocksDB; write a lower one"))
}

/// Options of a database on so many bytes of files.
///
/// # Errors
/// What was asked for and RocksDB does not have here, in words.
pub fn asked(files_bytes: u64, settings: &Settings) -> Result<Asked, String> {
    let watcher = Watcher::add();
    let watched = Options::default().get_options_from_string(watcher.option());
    let mut options = db::options_from(watched.map_err(rocksdb::Error::into_string)?, files_bytes);
    let of = |name: &str, usual| settings.get(name).unwrap_or(usual);
    let limits = Limits {
        memtable_bytes: of("write_buffer_size", db::memtable_bytes(files_bytes)),
        pending_bytes: of("hard_pending_compaction_bytes_limit", PENDING_STOPS),
    };
    let level0_stops = of("level0_stop_writes_trigger", LEVEL0_STOPS);
    let stops = number("level0_stop_writes_trigger", level0_stops)?;
    options.set_level_zero_stop_writes_trigger(stops);
    let pending = number("hard_pending_compaction_bytes_limit", limits.pending_bytes)?;
    options.set_hard_pending_compaction_bytes_limit(pending);
    let slows_down = of("slowdown", 0) == 1;
    if !slows_down {
        // What would slow writes down stops them.
        options.set_level_zero_slowdown_writes_trigger(stops);
        options.set_soft_pending_compaction_bytes_limit(pending);
    }
    for (name, n) in settings.iter() {
        match name {
            "write_buffer_size" => {
                options.set_write_buffer_size(number(name, n)?);
                options.set_max_total_wal_size(n.saturating_mul(of("max_write_buffer_number", 2).max(2)));
            }
            "max_write_buffer_number" => options.set_max_write_buffer_number(number(name, n)?),
            "compaction_threads" => options.set_max_background_jobs(jobs(n)),
            "level0_file_num_compaction_trigger" => {
                options.set_level_zero_file_num_compaction_trigger(number(name, n)?);
            }
            "level0_slowdown_writes_trigger" if slows_down => {
                options.set_level_zero_slowdown_writes_trigger(number(name, n)?);
            }
            "soft_pending_compaction_bytes_limit" if slows_down => {
                options.set_soft_pending_compaction_bytes_limit(number(name, n)?);
            }
            "level0_slowdown_writes_trigger" | "soft_pending_compaction_bytes_limit" => {
                return Err(format!("option `{name}` does nothing without slowdown; add slowdown=on"));
            }
            "level0_stop_writes_trigger" | "hard_pending_compaction_bytes_limit" | "slowdown" => {}
            "target_file_size_base" => options.set_target_file_size_base(n),
            "max_bytes_for_level_base" => options.set_max_bytes_for_level_base(n),
            "max_bytes_for_level_multiplier" => options.set_max_bytes_for_level_multiplier(n as f64),
            "compaction_readahead_size" => options.set_compaction_readahead_size(number(name, n)?),
            "bloom_bits_per_key" => options.set_block_based_table_factory(&tables(n)),
            _ => {
                return Err(format!(
                    "option `{name}`: RocksDB as the main tree has no such option; leave it out"
                ));
            }
        }
    }
    Ok(Asked { options, limits, level0_stops, watcher })
}

fn tables(bloom_bits: u64) -> BlockBasedOptions {
    let mut tables = BlockBasedOptions::default();
    if bloom_bits > 0 {
        tables.set_bloom_filter(bloom_bits as f64, false);
    }
    tables.set_block_cache(&Cache::new_lru_cache(db::CACHE_BYTES));
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compactions_have_the_threads_that_were_asked_for() {
        for asked in 1..=COMPACTIONS_MAX {
            let jobs = jobs(asked);
            assert_eq!(jobs - (jobs / 4).max(1), asked as i32);
        }
        assert_eq!((jobs(1), jobs(2), jobs(4)), (2, 3, 5));
    }

    #[test]
    fn what_rocksdb_does_not_have_is_refused_by_name() {
        let refused =
            |told: &[(&'static str, u64)]| asked(1 << 30, &Settings::told(told)).err().unwrap_or_default();
        assert!(refused(&[("pinned_levels", 1)]).contains("`pinned_levels`"));
        assert!(refused(&[("level0_slowdown_writes_trigger", 8)]).contains("slowdown=on"));
        assert_eq!(refused(&[("level0_slowdown_writes_trigger", 8), ("slowdown", 1)]), "");
        let asked = asked(1 << 30, &Settings::told(&[("write_buffer_size", 4096)])).ok().expect("takes it");
        assert_eq!((asked.limits.memtable_bytes, asked.level0_stops), (4096, 36));
    }
}
