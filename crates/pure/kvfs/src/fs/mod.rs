// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The file system: mounting, what is recorded when, and the space that it takes. `names` has directories, `data` what is in files,
//! `sync` what makes both durable, `flush` and `follow` what only outlives the program.

mod apart;
mod data;
mod facts;
mod flush;
mod follow;
mod live;
mod locks;
mod names;
mod sync;
mod truncate;

use crate::disk::{Disk, DiskError};
use crate::error::FsError;
use crate::extent::Extent;
use crate::inode::InodeId;
use crate::journal::{HEAD_BYTES, Journal};
use crate::layout::Layout;
use crate::op::{Op, RUN_BYTES};
use crate::space::SpaceMap;
use crate::tree::Tree;
pub use apart::{Reading, Writing};
pub use data::WRITE_BYTES;
use follow::Followed;
use live::Live;
use std::collections::{BTreeMap, BTreeSet};

/// A file that somebody has open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(u64);

/// What a new file system is to be like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// A number that no other file system on this device has had.
    pub identity: u64,
    /// Bytes of each area of the journal; `None`: a 64th of the device, and at most 64 MiB.
    pub area_bytes: Option<u64>,
}

/// Bytes of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// For files.
    pub total: u64,
    /// Free now, or as soon as what was removed is recorded.
    pub free: u64,
}

/// Why an operation is refused that the journal could not hold.
const FULL_JOURNAL: FsError = FsError::NoSpace("the journal cannot hold more names and runs of blocks");
/// Operations wait for a sync until they have so many bytes.
const PENDING_BYTES_MAX: usize = 64 << 10;

/// Files on a device.
#[derive(Debug)]
pub struct Fs<D> {
    disk: D,
    layout: Layout,
    journal: Journal,
    tree: Tree,
    space: SpaceMap,
    /// Operations that no record has yet.
    pending: Vec<u8>,
    /// Whether the device has data that no flush has covered.
    is_unflushed: bool,
    live: BTreeMap<InodeId, Live>,
    handles: BTreeMap<FileId, InodeId>,
    next_handle: u64,
    locks: BTreeSet<InodeId>,
    /// The file whose flushes leave trailers.
    followed: Option<Followed>,
    /// How often one was chosen.
    follows: u64,
    /// The failure after which nobody knows what the device has.
    stopped: Option<DiskError>,
}

impl<D: Disk> Fs<D> {
    /// Makes an empty file system on a device; what was there is gone. A cut meanwhile leaves none.
    ///
    /// # Errors
    /// [`FsError::Geometry`], or the device's.
    pub fn format(mut disk: D, format: Format) -> Result<Self, FsError> {
        let layout = Layout::new(&disk, format.identity, format.area_bytes)?;
        let mut block = vec![0; layout.block_bytes as usize];
        for at in layout.superblocks() {
            disk.write(at, &block)?;
        }
        disk.flush()?;
        let data = layout.data();
        disk.trim(data.start, data.blocks)?;
        // What an older one left in the second area has another identity, but nobody has to rely on that.
        disk.write(layout.area(1), &block)?;
        let journal = Journal::format(&mut disk, layout)?;
        let superblock = layout.encode();
        block[..superblock.len()].copy_from_slice(&superblock);
        for at in layout.superblocks() {
            disk.write(at, &block)?;
        }
        disk.flush()?;
        Self::with(disk, layout, journal, Tree::new(layout.block_bytes))
    }

    /// Opens the file system of a device. Nothing is written.
    ///
    /// # Errors
    /// [`FsError::NoFileSystem`], [`FsError::Damaged`], or the device's.
    pub fn mount(mut disk: D) -> Result<Self, FsError> {
        // What is read now may be in the device's cache, left by a program that died: users may rely on it from here on.
        disk.flush()?;
        let layout = Layout::read(&mut disk)?;
        let (journal, tree) = Journal::replay(&mut disk, layout)?;
        Self::with(disk, layout, journal, tree)
    }

    fn with(disk: D, layout: Layout, journal: Journal, tree: Tree) -> Result<Self, FsError> {
        let mut space = SpaceMap::new(layout.data());
        for (inode, file) in tree.files() {
            for run in file.extents.iter() {
                if !space.take(run) {
                    let what =
                        format!("blocks {} to {} of file {} are not its own", run.start, run.end(), inode.0);
                    return Err(FsError::Damaged(what));
                }
            }
        }
        Ok(Self {
            disk,
            layout,
            journal,
            tree,
            space,
            pending: Vec::new(),
            is_unflushed: false,
            live: BTreeMap::new(),
            handles: BTreeMap::new(),
            next_handle: 1,
            locks: BTreeSet::new(),
            followed: None,
            follows: 0,
            stopped: None,
        })
    }

    /// Makes everything durable and gives the device back.
    ///
    /// # Errors
    /// The device's; [`FsError::Stopped`].
    pub fn unmount(mut self) -> Result<D, FsError> {
        self.sync()?;
        Ok(self.disk)
    }

    /// The device as it is, as if the program had died.
    pub fn abandon(self) -> D {
        self.disk
    }

    fn block_bytes(&self) -> u64 {
        u64::from(self.layout.block_bytes)
    }

    fn is_going(&self) -> Result<(), FsError> {
        self.stopped.as_ref().map_or(Ok(()), |why| Err(FsError::Stopped(why.clone())))
    }

    /// A failure after which nobody knows what the device has ends everything.
    fn or_stop<T>(&mut self, done: Result<T, DiskError>) -> Result<T, FsError> {
        done.map_err(|why| {
            self.stopped = Some(why.clone());
            FsError::Disk(why)
        })
    }

    /// Carries an operation out and remembers it for the next record.
    fn perform(&mut self, op: &Op) -> Result<(), FsError> {
        self.unfollow()?;
        let mut bytes = Vec::new();
        op.encode(&mut bytes);
        if !self.has_journal_for(op, bytes.len()) {
            return Err(FULL_JOURNAL);
        }
        let applied = self.tree.apply(op).map_err(|why| FsError::Damaged(why.to_owned()))?;
        self.pending.extend_from_slice(&bytes);
        applied.cut.into_iter().for_each(|run| self.space.give_later(run));
        if let Some((inode, extents)) = applied.gone {
            self.let_go(inode, extents.iter().collect());
        }
        if self.pending.len() > PENDING_BYTES_MAX { self.commit() } else { Ok(()) }
    }

    /// Whether an area holds the tree as it will be. What makes it smaller is always let in, and so is what a file needs: that was kept
    /// for it when its blocks were taken.
    fn has_journal_for(&self, op: &Op, bytes: usize) -> bool {
        let grows = !matches!(
            op,
            Op::Remove { .. } | Op::Truncate { .. } | Op::Set { .. } | Op::Grow { .. } | Op::Follow { .. }
        );
        !grows || self.has_journal(4 * bytes + 256)
    }

    /// Whether an area holds the tree, so many bytes more, and what files in use will need of it when they are synced.
    fn has_journal(&self, more: usize) -> bool {
        let runs = |(inode, live): (&InodeId, &Live)| {
            self.tree.file(*inode).map_or(0, |file| live.extents.len().saturating_sub(file.extents.len()))
        };
        let owed = RUN_BYTES * self.live.iter().map(runs).sum::<usize>();
        let head = HEAD_BYTES + 2 * self.layout.block_bytes as usize;
        (self.tree.encoded_bytes() + owed + more + head) as u64 <= self.layout.area_bytes()
    }

    /// The blocks of a file that has lost its last name are free when that is recorded, or when it is closed.
    fn let_go(&mut self, inode: InodeId, named: Vec<Extent>) {
        let Some(live) = self.live.get_mut(&inode) else {
            return named.into_iter().for_each(|run| self.space.give_later(run));
        };
        live.is_gone = true;
        // Its users have the first of these blocks; what a truncation left only in records is nobody's.
        let mut extents = crate::extent::Extents::default();
        named.into_iter().for_each(|run| extents.push(run));
        extents.from(live.same).for_each(|run| self.space.give_later(run));
        if live.handles == 0 {
            self.drop_live(inode);
        }
    }

    /// Nobody has the file open, and it has no name: its blocks are free when that is recorded.
    fn drop_live(&mut self, inode: InodeId) {
        let Some(live) = self.live.remove(&inode) else { return };
        live.extents.iter().for_each(|run| self.space.give_later(run));
        self.locks.remove(&inode);
    }
}
