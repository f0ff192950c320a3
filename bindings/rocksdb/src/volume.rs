// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The files of a device, shared by all threads of a program.

use crate::disk::AnyDisk;
use crate::outcome::{Code, Failure};
use saker_files::{BlockDisk, FileId, Format, Fs, FsError, Space, Stat, WRITE_BYTES, identity, now};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The files of a device, wherever its blocks are.
pub type Files = Fs<AnyDisk>;

/// Volumes that are open, by their URLs: a program that opens one twice has it once.
static OPEN: Mutex<Vec<(String, Weak<Volume>)>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No panic is survived here.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is done when a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It has to be there.
    Existing,
    /// A new one takes the place of what is there. Who has that open goes on using it.
    New,
    /// It is made if it is not there.
    Either,
}

/// The files of a device.
#[derive(Debug)]
pub struct Volume {
    /// `None` when the program is ending.
    files: Mutex<Option<Files>>,
    /// The same blocks: what is in files is read and written while others have the files. `None`: only who has the files has the blocks.
    blocks: Option<BlockDisk>,
    /// Who writes a file, by its inode: one at a time.
    writers: Mutex<BTreeMap<u64, Weak<Mutex<()>>>>,
    /// Whether a flush of a log goes to the device: one in this program's memory dies with the program.
    sends_flushes: bool,
    /// Whether it was opened for reading only.
    is_readonly: bool,
    /// Of a device that this program itself is: what ends the waiting for its blocks. It closes nothing in order, since the device has all
    /// that was flushed.
    #[cfg(feature = "inside")]
    inside: Option<Arc<crate::engine::Relay>>,
}

/// A file that somebody has open.
#[derive(Debug)]
pub struct OpenFile {
    volume: Arc<Volume>,
    id: FileId,
    /// Its number.
    pub inode: u64,
    /// Whoever writes it has this.
    writer: Arc<Mutex<()>>,
}

impl Volume {
    /// The files of a device. Memory has none before, so they are made.
    ///
    /// # Errors
    /// Why the device or its files cannot be used.
    pub fn open(url: &str) -> Result<Arc<Self>, Failure> {
        Self::open_as(url, !url.starts_with("mem:"))
    }

    /// The same. `sends_flushes`: logs go to the device behind each write even if it dies with the program, as where that is measured.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_as(url: &str, sends_flushes: bool) -> Result<Arc<Self>, Failure> {
        let mut open = lock(&OPEN);
        open.retain(|(_, volume)| volume.strong_count() > 0);
        if let Some(volume) =
            open.iter().find(|(other, _)| other == url).and_then(|(_, volume)| volume.upgrade())
        {
            return Ok(volume);
        }
        let disk = AnyDisk::Device(BlockDisk::open(url).map_err(saker_files::Error::from)?);
        let files = if url.starts_with("mem:") {
            Fs::format(disk, Format { identity: identity()?, area_bytes: None })?
        } else {
            Fs::mount(disk)?
        };
        let options = url.split_once('?').map_or("", |(_, options)| options);
        let is_readonly = options.split('&').any(|option| option == "readonly");
        let mut volume = Self::of(files, sends_flushes);
        volume.is_readonly = is_readonly;
        let volume = Arc::new(volume);
        open.push((url.to_owned(), Arc::downgrade(&volume)));
        Ok(volume)
    }

    fn of(mut files: Files, sends_flushes: bool) -> Self {
        let blocks = match files.disk_mut() {
            AnyDisk::Device(disk) => Some(disk.clone()),
            #[cfg(feature = "inside")]
            AnyDisk::Inside(_) => None,
        };
        Self {
            files: Mutex::new(Some(files)),
            blocks,
            writers: Mutex::default(),
            sends_flushes,
            is_readonly: false,
            #[cfg(feature = "inside")]
            inside: None,
        }
    }

    /// Files on blocks that are open already, under a name that no URL has.
    #[cfg(feature = "inside")]
    pub fn over(name: &str, files: Files, sends_flushes: bool) -> Arc<Self> {
        let volume = Arc::new(Self::of(files, sends_flushes));
        lock(&OPEN).push((name.to_owned(), Arc::downgrade(&volume)));
        volume
    }

    /// Files inside a device of this program, under a name that no URL has.
    #[cfg(feature = "inside")]
    pub fn inside(
        name: &str,
        files: Files,
        relay: Arc<crate::engine::Relay>,
        is_readonly: bool,
    ) -> Arc<Self> {
        let mut volume = Self::of(files, true);
        (volume.is_readonly, volume.inside) = (is_readonly, Some(relay));
        let volume = Arc::new(volume);
        lock(&OPEN).push((name.to_owned(), Arc::downgrade(&volume)));
        volume
    }

    /// Ends one use of a volume. The last one closes the device, before the next opening.
    pub fn release(self: Arc<Self>) {
        let open = lock(&OPEN);
        drop(self);
        drop(open);
    }

    fn with<T>(&self, act: impl FnOnce(&mut Files) -> Result<T, FsError>) -> Result<T, Failure> {
        match lock(&self.files).as_mut() {
            Some(files) => Ok(act(files)?),
            None => Err(Failure {
                code: Code::Io,
                text: "the program is ending, and has closed its devices".to_owned(),
            }),
        }
    }

    /// Makes everything durable and closes the device.
    fn close(&self) {
        #[cfg(feature = "inside")]
        if let Some(relay) = &self.inside {
            relay.close();
            return;
        }
        let files = lock(&self.files).take();
        let closed = files.map(|files| Ok::<_, Failure>(files.unmount()?.close()?));
        if let Some(Err(Failure { text: error, .. })) = closed {
            eprintln!("saker-rocksdb: the files were not closed in order, what was synced is safe: {error}");
        }
    }

    /// Free bytes.
    pub fn free_bytes(&self) -> u64 {
        self.space().map_or(0, |space| space.free)
    }

    /// Bytes for files, and free ones.
    ///
    /// # Errors
    /// The program is ending.
    pub fn space(&self) -> Result<Space, Failure> {
        self.with(|files| Ok(files.space()))
    }

    /// What its device counts.
    #[cfg(feature = "inside")]
    pub fn device_stats(&self) -> Option<saker::Stats> {
        self.with(|files| Ok(files.disk_mut().stats())).ok().flatten()
    }

    /// Events of its device, if that keeps time in this process, and how many of them came late.
    pub fn lag(&self) -> Option<(u64, u64)> {
        self.with(|files| Ok(files.disk_mut().lag())).ok().flatten()
    }

    /// What was done to names is durable when this returns.
    ///
    /// # Errors
    /// The device's.
    pub fn sync_names(&self) -> Result<(), Failure> {
        self.with(Files::sync_names)
    }

    /// Opens a file.
    ///
    /// # Errors
    /// As of the file system.
    pub fn open_file(self: &Arc<Self>, path: &str, mode: Mode) -> Result<OpenFile, Failure> {
        // RocksDB cannot go on when a flush of its log fails, but it can when there is none.
        if self.is_readonly && mode != Mode::Existing && path.ends_with(".log") {
            let text = format!("{path}: the device was opened for reading, and is write protected");
            return Err(Failure { code: Code::Io, text });
        }
        let opened = self.with(|files| {
            let id = match mode {
                Mode::Existing => files.open(path)?,
                Mode::New => match files.remove(path) {
                    Ok(()) | Err(FsError::NotFound(_)) => files.create(path, now())?,
                    Err(error) => return Err(error),
                },
                Mode::Either => match files.open(path) {
                    Err(FsError::NotFound(_)) => files.create(path, now())?,
                    opened => opened?,
                },
            };
            Ok((id, files.stat(path)?.inode.0))
        });
        Ok(self.file(opened?))
    }

    /// Locks a file, which is made if it is not there.
    ///
    /// # Errors
    /// [`FsError::Locked`], as one of the failures.
    pub fn lock_file(self: &Arc<Self>, path: &str) -> Result<OpenFile, Failure> {
        let locked = self.with(|files| {
            let id = files.lock(path, now())?;
            Ok((id, files.stat(path)?.inode.0))
        });
        Ok(self.file(locked?))
    }

    /// A file that was opened.
    fn file(self: &Arc<Self>, (id, inode): (FileId, u64)) -> OpenFile {
        let mut writers = lock(&self.writers);
        writers.retain(|_, writer| writer.strong_count() > 0);
        let writer = writers.get(&inode).and_then(Weak::upgrade).unwrap_or_default();
        writers.insert(inode, Arc::downgrade(&writer));
        OpenFile { volume: Arc::clone(self), id, inode, writer }
    }

    /// What a path leads to.
    ///
    /// # Errors
    /// As of the file system; so are those of all below.
    pub fn stat(&self, path: &str) -> Result<Stat, Failure> {
        self.with(|files| files.stat(path))
    }

    /// The names in a directory.
    pub fn list(&self, path: &str) -> Result<Vec<(String, Stat)>, Failure> {
        self.with(|files| files.list(path))
    }

    /// Removes a file.
    pub fn remove(&self, path: &str) -> Result<(), Failure> {
        self.with(|files| files.remove(path))
    }

    /// Makes a directory. `is_error`: whether one that is there is an error.
    pub fn make_directory(&self, path: &str, is_error: bool) -> Result<(), Failure> {
        self.with(|files| match files.make_directory(path, now()) {
            Err(FsError::Exists(_)) if !is_error => match files.stat(path)?.kind {
                saker_files::Kind::Directory => Ok(()),
                saker_files::Kind::File => Err(FsError::NotADirectory(path.to_owned())),
            },
            made => made,
        })
    }

    /// Removes an empty directory.
    pub fn remove_directory(&self, path: &str) -> Result<(), Failure> {
        self.with(|files| files.remove_directory(path))
    }

    /// Gives something another name, in place of what has that.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), Failure> {
        self.with(|files| files.rename(from, to))
    }

    /// Gives a file one more name.
    pub fn link(&self, from: &str, to: &str) -> Result<(), Failure> {
        self.with(|files| files.link(from, to))
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        self.close();
    }
}

/// The program ends: what is still open is closed in order. Programs such as `db_bench` never give their file system back.
pub fn leave() {
    let open: Vec<_> = lock(&OPEN).drain(..).collect();
    for (_, volume) in open {
        if let Some(volume) = volume.upgrade() {
            volume.close();
        }
    }
}

impl OpenFile {
    fn with<T>(&self, act: impl FnOnce(&mut Files, FileId) -> Result<T, FsError>) -> Result<T, Failure> {
        self.volume.with(|files| act(files, self.id))
    }

    /// Closes the file.
    ///
    /// # Errors
    /// The device's: the file is closed all the same; so are those of all below.
    pub fn close(self) -> Result<(), Failure> {
        let closed = self.with(|files, id| files.close(id));
        self.volume.release();
        closed
    }

    /// Ends a lock.
    pub fn unlock(self) -> Result<(), Failure> {
        let unlocked = self.with(|files, id| files.unlock(id));
        self.volume.release();
        unlocked
    }

    /// Its length.
    pub fn bytes(&self) -> u64 {
        self.with(|files, id| files.bytes(id)).unwrap_or(0)
    }

    /// Reads from a place on; fewer bytes than asked for only at its end.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<usize, Failure> {
        let Some(mut blocks) = self.volume.blocks.clone() else {
            return self.with(|files, id| files.read_at(id, offset, out));
        };
        let reading = self.with(|files, id| files.reading(id, offset, out))?;
        Ok(reading.read(&mut blocks, out).map_err(FsError::from)?)
    }

    /// Appends: all, or nothing.
    pub fn append(&self, data: &[u8]) -> Result<(), Failure> {
        let _writer = lock(&self.writer);
        if self.volume.blocks.is_none() {
            return self.with(|files, id| files.append(id, data, now()));
        }
        self.with(|files, id| files.append_apart(id, data, now()))?;
        self.write_apart(WRITE_BYTES)
    }

    /// Full blocks that are not on the device go there, if they have at least so many bytes, and others have the files meanwhile.
    fn write_apart(&self, bytes_min: usize) -> Result<(), Failure> {
        let Some(mut blocks) = self.volume.blocks.clone() else { return Ok(()) };
        let Some(writing) = self.with(|files, id| files.writing(id, bytes_min))? else { return Ok(()) };
        let done = writing.write(&mut blocks);
        self.with(|files, _| files.written(writing, done.is_ok()))?;
        Ok(done.map_err(FsError::from)?)
    }

    /// Makes it shorter, or longer by zeros.
    pub fn truncate(&self, bytes: u64) -> Result<(), Failure> {
        let _writer = lock(&self.writer);
        self.with(|files, id| files.truncate(id, bytes, now()))
    }

    /// Sends what was appended to the device, without waiting until it is durable.
    pub fn send(&self) -> Result<(), Failure> {
        let _writer = lock(&self.writer);
        self.write_apart(1)?;
        self.with(Files::send_file)
    }

    /// What it has, and its name, outlive the program when this returns. A device in memory does not, so nothing is sent there.
    pub fn flush(&self) -> Result<(), Failure> {
        if !self.volume.sends_flushes {
            return Ok(());
        }
        let _writer = lock(&self.writer);
        self.with(Files::flush_file)
    }

    /// What it has, and its name, are durable when this returns.
    pub fn sync(&self) -> Result<(), Failure> {
        let _writer = lock(&self.writer);
        self.write_apart(1)?;
        self.with(Files::sync_file)
    }
}
