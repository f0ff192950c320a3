// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RocksDB at the host: HostKV of `saker compare`, on files of a block namespace.

use super::db;
use crate::env;
use crate::volume::Volume;
use rocksdb::DB;
use saker::Stats;
use saker_bench::clock::{Failed, WaitingStore};
use std::fmt;
use std::sync::Arc;

/// The database, and the files that it is on.
struct HostDb {
    db: DB,
    volume: Arc<Volume>,
}

impl fmt::Debug for HostDb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostDb").finish_non_exhaustive()
    }
}

/// Opens an empty database on the block namespace of a URL, with the settings of the one in the device.
///
/// # Errors
/// Why it cannot be used.
pub fn open(url: &str) -> Result<Box<dyn WaitingStore>, Failed> {
    let volume = Volume::open_as(url, true).map_err(|failure| failure.text)?;
    let bytes = volume.space().map_err(|failure| failure.text)?.total;
    let mut options = db::options(bytes);
    options.set_env(&env::open(url).map_err(|failure| failure.text)?);
    let db = DB::open(&options, db::PATH).map_err(rocksdb::Error::into_string)?;
    Ok(Box::new(HostDb { db, volume }))
}

impl WaitingStore for HostDb {
    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Failed> {
        self.db.put(key, value).map_err(rocksdb::Error::into_string)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Failed> {
        self.db.get(key).map_err(rocksdb::Error::into_string)
    }

    fn delete(&self, key: &[u8]) -> Result<bool, Failed> {
        let is_there = self.db.get_pinned(key).map_err(rocksdb::Error::into_string)?.is_some();
        self.db.delete(key).map(|()| is_there).map_err(rocksdb::Error::into_string)
    }

    fn flush(&self) -> Result<(), Failed> {
        self.db.flush_wal(true).map_err(rocksdb::Error::into_string)
    }

    fn stats(&self) -> Option<Stats> {
        self.volume.device_stats()
    }
}
