// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The database of a device: how it is opened, what it is asked, and how much it takes.

use super::call::{Answer, Call, Facts, Found, Serves};
use super::relay::{Relay, RelayDisk};
use crate::disk::AnyDisk;
use crate::env;
use crate::outcome::Failure;
use crate::volume::Volume;
use rocksdb::{
    BlockBasedOptions, Cache, DB, DBCompressionType, Direction, ErrorKind, IteratorMode, LogLevel, Options,
};
use saker_engine::{Condition, KvError};
use saker_files::{Disk, Format, Fs, FsError, identity};
use saker_segment_store::CellError;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the database is.
pub(crate) const PATH: &str = "/db";
/// Of the bytes for files, what puts leave free: logs, and merges that have written tables and not yet removed what they replace.
const LEFT_BY_PUTS: u64 = 4;
/// The same of deletes, which make room.
const LEFT_BY_DELETES: u64 = 16;
/// A memtable is so small a part of the files.
const FILES_PER_MEMTABLE: u64 = 64;
const MEMTABLE_BYTES: std::ops::RangeInclusive<u64> = 256 << 10..=64 << 20;
/// RocksDB's default.
pub(crate) const CACHE_BYTES: usize = 32 << 20;

/// Volumes of this program so far: each has a name of its own.
static VOLUMES: AtomicU64 = AtomicU64::new(0);

/// The database.
pub struct Database {
    db: Option<DB>,
    options: Options,
    volume: Arc<Volume>,
    files_bytes: u64,
    /// Something was replaced or deleted since the last full merge.
    has_garbage: bool,
    facts: Arc<Facts>,
}

/// Of a device that has never had files: a superblock that is damaged is not all zeros.
fn is_new(disk: &mut RelayDisk) -> Result<bool, FsError> {
    let mut block = vec![0; disk.block_bytes() as usize];
    for at in [0, disk.blocks() - 1] {
        disk.read(at, &mut block)?;
        if block.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Bytes of a memtable of a database on so many bytes of files.
pub(crate) fn memtable_bytes(files_bytes: u64) -> u64 {
    (files_bytes / FILES_PER_MEMTABLE).clamp(*MEMTABLE_BYTES.start(), *MEMTABLE_BYTES.end())
}

/// What puts, and deletes, leave free of so many bytes of files.
pub(crate) fn leaves(files_bytes: u64) -> (u64, u64) {
    (files_bytes / LEFT_BY_PUTS, files_bytes / LEFT_BY_DELETES)
}

/// The settings of a database on so many bytes of files.
pub(crate) fn options(files_bytes: u64) -> Options {
    options_from(Options::default(), files_bytes)
}

/// The same with what others have set.
pub(crate) fn options_from(mut options: Options, files_bytes: u64) -> Options {
    let memtable = memtable_bytes(files_bytes);
    options.create_if_missing(true);
    options.set_write_buffer_size(memtable as usize);
    options.set_max_total_wal_size(2 * memtable);
    options.set_target_file_size_base(memtable);
    options.set_max_bytes_for_level_base(4 * memtable);
    options.set_max_background_jobs(2);
    // As the device's own engines: values are kept as they are.
    options.set_compression_type(DBCompressionType::None);
    options.set_max_manifest_file_size(1 << 20);
    // Its text log takes room of the pairs.
    options.set_log_level(LogLevel::Fatal);
    options.set_keep_log_file_num(1);
    let mut tables = BlockBasedOptions::default();
    tables.set_bloom_filter(10.0, false);
    tables.set_block_cache(&Cache::new_lru_cache(CACHE_BYTES));
    options.set_block_based_table_factory(&tables);
    options
}

pub(crate) fn told(error: &rocksdb::Error) -> KvError {
    match error.kind() {
        ErrorKind::Corruption => KvError::Corrupt,
        _ if error.as_ref().contains("No space") || error.as_ref().contains("no space") => {
            KvError::CapacityExceeded
        }
        _ => KvError::Unrecovered(CellError::HostIo),
    }
}

impl Database {
    /// Opens the database on the blocks of a device, which is made if the device is new.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn open(relay: &Arc<Relay>, facts: Arc<Facts>, is_readonly: bool) -> Result<Self, Failure> {
        let mut disk = RelayDisk(Arc::clone(relay));
        let is_new = !is_readonly && is_new(&mut disk)?;
        let disk = AnyDisk::Inside(disk);
        let files = if is_new {
            Fs::format(disk, Format { identity: identity()?, area_bytes: None })?
        } else {
            Fs::mount(disk)?
        };
        let files_bytes = files.space().total;
        let name = format!("device:{}", VOLUMES.fetch_add(1, Ordering::Relaxed));
        let volume = Volume::inside(&name, files, Arc::clone(relay), is_readonly);
        let mut options = options(files_bytes);
        options.set_env(&env::open(&name)?);
        let mut database = Self { db: None, options, volume, files_bytes, has_garbage: true, facts };
        database.db = Some(database.opened(is_readonly).map_err(|error| Failure::io(error.into_string()))?);
        database.note();
        Ok(database)
    }

    fn opened(&self, is_readonly: bool) -> Result<DB, rocksdb::Error> {
        if is_readonly {
            DB::open_for_read_only(&self.options, PATH, false)
        } else {
            DB::open(&self.options, PATH)
        }
    }

    /// RocksDB writes nothing more after some failures, until it is opened again.
    fn open_again(&mut self) {
        self.db = None;
        match self.opened(false) {
            Ok(db) => self.db = Some(db),
            Err(error) => eprintln!("saker: RocksDB in the device does not open again: {error}"),
        }
    }

    fn db(&self) -> Result<&DB, KvError> {
        self.db.as_ref().ok_or(KvError::Unrecovered(CellError::HostIo))
    }

    fn free_bytes(&self) -> u64 {
        self.volume.free_bytes()
    }

    /// Counts what there is.
    fn note(&self) {
        let Some(db) = &self.db else { return };
        let told = |name: &str| db.property_int_value(name).ok().flatten().unwrap_or(0);
        let live = told("rocksdb.estimate-live-data-size") + told("rocksdb.cur-size-all-mem-tables");
        self.facts.pairs.store(told("rocksdb.estimate-num-keys"), Ordering::Relaxed);
        self.facts.live_bytes.store(live, Ordering::Relaxed);
        self.facts.file_bytes.store(self.files_bytes.saturating_sub(self.free_bytes()), Ordering::Relaxed);
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        self.db()?.get(key).map_err(|error| told(&error))
    }

    fn has(&self, key: &[u8]) -> Result<bool, KvError> {
        let found = self.db()?.get_pinned(key).map_err(|error| told(&error))?;
        Ok(found.is_some())
    }

    fn put(&mut self, key: &[u8], value: &[u8], condition: Condition) -> Answer {
        match condition {
            Condition::Always => {}
            Condition::MustExist if !self.has(key)? => return Err(KvError::NotFound),
            Condition::MustNotExist if self.has(key)? => return Err(KvError::Exists),
            Condition::MustExist | Condition::MustNotExist => {}
        }
        let bytes = (key.len() + value.len()) as u64;
        // It is in the log, in a memtable that is flushed, and in what a merge writes.
        if !self.has_room(self.files_bytes / LEFT_BY_PUTS + 4 * bytes) {
            return Err(KvError::CapacityExceeded);
        }
        self.has_garbage = true;
        self.write(bytes, |db| db.put(key, value))
    }

    fn delete(&mut self, key: &[u8]) -> Answer {
        if !self.has(key)? {
            return Err(KvError::NotFound);
        }
        // Where merges find no more, the last part of the room is for deletes.
        self.has_room(self.files_bytes / LEFT_BY_DELETES);
        self.has_garbage = true;
        self.write(key.len() as u64, |db| db.delete(key))
    }

    fn write(&mut self, bytes: u64, write: impl Fn(&DB) -> Result<(), rocksdb::Error>) -> Answer {
        if let Err(error) = write(self.db()?) {
            self.open_again();
            write(self.db()?).map_err(|_| told(&error))?;
        }
        self.facts.user_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.note();
        Ok(Found::Done)
    }

    /// Whether so many bytes are free, after a merge of all tables if that may help.
    fn has_room(&mut self, bytes: u64) -> bool {
        if self.free_bytes() >= bytes {
            return true;
        }
        if std::mem::take(&mut self.has_garbage)
            && let Some(db) = &self.db
        {
            // What cannot be flushed or merged is told by the write.
            let _ = db.flush();
            db.compact_range::<&[u8], &[u8]>(None, None);
        }
        self.free_bytes() >= bytes
    }

    fn list(&self, from: &[u8], most: usize) -> Answer {
        let start =
            if from.is_empty() { IteratorMode::Start } else { IteratorMode::From(from, Direction::Forward) };
        let mut keys = Vec::new();
        for pair in self.db()?.iterator(start).take(most) {
            let (key, _) = pair.map_err(|error| told(&error))?;
            keys.push(key.into_vec());
        }
        let are_all = keys.len() < most;
        Ok(Found::Keys(keys, are_all))
    }
}

impl Serves for Database {
    fn call(&mut self, call: &Call) -> Answer {
        match call {
            Call::Put(key, value, condition) => self.put(key, value, *condition),
            Call::Delete(key) => self.delete(key),
            Call::Get(key) => self.get(key)?.map(Found::Value).ok_or(KvError::NotFound),
            Call::Exists(key) => self.has(key)?.then_some(Found::Done).ok_or(KvError::NotFound),
            Call::List(from, keys) => self.list(from, *keys),
        }
    }
}
