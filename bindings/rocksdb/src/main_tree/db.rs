// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The database of a main tree, on files of the block namespace.

use super::settings::{self, Asked};
use super::tree::{Hold, Rocks, RocksTree, Write};
use super::views::Viewed;
use crate::disk::AnyDisk;
use crate::engine::db::{PATH, leaves, told};
use crate::env;
use crate::volume::Volume;
use crate::watch::Condition;
use rocksdb::{DB, DBIterator, Direction, ErrorKind, IteratorMode, ReadOptions, WriteBatch, WriteOptions};
use saker::main_tree::MainPlace;
use saker_engine::KvError;
use saker_files::{BlockDisk, Disk, Format, Fs, FsError, identity};
use saker_host::host_kv::extent_bytes;
use saker_hybrid::main_tree::{Limits, Load};
use saker_nvme::group::PairList;
use saker_segment_store::CellError;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Databases of this program so far: the files of each have a name of their own.
static OPENED: AtomicU64 = AtomicU64::new(0);
/// Above all keys of the store, which have 16 bytes at most.
const ABOVE_ALL: [u8; 17] = [u8::MAX; 17];

/// The database.
struct Database {
    /// Before what it is on.
    viewed: Option<Viewed>,
    asked: Asked,
    volume: Arc<Volume>,
    files_bytes: u64,
    /// Something was replaced or deleted since the last full merge.
    has_garbage: bool,
}

/// Whether nobody has ever written there. The own main tree writes the first block of an extent that it uses, the file system the first and
/// the last of all.
fn is_new(disk: &mut BlockDisk) -> Result<bool, FsError> {
    let (block_bytes, blocks) = (disk.block_bytes(), disk.blocks());
    let extent = (extent_bytes(blocks * u64::from(block_bytes)) / u64::from(block_bytes)).max(1);
    let mut block = vec![0; block_bytes as usize];
    for at in (0..blocks).step_by(extent as usize).chain([blocks - 1]) {
        disk.read(at, &mut block)?;
        if block.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Opens the tree; new blocks get files first.
///
/// # Errors
/// Why it cannot be used, in words.
pub fn open_tree(place: MainPlace) -> Result<RocksTree, String> {
    let MainPlace { blocks, is_new: in_memory, settings } = place;
    let mut disk = BlockDisk::over(blocks);
    let is_new = in_memory || is_new(&mut disk).map_err(|error| error.to_string())?;
    let disk = AnyDisk::Device(disk);
    let files = if is_new {
        let identity = identity().map_err(|error| error.to_string())?;
        Fs::format(disk, Format { identity, area_bytes: None })
    } else {
        Fs::mount(disk)
    };
    let files = files.map_err(|error| match error {
        FsError::NoFileSystem => "its blocks have no files, so it is another one; leave main out".to_owned(),
        other => other.to_string(),
    })?;
    let files_bytes = files.space().total;
    let mut asked = settings::asked(files_bytes, &settings)?;
    let name = format!("main:{}", OPENED.fetch_add(1, Ordering::Relaxed));
    // What is in memory dies with this process, whether it is sent or not.
    let volume = Volume::over(&name, files, !in_memory);
    asked.options.set_env(&env::open(&name).map_err(|failure| failure.text)?);
    let db = DB::open(&asked.options, PATH).map_err(rocksdb::Error::into_string)?;
    let viewed = Some(Viewed::new(db));
    Ok(RocksTree::new(Box::new(Database { viewed, asked, volume, files_bytes, has_garbage: true })))
}

impl Database {
    fn viewed(&self) -> Result<&Viewed, KvError> {
        self.viewed.as_ref().ok_or(KvError::Unrecovered(CellError::HostIo))
    }

    fn db(&self) -> Result<&DB, KvError> {
        self.viewed().map(Viewed::db)
    }

    fn number(&self, property: &str) -> u64 {
        let told = self.db().ok().and_then(|db| db.property_int_value(property).ok().flatten());
        told.unwrap_or(0)
    }

    /// RocksDB writes nothing more after some failures, until it is opened again. Snapshots would be over then.
    fn open_again(&mut self) -> bool {
        if self.viewed.as_ref().is_some_and(Viewed::is_viewed) {
            return false;
        }
        self.viewed = None;
        match DB::open(&self.asked.options, PATH) {
            Ok(db) => self.viewed = Some(Viewed::new(db)),
            Err(error) => eprintln!("saker: RocksDB at the host does not open again: {error}"),
        }
        self.viewed.is_some()
    }

    fn try_write(&self, writes: &[Write<'_>], waits: bool) -> Result<Result<bool, rocksdb::Error>, KvError> {
        let mut options = WriteOptions::default();
        options.set_no_slowdown(!waits);
        let db = self.db()?;
        let written = match writes {
            [(key, Some(value))] => db.put_opt(key, value, &options),
            _ => {
                let mut batch = WriteBatch::default();
                for (key, value) in writes {
                    match value {
                        Some(value) => batch.put(key, value),
                        None => batch.delete(key),
                    }
                }
                db.write_opt(batch, &options)
            }
        };
        Ok(match written {
            Err(error) if error.kind() == ErrorKind::Incomplete => Ok(false),
            other => other.map(|()| true),
        })
    }

    /// Merges everything once, if that may make room.
    fn merge_all(&mut self) {
        if std::mem::take(&mut self.has_garbage)
            && let Ok(db) = self.db()
        {
            // What cannot be flushed or merged is told by the write.
            let _ = db.flush();
            db.compact_range::<&[u8], &[u8]>(None, None);
        }
    }

    fn take(pairs: DBIterator<'_>, entries: u32) -> Result<Vec<u8>, KvError> {
        let mut list = PairList::default();
        for pair in pairs.take(entries as usize) {
            let (key, value) = pair.map_err(|error| told(&error))?;
            list.push(&key, &value);
        }
        Ok(list.finish())
    }
}

impl Rocks for Database {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        self.db()?.get(key).map_err(|error| told(&error))
    }

    fn has(&self, key: &[u8]) -> Result<bool, KvError> {
        self.db()?.get_pinned(key).map(|found| found.is_some()).map_err(|error| told(&error))
    }

    fn write(&mut self, writes: &[Write<'_>], waits: bool) -> Result<bool, KvError> {
        self.has_garbage = true;
        match self.try_write(writes, waits)? {
            Ok(written) => Ok(written),
            Err(error) if self.open_again() => self.try_write(writes, waits)?.map_err(|_| told(&error)),
            Err(error) => Err(told(&error)),
        }
    }

    fn pairs(
        &self,
        from: &[u8],
        backwards: bool,
        entries: u32,
        snapshot: Option<u32>,
    ) -> Result<Option<Vec<u8>>, KvError> {
        let mode = match (from.is_empty(), backwards) {
            (true, false) => IteratorMode::Start,
            (true, true) => IteratorMode::End,
            (false, false) => IteratorMode::From(from, Direction::Forward),
            (false, true) => IteratorMode::From(from, Direction::Reverse),
        };
        let (viewed, options) = (self.viewed()?, ReadOptions::default());
        match snapshot {
            None => Self::take(viewed.db().iterator_opt(mode, options), entries).map(Some),
            Some(number) => {
                let of = |snapshot: &rocksdb::Snapshot<'_>| {
                    Self::take(snapshot.iterator_opt(mode, options), entries)
                };
                viewed.of(number).map(of).transpose()
            }
        }
    }

    fn snapshot(&mut self) -> Result<u32, KvError> {
        self.viewed.as_mut().map(Viewed::take).ok_or(KvError::Unrecovered(CellError::HostIo))
    }

    fn release(&mut self, number: u32) -> bool {
        self.viewed.as_mut().is_some_and(|viewed| viewed.release(number))
    }

    fn sync(&self) -> Result<(), KvError> {
        self.db()?.flush_wal(true).map_err(|error| told(&error))
    }

    fn empty(&mut self) -> Result<(), KvError> {
        if let Some(viewed) = &mut self.viewed {
            viewed.release_all();
        }
        let mut all = WriteBatch::default();
        all.delete_range(&[][..], &ABOVE_ALL[..]);
        let mut synced = WriteOptions::default();
        synced.set_sync(true);
        self.db()?.write_opt(all, &synced).map_err(|error| told(&error))?;
        // What they took is free before the next write asks for room.
        self.has_garbage = true;
        self.merge_all();
        Ok(())
    }

    fn room(&mut self) -> (bool, bool) {
        let (puts, deletes) = leaves(self.files_bytes);
        if self.volume.free_bytes() < puts {
            self.merge_all();
        }
        let free = self.volume.free_bytes();
        (free >= puts, free >= deletes)
    }

    fn hold(&self) -> Hold {
        if self.number("rocksdb.is-write-stopped") > 0 {
            return Hold::Stopped;
        }
        match self.number("rocksdb.actual-delayed-write-rate") {
            0 => Hold::No,
            rate => Hold::Delayed(rate),
        }
    }

    fn is_known_to_go_on(&self) -> bool {
        self.asked.watcher.told().condition == Some(Condition::GoesOn)
    }

    fn load(&self) -> Load {
        let level0 =
            self.db().ok().and_then(|db| db.property_value("rocksdb.num-files-at-level0").ok().flatten());
        Load {
            level0: level0.and_then(|told| told.trim().parse().ok()).unwrap_or(0),
            memtable_bytes: self.number("rocksdb.cur-size-all-mem-tables"),
            pending_bytes: self.number("rocksdb.estimate-pending-compaction-bytes"),
        }
    }

    fn limits(&self) -> (Limits, u64) {
        (self.asked.limits, self.asked.level0_stops)
    }

    fn fill_bytes(&self) -> (u64, u64) {
        let live =
            self.number("rocksdb.estimate-live-data-size") + self.number("rocksdb.cur-size-all-mem-tables");
        let capacity = self.files_bytes - leaves(self.files_bytes).0;
        (live.min(capacity), capacity)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let (load, told) = (self.load(), self.asked.watcher.told());
        vec![
            ("write_stops", told.stops),
            ("write_stopped_micros", told.stopped.as_micros() as u64),
            ("write_delays", told.delays),
            ("flushes", told.flushes),
            ("compactions", told.compactions),
            ("num_files_at_level0", load.level0),
            ("memtable_bytes", load.memtable_bytes),
            ("estimate_pending_compaction_bytes", load.pending_bytes),
            ("estimate_num_keys", self.number("rocksdb.estimate-num-keys")),
            ("estimate_live_data_size", self.number("rocksdb.estimate-live-data-size")),
            ("num_immutable_mem_tables", self.number("rocksdb.num-immutable-mem-table")),
            ("num_running_flushes", self.number("rocksdb.num-running-flushes")),
            ("num_running_compactions", self.number("rocksdb.num-running-compactions")),
            ("num_file_bytes", self.files_bytes.saturating_sub(self.volume.free_bytes())),
        ]
    }
}
